//! Named views: the address of a list of the console under a name, for all keys of a domain or for
//! one key. Here are the requests that make or change a view, with all of their faults. A server
//! stores the query as it is and never runs it, so that this module does not know its parameters.
//! Invariant: [`query_values`] reads every query that a request may have.

use crate::error_code::ErrorCode;
use crate::parameters::{ParameterFault, Parameters};

/// The longest name, in code points.
pub const VIEW_NAME_CHARS_MAX: usize = 80;
/// The longest query.
pub const VIEW_QUERY_BYTES_MAX: usize = 4096;
/// Any query, as a regular expression.
pub const VIEW_QUERY_PATTERN: &str = r#"^([!"$&->@-~]|%[0-9A-Fa-f]{2})*$"#;
/// Any name, as a regular expression.
pub const VIEW_NAME_PATTERN: &str =
    r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$";
/// Most views that a domain shares with all of its keys.
pub const DOMAIN_VIEWS_MAX: u64 = 200;
/// Most views of one key.
pub const KEY_VIEWS_MAX: u64 = 50;

/// The fields of a new view.
pub const VIEW_FIELDS: [&str; 4] = ["name", "list", "query", "scope"];
/// The fields of an edit.
pub const VIEW_EDIT_FIELDS: [&str; 2] = ["name", "query"];

/// The list of the console that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewList {
    Issues,
    People,
    Imports,
}

impl ViewList {
    pub const ALL: &'static [Self] = &[Self::Issues, Self::People, Self::Imports];

    /// The number under which stores have the list.
    pub const fn code(self) -> u64 {
        match self {
            Self::Issues => 1,
            Self::People => 2,
            Self::Imports => 3,
        }
    }

    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|list| list.code() == code)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::People => "people",
            Self::Imports => "imports",
        }
    }
}

/// Who has a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewScope {
    /// All keys of the domain.
    Domain,
    /// The key that made it, and the key that replaces that one.
    Key,
}

impl ViewScope {
    pub const ALL: &'static [Self] = &[Self::Domain, Self::Key];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Key => "key",
        }
    }
}

/// A view as a caller asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewView {
    pub name: String,
    pub list: ViewList,
    pub query: String,
    pub scope: ViewScope,
}

impl NewView {
    /// Reads the form of a new view, which has every field.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, Vec<ParameterFault>> {
        let mut fields = Parameters::new(pairs, &VIEW_FIELDS);
        for name in VIEW_FIELDS {
            if fields.get(name).is_none() {
                fields.fault(name, ErrorCode::MissingField, format!("{name} is required"));
            }
        }
        let (name, query) = (name(&mut fields), query(&mut fields));
        let list = fields.word("list", &words_of(ViewList::ALL, ViewList::as_str));
        let scope = fields.word("scope", &words_of(ViewScope::ALL, ViewScope::as_str));
        match (name, list, query, scope) {
            (Some(name), Some(list), Some(query), Some(scope)) if fields.faults.is_empty() => {
                Ok(Self { name, list, query, scope })
            }
            _ => Err(fields.faults),
        }
    }
}

/// A change of a view; a field that is not there stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewEdit {
    pub name: Option<String>,
    pub query: Option<String>,
}

impl ViewEdit {
    pub fn read(pairs: &[(String, String)]) -> Result<Self, Vec<ParameterFault>> {
        let mut fields = Parameters::new(pairs, &VIEW_EDIT_FIELDS);
        let edit = Self { name: name(&mut fields), query: query(&mut fields) };
        if fields.faults.is_empty() { Ok(edit) } else { Err(fields.faults) }
    }
}

fn words_of<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> Vec<(&'static str, T)> {
    all.iter().map(|word| (text(*word), *word)).collect()
}

fn name(fields: &mut Parameters<'_>) -> Option<String> {
    let (spelled, text) = fields.get("name")?;
    let is_short = text.chars().count() <= VIEW_NAME_CHARS_MAX;
    if is_short && !text.trim().is_empty() && !text.chars().any(char::is_control) {
        return Some(text.to_owned());
    }
    let detail = format!(
        "{spelled} has 1 to {VIEW_NAME_CHARS_MAX} characters, one of them not blank, and no \
         control characters"
    );
    fields.fault(spelled, ErrorCode::InvalidValue, detail);
    None
}

