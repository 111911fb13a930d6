//! How hard the cases attack. A brief attack shows that a defence is there, on any machine; a long
//! one shows how much the defence holds, and is judged by times, too.

/// How hard the cases attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// For the test command: small numbers, and no judgement of times.
    Brief,
    Long,
}

impl Scale {
    pub(crate) const fn of(self, brief: usize, long: usize) -> usize {
        match self {
            Self::Brief => brief,
            Self::Long => long,
        }
    }
}
