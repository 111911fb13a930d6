//! Resolves the app of each entry, and collects the apps that an import adds. The app is rendered
//! as the entry gives it, even if the domain knows it under another publish id.

use std::collections::HashMap;

/// An app of a domain, by its two ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub app_id: String,
    /// Short; imported apps may share one.
    pub publish_id: String,
}

/// The domain's apps while a plan is made.
pub(super) struct Apps {
    default: App,
    /// Publish id by app id.
    publish_ids: HashMap<String, String>,
    /// The oldest app by publish id.
    oldest: HashMap<String, String>,
    next_number: u64,
    new: Vec<App>,
}

impl Apps {
    /// `apps` are those of the domain, oldest first; `next_number` is the next publish id to try.
    pub(super) fn new(default: &App, apps: &[App], next_number: u64) -> Self {
        let mut known = Self {
            default: default.clone(),
            publish_ids: HashMap::new(),
            oldest: HashMap::new(),
            next_number,
            new: Vec::new(),
        };
        for app in std::iter::once(default).chain(apps) {
            known.learn(app);
        }
        known
    }

    fn learn(&mut self, app: &App) {
        let App { app_id, publish_id } = app;
        self.publish_ids.entry(app_id.clone()).or_insert_with(|| publish_id.clone());
        self.oldest.entry(publish_id.clone()).or_insert_with(|| app_id.clone());
    }

    /// The app of an entry. A publish id alone means the oldest app that has it, the default app
    /// first. A publish id that no app has goes with the id of the default app.
    pub(super) fn resolve(&self, app_id: Option<&str>, publish_id: Option<&str>) -> App {
        let app = |app_id: &str, publish_id: &str| App {
            app_id: app_id.to_owned(),
            publish_id: publish_id.to_owned(),
        };
        match (app_id, publish_id) {
            (None, None) => self.default.clone(),
            (Some(app_id), Some(publish_id)) => app(app_id, publish_id),
            (Some(app_id), None) => match self.publish_ids.get(app_id) {
                Some(known) => app(app_id, known),
                None => app(app_id, &self.free_number().to_string()),
            },
            (None, Some(publish_id)) => {
                let oldest = self.oldest.get(publish_id).unwrap_or(&self.default.app_id);
                app(oldest, publish_id)
            }
        }
    }

    fn free_number(&self) -> u64 {
        let mut number = self.next_number;
        while self.oldest.contains_key(&number.to_string()) {
            number += 1;
        }
        number
    }

    /// Adds the app unless its id is known.
    pub(super) fn register(&mut self, app: App) {
        if self.publish_ids.contains_key(&app.app_id) {
            return;
        }
        self.learn(&app);
        self.next_number = self.free_number();
        self.new.push(app);
    }

    /// The apps to insert, and the next number.
    pub(super) fn into_new(self) -> (Vec<App>, u64) {
        (self.new, self.next_number)
    }
}
