//! The validated entries of a chunk. One table names the actions with the types that their entries
//! are validated into; every method that treats all actions alike is made from it.

use std::ops::Range;

use caseload_model::erasure::{Erasure, prepare_erasures};
use caseload_model::ids::{CoreProfileId, DomainName};
use caseload_model::issue::{DeskAddresses, NewIssue, prepare_imports_of, prepare_issue_deletes};
use caseload_model::notes::add_notes;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::{
    AppPatch, CorePatch, CoreTarget, NewCoreProfile, Placeholders, prepare_app_deletes,
    prepare_app_gets, prepare_app_updates, prepare_core_deletes, prepare_core_gets,
    prepare_core_patches, prepare_creates,
};
use caseload_model::record::{EntryWarning, PreparedEntry, Rejection};
use caseload_model::task::Action;

/// What validation knows of the domain of a task.
#[derive(Debug, Clone)]
pub struct EntryContext {
    pub domain: DomainName,
    /// The addresses that an import fills into messages of the desk.
    pub addresses: DeskAddresses,
    /// The words that are nobody's identity.
    pub placeholders: Placeholders,
}

/// The actions, each with the type that its entries are validated into.
macro_rules! chunk_work {
    ($($action:ident: $item:ty;)+) => {
        /// Validated entries; one variant for each action.
        #[derive(Debug, Clone)]
        pub enum ChunkWork {
            $($action(Vec<PreparedEntry<$item>>),)+
        }

        impl ChunkWork {
            /// The action whose entries these are.
            pub const fn action(&self) -> Action {
                match self {
                    $(Self::$action(_) => Action::$action,)+
                }
            }

            /// Number of entries.
            pub const fn len(&self) -> usize {
                match self {
                    $(Self::$action(entries) => entries.len(),)+
                }
            }

            /// The entry at a position, as the payload has it.
            pub fn entry(&self, at: usize) -> &Entry {
                match self {
                    $(Self::$action(entries) => &entries[at].entry,)+
                }
            }

            /// Adds the notes of the reader of a file.
            fn add_notes(&mut self, block: &Block) {
                match self {
                    $(Self::$action(entries) => add_notes(Action::$action, block, entries),)+
                }
            }

            /// Why validation rejected the entry at a position, unless it did not, and its
            /// warnings.
            pub fn findings(&self, at: usize) -> (Option<&Rejection>, &[EntryWarning]) {
                match self {
                    $(Self::$action(entries) => {
                        let PreparedEntry { item, warnings, .. } = &entries[at];
                        (item.as_ref().err(), warnings)
                    })+
                }
            }

            /// A part of the entries.
            #[must_use]
            pub fn part(&self, range: Range<usize>) -> Self {
                match self {
                    $(Self::$action(entries) => Self::$action(entries[range].to_vec()),)+
                }
            }

            /// Makes an error of the entry at a position.
            pub fn reject(&mut self, at: usize, why: Rejection) {
                match self {
                    $(Self::$action(entries) => entries[at].item = Err(why),)+
                }
            }

            /// An entry that is an error without being read.
            pub fn rejected(action: Action, entry: Entry, why: Rejection) -> Self {
                match action {
                    $(Action::$action => {
                        let warnings = Vec::new();
                        Self::$action(vec![PreparedEntry { entry, item: Err(why), warnings }])
                    })+
                }
            }
        }
    };
}

chunk_work! {
    CreateCoreProfiles: NewCoreProfile;
    UpdateCoreProfiles: CorePatch;
    UpsertCoreProfiles: CorePatch;
    DeleteCoreProfiles: CoreTarget;
    UpdateAppProfiles: AppPatch;
    DeleteAppProfiles: String;
    GetCoreProfiles: CoreProfileId;
    GetAppProfiles: String;
    ImportIssues: NewIssue;
    DeleteIssues: u64;
    ErasePerson: Erasure;
}

impl ChunkWork {
    /// Validates every entry of a block by the rules of its action, and adds the notes of the
    /// reader of its file.
    pub fn prepare(action: Action, context: &EntryContext, block: &Block) -> Self {
        let mut work = Self::validate(action, context, block);
        if !block.notes.is_empty() {
            work.add_notes(block);
        }
        work
    }

    fn validate(action: Action, context: &EntryContext, block: &Block) -> Self {
        let EntryContext { domain, addresses, placeholders } = context;
        match action {
            Action::CreateCoreProfiles => {
                Self::CreateCoreProfiles(prepare_creates(block, placeholders))
            }
            Action::UpdateCoreProfiles => {
                Self::UpdateCoreProfiles(prepare_core_patches(action, block, placeholders))
            }
            Action::UpsertCoreProfiles => {
                Self::UpsertCoreProfiles(prepare_core_patches(action, block, placeholders))
            }
            Action::DeleteCoreProfiles => {
                Self::DeleteCoreProfiles(prepare_core_deletes(block, placeholders))
            }
            Action::UpdateAppProfiles => Self::UpdateAppProfiles(prepare_app_updates(block)),
            Action::DeleteAppProfiles => Self::DeleteAppProfiles(prepare_app_deletes(block)),
            Action::GetCoreProfiles => Self::GetCoreProfiles(prepare_core_gets(block)),
            Action::GetAppProfiles => Self::GetAppProfiles(prepare_app_gets(block)),
            Action::ImportIssues => {
                Self::ImportIssues(prepare_imports_of(domain, addresses, block))
            }
            Action::DeleteIssues => Self::DeleteIssues(prepare_issue_deletes(block)),
            Action::ErasePerson => Self::ErasePerson(prepare_erasures(block)),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
