//! The abilities of this server that a console asks for before it shows a screen. Each is a route,
//! so that a console and a server of neighbouring versions understand each other.

/// The routes by which an ability is known, and its name.
const NAMED: [(&str, &str); 11] = [
    ("profiles", "/v2/{domain}/identity/core_profiles"),
    ("counts", "/v1/{domain}/issues/counts"),
    ("durations", "/v1/{domain}/issues/durations"),
    ("fault-summary", "/v2/{domain}/identity/bulk_actions/{task_id}/errors/summary"),
    ("warnings", "/v2/{domain}/identity/bulk_actions/{task_id}/warnings/summary"),
    ("payload", "/v2/{domain}/identity/bulk_actions/{task_id}/payload"),
    ("run", "/v2/{domain}/identity/bulk_actions/{task_id}/run"),
    ("changes", "/v1/{domain}/changes"),
    ("erasures", "/v1/{domain}/erasures"),
    ("webhooks", "/v1/{domain}/webhooks"),
    ("views", "/v1/{domain}/views"),
];

/// The names of the abilities that this server has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features(pub(super) Vec<&'static str>);

impl Features {
    pub(crate) fn of(paths: &[String]) -> Self {
        let has = |path: &str| paths.iter().any(|known| known == path);
        Self(NAMED.iter().filter(|(_, path)| has(path)).map(|(name, _)| *name).collect())
    }

    /// The same, and whether the store ends with the server, so that a person does not take it for
    /// the real one.
    pub(crate) fn of_test_server(mut self, is_test_server: bool) -> Self {
        if is_test_server {
            self.0.push("test-server");
        }
        self
    }
}
