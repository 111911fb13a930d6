//! The few fields of an administrative call, from a form or a JSON body, and their faults.

use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ParameterFault;
use caseload_model::key::Access;
use caseload_model::spelling::{same_name, trimmed};

use crate::http::auth::Caller;
use crate::http::form::{self, NoFiles};
use crate::http::problem::{Fault, Problem};
use crate::http::query::{QueryPairs, unknown};
use crate::state::AppState;

/// The longest name of a key, an app, an agent or a queue, in code points.
pub(super) const ADMIN_TEXT_CHARS_MAX: usize = 255;

/// The fields that a caller sent, and their faults.
pub(super) struct AdminFields {
    pub(super) pairs: Vec<(String, String)>,
    pub(super) faults: Vec<Fault>,
}

impl AdminFields {
    /// Reads the fields of a call that needs an admin key. Only `known` ones are accepted.
    pub(super) async fn read(
        state: &AppState,
        caller: &Caller,
        call: &str,
        known: &[&str],
        request: Request,
    ) -> Result<Self, Problem> {
        let Self { pairs, mut faults } = Self::all(state, caller, call, request).await?;
        for (at, (name, value)) in pairs.iter().enumerate() {
            if !known.iter().any(|known| same_name(known, name)) {
                faults.push(unknown(name, known, "field"));
            }
            let mut before = pairs[..at].iter();
            if before.any(|(other, text)| same_name(other, name) && text != value) {
                let detail = format!("{name} is given twice with different values");
                faults.push(Fault::parameter(name, ErrorCode::ConflictingParameter, detail));
            }
        }
        Ok(Self { pairs, faults })
    }

    /// Reads the fields of a call that needs an admin key, whatever their names are.
    pub(super) async fn all(
        state: &AppState,
        caller: &Caller,
        call: &str,
        request: Request,
    ) -> Result<Self, Problem> {
        caller.require(Access::Admin, call)?;
        let mut faults = QueryPairs::parse(request.uri().query().unwrap_or_default())?.unknown(&[]);
        let (fields, _, _memory) = form::read(state, caller, request, NoFiles).await?;
        faults.extend(fields.faults);
        Ok(Self { pairs: fields.pairs, faults })
    }

    /// The value, or its faults with those so far.
    pub(super) fn require<T>(mut self, read: Result<T, Vec<ParameterFault>>) -> Result<T, Problem> {
        let read = read.map_err(|wrong| self.faults.extend(wrong.into_iter().map(Fault::from)));
        self.check()?;
        read.map_err(|()| Problem::internal())
    }

    /// The value of a field, if it was sent.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        let pair = self.pairs.iter().find(|(given, _)| same_name(given, name));
        pair.map(|(_, value)| value.as_str())
    }

    pub(super) fn refuse(&mut self, name: &str, code: ErrorCode, detail: impl Into<String>) {
        self.faults.push(Fault::parameter(name, code, detail));
    }

    /// A name that has to be there: a line that is not blank.
    pub(super) fn required(&mut self, name: &str) -> String {
        if self.given(name).is_none() {
            self.refuse(name, ErrorCode::MissingField, format!("{name} is required"));
            return String::new();
        }
        self.line(name).unwrap_or_default()
    }

    /// A name: a line that is not blank.
    pub(super) fn line(&mut self, name: &str) -> Option<String> {
        let text = self.given(name)?.to_owned();
        let chars = text.chars().count();
        if text.trim().is_empty()
            || chars > ADMIN_TEXT_CHARS_MAX
            || text.chars().any(char::is_control)
        {
            let detail = format!(
                "{name} has 1 to {ADMIN_TEXT_CHARS_MAX} characters, one of them not blank, and no \
                 line breaks"
            );
            self.refuse(name, ErrorCode::InvalidValue, detail);
        }
        Some(text)
    }

    /// An e-mail address, which may be empty if `empty` says so.
    pub(super) fn address(&mut self, name: &str, empty: bool) -> Option<String> {
        let text = trimmed(self.given(name)?).to_owned();
        let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
        let has_room = text.chars().count() <= ADMIN_TEXT_CHARS_MAX;
        let is_address = text.contains('@') && has_room && text.chars().all(is_plain);
        if !(is_address || empty && text.is_empty()) {
            let detail = format!(
                "{name} is not an e-mail address of at most {ADMIN_TEXT_CHARS_MAX} characters"
            );
            self.refuse(name, ErrorCode::InvalidValue, detail);
        }
        Some(text)
    }

    /// Refuses the request if there are any faults.
    pub(super) fn check(self) -> Result<(), Problem> {
        Problem::check(self.faults)
    }
}
