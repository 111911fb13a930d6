//! The receipt of an erasure: numbers and ids of the erased records, without any identity.

use super::person::{Person, write_ids};
use crate::time::UnixMillis;

/// How much an erasure removed or changed. Of a dry run: how much it would.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasureCounts {
    pub core_profiles: u64,
    pub app_profiles: u64,
    pub issues: u64,
    pub messages: u64,
    pub attachments: u64,
    /// Entries of stored payloads.
    pub entries: u64,
    /// Results and errors of tasks.
    pub records: u64,
}

impl ErasureCounts {
    /// The numbers in the order of the fields.
    pub fn numbers(&self) -> [u64; 7] {
        self.named().map(|(_, count)| count)
    }

    pub const fn of_numbers(numbers: [u64; 7]) -> Self {
        let [core_profiles, app_profiles, issues, messages, attachments, entries, records] =
            numbers;
        Self { core_profiles, app_profiles, issues, messages, attachments, entries, records }
    }

    fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("core_profiles", self.core_profiles),
            ("app_profiles", self.app_profiles),
            ("issues", self.issues),
            ("messages", self.messages),
            ("attachments", self.attachments),
            ("entries", self.entries),
            ("records", self.records),
        ]
    }
}

/// The result of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureReceipt<'p> {
    pub counts: ErasureCounts,
    /// Its identities are not in the receipt.
    pub person: &'p Person,
    /// `None` of a dry run.
    pub erased_at: Option<UnixMillis>,
}

impl ErasureReceipt<'_> {
    /// Appends the receipt as a JSON map.
    pub fn write(&self, out: &mut Vec<u8>) {
        let counts = self.counts.named().map(|(name, count)| format!("\"{name}\":{count}"));
        out.extend_from_slice(format!("{{\"counts\":{{{}}}", counts.join(",")).as_bytes());
        write_ids(self.person, out);
        let at = self.erased_at.map_or_else(|| "null".to_owned(), |at| at.0.to_string());
        out.extend_from_slice(format!(",\"erased_at\":{at}}}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CoreProfileId, IdentityKey};
    use crate::profile::IdentityType;

    #[test]
    fn a_receipt_has_counts_and_ids_and_no_identity() {
        let person = Person {
            identities: [IdentityKey::new(IdentityType::Email, "ada@example.org")].into(),
            core_profile_ids: [CoreProfileId(7)].into(),
            pids: ["p\"1".to_owned(), "p2".to_owned()].into(),
            issue_ids: [3, 12].into(),
        };
        let counts = ErasureCounts { core_profiles: 1, records: 9, ..ErasureCounts::default() };
        for (at, shown) in [(Some(UnixMillis(1000)), "1000"), (None, "null")] {
            let mut out = Vec::new();
            ErasureReceipt { counts, person: &person, erased_at: at }.write(&mut out);
            let expected = format!(
                concat!(
                    r#"{{"counts":{{"core_profiles":1,"app_profiles":0,"issues":0,"messages":0,"#,
                    r#""attachments":0,"entries":0,"records":9}},"core_profile_ids":["7"],"#,
                    r#""pids":["p\"1","p2"],"issue_ids":[3,12],"erased_at":{}}}"#
                ),
                shown
            );
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
