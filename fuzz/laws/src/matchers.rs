//! Filters on texts and custom fields, in the form that tests very many stored issues, and their
//! naive meaning. The first line is a query, the others are issues to import: for each of them the
//! fast matchers agree with the naive meaning of the query.

use std::collections::HashMap;

use caseload_api::test_support::query_pairs;
use caseload_model::issue_query::{
    Condition, FieldMatcher, IssueQuery, SearchableIssue, TextMatcher, TextSource, parse_list,
};
use caseload_model::task::Family;

use crate::entries::blocks_of;
use crate::imported::records;

pub(crate) fn holds(data: &[u8]) {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(Ok(pairs)) = std::str::from_utf8(line).map(query_pairs) else { return };
    let Ok(request) = parse_list(&pairs) else { return };
    let query = request.query;
    let mut texts = [
        (TextSource::Title, &query.title),
        (TextSource::Messages, &query.messages),
        (TextSource::Notes, &query.notes),
        (TextSource::FeedbackComment, &query.feedback_comment),
    ]
    .map(|(place, condition)| (place, alone(place, condition), TextMatcher::new(place, condition)));
    let fields = FieldMatcher::new(&query.custom_fields);
    let of_fields =
        IssueQuery { custom_fields: query.custom_fields.clone(), ..IssueQuery::default() };
    let agent_emails = &HashMap::new();
    for block in blocks_of(data.get(line.len() + 1..).unwrap_or_default(), Family::Issues) {
        for record in records(&block) {
            let fragments = record.fragments();
            let issue = SearchableIssue { columns: &record.columns, fragments, agent_emails };
            for (place, query, matcher) in &mut texts {
                let fragment = match place {
                    TextSource::Title => Some(fragments.head),
                    TextSource::Messages => Some(fragments.messages),
                    TextSource::Notes => fragments.private_notes,
                    TextSource::FeedbackComment => fragments.feedback,
                };
                assert_eq!(matcher.holds(fragment), query.matches(&issue), "{place:?}: {query:?}");
            }
            let found = fields.holds(fragments.custom_fields);
            assert_eq!(found, of_fields.matches(&issue), "{of_fields:?}");
        }
    }
}

/// The query that has one condition only.
fn alone(place: TextSource, condition: &Condition) -> IssueQuery {
    let (mut query, condition) = (IssueQuery::default(), condition.clone());
    match place {
        TextSource::Title => query.title = condition,
        TextSource::Messages => query.messages = condition,
        TextSource::Notes => query.notes = condition,
        TextSource::FeedbackComment => query.feedback_comment = condition,
    }
    query
}
