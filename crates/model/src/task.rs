//! The bulk action task: actions, states, outcomes, counts and the record that callers poll. The
//! laws that a task obeys are here (`Counts::is_conserved`, `Task::progress`). The bulk crate runs
//! tasks and the store crate stores them.

use crate::key::Access;
use crate::spelling::bare_file_name;
use crate::time::UnixMillis;

/// Entries that one request may carry.
pub const PAYLOAD_ENTRIES_MAX: usize = 10_000;
/// Attempts at a task that meets server faults before its outcome becomes `failed`.
pub const TASK_ATTEMPTS_MAX: u32 = 5;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $number:literal $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($variant = $number,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The value that `text` spells exactly.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// The number it is stored under; never reused.
            pub const fn code(self) -> i64 {
                self as i64
            }

            /// The value stored under `code`.
            pub fn from_code(code: i64) -> Option<Self> {
                match code { $($number => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The action of a task on each of its entries.
    Action {
        CreateCoreProfiles = 1 "create_core_profiles",
        UpdateCoreProfiles = 2 "update_core_profiles",
        UpsertCoreProfiles = 7 "upsert_core_profiles",
        DeleteCoreProfiles = 8 "delete_core_profiles",
        UpdateAppProfiles = 3 "update_app_profiles",
        DeleteAppProfiles = 9 "delete_app_profiles",
        GetCoreProfiles = 4 "get_core_profiles",
        GetAppProfiles = 5 "get_app_profiles",
        ImportIssues = 6 "import_issues",
        DeleteIssues = 10 "delete_issues",
        ErasePerson = 11 "erase_person",
    }
}

words! {
    /// Which of the two bulk paths a task belongs to. Each path knows only its own tasks.
    Family {
        Identity = 1 "identity",
        Issues = 2 "issues",
    }
}

words! {
    /// The state of a task. `Completed` is the only final one.
    TaskStatus {
        Created = 1 "created",
        Queued = 2 "queued",
        Processing = 3 "processing",
        Completed = 4 "completed",
    }
}

words! {
    /// How a completed task ended.
    Outcome {
        Succeeded = 1 "succeeded",
        CompletedWithErrors = 2 "completed_with_errors",
        Cancelled = 3 "cancelled",
        Failed = 4 "failed",
    }
}

impl Action {
    pub const fn family(self) -> Family {
        match self {
            Self::ImportIssues | Self::DeleteIssues | Self::ErasePerson => Family::Issues,
            _ => Family::Identity,
        }
    }

    /// The access that a key needs to submit a task of this action.
    pub const fn access(self) -> Access {
        if self.writes() { Access::Write } else { Access::Read }
    }

    /// The access that a key needs for a task of this action; a dry run writes nothing.
    pub const fn access_of(self, dry_run: bool) -> Access {
        if dry_run { Access::Read } else { self.access() }
    }

    /// Whether the action writes. Writing tasks of one domain take effect one after another; the
    /// others may overtake them.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::GetCoreProfiles | Self::GetAppProfiles)
    }

    /// Whether the action changes fields of stored profiles, so that a dry run shows the changes.
    pub const fn patches(self) -> bool {
        matches!(
            self,
            Self::UpdateCoreProfiles | Self::UpsertCoreProfiles | Self::UpdateAppProfiles
        )
    }

    /// The field that identifies an entry's record.
    pub const fn id_field(self) -> &'static str {
        match self {
            Self::CreateCoreProfiles
            | Self::UpdateCoreProfiles
            | Self::UpsertCoreProfiles
            | Self::DeleteCoreProfiles
            | Self::GetCoreProfiles => "core-profile-id",
            Self::UpdateAppProfiles | Self::DeleteAppProfiles | Self::GetAppProfiles => "pid",
            Self::ImportIssues | Self::DeleteIssues | Self::ErasePerson => "id",
        }
    }

    /// The actions that the path of `family` takes.
    pub fn of_family(family: Family) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |action| action.is_taken_by(family))
    }

    /// Whether the path of `family` takes tasks of this action. Another call makes erasures.
    pub fn is_taken_by(self, family: Family) -> bool {
        self.family() == family && self != Self::ErasePerson
    }
}

