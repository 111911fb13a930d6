//! The flag that says which of the two kinds of profiles a command works on.

use caseload_client::ProfileKind;
use clap::Args;

/// Which of the two kinds of profiles a command works on.
#[derive(Debug, Args)]
pub(super) struct KindArg {
    /// App profiles instead of core profiles
    #[arg(long)]
    pub(super) app: bool,
}

impl KindArg {
    pub(super) const fn kind(&self) -> ProfileKind {
        if self.app { ProfileKind::App } else { ProfileKind::Core }
    }

    /// Words for one and for several profiles of the kind.
    pub(super) const fn nouns(&self) -> (&'static str, &'static str) {
        if self.app { ("app profile", "app profiles") } else { ("core profile", "core profiles") }
    }
}
