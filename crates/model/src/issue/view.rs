//! The view of an issue: which parts a caller wants to see, and how instants are written. The
//! parameters that say so are read in `issue_query`.

/// How instants of issues, messages and notes are written. `state_data.changed_at` is always Unix
/// milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimestampFormat {
    /// As stored: integer Unix milliseconds.
    #[default]
    Unix,
    /// `2023-01-01T02:21:46.000Z`.
    Iso8601,
}

/// The parts of an issue that are shown in addition to those that always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one flag per word of `includes`")]
pub struct IssueView {
    pub custom_fields: bool,
    pub feedback: bool,
    pub private_notes: bool,
    pub queue: bool,
    pub predict_labels: bool,
    pub sentiment_analysis: bool,
    pub smart_intents: bool,
    /// Leaves out `messages`.
    pub exclude_messages: bool,
    pub timestamps: TimestampFormat,
}

impl IssueView {
    /// Every part: the shape in which issues are exported and imported.
    pub const FULL: Self = Self {
        custom_fields: true,
        feedback: true,
        private_notes: true,
        queue: true,
        predict_labels: true,
        sentiment_analysis: true,
        smart_intents: true,
        exclude_messages: false,
        timestamps: TimestampFormat::Unix,
    };
}