impl Family {
    /// Most bytes of one entry. In an update, members that only reading gives do not count.
    pub const fn entry_bytes_max(self) -> usize {
        match self {
            Self::Identity => 256 << 10,
            Self::Issues => 8 << 20,
        }
    }

    /// Most bytes of an entry that are held until it is checked, including those that do not count.
    pub const fn entry_bytes_read_max(self) -> usize {
        match self {
            Self::Identity => 1 << 20,
            Self::Issues => self.entry_bytes_max(),
        }
    }
}

/// The conservation law: `succeeded + failed + unprocessed = total`, at every moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: u32,
    pub succeeded: u32,
    pub failed: u32,
    pub unprocessed: u32,
}

impl Counts {
    /// The counts of a task that has processed nothing yet.
    pub const fn new(total: u32) -> Self {
        Self { total, succeeded: 0, failed: 0, unprocessed: total }
    }

    pub const fn is_conserved(&self) -> bool {
        self.succeeded as u64 + self.failed as u64 + self.unprocessed as u64 == self.total as u64
    }

    /// These counts after a chunk. Panics if the chunk breaks the conservation law.
    #[must_use]
    pub fn after_chunk(self, succeeded: u32, failed: u32) -> Self {
        let done = succeeded + failed;
        assert!(done <= self.unprocessed, "a chunk holds more entries than its task has left");
        let next = Self {
            total: self.total,
            succeeded: self.succeeded + succeeded,
            failed: self.failed + failed,
            unprocessed: self.unprocessed - done,
        };
        assert!(next.is_conserved(), "the counts of a task do not add up");
        next
    }
}

/// The key and the file of a task. Over HTTP, every task has a key and a length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskOrigin {
    /// The name of the payload file, if the caller gave one.
    pub file_name: Option<String>,
    /// Bytes of the payload without compression and without the form around it.
    pub content_length: Option<u64>,
    pub submitted_by: Option<Submitter>,
}

/// The API key that submitted a task, with its name at that time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitter {
    pub key_id: String,
    pub key_name: String,
}

/// The longest name of a payload file that is stored; of a longer one, its end.
pub const FILE_NAME_CHARS_MAX: usize = 255;

/// The name of a payload file without the folders before it and without hidden characters; `None`
/// if nothing is left.
pub fn file_name(given: &str) -> Option<String> {
    let name: Vec<char> = bare_file_name(given).trim().chars().collect();
    let end = &name[name.len().saturating_sub(FILE_NAME_CHARS_MAX)..];
    (!end.is_empty()).then(|| end.iter().collect())
}

/// A bulk action task as the store returns it. The wire form is in docs/api.md, "Task".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// UUID, version 7.
    pub id: String,
    pub action: Action,
    pub status: TaskStatus,
    pub outcome: Option<Outcome>,
    pub dry_run: bool,
    /// Whether an import replaces issues whose id it names; false of other actions.
    pub upsert: bool,
    pub counts: Counts,
    pub created_at: UnixMillis,
    pub queued_at: Option<UnixMillis>,
    pub started_at: Option<UnixMillis>,
    pub completed_at: Option<UnixMillis>,
    pub expires_at: Option<UnixMillis>,
    /// The task whose failed and unprocessed entries this one runs again, if this is a retry.
    pub parent_id: Option<String>,
    /// The task that runs the failed and unprocessed entries of this one again.
    pub retried_by: Option<String>,
    /// Of a dry run: the task that ran its payload for real.
    pub run_by: Option<String>,
    pub origin: TaskOrigin,
    /// Warnings in the result records.
    pub warnings: u32,
    /// While the task waits to start: the number of the domain's writing tasks before it.
    pub position: Option<u32>,
    /// Servers that died while they worked on the task, since an entry of it was committed.
    pub deaths: u32,
    /// While the task waits because a server died: when it is tried again.
    pub next_try_at: Option<UnixMillis>,
    /// The import whose file has the task's entries.
    pub import_id: Option<String>,
}

impl Task {
    /// Entries that a retry would run again.
    pub const fn retryable_entries(&self) -> u32 {
        self.counts.failed + self.counts.unprocessed
    }

