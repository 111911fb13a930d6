//! Translates faults of the database to those of the contract. Temporary faults (no connection, a
//! server that restarts, fails over or is a standby) become `Unreachable`, or `NodeAway` if they
//! are those of one node of a cluster. A deadlock or a serialization failure becomes `Contended`;
//! the engine retries it and callers never see it. An expected conflict violates a unique
//! constraint.

use tokio_postgres::error::{DbError, Error, SqlState};

use caseload_store::StoreError;

/// Classes of error codes: connection faults, a server that starts or stops, insufficient
/// resources.
const CONNECTION: &str = "08";
const INTERVENTION: &str = "57";
const RESOURCES: &str = "53";
/// Classes of codes for statements that the database refuses because of their values: data
/// exceptions, violated constraints, exceeded limits, functions that raise an exception.
const VALUES: [&str; 4] = ["22", "23", "54", "P0"];
/// Stored data is damaged.
const DAMAGED: [SqlState; 2] = [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED];
/// Two transactions that cannot both continue.
const CONTENDED: [SqlState; 2] =
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];

/// Translates a fault of the database to one of the contract.
#[expect(clippy::needless_pass_by_value, reason = "passed to `map_err`")]
pub(crate) fn store_error(error: Error) -> StoreError {
    let Some(fault) = error.as_db_error() else {
        // The database did not answer, or its answer could not be read.
        return StoreError::Unreachable(with_cause(&error));
    };
    let code = fault.code();
    let text = text_of(fault);
    if CONTENDED.contains(code) {
        return StoreError::Contended;
    }
    if *code == SqlState::QUERY_CANCELED {
        return StoreError::DeadlinePassed;
    }
    if DAMAGED.contains(code) {
        return StoreError::Corrupt(text);
    }
    if VALUES.iter().any(|class| code.code().starts_with(class)) {
        return StoreError::ValuesRefused(text);
    }
    if [SqlState::LOCK_NOT_AVAILABLE, SqlState::DISK_FULL].contains(code) {
        return StoreError::NotWritten(text);
    }
    let passes = [CONNECTION, INTERVENTION, RESOURCES];
    // A cluster reports the loss of a node during a transaction as an internal error.
    let lost_node = *code == SqlState::INTERNAL_ERROR && fault.message().contains("connection");
    if lost_node
        || passes.iter().any(|class| code.code().starts_with(class))
        || [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT]
            .contains(code)
    {
        return match node_of(fault) {
            Some(node) => StoreError::NodeAway { node, fault: text },
            None => StoreError::Unreachable(text),
        };
    }
    StoreError::Unavailable(text)
}

/// The first fault of statements that were sent together, if one failed. A statement that was not
/// run because another one had failed is not the cause.
pub(crate) fn first_cause<T>(
    answers: impl IntoIterator<Item = Result<T, StoreError>>,
) -> Result<(), StoreError> {
    let mut faults: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    let cause = faults.iter().position(|fault| !is_aftermath(fault)).unwrap_or(0);
    if faults.is_empty() { Ok(()) } else { Err(faults.swap_remove(cause)) }
}

/// Whether a statement was not run because an earlier one of its transaction had failed.
pub(crate) fn is_aftermath(fault: &StoreError) -> bool {
    let code = SqlState::IN_FAILED_SQL_TRANSACTION;
    matches!(fault, StoreError::Unavailable(text) if text.ends_with(&with_code("", &code)))
}

/// The address of the node whose fault a coordinator passes on. It is in the message if there is no
/// connection to the node, and in the context if the node itself refused a statement.
fn node_of(fault: &DbError) -> Option<String> {
    let message = fault.message().split_once("connection to the remote node ");
    let connecting = message.and_then(|(_, rest)| rest.split_once('@')).map(|(_, rest)| rest);
    let context = fault.where_().and_then(|text| text.split_once("while executing command on "));
    let rest = connecting.or(context.map(|(_, rest)| rest))?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Whether a write violated a unique constraint. A cluster reports that of a copy as an internal
/// error.
pub(crate) fn is_duplicate(error: &Error) -> bool {
    error.as_db_error().is_some_and(|fault| match *fault.code() {
        SqlState::UNIQUE_VIOLATION => true,
        SqlState::INTERNAL_ERROR => fault.message().starts_with("duplicate key value"),
        _ => false,
    })
}

/// The message in one line, with its code.
fn text_of(fault: &DbError) -> String {
    let words: Vec<&str> = fault.message().split_whitespace().collect();
    with_code(&words.join(" "), fault.code())
}

fn with_code(message: &str, code: &SqlState) -> String {
    format!("{message} ({})", code.code())
}

/// The text with its cause, because the outer text alone often says little.
fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
