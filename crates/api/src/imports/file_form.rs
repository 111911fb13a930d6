//! How a file was read, as the store has it: JSON text that this module alone writes and reads.
//! Invariant: a text that it cannot read costs the record its format, and never the answer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caseload_model::import::Import;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::file_reader::{self, Rejects};

/// How a file was read, and the numbers that a retry or a run needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileForm {
    pub(super) format: FileFormat,
    pub(super) columns: ColumnMap,
    /// The first row of a table as it was, for its rejects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    /// The digest of the file with its options, in base64.
    #[serde(default)]
    digest: String,
    /// The numbers of the tasks in the file, if some of them are left out.
    #[serde(default)]
    parts: PartNumbers,
}

/// The format of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFormat {
    /// `jsonl`, `json`, `csv` or `xlsx`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) encoding: Option<String>,
    /// Of the cells of a table.
    pub(crate) delimiter: Option<String>,
    /// Of a workbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sheet: Option<String>,
}

/// The columns of a table in their order, each with its field; null if it is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub(crate) struct ColumnMap(pub(crate) Vec<(String, Option<String>)>);

impl Serialize for ColumnMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, field) in &self.0 {
            map.serialize_entry(name, field)?;
        }
        map.end()
    }
}

impl From<Map<String, Value>> for ColumnMap {
    fn from(map: Map<String, Value>) -> Self {
        let field = |value: Value| value.as_str().map(str::to_owned);
        Self(map.into_iter().map(|(name, value)| (name, field(value))).collect())
    }
}

/// The numbers of the tasks of an import in its file. Without a list, they are 0, 1, 2 ….
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartNumbers(Vec<u32>);

impl PartNumbers {
    pub(super) fn new(numbers: Vec<u32>) -> Self {
        let is_whole = numbers.iter().zip(0..).all(|(number, at)| *number == at);
        Self(if is_whole { Vec::new() } else { numbers })
    }

    /// The number of the task at a position.
    pub(crate) fn number(&self, at: usize) -> u32 {
        self.0.get(at).copied().unwrap_or(at as u32)
    }
}

impl From<file_reader::FileFormat> for FileFormat {
    fn from(format: file_reader::FileFormat) -> Self {
        let file_reader::FileFormat { file_type, encoding, delimiter, sheet } = format;
        Self {
            kind: file_type.as_str().to_owned(),
            encoding: Some(encoding),
            delimiter: delimiter.map(|byte| char::from(byte).to_string()),
            sheet,
        }
    }
}

impl FileForm {
    /// That of a file that was read as a whole.
    pub(super) fn new(
        format: FileFormat,
        columns: Vec<(String, Option<String>)>,
        header: Option<String>,
    ) -> Self {
        Self { format, columns: ColumnMap(columns), header, ..Self::default() }
    }

    /// That of an import.
    pub(crate) fn of(import: &Import) -> Self {
        serde_json::from_str(&import.file).unwrap_or_else(|error| {
            tracing::error!(%error, import = import.id, "the form of a file cannot be read");
            Self::default()
        })
    }

    /// How the rejects of a table are written; `None` if the file was JSON.
    pub(crate) fn rejects(self) -> Option<Rejects> {
        let FileFormat { encoding, delimiter, .. } = self.format;
        let delimiter = *delimiter?.as_bytes().first()?;
        let is_utf_8 = encoding.is_none_or(|encoding| encoding == "utf-8");
        Some(Rejects { delimiter, is_utf_8, header: self.header? })
    }

    pub(crate) fn part_numbers(self) -> PartNumbers {
        self.parts
    }

    pub(super) fn with_parts(self, numbers: Vec<u32>) -> Self {
        Self { parts: PartNumbers::new(numbers), ..self }
    }

    pub(super) fn with_digest(self, digest: &[u8; 32]) -> Self {
        Self { digest: URL_SAFE_NO_PAD.encode(digest), ..self }
    }

    pub(super) fn digest(&self) -> Option<[u8; 32]> {
        URL_SAFE_NO_PAD.decode(&self.digest).ok()?.try_into().ok()
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("the form of a file is rendered as JSON")
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_file_is_read_as_it_was_written() {
        let columns = [("E-mail", Some("identities.email")), ("Plan", None), ("#3", Some("age"))];
        let columns = columns.map(|(name, field)| (name.to_owned(), field.map(str::to_owned)));
        let format = FileFormat { kind: "csv".to_owned(), ..FileFormat::default() };
        let form = FileForm::new(format, columns.to_vec(), Some("E-mail;Plan;\r\n".to_owned()));
        let form = form.with_digest(&[7; 32]);
        assert_eq!(form.digest(), Some([7; 32]));
        for (numbers, third) in [(vec![0, 1, 2], 2), (vec![0, 7, 9], 9), (Vec::new(), 2)] {
            let form = form.clone().with_parts(numbers);
            let read: FileForm = serde_json::from_str(&form.text()).unwrap();
            assert_eq!(read, form);
            assert_eq!(read.part_numbers().number(2), third);
        }
    }
}
