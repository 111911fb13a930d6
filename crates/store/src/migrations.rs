//! The numbered migrations of a backend, and which of them a store lacks. The first one makes the
//! table `caseload_migrations`, in which a store records those that it contains, each with a digest
//! of its text. A released migration is never edited: the stores that contain it would not open.

use crate::{StoreError, checksum, values};

/// Selects the digests of the migrations that a store contains, in their order.
pub const RECORDED: &str = "SELECT digest FROM caseload_migrations ORDER BY version";

/// The statements that bring a store up to date, for one transaction. `known` are all migrations,
/// `recorded` the digests of those that the store contains. `store` names it in an error.
pub fn missing(known: &[&str], recorded: &[i64], store: &str) -> Result<Vec<String>, StoreError> {
    if known.iter().zip(recorded).any(|(text, recorded)| digest(text) != *recorded) {
        return Err(unreleased(store));
    }
    if recorded.len() > known.len() {
        return Err(StoreError::NotOpened {
            store: store.to_owned(),
            reason: "it holds a newer version of the store than this program knows".to_owned(),
            hint: Some("use the version of caseload that wrote it, or a later one".to_owned()),
        });
    }
    let missing = (1..).zip(known).skip(recorded.len());
    Ok(missing.flat_map(|(version, text)| statements(version, text)).collect())
}

/// The statements of a migration, and the one that records it. Each ends at the end of a line.
fn statements(version: u32, text: &str) -> impl Iterator<Item = String> {
    let record = format!("INSERT INTO caseload_migrations VALUES ({version}, {})", digest(text));
    text.split_inclusive(";\n").map(str::to_owned).chain([record])
}

fn digest(text: &str) -> i64 {
    checksum::of(values![text])
}

/// The refusal of a store whose tables are those of no release.
pub fn unreleased(store: &str) -> StoreError {
    StoreError::NotOpened {
        store: store.to_owned(),
        reason: "it was written by a build before 0.1.0, which this version cannot read".to_owned(),
        hint: Some("export its data with that build, and import it into a new store".to_owned()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    const FIRST: &str =
        "-- Two;\n-- lines.\nCREATE TABLE a (b BIGINT);\n\nCREATE INDEX c ON a (b);\n";
    const SECOND: &str = "ALTER TABLE a ADD COLUMN d BIGINT;\n";

    fn recorded(migrations: &[&str]) -> Vec<i64> {
        migrations.iter().map(|text| digest(text)).collect()
    }

    #[test]
    fn a_store_gets_the_statements_that_it_lacks_one_by_one() {
        let known = [FIRST, SECOND];
        let all = missing(&known, &[], "here").unwrap();
        let shown: Vec<_> = all.iter().map(|statement| statement.trim()).collect();
        let [
            _,
            "-- lines.\nCREATE TABLE a (b BIGINT);",
            "CREATE INDEX c ON a (b);",
            first,
            rest @ ..,
        ] = &shown[..]
        else {
            panic!("{shown:?}")
        };
        assert!(first.contains("VALUES (1, "), "{first}");
        assert_eq!(rest[0], SECOND.trim());
        assert!(rest[1].contains("VALUES (2, "), "{rest:?}");
        assert_eq!(missing(&known, &recorded(&known[..1]), "here").unwrap(), all[4..]);
        assert!(missing(&known, &recorded(&known), "here").unwrap().is_empty());
    }

    #[test]
    fn a_store_with_other_migrations_is_refused() {
        for (contained, reason) in [
            (&[FIRST, SECOND][..], "a newer version"),
            (&[SECOND], "a build before 0.1.0"),
            (&[SECOND, FIRST], "a build before 0.1.0"),
        ] {
            let refused = missing(&[FIRST], &recorded(contained), "here").unwrap_err();
            assert!(refused.to_string().contains(reason), "{contained:?}: {refused}");
        }
    }
}
