//! Tests of the incremental form decoder: its rules as tables, and the law that the result does not
//! depend on where the body is cut and equals that of an independent encoder.

use proptest::prelude::*;

use super::{BrokenEscape, Decoder, FieldSink};

#[derive(Default)]
struct Fields(Vec<(String, Vec<u8>)>);

impl FieldSink for Fields {
    fn begin(&mut self, name: &str) {
        self.0.push((name.to_owned(), Vec::new()));
    }

    fn data(&mut self, bytes: &[u8]) {
        self.0.last_mut().expect("data follows a name").1.extend_from_slice(bytes);
    }

    fn end(&mut self) {}
}

fn decode(pieces: &[&[u8]]) -> Result<Vec<(String, Vec<u8>)>, BrokenEscape> {
    let (mut decoder, mut fields) = (Decoder::default(), Fields::default());
    for piece in pieces {
        decoder.push(piece, &mut fields)?;
    }
    decoder.finish(&mut fields)?;
    Ok(fields.0)
}

#[test]
fn forms_are_decoded_as_documented() {
    for (body, expected) in [
        ("", &[][..]),
        ("&&", &[]),
        ("a=1&b=2", &[("a", "1"), ("b", "2")]),
        ("a=1+2%2B%26%3d&b", &[("a", "1 2+&="), ("b", "")]),
        ("a=b=c&=d", &[("a", "b=c"), ("", "d")]),
        ("%61%3D=%C3%A4", &[("a=", "ä")]),
        ("a=", &[("a", "")]),
    ] {
        let expected: Vec<_> =
            expected.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        assert_eq!(decode(&[body.as_bytes()]), Ok(expected), "{body}");
    }
}

#[test]
fn broken_escapes_are_found_with_their_offset() {
    for (body, at) in [("a=%", 2), ("a=x%4", 3), ("%zz=1", 0), ("a=%4&b=1", 2), ("a=12%+1", 4)] {
        assert_eq!(decode(&[body.as_bytes()]), Err(BrokenEscape(at)), "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_output_of_another_encoder_is_decoded_wherever_it_is_cut(
        pairs in prop::collection::vec(("[a-z%&=+ ]{1,8}", ".{0,40}"), 0..4),
        cut in 1_usize..9,
    ) {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let pieces: Vec<&[u8]> = body.as_bytes().chunks(cut).collect();
        let expected: Vec<_> =
            pairs.iter().map(|(n, v)| (n.clone(), v.clone().into_bytes())).collect();
        prop_assert_eq!(decode(&pieces), Ok(expected));
    }
}