fn query(fields: &mut Parameters<'_>) -> Option<String> {
    let (spelled, text) = fields.get("query")?;
    let detail = if text.len() > VIEW_QUERY_BYTES_MAX {
        format!("{spelled} has at most {VIEW_QUERY_BYTES_MAX} bytes, not {}", text.len())
    } else if text.starts_with('?') {
        format!("{spelled} is the part of an address after the question mark; leave the mark out")
    } else if !is_query(text) {
        format!(
            "{spelled} is not the query of an address, such as state=new&tags=gold: blanks, #, ? \
             and characters beyond ASCII are percent-encoded, and % is written as %25"
        )
    } else {
        return Some(text.to_owned());
    };
    fields.fault(spelled, ErrorCode::InvalidValue, detail);
    None
}

/// Whether [`VIEW_QUERY_PATTERN`] matches.
fn is_query(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"#?".contains(&byte);
    text.bytes().all(is_plain) && decoded(text).is_some()
}

/// The names and values of a query, decoded. A part without `=` is a value without a name.
pub fn query_values(query: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or(("", pair)));
    pairs.filter_map(|(name, value)| Some((decoded(name)?, decoded(value)?)))
}

/// The text without percent-encoding, with `+` as a blank; `None` for a broken escape.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (hex, after) = rest.split_at_checked(2)?;
                let is_hex = hex.iter().all(u8::is_ascii_hexdigit);
                let hex = std::str::from_utf8(hex).ok().filter(|_| is_hex)?;
                bytes.push(u8::from_str_radix(hex, 16).ok()?);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn faults<T>(read: Result<T, Vec<ParameterFault>>) -> Vec<(String, ErrorCode)> {
        let faults = read.err().unwrap_or_default();
        faults.into_iter().map(|fault| (fault.parameter, fault.code)).collect()
    }

    #[test]
    fn a_view_has_every_field_and_no_other() {
        let all = [("name", "Ängry"), ("list", "issues"), ("query", "state=new"), ("scope", "key")];
        let view = NewView::read(&pairs(&all)).unwrap();
        assert_eq!((&*view.name, &*view.query), ("Ängry", "state=new"));
        assert_eq!((view.list, view.scope), (ViewList::Issues, ViewScope::Key));
        for (n, (missing, _)) in all.iter().enumerate() {
            let mut some = all.to_vec();
            some.remove(n);
            let wanted = [((*missing).to_owned(), ErrorCode::MissingField)];
            assert_eq!(faults(NewView::read(&pairs(&some))), wanted);
        }
        let wrong = [("name", ""), ("list", "tasks"), ("query", "?a"), ("scope", "all"), ("x", "")];
        let mut named: Vec<_> = faults(NewView::read(&pairs(&wrong))).into_iter().collect();
        named.sort_by(|one, other| one.0.cmp(&other.0));
        let named: Vec<_> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, ["list", "name", "query", "scope", "x"]);
        let edit = [("list", "people"), ("scope", "key")];
        assert_eq!(faults(ViewEdit::read(&pairs(&edit))).len(), 2, "they never change");
        assert_eq!(ViewEdit::read(&[]), Ok(ViewEdit::default()));
    }

    #[test]
    fn names_and_queries_have_limits() {
        let long = |text: &str, count: usize| text.repeat(count);
        for (name, fits) in [
            (long("ä", VIEW_NAME_CHARS_MAX), true),
            (long("ä", VIEW_NAME_CHARS_MAX + 1), false),
            (" ".to_owned(), false),
            ("a\nb".to_owned(), false),
            ("a\u{7f}".to_owned(), false),
        ] {
            assert_eq!(ViewEdit::read(&pairs(&[("name", &name)])).is_ok(), fits, "{name:?}");
        }
        for (query, fits) in [
            (String::new(), true),
            ("state=new&tags=gold,a+b&text=%C3%A4%25".to_owned(), true),
            ("fields={\"a\":[1]}".to_owned(), true),
            (long("a", VIEW_QUERY_BYTES_MAX), true),
            (long("a", VIEW_QUERY_BYTES_MAX + 1), false),
            ("?state=new".to_owned(), false),
            ("state=new#top".to_owned(), false),
            ("text=a b".to_owned(), false),
            ("text=ä".to_owned(), false),
            ("text=a?".to_owned(), false),
            ("text=%4".to_owned(), false),
            ("text=%zz".to_owned(), false),
            ("text=a\u{0}".to_owned(), false),
        ] {
            assert_eq!(ViewEdit::read(&pairs(&[("query", &query)])).is_ok(), fits, "{query:?}");
        }
    }

    #[test]
    fn a_query_is_read_as_names_and_values() {
        let read: Vec<_> = query_values("author=ada%40x&text=a+b=c&word").collect();
        let wanted = [("author", "ada@x"), ("text", "a b=c"), ("", "word")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
