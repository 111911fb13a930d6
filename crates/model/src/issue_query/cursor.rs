//! The token from which a cursor list continues: the position of the last issue, the order, and a
//! digest of the query and the domain. The token holds all of its state, so any server accepts it
//! at any time and no server stores anything. It is neither a secret nor a permission: a forged
//! token reads only records that its caller may read anyway. Invariant: a token that differs from
//! all issued tokens is rejected.
//!
//! Layout of version 1, big-endian, as base64url without padding: version 1, order 1, page number
//! 4, instant 8, id, scope 8, checksum 6. The id of an issue has 8 bytes (36 bytes in all, 48
//! characters); [`CursorId`] says how other records write theirs.

use std::fmt::Debug;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::{IssueQuery, Sort, SortKey, SortOrder};
use crate::ids::{DomainId, ISSUE_ID_MAX};
use crate::time::UnixMillis;

/// The layout described above. A change of it increments the version.
const VERSION: u8 = 1;
/// The bytes before the id, and those of the scope and the checksum after it.
const HEAD_BYTES: usize = 14;
const SCOPE_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 6;

/// A position in an ordered list, given by a record: the instant that it is sorted by, and its id.
/// The record may have been deleted since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPosition<Id = u64> {
    pub at: UnixMillis,
    pub id: Id,
}

/// The id of a record that a cursor may name.
pub trait CursorId: Sized {
    /// Appends the bytes of the id.
    fn write(&self, out: &mut Vec<u8>);
    /// The id with these bytes; `None` if no record can have it.
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl CursorId for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let id = Self::from_be_bytes(bytes.try_into().ok()?);
        (id <= ISSUE_ID_MAX).then_some(id)
    }
}

/// The list that a cursor belongs to: a digest of the domain and the query with every filter that
/// is given. The spelling and order of the parameters, the view and the page size do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorScope([u8; 8]);

impl CursorScope {
    pub fn of(domain: DomainId, query: &IssueQuery) -> Self {
        Self::digest(&format!("{} issues {}{:?}", domain.0, query.text_of_filters(), query.sort))
    }

    /// The list of profiles that a query describes.
    pub(crate) fn of_profiles(domain: DomainId, query: &impl Debug) -> Self {
        Self::digest(&format!("{} profiles {query:?}", domain.0))
    }

    /// The list of this name within an issue.
    pub(super) fn of_issue(domain: DomainId, issue_id: u64, list: &str) -> Self {
        Self::digest(&format!("{} issue {issue_id} {list}", domain.0))
    }

    fn digest(list: &str) -> Self {
        let digest = Sha256::digest(list);
        let mut scope = [0; 8];
        scope.copy_from_slice(&digest[..8]);
        Self(scope)
    }
}

/// The content of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor<Id = u64> {
    pub scope: CursorScope,
    pub sort: Sort,
    /// The last record that was delivered.
    pub after: ListPosition<Id>,
    /// Pages delivered so far, counted from the beginning. The next page has the number after
    /// it.
    pub pages: u32,
}

/// A text that is not a token, or not an intact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedCursor;

impl<Id: CursorId> Cursor<Id> {
    /// The token.
    pub fn encode(&self) -> String {
        let order = self.sort.key.code() << 4 | self.sort.order.code();
        let mut bytes = vec![VERSION, order as u8];
        bytes.extend_from_slice(&self.pages.to_be_bytes());
        bytes.extend_from_slice(&self.after.at.0.to_be_bytes());
        self.after.id.write(&mut bytes);
        bytes.extend_from_slice(&self.scope.0);
        bytes.extend_from_slice(&checksum(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token.
    pub fn decode(token: &str) -> Result<Self, DamagedCursor> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| DamagedCursor)?;
        Self::of_bytes(&bytes).ok_or(DamagedCursor)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        let (body, scope) = body.split_last_chunk::<SCOPE_BYTES>()?;
        let (head, id) = body.split_at_checked(HEAD_BYTES)?;
        let intact = *sum == checksum(&bytes[..bytes.len() - CHECKSUM_BYTES]);
        if !intact || head[0] != VERSION {
            return None;
        }
        let order = i64::from(head[1]);
        let sort = Sort {
            key: SortKey::from_code(order >> 4)?,
            order: SortOrder::from_code(order & 0xf)?,
        };
        let at = UnixMillis(i64::from_be_bytes(*head.last_chunk()?));
        let pages = u32::from_be_bytes(*head[2..].first_chunk()?);
        let after = ListPosition { at, id: Id::read(id)? };
        Some(Self { scope: CursorScope(*scope), sort, after, pages })
    }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut checksum = [0; CHECKSUM_BYTES];
    checksum.copy_from_slice(&Sha256::digest(body)[..CHECKSUM_BYTES]);
    checksum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue_query::ISSUE_FILTERS;
    use proptest::prelude::*;

    fn cursors() -> impl Strategy<Value = Cursor> {
        let key = proptest::sample::select(SortKey::ALL);
        let order = proptest::sample::select(SortOrder::ALL);
        (key, order, any::<u32>(), any::<i64>(), 0..=ISSUE_ID_MAX, any::<[u8; 8]>()).prop_map(
            |(key, order, pages, at, id, scope)| Cursor {
                scope: CursorScope(scope),
                sort: Sort { key, order },
                after: ListPosition { at: UnixMillis(at), id },
                pages,
            },
        )
    }

    proptest! {
        #[test]
        fn a_token_decodes_to_the_cursor_that_it_was_made_from(cursor in cursors()) {
            let token = cursor.encode();
            prop_assert_eq!(token.len(), 48);
            prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
            prop_assert_eq!(Cursor::<u64>::decode(&token), Ok(cursor));
        }

        #[test]
        fn a_token_with_any_bit_flipped_is_rejected(cursor in cursors()) {
            let token = cursor.encode();
            for bit in 0..token.len() * 8 {
                let mut bytes = token.clone().into_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                if let Ok(text) = String::from_utf8(bytes) {
                    prop_assert_eq!(Cursor::<u64>::decode(&text), Err(DamagedCursor), "{}", text);
                }
            }
            let bytes = URL_SAFE_NO_PAD.decode(&token).expect("base64url");
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let text = URL_SAFE_NO_PAD.encode(bytes);
                prop_assert_eq!(Cursor::<u64>::decode(&text), Err(DamagedCursor));
            }
        }

        #[test]
        fn a_shortened_or_lengthened_token_is_rejected(cursor in cursors(), more in "[ -~]{1,5}") {
            let token = cursor.encode();
            for end in 0..token.len() {
                prop_assert_eq!(Cursor::<u64>::decode(&token[..end]), Err(DamagedCursor));
            }
            prop_assert_eq!(Cursor::<u64>::decode(&format!("{token}{more}")), Err(DamagedCursor));
            prop_assert_eq!(Cursor::<u64>::decode(&format!("{more}{token}")), Err(DamagedCursor));
        }

        #[test]
        fn random_text_is_not_a_token(text in "\\PC{0,60}") {
            prop_assert_eq!(Cursor::<u64>::decode(&text), Err(DamagedCursor));
        }
    }

