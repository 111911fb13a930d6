//! The numbered migrations of a backend, and which of them a store lacks. The first one makes the
//! table `caseload_migrations`, in which a store records those that it contains, each with a digest
//! of its text. Every opening of a store brings it up to date; a [`StoreState`] is from before.
//! A released migration is never edited: the stores that contain it would not open.

use crate::{StoreError, checksum, values};

/// Selects the digests of the migrations that a store contains, in their order.
pub const RECORDED: &str = "SELECT digest FROM caseload_migrations ORDER BY version";

/// The version of a store next to that of this program. A version is a number of migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// None if no release wrote the store.
    pub store: Option<usize>,
    pub program: usize,
}

/// A store as it is before this program opens it.
#[derive(Debug, Clone)]
pub struct StoreState {
    pub versions: Versions,
    /// Servers that use it, as far as can be seen.
    pub servers: u64,
    /// Bytes of its file and its log, or of its database.
    pub bytes: u64,
    /// Bytes that it may still take; unknown of a database.
    pub free_bytes: Option<u64>,
}

impl Versions {
    /// Compares `known`, all migrations of this program, with `recorded`, the digests of those that
    /// a store contains. A store of a build before 0.1.0 has no record of them.
    pub fn of(known: &[&str], recorded: Option<&[i64]>) -> Self {
        let is_same = |(text, recorded): (&&str, &i64)| digest(text) == *recorded;
        let recorded = recorded.filter(|recorded| known.iter().zip(*recorded).all(is_same));
        Self { store: recorded.map(<[i64]>::len), program: known.len() }
    }

    /// Why this program cannot open the store, if it cannot. `name` names the store.
    pub fn refusal(self, name: &str) -> Option<StoreError> {
        let (reason, hint) = match self.store {
            None => (
                "a build before 0.1.0 wrote it, and no release can read it".to_owned(),
                "export its data with that build, and import the files into a new store",
            ),
            Some(version) if version > self.program => (
                format!(
                    "a newer caseload has upgraded it to version {version}, and caseload {} knows \
                     versions up to {}",
                    env!("CARGO_PKG_VERSION"),
                    self.program
                ),
                "start the caseload that upgraded it, or a later one. To return to this one, \
                 restore a backup from before the upgrade",
            ),
            Some(_) => return None,
        };
        let (store, hint) = (name.to_owned(), Some(hint.to_owned()));
        Some(StoreError::NotOpened { store, reason, hint })
    }
}

/// The statements that bring a store up to date, for one transaction: those of the `known`
/// migrations that it lacks. `name` names the store in an error.
pub fn missing(
    known: &[&str],
    recorded: Option<&[i64]>,
    name: &str,
) -> Result<Vec<String>, StoreError> {
    let versions = Versions::of(known, recorded);
    if let Some(refusal) = versions.refusal(name) {
        return Err(refusal);
    }
    let missing = (1..).zip(known).skip(versions.store.unwrap_or_default());
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
        let all = missing(&known, Some(&[]), "here").unwrap();
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
        let lacking =
            |contained: &[&str]| missing(&known, Some(&recorded(contained)), "here").unwrap();
        assert_eq!(lacking(&known[..1]), all[4..]);
        assert!(lacking(&known).is_empty());
    }

    #[test]
    fn a_store_with_other_migrations_is_refused() {
        for (contained, version, reason) in [
            (Some(&[FIRST, SECOND][..]), Some(2), "upgraded it to version 2"),
            (Some(&[SECOND]), None, "a build before 0.1.0"),
            (Some(&[SECOND, FIRST]), None, "a build before 0.1.0"),
            (None, None, "a build before 0.1.0"),
        ] {
            let recorded = contained.map(recorded);
            let versions = Versions::of(&[FIRST], recorded.as_deref());
            assert_eq!(versions, Versions { store: version, program: 1 }, "{contained:?}");
            let refused = missing(&[FIRST], recorded.as_deref(), "here").unwrap_err();
            assert!(refused.to_string().contains(reason), "{contained:?}: {refused}");
        }
    }
}
