//! Query parameters of a list. The client sends them as they were given, by name and value: the
//! server knows which there are, and its error texts are better than those of a client that may be
//! older.

/// The `includes` for every member that an issue can have.
pub const INCLUDES_ALL: &str = concat!(
    r#"["custom_fields","meta","feedback","private_notes","queue","#,
    r#""predict_labels","sentiment_analysis","smart_intents"]"#
);

/// Query parameters, in the order in which they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Parameters that ask for every member of an issue.
    pub fn all_included() -> Self {
        let mut params = Self::default();
        params.push("includes", INCLUDES_ALL);
        params
    }

    /// Adds a parameter.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Adds a parameter if there is a value for it.
    pub fn push_given(&mut self, name: &str, value: Option<impl Into<String>>) {
        self.extend(value.map(|value| (name.to_owned(), value.into())));
    }

    /// Adds the parameter if it has not been given.
    pub fn push_default(&mut self, name: &str, value: &str) {
        if !self.has(name) {
            self.push(name, value);
        }
    }

    /// Whether there is a parameter of this name, in either spelling.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of the parameter of this name, in either spelling.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let same = |given: &str| given.replace('_', "-") == name.replace('_', "-");
        self.0.iter().find(|(given, _)| same(given)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

impl Extend<(String, String)> for Params {
    fn extend<T: IntoIterator<Item = (String, String)>>(&mut self, pairs: T) {
        self.0.extend(pairs);
    }
}
