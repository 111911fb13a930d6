//! The columns of a list as a table: a column is the path of a member of the record, with dots
//! between its steps. This module chooses columns, of issues and, by [`ColumnSet`], of any other
//! records; it reads no records.

use super::IssueView;
use crate::error_code::ErrorCode;
use crate::json::Json;
use crate::parameters::Parameters;

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 200;
/// The columns of a table whose caller names none: every member, so that an import of the table
/// finds each issue unchanged.
pub const COLUMNS_DEFAULT: [&str; 32] = [
    "id",
    "title",
    "state_data.state",
    "state_data.changed_at",
    "created_at",
    "updated_at",
    "original_created_at",
    "tags",
    "language",
    "platform_type",
    "domain",
    "app_id",
    "app_publish_id",
    "author_name",
    "author_email",
    "hs_user_id",
    "assignee_id",
    "assignee_name",
    "issue_mode_data.issue_mode",
    "redacted",
    "cc",
    "queue",
    "feedback_rating",
    "feedback_comment",
    "current_predict_label",
    "original_predict_label",
    "custom_fields",
    "meta",
    "sentiment_analysis",
    "smart_intents",
    "private_notes",
    MESSAGES,
];
const MESSAGES: &str = "messages";

/// The members of one kind of record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnSet {
    /// The record, as error messages name it.
    pub(crate) noun: &'static str,
    pub(crate) members: &'static [(&'static str, Inside)],
    /// Members of maps, for an error message.
    pub(crate) examples: &'static str,
}

/// The steps that a member may be followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// The member is not a map.
    Nothing,
    /// The member is a map with these keys.
    Keys(&'static [&'static str]),
    /// The member is a map with any keys.
    AnyKeys,
}

pub(super) const ISSUE_COLUMNS: ColumnSet = ColumnSet {
    noun: "an issue",
    members: &MEMBERS,
    examples: "state_data.state, custom_fields.plan and meta.browser",
};

/// The members of an issue.
const MEMBERS: [(&str, Inside); 31] = [
    ("id", Inside::Nothing),
    ("title", Inside::Nothing),
    ("tags", Inside::Nothing),
    ("app_id", Inside::Nothing),
    ("app_publish_id", Inside::Nothing),
    ("domain", Inside::Nothing),
    ("hs_user_id", Inside::Nothing),
    ("author_name", Inside::Nothing),
    ("author_email", Inside::Nothing),
    ("assignee_id", Inside::Nothing),
    ("assignee_name", Inside::Nothing),
    ("redacted", Inside::Nothing),
    ("state_data", Inside::Keys(&["state", "changed_at"])),
    ("created_at", Inside::Nothing),
    ("original_created_at", Inside::Nothing),
    ("updated_at", Inside::Nothing),
    ("language", Inside::Nothing),
    ("platform_type", Inside::Nothing),
    ("issue_mode_data", Inside::Keys(&["issue_mode"])),
    ("cc", Inside::Nothing),
    (MESSAGES, Inside::Nothing),
    ("meta", Inside::AnyKeys),
    ("custom_fields", Inside::AnyKeys),
    ("feedback_rating", Inside::Nothing),
    ("feedback_comment", Inside::Nothing),
    ("queue", Inside::Keys(&["id", "name"])),
    ("private_notes", Inside::Nothing),
    ("current_predict_label", Inside::Nothing),
    ("original_predict_label", Inside::Nothing),
    ("sentiment_analysis", Inside::AnyKeys),
    ("smart_intents", Inside::AnyKeys),
];

/// A regular expression of the columns that an issue can have.
pub fn columns_pattern() -> String {
    ISSUE_COLUMNS.pattern()
}

impl ColumnSet {
    /// A regular expression of the columns that a record can have.
    pub(crate) fn pattern(&self) -> String {
        let path = |(member, inside): &(&str, Inside)| match inside {
            Inside::Nothing => (*member).to_owned(),
            Inside::Keys(keys) => format!("{member}(\\.({}))?", keys.join("|")),
            Inside::AnyKeys => format!("{member}(\\..+)?"),
        };
        let paths: Vec<_> = self.members.iter().map(path).collect();
        format!("^({})$", paths.join("|"))
    }

    /// Reads the parameter `columns`. `None` if it is not given or faulty.
    pub(crate) fn read(&self, parameters: &mut Parameters<'_>) -> Option<Vec<String>> {
        let expected = "a list of columns such as id,title,custom_fields.plan";
        let text = |item: &Json<'_>| item.as_str().map(str::to_owned);
        let columns = parameters.list("columns", expected, text)?;
        let (spelled, _) = parameters.get("columns")?;
        let mut faults = Vec::new();
        if columns.is_empty() || columns.len() > COLUMNS_MAX {
            let count = columns.len();
            faults.push(format!("a table has 1 to {COLUMNS_MAX} columns, not {count}"));
        }
        for (n, column) in columns.iter().enumerate() {
            if columns[..n].contains(column) {
                faults.push(format!("the column {} is named twice", shown(column)));
            } else if let Err(fault) = self.check(column) {
                faults.push(fault);
            }
        }
        let is_good = faults.is_empty();
        for fault in faults {
            parameters.fault(spelled, ErrorCode::InvalidValue, fault);
        }
        is_good.then_some(columns)
    }

