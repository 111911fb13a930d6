//! `caseload openapi` is how `openapi.json` is made, so what it prints is that file, byte for byte.

use crate::common::Place;

#[test]
fn the_description_is_printed_as_it_is_committed() {
    let printed = Place::new().good(&["openapi"]);
    assert!(printed == include_str!("../../../../openapi.json"), "openapi.json is out of date");
}
