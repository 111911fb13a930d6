//! A batch of rows on the way from one store to another, with the position after its last row. All
//! cells share one buffer, so that a hundred thousand small values do not need as many allocations.
//! Only the source can interpret a position; all others treat it as bytes. Invariant: a batch
//! contains whole rows.

/// The bytes or rows after which a batch ends. The default is some tens of milliseconds of work:
/// large enough that the cost of a commit is small, and small enough that two batches fit into
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyBatch {
    pub bytes: usize,
    pub rows: usize,
}

impl Default for CopyBatch {
    fn default() -> Self {
        Self { bytes: 16 << 20, rows: 50_000 }
    }
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Bytes(&'a [u8]),
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Bytes { start: usize, len: usize },
}

/// A batch of rows of one table.
#[derive(Debug, Default)]
pub struct Rows {
    width: usize,
    cells: Vec<Cell>,
    bytes: Vec<u8>,
    /// The position at which the next batch begins; `None` in the last batch.
    pub next: Option<Vec<u8>>,
}

impl Rows {
    /// An empty batch of rows with `width` values each.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Integer(number) => Cell::Integer(number),
            Value::Bytes(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Cell::Bytes { start, len: bytes.len() }
            }
        };
        self.cells.push(cell);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all values, including numbers.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len() + size_of::<i64>() * self.cells.len()
    }

    /// Whether the batch has reached its limit.
    pub fn fills(&self, batch: CopyBatch) -> bool {
        self.bytes.len() >= batch.bytes || self.len() >= batch.rows
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.cells.chunks_exact(self.width.max(1)).map(|cells| Row { cells, bytes: &self.bytes })
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    cells: &'a [Cell],
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// The value in a column.
    pub fn value(&self, place: usize) -> Value<'a> {
        match self.cells[place] {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::Integer(number),
            Cell::Bytes { start, len } => Value::Bytes(&self.bytes[start..start + len]),
        }
    }

    /// The number in a column; 0 if the value is not a number.
    pub fn integer(&self, place: usize) -> i64 {
        match self.cells[place] {
            Cell::Integer(number) => number,
            _ => 0,
        }
    }

    pub fn values(&self) -> impl Iterator<Item = Value<'a>> {
        let row = *self;
        (0..self.cells.len()).map(move |place| row.value(place))
    }
}

/// Encodes values as bytes.
pub fn encode<'a>(values: impl IntoIterator<Item = Value<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        match value {
            Value::Null => bytes.push(0),
            Value::Integer(number) => {
                bytes.push(1);
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            Value::Bytes(text) => {
                bytes.push(2);
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(text);
            }
        }
    }
    bytes
}

/// Decodes the bytes of [`encode`]; `None` for any other bytes.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Value<'_>>> {
    let mut values = Vec::new();
    while let Some((tag, rest)) = bytes.split_first() {
        let (value, rest) = match tag {
            0 => (Value::Null, rest),
            1 => {
                let (number, rest) = rest.split_first_chunk::<8>()?;
                (Value::Integer(i64::from_le_bytes(*number)), rest)
            }
            2 => {
                let (len, rest) = rest.split_first_chunk::<8>()?;
                let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
                let (text, rest) = rest.split_at_checked(len)?;
                (Value::Bytes(text), rest)
            }
            _ => return None,
        };
        values.push(value);
        bytes = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_position_survives_encoding_and_decoding(
            numbers in proptest::collection::vec(any::<Option<i64>>(), 0..4),
            text in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let of = |number: &Option<i64>| number.map_or(Value::Null, Value::Integer);
            let mut values: Vec<_> = numbers.iter().map(of).collect();
            values.push(Value::Bytes(&text));
            let bytes = encode(values.iter().copied());
            prop_assert_eq!(decode(&bytes), Some(values));
            prop_assert_eq!(decode(&bytes[..bytes.len() - 1]).is_some_and(|v| v.len() > 4), false);
        }
    }

    #[test]
    fn a_batch_returns_its_rows() {
        let mut rows = Rows::new(2);
        for value in [Value::Integer(-1), Value::Bytes(b"a"), Value::Null, Value::Bytes(b"")] {
            rows.push(value);
        }
        let read: Vec<Vec<Value<'_>>> = rows.iter().map(|row| row.values().collect()).collect();
        let expected =
            [vec![Value::Integer(-1), Value::Bytes(b"a")], vec![Value::Null, Value::Bytes(b"")]];
        assert_eq!(read, expected);
    }
}
