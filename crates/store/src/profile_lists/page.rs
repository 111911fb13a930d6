//! The part of a list that is rendered: it takes the profiles that match, one by one, in the order
//! of the list.

use std::collections::HashMap;

use caseload_model::issue::{ListVersion, ListVersionHasher};
use caseload_model::issue_query::SortKey;
use caseload_model::profile_query::{ProfileId, ProfilePosition};

use super::people::IncludedMember;
use super::rows::Found;
use crate::StepForm;

/// About how many bytes the id and the times of a record have, at most.
const RECORD_BYTES: usize = 128;

/// Which part of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) form: StepForm,
    /// Matches to be passed over.
    pub(super) offset: u64,
    pub(super) profiles_max: u64,
    pub(super) bytes_max: usize,
    pub(super) key: SortKey,
    /// Whether a match beyond `profiles_max` counts as more.
    pub(super) looks_ahead: bool,
}

/// The rendered profiles.
#[derive(Debug)]
pub(super) struct RenderedPart {
    part: Part,
    pub(super) body: Vec<u8>,
    pub(super) count: u32,
    pub(super) last: Option<ProfilePosition>,
    pub(super) more: bool,
    version: ListVersionHasher,
}

impl RenderedPart {
    pub(super) fn new(part: Part) -> Self {
        let version = ListVersionHasher::default();
        Self { part, body: Vec::new(), count: 0, last: None, more: false, version }
    }

    /// Whether no further match changes the part.
    pub(super) fn is_full(&self) -> bool {
        let is_counted = u64::from(self.count) >= self.part.profiles_max;
        self.more || (is_counted && !self.part.looks_ahead)
    }

    /// How many further matches it can use.
    pub(super) fn wanted(&self) -> u64 {
        let ahead = u64::from(self.part.looks_ahead);
        (self.part.profiles_max + ahead).saturating_sub(u64::from(self.count)) + self.part.offset
    }

    /// About how many further matches have room, one at least, if they are as long as those before.
    pub(super) fn fitting(&self) -> u64 {
        let room = self.part.bytes_max.saturating_sub(self.body.len()) as u64;
        let long = self.body.len() as u64 / u64::from(self.count.max(1));
        room.checked_div(long).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Makes room for the matches.
    pub(super) fn reserve(&mut self, matching: &[&Found]) {
        let bytes: usize = matching.iter().map(|found| found.bytes() + RECORD_BYTES).sum();
        self.body.reserve(bytes.min(self.part.bytes_max));
    }

    /// Takes a match that follows the ones before.
    pub(super) fn take(&mut self, found: &Found, added: &HashMap<ProfileId, IncludedMember>) {
        if self.part.offset > 0 {
            self.part.offset -= 1;
            return;
        }
        if self.is_full() {
            return;
        }
        if u64::from(self.count) >= self.part.profiles_max {
            self.more = true;
            return;
        }
        let before = self.body.len();
        if self.count > 0 && self.part.form == StepForm::Commas {
            self.body.push(b',');
        }
        found.render(&mut self.body);
        if let Some(added) = added.get(&found.id) {
            added.insert(&mut self.body);
        }
        if self.part.form == StepForm::Lines {
            self.body.push(b'\n');
        }
        if self.count > 0 && self.body.len() > self.part.bytes_max {
            self.body.truncate(before);
            self.more = true;
            return;
        }
        self.count += 1;
        // Streams have no tag.
        if self.part.form == StepForm::Commas {
            self.add_version(found, added.get(&found.id));
        }
        self.last = Some(found.position(self.part.key));
    }

    fn add_version(&mut self, found: &Found, added: Option<&IncludedMember>) {
        match &found.id {
            ProfileId::Core(id) => {
                self.version.add_record(id.to_string().as_bytes(), found.updated_at);
            }
            ProfileId::App(pid) => self.version.add_record(pid.as_bytes(), found.updated_at),
        }
        // Members that come from other records have no part in the update time.
        if let Some(added) = added {
            self.version.add_record(&added.text(), found.updated_at);
        }
    }

    pub(super) fn version(&self) -> ListVersion {
        self.version.clone().finish()
    }
}
