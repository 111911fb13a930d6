//! The path to a value within a JSON text, as links on the stack while the text is checked. Most
//! values are good, so a path becomes an RFC 6901 pointer only if a fault needs it.

use super::pointer_push;

/// The path to a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValuePath<'p> {
    /// The whole text.
    Root,
    /// The value under a key of a map.
    Key(&'p ValuePath<'p>, &'p str),
    /// An element of an array.
    Item(&'p ValuePath<'p>, usize),
}

impl<'p> ValuePath<'p> {
    /// The value under `key` of the whole text, which is a map.
    pub(crate) const fn field(key: &'p str) -> Self {
        Self::Key(&ValuePath::Root, key)
    }

    pub(crate) const fn key(&'p self, key: &'p str) -> Self {
        Self::Key(self, key)
    }

    pub(crate) const fn item(&'p self, index: usize) -> Self {
        Self::Item(self, index)
    }

    pub(crate) fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => pointer_push(&parent.pointer(), key),
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }

    /// The pointer, unless its keys make it longer than `bytes_max`. Escapes do not count.
    pub(crate) fn pointer_within(&self, bytes_max: usize) -> Option<String> {
        match self {
            Self::Root => Some(String::new()),
            Self::Key(parent, key) => {
                let before = parent.pointer_within(bytes_max)?;
                (before.len() + key.len() <= bytes_max).then(|| pointer_push(&before, key))
            }
            Self::Item(parent, index) => {
                Some(format!("{}/{index}", parent.pointer_within(bytes_max)?))
            }
        }
    }
}