    /// Why a column cannot be shown.
    fn check(&self, column: &str) -> Result<(), String> {
        let (member, rest) = split(column);
        let Some((_, inside)) = self.members.iter().find(|(known, _)| *known == member) else {
            let known: Vec<&str> = self.members.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "{} is not a member of {}; accepted: {}, and members of maps such as {}",
                shown(column),
                self.noun,
                known.join(", "),
                self.examples
            ));
        };
        match (rest, inside) {
            (None, _) => Ok(()),
            (Some(rest), Inside::AnyKeys) if !rest.is_empty() => Ok(()),
            (Some(rest), Inside::Keys(keys)) if keys.contains(&rest) => Ok(()),
            (Some(_), Inside::Keys(keys)) => {
                Err(format!("{} is not there; {member} has: {}", shown(column), keys.join(", ")))
            }
            (Some(_), Inside::AnyKeys) => {
                Err(format!("{} ends with a dot; name a member of {member}", shown(column)))
            }
            (Some(_), Inside::Nothing) => {
                Err(format!("{} is not there: {member} is not a map", shown(column)))
            }
        }
    }
}

/// The first step of a path, and the rest.
fn split(column: &str) -> (&str, Option<&str>) {
    column.split_once('.').map_or((column, None), |(member, rest)| (member, Some(rest)))
}

/// The beginning of a column, in quotes.
fn shown(column: &str) -> String {
    let start: String = column.chars().take(100).collect();
    format!("{start:?}")
}

/// The default columns. A view without messages has no column of them.
pub(super) fn default_columns(view: &IssueView) -> Vec<String> {
    let columns = COLUMNS_DEFAULT.into_iter();
    let shown = columns.filter(|column| !(view.exclude_messages && *column == MESSAGES));
    shown.map(str::to_owned).collect()
}

/// The view with the members that these columns need, and no others.
pub(super) fn view_of(columns: &[String], view: &IssueView) -> IssueView {
    let has = |members: &[&str]| columns.iter().any(|column| members.contains(&split(column).0));
    IssueView {
        custom_fields: has(&["custom_fields"]),
        feedback: has(&["feedback_rating", "feedback_comment"]),
        private_notes: has(&["private_notes"]),
        queue: has(&["queue"]),
        predict_labels: has(&["current_predict_label", "original_predict_label"]),
        sentiment_analysis: has(&["sentiment_analysis"]),
        smart_intents: has(&["smart_intents"]),
        exclude_messages: !has(&[MESSAGES]),
        timestamps: view.timestamps,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use crate::issue_query::parse_list;

    fn columns(value: &str) -> Result<Option<Vec<String>>, Vec<String>> {
        match parse_list(&[("columns".to_owned(), value.to_owned())]) {
            Ok(request) => Ok(request.columns),
            Err(faults) => Err(faults.into_iter().map(|fault| fault.detail).collect()),
        }
    }

    #[test]
    fn columns_are_read_as_a_list_in_their_order() {
        for value in ["title,id,meta.a.b", r#"["title","id","meta.a.b"]"#] {
            let expected = ["title", "id", "meta.a.b"].map(str::to_owned).to_vec();
            assert_eq!(columns(value), Ok(Some(expected)), "{value}");
        }
        for column in COLUMNS_DEFAULT.into_iter().chain(MEMBERS.map(|(member, _)| member)) {
            assert_eq!(columns(column), Ok(Some(vec![column.to_owned()])));
        }
    }

    #[test]
    fn every_column_that_cannot_be_shown_is_a_fault() {
        let faults = columns("id,titel,id,title.x,state_data.x,meta.").unwrap_err();
        assert_eq!(faults.len(), 5, "{faults:#?}");
        assert!(faults[0].starts_with("\"titel\" is not a member of an issue; accepted: id, "));
        assert_eq!(faults[1], "the column \"id\" is named twice");
        assert_eq!(faults[2], "\"title.x\" is not there: title is not a map");
        let keys = "\"state_data.x\" is not there; state_data has: state, changed_at";
        assert_eq!(faults[3], keys);
        assert_eq!(faults[4], "\"meta.\" ends with a dot; name a member of meta");
        assert_eq!(columns("[]").unwrap_err(), ["a table has 1 to 200 columns, not 0"]);
        let many: Vec<_> = (0..201).map(|n| format!("meta.{n}")).collect();
        let faults = columns(&many.join(",")).unwrap_err();
        assert_eq!(faults, ["a table has 1 to 200 columns, not 201"]);
    }

    #[test]
    fn a_table_reads_the_members_of_its_columns_only() {
        let pairs = [("columns", "feedback_comment,meta"), ("includes", r#"["queue"]"#)];
        let request = parse_list(&pairs.map(|(n, v)| (n.to_owned(), v.to_owned()))).unwrap();
        let (columns, view) = request.table();
        assert_eq!(columns, ["feedback_comment", "meta"]);
        let expected = IssueView { feedback: true, exclude_messages: true, ..IssueView::default() };
        assert_eq!(view, expected);
    }

    #[test]
    fn every_member_has_a_column_by_default() {
        let shown = |column: &str, member: &str| split(column).0 == member;
        for (member, inside) in MEMBERS {
            let columns: Vec<_> =
                COLUMNS_DEFAULT.into_iter().filter(|column| shown(column, member)).collect();
            match inside {
                Inside::Keys(keys) if columns != [member] => assert_eq!(columns.len(), keys.len()),
                _ => assert_eq!(columns, [member]),
            }
        }
        let (columns, view) = parse_list(&[]).unwrap().table();
        assert_eq!(columns, COLUMNS_DEFAULT);
        assert!(view.custom_fields && view.private_notes && !view.exclude_messages);
        let excludes = [("excludes".to_owned(), "messages".to_owned())];
        let (columns, view) = parse_list(&excludes).unwrap().table();
        assert_eq!(columns, COLUMNS_DEFAULT[..31]);
        assert!(view.exclude_messages);
    }
}
