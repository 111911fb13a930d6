//! Apps, the sources of issues. A new app gets the domain's next publish id. An imported app has
//! the publish id of its entry, even if another app has the same one.

use caseload_model::ids::DomainId;
use tokio_postgres::Row;

use super::engine::Client;
use super::{domains, rows};
use caseload_store::admin::{already_exists, new_app};
use caseload_store::{App, CreateApp, StoreError};

pub(super) async fn create(client: &Client, command: &CreateApp) -> Result<App, StoreError> {
    domains::demand(client, command.domain).await?;
    let publish_id = next_publish_id(client, command.domain).await?;
    let added = client
        .execute(
            "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[
                &command.domain.0,
                &command.id.as_bytes(),
                &publish_id.as_bytes(),
                &command.title.as_bytes(),
                &command.now.0,
            ],
        )
        .await?;
    if added == 0 {
        return Err(already_exists("app", &command.id));
    }
    Ok(new_app(command, publish_id))
}

/// The next number that no app of the domain has, including imported apps.
async fn next_publish_id(client: &Client, domain: DomainId) -> Result<String, StoreError> {
    loop {
        let next = client
            .row(
                "UPDATE domain_clocks SET last_app_number = last_app_number + 1
                 WHERE domain_id = $1 RETURNING last_app_number",
                &[&domain.0],
            )
            .await?;
        let publish_id = next.get::<_, i64>(0).to_string();
        let taken = client
            .row_opt(
                "SELECT 1 FROM apps WHERE domain_id = $1 AND publish_id = $2 LIMIT 1",
                &[&domain.0, &publish_id.as_bytes()],
            )
            .await?;
        if taken.is_none() {
            return Ok(publish_id);
        }
    }
}

pub(super) async fn of_domain(client: &Client, domain: DomainId) -> Result<Vec<App>, StoreError> {
    let apps = client
        .rows(
            "SELECT id, publish_id, title, created_at FROM apps WHERE domain_id = $1
             ORDER BY created_at, id",
            &[&domain.0],
        )
        .await?;
    apps.iter().map(app).collect()
}

fn app(row: &Row) -> Result<App, StoreError> {
    Ok(App {
        id: rows::text(row, 0)?,
        publish_id: rows::text(row, 1)?,
        title: rows::text(row, 2)?,
        created_at: rows::instant(row, 3),
    })
}