    /// Percent of the entries processed, rounded down; 100 exactly from completion on.
    pub fn progress(&self) -> u32 {
        if self.status == TaskStatus::Completed {
            return 100;
        }
        let done = u64::from(self.counts.total - self.counts.unprocessed);
        let percent = done * 100 / u64::from(self.counts.total.max(1));
        (percent as u32).min(99)
    }

    /// Ends the task at `now`.
    pub const fn complete(&mut self, outcome: Outcome, now: UnixMillis) {
        self.status = TaskStatus::Completed;
        self.outcome = Some(outcome);
        self.completed_at = Some(now);
        self.next_try_at = None;
    }

    /// Panics if the task breaks one of its laws. Called before a task is stored.
    ///
    /// # Panics
    ///
    /// If the counts do not add up, or if status and outcome contradict each other.
    pub fn assert_lawful(&self) {
        assert!(self.counts.is_conserved(), "the counts of a task do not add up");
        assert_eq!(
            self.status == TaskStatus::Completed,
            self.outcome.is_some(),
            "a task has an outcome exactly when it is completed"
        );
    }

    /// The outcome of a task that has no entries left to process.
    pub const fn outcome_by_counts(counts: &Counts) -> Outcome {
        if counts.failed > 0 { Outcome::CompletedWithErrors } else { Outcome::Succeeded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_parse_back_to_their_value() {
        for action in Action::ALL {
            assert_eq!(Action::parse(action.as_str()), Some(*action));
            assert_eq!(Action::from_code(action.code()), Some(*action));
        }
        assert_eq!(Action::parse("Create_core_profiles"), None);
        assert_eq!(TaskStatus::from_code(9), None);
    }

    #[test]
    fn each_action_belongs_to_one_path() {
        let of_issues: Vec<_> = Action::of_family(Family::Issues).collect();
        assert_eq!(of_issues, [Action::ImportIssues, Action::DeleteIssues]);
        assert_eq!(Action::of_family(Family::Identity).count(), 8);
    }

    #[test]
    fn counts_add_up_after_every_chunk() {
        let counts = Counts::new(3).after_chunk(1, 1);
        assert_eq!(counts, Counts { total: 3, succeeded: 1, failed: 1, unprocessed: 1 });
        assert!(counts.is_conserved());
    }

    #[test]
    #[should_panic(expected = "more entries than its task has left")]
    fn a_chunk_with_more_entries_than_remain_panics() {
        let _ = Counts::new(1).after_chunk(1, 1);
    }

    #[test]
    fn a_file_name_has_no_folders_and_no_hidden_characters() {
        let long = format!("{}.csv", "x".repeat(FILE_NAME_CHARS_MAX));
        for (given, name) in [
            ("people.csv", Some("people.csv")),
            ("/home/ada/people.csv", Some("people.csv")),
            ("C:\\ada\\people.csv", Some("people.csv")),
            (" a\r\nb.csv ", Some("ab.csv")),
            ("a\u{202e}vsc.exe", Some("avsc.exe")),
            ("report..final.csv", Some("report..final.csv")),
            ("../..", None),
            ("people/", None),
            ("\0", None),
            (&long, Some(&long[4..])),
        ] {
            assert_eq!(file_name(given).as_deref(), name, "{given:?}");
        }
    }

    #[test]
    fn progress_reaches_100_only_at_completion() {
        let mut task = Task {
            id: String::new(),
            action: Action::CreateCoreProfiles,
            status: TaskStatus::Processing,
            outcome: None,
            dry_run: false,
            upsert: false,
            counts: Counts { total: 3, succeeded: 3, failed: 0, unprocessed: 0 },
            created_at: UnixMillis(0),
            queued_at: None,
            started_at: None,
            completed_at: None,
            expires_at: None,
            parent_id: None,
            retried_by: None,
            run_by: None,
            origin: TaskOrigin::default(),
            warnings: 0,
            position: None,
            deaths: 0,
            next_try_at: None,
            import_id: None,
        };
        assert_eq!(task.progress(), 99);
        task.status = TaskStatus::Completed;
        assert_eq!(task.progress(), 100);
    }
}
