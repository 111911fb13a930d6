//! The request that makes or changes a webhook. All faults are collected. A field that an edit
//! leaves out stays as it is.

use super::{AddressRule, WebhookSettings, WebhookUrl};
use crate::change::{ChangeAction, Resource};
use crate::error_code::ErrorCode;
use crate::parameters::{ParameterFault, Parameters};

/// The fields of a webhook.
pub const WEBHOOK_FIELDS: [&str; 5] = ["url", "resources", "actions", "include-record", "paused"];

/// The fields that a caller sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookRequest {
    pub url: Option<String>,
    pub resources: Option<Vec<Resource>>,
    pub actions: Option<Vec<ChangeAction>>,
    pub include_record: Option<bool>,
    pub paused: Option<bool>,
}

impl WebhookRequest {
    /// Reads the settings of a new webhook, which needs a URL.
    pub fn create(
        pairs: &[(String, String)],
        rule: AddressRule,
    ) -> Result<WebhookSettings, Vec<ParameterFault>> {
        let mut fields = Parameters::new(pairs, &WEBHOOK_FIELDS);
        if fields.get("url").is_none() {
            let detail = "url is required: the address that gets the changes";
            fields.fault("url", ErrorCode::MissingField, detail);
        }
        Self::read(fields, rule).map(|request| request.apply(WebhookSettings::default()))
    }

    /// Reads an edit.
    pub fn edit(
        pairs: &[(String, String)],
        rule: AddressRule,
    ) -> Result<Self, Vec<ParameterFault>> {
        Self::read(Parameters::new(pairs, &WEBHOOK_FIELDS), rule)
    }

    fn read(mut fields: Parameters<'_>, rule: AddressRule) -> Result<Self, Vec<ParameterFault>> {
        let resources = words_of(Resource::ALL, Resource::as_str);
        let actions = words_of(ChangeAction::ALL, ChangeAction::as_str);
        let request = Self {
            url: url(&mut fields, rule),
            resources: any_of(&mut fields, "resources", &resources),
            actions: any_of(&mut fields, "actions", &actions),
            include_record: fields.boolean("include-record"),
            paused: fields.boolean("paused"),
        };
        if fields.faults.is_empty() { Ok(request) } else { Err(fields.faults) }
    }

    /// The settings after the edit.
    #[must_use]
    pub fn apply(self, before: WebhookSettings) -> WebhookSettings {
        let Self { url, resources, actions, include_record, paused } = self;
        WebhookSettings {
            url: url.unwrap_or(before.url),
            resources: resources.unwrap_or(before.resources),
            actions: actions.unwrap_or(before.actions),
            include_record: include_record.unwrap_or(before.include_record),
            paused: paused.unwrap_or(before.paused),
        }
    }
}

/// A list of words, ascending. An empty text is an empty list, which leaves nothing out.
fn any_of<T: Copy + Ord>(
    fields: &mut Parameters<'_>,
    name: &str,
    words: &[(&str, T)],
) -> Option<Vec<T>> {
    match fields.get(name) {
        Some((_, "")) => Some(Vec::new()),
        _ => fields.words(name, words).map(sorted),
    }
}

fn url(fields: &mut Parameters<'_>, rule: AddressRule) -> Option<String> {
    let (spelled, text) = fields.get("url")?;
    match WebhookUrl::parse(text, rule) {
        Ok(_) => return Some(text.to_owned()),
        Err(details) => {
            for detail in details {
                fields.fault(spelled, ErrorCode::InvalidValue, detail);
            }
        }
    }
    None
}

fn words_of<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> Vec<(&'static str, T)> {
    all.iter().map(|word| (text(*word), *word)).collect()
}

fn sorted<T: Ord>(mut words: Vec<T>) -> Vec<T> {
    words.sort_unstable();
    words.dedup();
    words
}
