//! Loads the records with which a test server begins, through the API: a file of issues or people
//! is imported as any client imports it, and a fault of an entry is named in the same words.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use caseload_api::ApiConfig;
use caseload_client::Client;
use caseload_model::task::Action;
use caseload_model::time::Clock;
use caseload_store::{Store, Work};
use serde_json::Value;

use crate::commands::fault_groups::FaultGroups;
use crate::commands::import::FileUpload;
use crate::failure::Failure;
use crate::server::{Server, ServiceConfig, bind};

/// Loads files into a store, and closes it.
pub(super) async fn load(
    stores: (Arc<dyn Store>, Arc<dyn Work>),
    clock: Clock,
    (domain, key): (&str, &str),
    services: ServiceConfig,
    files: &[PathBuf],
) -> Result<(), Failure> {
    let listener = bind("127.0.0.1:0").await?;
    let config = ApiConfig { rate_limit: 0, ..ApiConfig::default() };
    let server = Server::start_at(clock, stores, (listener, None), config, services)?;
    let client = Client::new(&format!("http://{}", server.address()), domain, key)?;
    let mut loaded = Ok(());
    for file in files {
        if loaded.is_ok() {
            loaded = load_one(&client, file).await;
        }
    }
    let stopped = server.stop().await;
    loaded.and(stopped)
}

async fn load_one(client: &Client, file: &Path) -> Result<(), Failure> {
    let action = action_of(file)?;
    let upload = FileUpload::new(action, file)?;
    let source = upload.open().await?;
    let task = upload.send(client, source).await?;
    let imports = client.imports(action.family());
    let task = imports.wait(&task.task_id, |_| {}).await?;
    if task.is_clean() {
        return Ok(());
    }
    let mut groups = FaultGroups::default();
    groups.add(&imports.error_summary(&task.task_id).await?);
    let file = file.display();
    let message = format!("--seed {file} has entries that cannot be loaded\n{}", groups.message());
    Err(Failure::usage(message.trim_end()))
}

/// The action that imports a file, by its first entry: people have identities.
fn action_of(path: &Path) -> Result<Action, Failure> {
    let unreadable = |error| Failure::file("read", path, &error);
    let lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
    for line in lines {
        let line = line.map_err(unreadable)?;
        match serde_json::from_str(line.trim_start_matches('\u{feff}').trim()) {
            Ok(Value::Object(entry)) if entry.contains_key("identities") => {
                return Ok(Action::CreateCoreProfiles);
            }
            Ok(Value::Object(_)) => return Ok(Action::ImportIssues),
            _ if line.trim().is_empty() => {}
            _ => break,
        }
    }
    let message = format!("--seed {}: its first line is not a JSON map", path.display());
    let hint = "write one issue or one profile a line, as JSON";
    Err(Failure::usage(message).with_hint(hint))
}
