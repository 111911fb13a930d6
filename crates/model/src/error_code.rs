//! The tables of error codes. A request's code comes with its HTTP status and its title; an entry's
//! code appears in the error records of a task. Lower layers return a code and know nothing else of
//! HTTP; the api crate makes a response of it.

use crate::task::words;

words! {
    /// The faults of one entry of a payload.
    EntryErrorCode {
        InvalidJson = 1 "invalid_json",
        InvalidUtf8 = 2 "invalid_utf8",
        NotAMap = 3 "not_a_map",
        TooLarge = 4 "too_large",
        UnknownField = 5 "unknown_field",
        Required = 6 "required",
        WrongType = 7 "wrong_type",
        TooLong = 8 "too_long",
        TooMany = 9 "too_many",
        OutOfRange = 10 "out_of_range",
        UnknownCountry = 11 "unknown_country",
        UnknownLanguage = 12 "unknown_language",
        InvalidIdentity = 13 "invalid_identity",
        DuplicateIdentity = 14 "duplicate_identity",
        IdentityConflict = 15 "identity_conflict",
        LastIdentity = 16 "last_identity",
        NotFound = 17 "not_found",
        IdConflict = 18 "id_conflict",
        NotProcessed = 19 "not_processed",
        AmbiguousIdentity = 20 "ambiguous_identity",
        SpreadsheetError = 21 "spreadsheet_error",
        OpenQuote = 22 "open_quote",
        TooManyCells = 23 "too_many_cells",
    }
}

words! {
    /// The oddities of an entry that succeeded.
    EntryWarningCode {
        LooksLikeSeconds = 1 "looks_like_seconds",
        MendedName = 2 "mended_name",
        UnusableUrl = 3 "unusable_url",
        Placeholder = 4 "placeholder",
        SuspiciousIdentity = 5 "suspicious_identity",
        JoinsPeople = 6 "joins_people",
        Reduced = 7 "reduced",
        LooksLikeList = 8 "looks_like_list",
        LeftOut = 9 "left_out",
        NoOffset = 10 "no_offset",
        Cut = 11 "cut",
        RepeatedId = 12 "repeated_id",
    }
}

macro_rules! request_codes {
    ($($variant:ident $word:literal $status:literal $title:literal,)+) => {
        /// The faults of a request as a whole, or of one of its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($variant,)+ }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code on the wire, also the last part of the problem type.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The HTTP status of a response whose main fault this is.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// A short title for people, the same for every occurrence.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

request_codes! {
    InvalidRequest "invalid_request" 400 "The request is invalid",
    UnknownParameter "unknown_parameter" 400 "Unknown parameter",
    ConflictingParameter "conflicting_parameter" 400 "A parameter has two values",
    InvalidValue "invalid_value" 400 "A value is invalid",
    OutOfRange "out_of_range" 400 "A value is out of range",
    PageTooDeep "page_too_deep" 400 "page multiplied by page-size is too large",
    MissingField "missing_field" 400 "A required field is missing",
    UnknownAction "unknown_action" 400 "Unknown action",
    InvalidPayload "invalid_payload" 400 "The payload cannot be read",
    EmptyPayload "empty_payload" 400 "The payload has no entries",
    TooManyEntries "too_many_entries" 400 "The payload has too many entries",
    RoundedIds "rounded_ids" 400 "A spreadsheet has rounded the ids",
    TooMany "too_many" 400 "There are too many of something",
    Unauthorized "unauthorized" 401 "A valid API key is needed",
    Forbidden "forbidden" 403 "The API key may not do this",
    CrossSite "cross_site" 403 "The request comes from another site",
    NotFound "not_found" 404 "There is no such thing here",
    Expired "expired" 404 "The results have expired",
    CursorExpired "cursor_expired" 410 "Changes after the cursor are no longer stored",
    MethodNotAllowed "method_not_allowed" 405 "The method is not allowed here",
    TooSlow "too_slow" 408 "The request arrived too slowly",
    NotCompleted "not_completed" 409 "The task has not completed yet",
    AlreadyCompleted "already_completed" 409 "The task is completed",
    AlreadyRetried "already_retried" 409 "The task was retried before",
    AlreadyRun "already_run" 409 "The dry run was run before",
    NotADryRun "not_a_dry_run" 409 "The task is not a dry run",
    NothingToRetry "nothing_to_retry" 409 "There is nothing to retry",
    NameTaken "name_taken" 409 "The name is taken",
    LimitReached "limit_reached" 409 "There are as many as there may be",
    IdempotencyInProgress "idempotency_in_progress" 409 "The first request is being answered",
    TooLarge "too_large" 413 "The request is too large",
    UnsupportedMediaType "unsupported_media_type" 415 "The content type is not supported",
    RangeNotSatisfiable "range_not_satisfiable" 416 "The range is beyond the end",
    IdempotencyKeyReused "idempotency_key_reused" 422 "The key belongs to another request",
    RateLimited "rate_limited" 429 "Too many requests",
    QueueFull "queue_full" 429 "Too many unfinished tasks",
    QuotaExceeded "quota_exceeded" 429 "The domain has reached its quota",
    Internal "internal" 500 "An unexpected error of the server's",
    UnknownCoding "unknown_coding" 501 "The transfer coding is not supported",
    QueryTooExpensive "query_too_expensive" 503 "The query passed its deadline",
    Unavailable "unavailable" 503 "The server cannot answer now",
    Damaged "damaged" 503 "Stored data is damaged",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_a_lower_case_word_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for code in ErrorCode::ALL {
            let word = code.as_str();
            assert!(word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{word}");
            assert!(seen.insert(word), "{word} is used twice");
            assert!((400..600).contains(&code.status()), "{word}");
        }
    }
}