    #[test]
    fn the_layout_of_version_1_stays_as_clients_hold_it() {
        let cursor = Cursor {
            scope: CursorScope(*b"\x01\x02\x03\x04\x05\x06\x07\x08"),
            sort: Sort { key: SortKey::UpdateTime, order: SortOrder::Ascending },
            after: ListPosition { at: UnixMillis(1_672_539_706_000), id: 42 },
            pages: 7,
        };
        let token = "ATEAAAAHAAABhWsikpAAAAAAAAAAKgECAwQFBgcI8Jh8dMzy";
        assert_eq!(cursor.encode(), token);
    }

    #[test]
    fn each_filter_order_and_domain_has_its_own_scope() {
        let parse = |name: &str, value: &str| {
            let pairs = [(name.to_owned(), value.to_owned())];
            crate::issue_query::parse_list(&pairs).expect("good parameters").query
        };
        let mut queries = vec![
            IssueQuery::default(),
            parse("state", "new,resolved"),
            parse("sort-order", "asc"),
            parse("sort-by", "state-change-time"),
        ];
        for filter in ISSUE_FILTERS {
            let query = parse(filter.name, filter.example);
            let given: Vec<_> = query.filters().map(|filter| filter.name).collect();
            assert_eq!(given, [filter.name]);
            queries.push(query);
        }
        for (n, a) in queries.iter().enumerate() {
            for (m, b) in queries.iter().enumerate() {
                let same = CursorScope::of(DomainId(1), a) == CursorScope::of(DomainId(1), b);
                assert_eq!(same, n == m, "{a:?} {b:?}");
            }
            assert_ne!(CursorScope::of(DomainId(1), a), CursorScope::of(DomainId(2), a));
        }
        for (a, b) in [
            (parse("state", "resolved,new"), parse("state", "[\"new\",\"resolved\"]")),
            (parse("created-since", "1"), parse("created_since", "1")),
            (parse("page-size", "7"), parse("includes", "[\"meta\"]")),
        ] {
            assert_eq!(CursorScope::of(DomainId(1), &a), CursorScope::of(DomainId(1), &b));
        }
    }

    /// The scope is a digest of names and of `Debug` forms: renaming a filter or the type of its
    /// value would void cursors that clients hold.
    #[test]
    fn the_names_and_values_of_filters_stay_as_cursors_have_them() {
        let pairs = [
            ("created-since", "1"),
            ("state", "new,resolved"),
            ("ids", "[28]"),
            ("tags", "{\"or\":[\"a\"],\"exists\":true}"),
            ("custom-fields", "{\"number\":{\"and\":{\"n\":{\"is_greater_than\":-1.50}}}}"),
            ("feedback-rating", "{\"exists\":true}"),
            ("sort-by", "update-time"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = crate::issue_query::parse_list(&pairs).expect("good parameters").query;
        let expected = concat!(
            r#"[("created-since", Some(UnixMillis(1))), ("state", Some([New, Resolved])), "#,
            r#"("ids", Some([28])), ("tags", Condition { and: [], or: Some(["a"]), nor: [], "#,
            r#"exists: Some(true) }), ("custom-fields", [FieldFilter { field_type: Number, "#,
            r#"and: [FieldTests { key: "n", tests: [Compare(Greater, Decimal { "#,
            r#"negative: true, digits: [49, 53], exponent: 1 })] }], or: None }]), "#,
            r#"("feedback-rating", Some(RatingSet(62)))]"#,
        );
        assert_eq!(query.text_of_filters(), expected);
    }
}
