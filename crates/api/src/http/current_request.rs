//! The request that the running task works on, for the log: each line that is written while a
//! request is worked on has its id, method and path. A task that is started for a request carries
//! it on with [`carried`]. The query of a request is left out, because callers search by names
//! and addresses of people.

use std::sync::Arc;

use axum::extract::Request;
use http::{HeaderValue, Method, Uri};

/// The most bytes of a path in the log.
const PATH_BYTES_MAX: usize = 512;

tokio::task_local! {
    static CURRENT: Arc<CurrentRequest>;
}

/// The parts of a request that the log names. Most requests write no line, so the parts are shared
/// with the request, and made into text by a line.
#[derive(Debug)]
pub struct CurrentRequest {
    id: HeaderValue,
    pub method: &'static str,
    uri: Uri,
}

impl CurrentRequest {
    pub(crate) fn new(id: &HeaderValue, request: &Request) -> Arc<Self> {
        let method = method_name(request.method());
        Arc::new(Self { id: id.clone(), method, uri: request.uri().clone() })
    }

    pub fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The path, or its beginning if it is long.
    pub fn path(&self) -> &str {
        let path = self.uri.path();
        &path[..path.floor_char_boundary(PATH_BYTES_MAX)]
    }

    /// The request that the running task works on.
    pub(crate) fn now() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Does the work as work on this request.
    pub(crate) async fn during<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// Does the work as work on this request.
    pub(crate) fn around<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), work)
    }
}

/// The id of the request that the running task works on, for the log of changes.
pub(crate) fn current_request_id() -> Option<String> {
    with_current_request(|current| current.id().to_owned())
}

/// Reads the request that the running task works on; `None` if it works on none.
pub fn with_current_request<T>(read: impl FnOnce(&CurrentRequest) -> T) -> Option<T> {
    CURRENT.try_with(|current| read(current)).ok()
}

/// The same work, which stays work on the present request in another task.
pub(crate) fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let current = CurrentRequest::now();
    async move {
        match current {
            Some(current) => current.during(work).await,
            None => work.await,
        }
    }
}

/// The name of a method. Callers choose methods freely, so all unknown ones share a name.
pub(crate) fn method_name(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}
