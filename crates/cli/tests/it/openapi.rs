//! `caseload openapi` prints the committed `openapi.json`, byte for byte.

use crate::common::Workdir;

#[test]
fn the_description_is_printed_as_it_is_committed() {
    let printed = Workdir::new().good(&["openapi"]);
    assert!(printed == include_str!("../../../../openapi.json"), "openapi.json is out of date");
}
