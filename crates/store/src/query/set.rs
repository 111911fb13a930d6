//! Sets of issues, or of core profiles, as expressions: the rows of a term, a range of terms or a
//! list of ids, combined by and, or, not. An expression knows its leaves, so a backend can fetch
//! all of them at once or one by one while the expression is evaluated. Complements are never
//! built: a result is a set, or the rows that are missing from a set.

use caseload_model::issue::{TermKind, TermRange};
use roaring::RoaringBitmap;

/// A question that an index of terms or ids answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// The issues that have at least one of these terms.
    Term { kind: TermKind, values: Vec<Vec<u8>> },
    /// The issues with a term in at least one of these ranges.
    Ranges(Vec<TermRange>),
    /// The issues with these ids.
    Ids(Vec<u64>),
    /// The rows that may contain this text, by the text index. Some of these may be gone.
    Text(String),
}

/// A set of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    Leaf(Leaf),
    /// The issues that are in each of these; every issue if there is none.
    And(Vec<Self>),
    /// The issues that are in one of these; none if there is none.
    Or(Vec<Self>),
    Not(Box<Self>),
}

impl Set {
    pub(super) const EVERY: Self = Self::And(Vec::new());
    pub(super) const NONE: Self = Self::Or(Vec::new());

    /// The issues that have at least one of these terms.
    pub(crate) fn any(kind: TermKind, values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self::Leaf(Leaf::Term { kind, values: values.into_iter().collect() })
    }

    pub(crate) fn term(kind: TermKind, value: impl Into<Vec<u8>>) -> Self {
        Self::any(kind, [value.into()])
    }

    pub(crate) fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// The set, or the issues outside of it.
    pub(crate) fn only_if(self, inside: bool) -> Self {
        if inside { self } else { self.not() }
    }

    /// Whether the text index is asked for it.
    pub(super) fn has_text(&self) -> bool {
        self.leaves().iter().any(|leaf| matches!(leaf, Leaf::Text(_)))
    }

    /// Whether evaluation gives the rows that the set lacks. It follows from the form alone.
    pub(crate) fn is_complement(&self) -> bool {
        match self {
            Self::Leaf(_) => false,
            Self::And(sets) => sets.iter().all(Self::is_complement),
            Self::Or(sets) => sets.iter().any(Self::is_complement),
            Self::Not(set) => !set.is_complement(),
        }
    }

    /// Every leaf, in the order in which [`Set::eval`] asks for them.
    pub fn leaves(&self) -> Vec<&Leaf> {
        fn add<'s>(set: &'s Set, leaves: &mut Vec<&'s Leaf>) {
            match set {
                Set::Leaf(leaf) => leaves.push(leaf),
                Set::And(sets) | Set::Or(sets) => sets.iter().for_each(|set| add(set, leaves)),
                Set::Not(set) => add(set, leaves),
            }
        }
        let mut leaves = Vec::new();
        add(self, &mut leaves);
        leaves
    }

    /// Evaluates the set from the answers to its leaves. Once a conjunction is known to be empty,
    /// its remaining leaves are not asked for.
    pub fn eval<E, A>(&self, answer: &mut A) -> Result<Rows, E>
    where
        A: FnMut(&Leaf) -> Result<RoaringBitmap, E>,
    {
        match self {
            Self::Leaf(leaf) => answer(leaf).map(Rows::In),
            Self::And(sets) => {
                let mut found = Rows::NotIn(RoaringBitmap::new());
                for set in sets {
                    if matches!(&found, Rows::In(rows) if rows.is_empty()) {
                        break;
                    }
                    found = found.and(set.eval(answer)?);
                }
                Ok(found)
            }
            Self::Or(sets) => {
                let mut found = Rows::In(RoaringBitmap::new());
                for set in sets {
                    found = found.or(set.eval(answer)?);
                }
                Ok(found)
            }
            Self::Not(set) => set.eval(answer).map(Rows::not),
        }
    }
}

/// The leaves of a set with their answers, fetched before the set is evaluated.
#[derive(Debug)]
pub struct Answers<'s> {
    leaves: Vec<&'s Leaf>,
    rows: Vec<RoaringBitmap>,
}

impl<'s> Answers<'s> {
    /// `rows` are the answers to `leaves`, in their order.
    pub fn new(leaves: Vec<&'s Leaf>, rows: Vec<RoaringBitmap>) -> Self {
        assert_eq!(leaves.len(), rows.len(), "each leaf has an answer");
        Self { leaves, rows }
    }

    /// Takes out the answer to a leaf of the set.
    pub fn take(&mut self, leaf: &Leaf) -> RoaringBitmap {
        // By address: two leaves that ask the same are answered twice.
        let at = self.leaves.iter().position(|known| std::ptr::eq(*known, leaf));
        at.map(|at| std::mem::take(&mut self.rows[at])).unwrap_or_default()
    }
}

/// Rows as evaluation finds them.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    In(RoaringBitmap),
    /// Every row but these.
    NotIn(RoaringBitmap),
}

impl Rows {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::In(a), Self::In(b)) => Self::In(a & b),
            (Self::In(a), Self::NotIn(b)) | (Self::NotIn(b), Self::In(a)) => Self::In(a - b),
            (Self::NotIn(a), Self::NotIn(b)) => Self::NotIn(a | b),
        }
    }

    #[must_use]
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::In(a), Self::In(b)) => Self::In(a | b),
            (Self::In(a), Self::NotIn(b)) | (Self::NotIn(b), Self::In(a)) => Self::NotIn(b - a),
            (Self::NotIn(a), Self::NotIn(b)) => Self::NotIn(a & b),
        }
    }

    #[must_use]
    fn not(self) -> Self {
        match self {
            Self::In(rows) => Self::NotIn(rows),
            Self::NotIn(rows) => Self::In(rows),
        }
    }
}
