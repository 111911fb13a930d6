//! SQL that both databases read the same. The rules have such a statement once, as text with
//! values, and a backend runs it. Statements that differ are methods of the traits that a backend
//! implements. Values have the places `?1`, `?2` and so on. A value is found in a list with
//! `= ANY (?1)`, and the larger of two values is `greatest`. A backend translates these three if
//! its database has another form. Invariant: a row that cannot be read is reported as damage.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::time::UnixMillis;

use crate::StoreError;

/// A value that a statement takes or a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    Null,
    /// A number of any size, an instant, or 0 or 1 for a truth value.
    Int(i64),
    Text(&'v str),
    Bytes(&'v [u8]),
    Ints(&'v [i64]),
    Texts(&'v [&'v str]),
    Blobs(&'v [&'v [u8]]),
}

/// A value that a [`Query`] owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedValue {
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A read of one statement as data. A rule that only reads with one statement returns it, so that a
/// backend may wait for the answer without a thread that blocks.
#[derive(Debug)]
pub struct Query<T> {
    pub sql: String,
    values: Vec<OwnedValue>,
    /// Reads a row of the answer.
    pub read: fn(&dyn Row) -> Result<T, StoreError>,
}

impl<T> Query<T> {
    pub fn new(
        sql: impl Into<String>,
        values: impl IntoIterator<Item = OwnedValue>,
        read: fn(&dyn Row) -> Result<T, StoreError>,
    ) -> Self {
        Self { sql: sql.into(), values: values.into_iter().collect(), read }
    }

    pub fn values(&self) -> Vec<Value<'_>> {
        self.values.iter().map(OwnedValue::borrowed).collect()
    }
}

impl OwnedValue {
    const fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text.as_str()),
            Self::Bytes(bytes) => Value::Bytes(bytes.as_slice()),
        }
    }
}

/// The values of a statement, in order.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::ToValue::to_value(&$value)),*] };
}

/// A transaction that runs statements.
pub trait Sql {
    /// Runs a statement; how many rows it changed.
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Has `read` read each row.
    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// All rows.
    fn list<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.each(sql, values, &mut |row| {
            rows.push(read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The answer to a query.
    fn ask<T>(&self, query: &Query<T>) -> Result<Vec<T>, StoreError> {
        self.list(&query.sql, &query.values(), query.read)
    }

    /// The row of a statement that has one row at most.
    fn find<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&dyn Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.list(sql, values, read)?.pop())
    }
}

/// A row of an answer.
pub trait Row {
    /// Text may come as bytes.
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError>;
}

impl dyn Row + '_ {
    /// The value of a column.
    pub fn get<'r, T: FromColumn<'r>>(&'r self, column: usize) -> Result<T, StoreError> {
        T::of(self.value(column)?).ok_or_else(|| {
            StoreError::Corrupt(format!("column {column} of a row has a value of another kind"))
        })
    }

    /// The word of the model that a column has under its number.
    pub fn word<T>(
        &self,
        column: usize,
        from_code: impl FnOnce(i64) -> Option<T>,
    ) -> Result<T, StoreError> {
        let code = self.get(column)?;
        from_code(code)
            .ok_or_else(|| StoreError::Corrupt(format!("{code} is not the number of a word")))
    }
}

/// A type that a column is read as.
pub trait FromColumn<'r>: Sized {
    /// `None` if the value is of another kind.
    fn of(value: Value<'r>) -> Option<Self>;
}

macro_rules! columns {
    ($($type:ty: $from:ty => $read:expr;)+) => {
        $(impl<'r> FromColumn<'r> for $type {
            fn of(value: Value<'r>) -> Option<Self> {
                <$from>::of(value).and_then($read)
            }
        })+
    };
}

columns! {
    u8: i64 => |number| number.try_into().ok();
    u32: i64 => |number| number.try_into().ok();
    u64: i64 => |number| number.try_into().ok();
    bool: i64 => |number| (0..=1).contains(&number).then_some(number == 1);
    UnixMillis: i64 => |at| Some(UnixMillis(at));
    DomainId: i64 => |id| Some(DomainId(id));
    Vec<u8>: &'r [u8] => |bytes| Some(bytes.to_vec());
    [u8; 32]: &'r [u8] => |bytes| bytes.try_into().ok();
    String: &'r [u8] => |bytes| Some(str::from_utf8(bytes).ok()?.to_owned());
    DomainName: String => |name| DomainName::parse(&name).ok();
}

impl<'r> FromColumn<'r> for i64 {
    fn of(value: Value<'r>) -> Option<Self> {
        if let Value::Int(number) = value { Some(number) } else { None }
    }
}

impl<'r> FromColumn<'r> for &'r [u8] {
    fn of(value: Value<'r>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl<'r, T: FromColumn<'r>> FromColumn<'r> for Option<T> {
    fn of(value: Value<'r>) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::of(value).map(Some) }
    }
}

/// A type that a statement takes as a value.
pub trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

macro_rules! to_value {
    ($($type:ty: $value:ident => $read:expr;)+) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                let $value = self;
                $read
            }
        })+
    };
}

to_value! {
    i64: number => Value::Int(*number);
    u32: number => Value::Int((*number).into());
    u64: number => Value::Int(number.cast_signed());
    bool: truth => Value::Int((*truth).into());
    UnixMillis: at => Value::Int(at.0);
    DomainId: domain => Value::Int(domain.0);
    str: text => Value::Text(text);
    String: text => Value::Text(text);
    [u8]: bytes => Value::Bytes(bytes);
    [u8; 32]: bytes => Value::Bytes(bytes);
    Vec<u8>: bytes => Value::Bytes(bytes);
    [i64]: numbers => Value::Ints(numbers);
    Vec<i64>: numbers => Value::Ints(numbers);
    [&str]: texts => Value::Texts(texts);
    Vec<&str>: texts => Value::Texts(texts);
    Vec<&[u8]>: blobs => Value::Blobs(blobs);
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

macro_rules! owned_value {
    ($($type:ty: $value:ident => $read:expr;)+) => {
        $(impl From<$type> for OwnedValue {
            fn from($value: $type) -> Self {
                $read
            }
        })+
    };
}

owned_value! {
    i64: number => Self::Int(number);
    u32: number => Self::Int(number.into());
    UnixMillis: at => Self::Int(at.0);
    DomainId: domain => Self::Int(domain.0);
    &str: text => Self::Text(text.to_owned());
    [u8; 32]: bytes => Self::Bytes(bytes.to_vec());
}
