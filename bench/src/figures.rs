//! The arithmetic of the tables: the median of a row of measurements, and counts as figures that
//! can be divided.

/// The middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A count as a figure to divide.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}
