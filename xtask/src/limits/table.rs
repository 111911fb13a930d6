//! The table of figures: sentences of the pages with the constants that their figures come from,
//! and the figures that come from elsewhere. A changed constant or sentence changes its line here.

use super::figures::Figure;

/// Sentences and the sources of their figures.
pub(super) const FIGURES: &[Figure] = &[];

/// Figures that are not constants of the code: measurements, examples and rules of others.
pub(super) const OTHERS: &[(&str, &str)] = &[];
