//! Every route in one list, and the whole middleware stack in one function. Below `/v1` and `/v2`
//! the guard checks the key before anything else, also on unknown paths and methods.

use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, post, put};
use axum::{Extension, Router};
use caseload_model::error_code::ErrorCode;
use caseload_model::task::Family;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::normalize_path::NormalizePath;

use crate::console::Features;
use crate::http::problem::Problem;
use crate::http::{auth, base_url, compression, middleware};
use crate::state::AppState;
use crate::{
    admin, agents, apps, attachments, bulk_actions, changes, console, erasures, front_page, health,
    imports, issues, metrics, openapi_document, profiles, queues, redactions, views,
};

/// The application inside the outermost middleware.
pub fn router(state: &AppState) -> Router {
    outermost(application(state), state)
}

/// All routes inside the middleware, without the outermost one.
pub(crate) fn application(state: &AppState) -> Router {
    let Routes { router, paths } = routes();
    let features = Features::of(&paths).of_test_server(state.config.is_test_server);
    let routes = router.fallback(unknown_path).layer(Extension(features));
    let routes = routes.method_not_allowed_fallback(unknown_method);
    stack(routes.with_state(state.clone()), state)
}

/// The paths for operators alone: health, readiness and metrics.
pub(crate) fn admin_router(state: AppState) -> Router {
    let routes = Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::get_open))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method);
    let outermost = state.outermost();
    routes
        .with_state(state)
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state(outermost, middleware::request_id))
}

/// The path templates of all routes, for the test that compares them with the description.
pub fn route_paths() -> Vec<String> {
    routes().paths
}

/// The routes and their paths, because a router does not list its own.
struct Routes {
    router: Router<AppState>,
    paths: Vec<String>,
}

impl Routes {
    fn new() -> Self {
        Self { router: Router::new(), paths: Vec::new() }
    }

    fn route(mut self, path: impl Into<String>, methods: MethodRouter<AppState>) -> Self {
        let path = path.into();
        self.router = self.router.route(&path, methods);
        self.paths.push(path);
        self
    }
}

fn routes() -> Routes {
    let list_and_write = post(issues::create).put(issues::edit_many).get(issues::list);
    let single_issue = put(issues::edit).get(issues::get).delete(issues::delete);
    let core_profile = get(profiles::get_core_profile).delete(profiles::delete_core_profile);
    let app_profile = get(profiles::get_app_profile).delete(profiles::delete_app_profile);
    let single_webhook =
        get(admin::get_webhook).put(admin::edit_webhook).delete(admin::delete_webhook);
    let routes = Routes::new()
        .route("/", get(front_page::front_page))
        .route("/docs/{page}", get(front_page::docs))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::get))
        .route("/openapi.json", get(openapi_document::get))
        .route("/v1/{domain}/issues", list_and_write)
        .route("/v1/{domain}/issues/counts", get(issues::counts))
        .route("/v1/{domain}/issues/durations", get(issues::durations))
        .route("/v1/{domain}/issues/{issue_id}", single_issue)
        .route(
            "/v1/{domain}/issues/{issue_id}/messages",
            post(issues::add_message).get(issues::list_messages),
        )
        .route(
            "/v1/{domain}/issues/{issue_id}/private-notes",
            post(issues::add_note).get(issues::list_notes),
        )
        .route("/v1/{domain}/issues/{issue_id}/changes", get(changes::history_of_issue))
        .route("/v2/{domain}/issues/{issue_id}/_audit_logs", get(changes::audit_logs))
        .route("/v1/{domain}/attachments/{attachment_id}", get(attachments::get))
        .route("/v1/{domain}/changes", get(changes::get))
        .route("/v1/{domain}/erasures", post(erasures::create))
        .route("/v1/{domain}/redactions", post(redactions::create))
        .route("/v1/{domain}/redactions/{redaction_id}", get(redactions::get))
        .route("/v1/{domain}/apps", get(apps::list).post(admin::create_app))
        .route("/v1/{domain}/apps/{publish_id}", get(apps::get))
        .route("/v1/{domain}/agents", get(agents::list).post(admin::create_agent))
        .route("/v1/{domain}/queues", get(queues::list).post(admin::create_queue))
        .route("/v1/{domain}/keys", get(admin::list_keys).post(admin::create_key))
        .route("/v1/{domain}/keys/{key_id}", delete(admin::revoke_key))
        .route("/v1/{domain}/settings", get(admin::get_settings).put(admin::edit_settings))
        .route("/v1/{domain}/webhooks", get(admin::list_webhooks).post(admin::create_webhook))
        .route("/v1/{domain}/webhooks/{webhook_id}", single_webhook)
        .route("/v1/{domain}/webhooks/{webhook_id}/rotate-secret", post(admin::rotate_secret))
        .route("/v1/{domain}/webhooks/{webhook_id}/test", post(admin::test_webhook))
        .route("/v1/{domain}/webhooks/{webhook_id}/replay", post(admin::replay_webhook))
        .route("/v1/{domain}/webhooks/{webhook_id}/deliveries", get(admin::list_deliveries))
        .route("/v1/{domain}/views", get(views::list).post(views::create))
        .route("/v1/{domain}/views/{view_id}", put(views::edit).delete(views::delete))
        .route("/console", get(console::page))
        .route("/console/{version}/{file}", get(console::file))
        .route("/console/session", get(console::get).post(console::begin).delete(console::end))
        .route("/v2/{domain}/identity/core_profiles", get(profiles::list_core_profiles))
        .route("/v2/{domain}/identity/core_profiles/{core_profile_id}", core_profile)
        .route(
            "/v2/{domain}/identity/core_profiles/{core_profile_id}/changes",
            get(changes::history_of_core_profile),
        )
        .route("/v2/{domain}/identity/app_profiles", get(profiles::list_app_profiles))
        .route("/v2/{domain}/identity/app_profiles/{pid}", app_profile);
    Family::ALL.iter().fold(routes, |routes, family| bulk_routes(routes, *family))
}

