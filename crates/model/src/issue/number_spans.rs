//! Spans of the numbers of a custom field. Numbers whose sortable forms begin with the same bits
//! are in one span; spans of fewer bits hold those of more. Ranges of them are in `number_ranges`.

/// Leading bits of the sortable form that numbers of a span share: those of sign and exponent and
/// of the first digit, of the first two, and of the first four.
pub(super) const SPAN_BITS: [u32; 3] = [20, 24, 32];

/// The bytes of a number's term that name its field, and the others.
pub(super) fn split(term: &[u8]) -> (&[u8], &[u8]) {
    let field = 2 + term.get(1).map_or(0, |length| usize::from(*length));
    term.split_at(field.min(term.len()))
}

/// The first bits of a number's sortable form.
pub(super) fn first_bits(sortable: &[u8]) -> u32 {
    let mut first = [0; 4];
    first.iter_mut().zip(sortable).for_each(|(first, byte)| *first = *byte);
    u32::from_be_bytes(first)
}

/// The term value of a span: the field, the number of bits, and the bits.
pub(super) fn span_term(field: &[u8], bits: u32, span: u64) -> Vec<u8> {
    let mut term = field.to_vec();
    term.push(bits as u8);
    term.extend_from_slice(&span.to_be_bytes()[3..]);
    term
}

/// Passes the term values of the spans to `visit` that a number is in. `term` is the number's.
pub(super) fn visit_number_spans(term: &[u8], mut visit: impl FnMut(&[u8])) {
    let (field, sortable) = split(term);
    let first = first_bits(sortable);
    for bits in SPAN_BITS {
        visit(&span_term(field, bits, (first >> (u32::BITS - bits)).into()));
    }
}
