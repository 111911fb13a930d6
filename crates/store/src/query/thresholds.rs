//! Sizes at which one way of answering a query becomes cheaper than another. They change no answer.
//! Tests set them low, so that small data takes every way.

/// The thresholds between ways of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// From this offset on, the counters say in which day the page begins.
    pub seek_offset_min: u64,
    /// Up to this many issues are sorted by themselves; of more, the days are walked.
    pub sorted_max: u64,
    /// Up to this many issues, reading their instants is cheaper than reading the sets of a span.
    pub instants_max: u64,
    /// A short span whose days have at most this many issues is read before any other filter.
    pub short_span_issues_max: u64,
    /// From this many issues on, a backend may use further readers to search their texts.
    pub shared_search_min: usize,
}

impl Thresholds {
    pub const USUAL: Self = Self {
        seek_offset_min: 1000,
        sorted_max: 500,
        instants_max: 300,
        short_span_issues_max: 20_000,
        shared_search_min: 2048,
    };
}