/// The routes of the tasks and the imports of a family.
fn bulk_routes(routes: Routes, family: Family) -> Routes {
    let all = |word: &str| format!("/v2/{{domain}}/{}/{word}", family.as_str());
    let (tasks, files) = (all("bulk_actions"), all("imports"));
    let routes = routes
        .route(tasks.clone(), post(bulk_actions::create).get(bulk_actions::list))
        .route(format!("{tasks}/{{task_id}}/payload"), get(bulk_actions::payload))
        .route(files.clone(), post(imports::create).get(bulk_actions::list))
        .route(format!("{files}/preview"), post(imports::preview))
        .route(format!("{files}/{{import_id}}/rejects"), get(bulk_actions::rejects));
    let routes = shared_routes(routes, &format!("{tasks}/{{task_id}}"));
    shared_routes(routes, &format!("{files}/{{import_id}}"))
}

/// The routes that a task has as well as an import.
fn shared_routes(routes: Routes, path: &str) -> Routes {
    let one = |rest: &str| format!("{path}{rest}");
    routes
        .route(one(""), get(bulk_actions::status))
        .route(one("/cancel"), post(bulk_actions::cancel))
        .route(one("/retry"), post(bulk_actions::retry))
        .route(one("/run"), post(bulk_actions::run))
        .route(one("/results"), get(bulk_actions::results))
        .route(one("/errors"), get(bulk_actions::errors))
        .route(one("/errors/summary"), get(bulk_actions::error_summary))
        .route(one("/warnings/summary"), get(bulk_actions::warning_summary))
}

/// The middleware, innermost first. The layer that removes trailing slashes must wrap the routes
/// from outside, because it has to run before a route is looked up. A panic of a handler is caught
/// within the guard, so that its answer has the headers of the quota, and any other one outside.
fn stack(routes: Router, state: &AppState) -> Router {
    let guarded = routes
        .layer(from_fn_with_state(state.clone(), base_url::complete))
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state(state.clone(), auth::guard))
        .layer(from_fn_with_state(state.clone(), metrics::count));
    Router::new()
        .fallback_service(NormalizePath::trim_trailing_slash(guarded))
        .layer(from_fn(console::around))
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state(state.memory.clone(), compression::compress))
}

/// The outermost middleware around an application.
pub(crate) fn outermost(application: Router, state: &AppState) -> Router {
    application.layer(from_fn_with_state(state.outermost(), middleware::request_id))
}

async fn unknown_path(request: Request) -> Problem {
    let detail = format!(
        "no resource has the path {}; docs/reference.md lists the paths",
        request.uri().path()
    );
    Problem::new(ErrorCode::NotFound, detail)
}

/// The router adds `Allow`.
pub(crate) async fn unknown_method(request: Request) -> Problem {
    let detail = format!(
        "this path does not accept {}; the header Allow lists the methods that it accepts",
        request.method()
    );
    Problem::new(ErrorCode::MethodNotAllowed, detail)
}
