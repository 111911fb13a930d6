//! The table of figures: sentences of the pages with the constants that their figures come from,
//! and the figures that come from elsewhere. A changed constant or sentence changes its line here.

use super::figures::{Figure, Other};

/// The constants of the figures in a sentence of a page, in their order.
const fn figure(
    page: &'static str,
    fragment: &'static str,
    sources: &'static [&'static str],
) -> Figure {
    Figure { page, fragment, sources }
}

/// A figure of a page that is not a constant, and the reason.
const fn other(page: &'static str, fragment: &'static str, reason: &'static str) -> Other {
    Other { page, fragment, reason }
}

const API: &str = "docs/api.md";
const OPERATING: &str = "docs/operating.md";
const PROGRAM: &str = "docs/program.md";
const README: &str = "README.md";

/// Sentences and the sources of their figures.
pub(super) const FIGURES: &[Figure] = &[
    figure(README, "tasks of up to {} records", &["PAYLOAD_ENTRIES_MAX"]),
    figure(OPERATING, "`/readyz` answers within {s} s", &["READY_SECONDS_MAX"]),
    figure(README, "imports {} generated profiles", &["PROFILES"]),
    figure(API, "Answers of {KiB} KiB or more", &["COMPRESSED_BYTES_MIN"]),
    figure(API, "deeper than {} levels", &["json::DEPTH_MAX"]),
    figure(API, "detail\":\"page-size is 1 to {plain}", &["PAGE_SIZE_MAX"]),
    figure(API, "compressed and uncompressed | {MiB} MiB (`--body-limit`)", &["--body-limit"]),
    figure(API, "an import, unpacked | {MiB} MiB (`--import-limit`)", &["--import-limit"]),
    figure(API, "requests of a key in {s} s | {}", &["rate::WINDOW_SECONDS", "--rate-limit"]),
    figure(API, "of a key | {}", &["sessions::SESSIONS_MAX"]),
    figure(API, "of a key, of a domain | {}, {}", &["KEY_VIEWS_MAX", "DOMAIN_VIEWS_MAX"]),
    figure(
        API,
        "wrong sign-ins of an address in {s} s | {}",
        &["rate::WINDOW_SECONDS", "WRONG_SIGN_INS_MAX"],
    ),
    figure(API, "entries in one request | {}", &["PAYLOAD_ENTRIES_MAX"]),
    figure(API, "stored as its first {KiB} KiB", &["OVERSIZE_PREFIX_BYTES"]),
    figure(API, "shows at most {KiB} KiB of changes", &["CHANGES_BYTES_MAX"]),
    figure(API, "one message body | {MiB} MiB", &["MESSAGE_BODY_BYTES_MAX"]),
    figure(API, "one private note | {} characters", &["issue::TEXT_CHARS_MAX"]),
    figure(API, "one attachment | {MiB} MiB (`--attachment-limit`)", &["--attachment-limit"]),
    figure(API, "and of one message | {}", &["issue::limits::ATTACHMENTS_MAX"]),
    figure(API, "tags of one issue | {}", &["issue::limits::TAGS_MAX"]),
    figure(API, "one tag of an issue | {} characters", &["issue::TAG_CHARS_MAX"]),
    figure(API, "over all levels | {}", &["issue::limits::META_KEYS_MAX"]),
    figure(API, "custom fields of one issue | {}", &["issue::limits::CUSTOM_FIELDS_MAX"]),
    figure(API, "messages of one issue | {}", &["issue::limits::MESSAGES_MAX"]),
    figure(API, "parameters of one query | {}", &["query::PARAMETERS_MAX"]),
    figure(API, "with everything in it | {MiB} MiB", &["entry_bytes_max::Issues"]),
    figure(API, "issues of one bulk edit | {}", &["BULK_EDIT_ISSUES_MAX"]),
    figure(
        API,
        "have more than {MiB} MiB, its issues more than {MiB} MiB, or",
        &["BULK_EDIT_BYTES_MAX", "BULK_EDIT_STORED_BYTES_MAX"],
    ),
    figure(API, "{} index entries (before and after", &["BULK_EDIT_TERMS_MAX"]),
    figure(API, "in an answer of more than {MiB} MiB", &["VERIFIED_BYTES_MAX"]),
    figure(OPERATING, "an attachment of more than {MiB} MiB", &["VERIFIED_BYTES_MAX"]),
    figure(OPERATING, "anywhere in the process, for {s} seconds", &["FAULT_COUNTS"]),
    figure(OPERATING, "The server reads them every {s} seconds", &["tls::LOOK_EVERY"]),
    figure(OPERATING, "A handshake has {s} seconds", &["head_timeout"]),
    figure(OPERATING, "a connection over TLS | {KiB} KiB more", &["TLS_BYTES"]),
    figure(OPERATING, "a request on HTTP/2 | {KiB} KiB and", &["STREAM_BYTES"]),
    figure(OPERATING, "a connection has up to {} at a time", &["STREAMS_MAX"]),
    figure(OPERATING, "also a silent one | {KiB} KiB", &["CONNECTION_BYTES"]),
    figure(
        OPERATING,
        "nothing up to {KiB} KiB, then the buffer that it arrives in, up to {KiB} KiB",
        &["room::RECEIVED_BYTES", "CONNECTION_BUFFER_BYTES_MAX"],
    ),
    figure(OPERATING, "| {MiB} MiB while it is read", &["PAGE_BYTES_AHEAD"]),
    figure(OPERATING, "up to {KiB} KiB while it arrives", &["READING_BYTES"]),
    figure(OPERATING, "| {MiB} MiB and one entry", &["UPLOAD_BYTES"]),
    figure(OPERATING, "files of a form | {MiB} MiB", &["FILES_BYTES"]),
    figure(OPERATING, "its locks, for {s} s is undone", &["CHUNK_WORK_MAX"]),
    figure(PROGRAM, "A connection takes {KiB} KiB", &["CONNECTION_BYTES"]),
    figure(API, "unfinished tasks of a domain | {} (`--queue-limit`)", &["--queue-limit"]),
    figure(API, "time a read may take | {s} s (`--query-timeout`)", &["--query-timeout"]),
    figure(API, "can be read for | {days} days (`--keep-results`)", &["--keep-results"]),
    figure(API, "at least {h} h", &["idempotency::key::STORED_MIN"]),
    figure(
        API,
        "| page-size | 1 to {plain}, default {} |",
        &["PAGE_SIZE_MAX", "PAGE_SIZE_DEFAULT"],
    ),
    figure(API, "| page × page-size | {} |", &["PAGE_DEPTH_MAX"]),
    figure(
        API,
        "Each key may make {} requests in {s} seconds",
        &["--rate-limit", "rate::WINDOW_SECONDS"],
    ),
    figure(API, "head of a request | {KiB} KiB, 100 headers", &["HEAD_BYTES_MAX"]),
    figure(API, "more than {} entries, or with a broken array", &["PAYLOAD_ENTRIES_MAX"]),
    figure(API, "`Idempotency-Key`: 1 to {} characters", &["idempotency::key::KEY_CHARS_MAX"]),
    figure(API, "A comment every {s} seconds", &["KEEP_ALIVE_SECONDS"]),
    figure(API, "At most {} faults of one entry are listed", &["profile::checker::FAULTS_MAX"]),
    figure(API, "An entry over {KiB} KiB is only in the first row", &["REPEATED_ENTRY_BYTES_MAX"]),
    figure(API, "numbers of more than {} digits", &["SPREADSHEET_DIGITS_MAX"]),
    figure(
        API,
        "one profile entry, and a merged profile | {KiB} KiB",
        &["entry_bytes_max::Identity"],
    ),
    figure(
        API,
        "value {} (`uid` {}), key {}, tag {}, text {}; {} elements per collection",
        &[
            "IDENTITY_VALUE_CHARS_MAX",
            "UID_VALUE_CHARS_MAX",
            "profile::field::KEY_CHARS_MAX",
            "profile::field::TAG_CHARS_MAX",
            "profile::field::TEXT_CHARS_MAX",
            "COLLECTION_ELEMENTS_MAX",
        ],
    ),
    figure(API, "above {} is a 400 `page_too_deep`", &["PAGE_DEPTH_MAX"]),
    figure(
        API,
        "The server reads {} issues (or {MiB} MiB) at a time",
        &["issues::list::STREAM_RECORDS", "stream::STEP_BYTES"],
    ),
    figure(
        API,
        "is {s} s for `not_completed`, {s} s for `queue_full`, {s} s for `unavailable`",
        &[
            "bulk_actions::records::RETRY_SECONDS",
            "RETRY_QUEUE_SECONDS",
            "RETRY_UNAVAILABLE_SECONDS",
        ],
    ),
    figure(API, "(`--memory-budget`, {MiB} MiB)", &["memory_bytes"]),
    figure(API, "A page of more than {MiB} MiB comes in steps", &["PAGE_BYTES_AHEAD"]),
    figure(API, "an answer ends before {MiB} MiB", &["PAGE_BYTES_AHEAD"]),
    figure(API, "A head must arrive within {s} s", &["head_timeout"]),
    figure(API, "at least {KiB} KiB a second", &["bytes_per_second"]),
    figure(API, "averaged over {s} s", &["minimum_rate::window"]),
    figure(API, "after a grace of {s} s", &["minimum_rate::grace"]),
    figure(API, "have {min} minutes in all", &["minimum_rate::whole"]),
    figure(API, "A silent connection ends after {s} s", &["--idle-timeout"]),
    figure(API, "(for want of memory {s} s)", &["RETRY_MEMORY_SECONDS"]),
    figure(OPERATING, "on from there for {h} hours", &["runner::PURGE_AFTER_JUMP"]),
    figure(OPERATING, "a stream waits up to {s} s", &["memory::STREAM_WAIT"]),
    figure(OPERATING, "silent ones end after {s} s", &["idle_timeout"]),
    figure(OPERATING, "(`--idle-timeout`, {s} s)", &["--idle-timeout"]),
    figure(OPERATING, "heads end after {s} s", &["head_timeout"]),
    figure(API, "and {s} s for other quotas", &["RETRY_QUOTA_SECONDS"]),
    figure(PROGRAM, "all its keys may make in {s} s", &["rate::WINDOW_SECONDS"]),
    figure(
        OPERATING,
        "up to {MiB} MiB, or more while one very long read lasts",
        &["LOG_BYTES_RETAINED"],
    ),
    figure(
        OPERATING,
        "{MiB} MiB an upload, {MiB} MiB for all; the store takes them from {MiB} MiB an upload on",
        &["upload_bytes_held", "uploads_bytes_held", "STAGED_FROM_BYTES"],
    ),
    figure(
        OPERATING,
        "{MiB} MiB a task, {MiB} MiB for all ({} tasks run at once)",
        &["QUEUE_SHARE_BYTES", "QUEUES_BYTES_MAX", "tasks_at_once"],
    ),
    figure(
        OPERATING,
        "{MiB} MiB of entries (issues into PostgreSQL {MiB} MiB)",
        &["CHUNK_BYTES_MAX", "ISSUES_BYTES_MAX"],
    ),
    figure(
        OPERATING,
        "{MiB} MiB a task before packing, and {MiB} MiB for each of its readers (one a core, \
         at most {})",
        &["READ_BYTES_MAX", "RUN_BYTES_MAX", "READERS_MAX"],
    ),
    figure(OPERATING, "some blocks of {KiB} KiB", &["RECORD_BLOCK_BYTES"]),
    figure(
        OPERATING,
        "{MiB} MiB for writing, {MiB} MiB for each reading connection (two a core, at least {})",
        &["WRITER_CACHE_KIB", "READER_CACHE_KIB", "READERS_MIN"],
    ),
    figure(OPERATING, "four a core, at least {}", &["BLOCKING_THREADS_MIN"]),
    figure(OPERATING, "ten uploads of {} entries", &["PAYLOAD_ENTRIES_MAX"]),
    figure(OPERATING, "yields within {ms} ms", &["URGED_TIME"]),
    figure(OPERATING, "up to {} connections and one to listen", &["CONNECTIONS_MAX"]),
    figure(OPERATING, "after `--lease` seconds ({s})", &["--lease"]),
    figure(OPERATING, "looks for it every {ms} ms", &["poll_every"]),
    figure(OPERATING, "may wait {ms} ms for a free server", &["poll_every"]),
    figure(OPERATING, "no answer within {s} s (or `--lease`", &["IDLE_MAX"]),
    figure(OPERATING, "**Answer 2xx within {s} s.**", &["DELIVERY_SECONDS_MAX"]),
    figure(OPERATING, "the write is given up after {s} s", &["bounds::write"]),
    figure(
        OPERATING,
        "each for {s} s at most (`connect_timeout`)",
        &["CONNECT_TIMEOUT_OF_SEVERAL"],
    ),
    figure(PROGRAM, "`--body-limit BYTES` | {plain}", &["--body-limit"]),
    figure(PROGRAM, "`--import-limit BYTES` | {plain}", &["--import-limit"]),
    figure(PROGRAM, "`--attachment-limit BYTES` | {plain}", &["--attachment-limit"]),
    figure(PROGRAM, "`--query-timeout SECONDS` | {plain}", &["--query-timeout"]),
    figure(PROGRAM, "`--idle-timeout SECONDS` | {plain}", &["--idle-timeout"]),
    figure(
        PROGRAM,
        "`--rate-limit NUMBER` | {plain} | requests a key may make in {s} s",
        &["--rate-limit", "rate::WINDOW_SECONDS"],
    ),
    figure(PROGRAM, "`--queue-limit NUMBER` | {plain}", &["--queue-limit"]),
    figure(PROGRAM, "`--keep-results DAYS` | {plain}", &["--keep-results"]),
    figure(PROGRAM, "`--lease SECONDS` | {s}", &["--lease"]),
    figure(PROGRAM, "`--store-wait SECONDS` | {plain}", &["--store-wait"]),
    figure(
        PROGRAM,
        "{s} s if it is the only host, else {s} s",
        &["CONNECT_TIMEOUT", "CONNECT_TIMEOUT_OF_SEVERAL"],
    ),
    figure(PROGRAM, "at most {} lines and {MiB} MiB", &["PAYLOAD_ENTRIES_MAX", "TASK_BYTES_MAX"]),
    figure(API, "?wait=SECONDS` (0 to {s})", &["WAIT_SECONDS_MAX"]),
];

/// Figures that are not constants of the code.
pub(super) const OTHERS: &[Other] = &[
    other(API, "doubles from 1 s to 10 minutes", "the wait after the death of a server"),
    other(
        API,
        "A revocation takes effect within 5 seconds",
        "KEY_CACHE_SECONDS and KEY_CHECK_MS together, rounded up",
    ),
    other(OPERATING, "reject that one within 5 s", "as above"),
    other(PROGRAM, "Servers obey a change within 5 seconds", "as above"),
    other(
        API,
        "(with a window of at most 8 MiB)",
        "ZSTD_WINDOW_LOG_MAX is its power of two, from RFC 9659",
    ),
    other(
        OPERATING,
        "the page caches below, and 128 MiB",
        "the memory of the program apart from the budget and the caches",
    ),
    other(OPERATING, "so 512 MiB have room for 10,922", "half of memory_bytes by CONNECTION_BYTES"),
    other(PROGRAM, "10,922 of them with 512 MiB", "as above"),
    other(OPERATING, "connections end after 40 s", "grace and window of the minimum rate"),
    other(OPERATING, "slower than 1 KiB a second after 40 s", "as above"),
    other(OPERATING, "about 4 MB (issues 12 MB)", "measured"),
    other(OPERATING, "If it exceeds 50 ms", "the goal of the measurements in bench/results"),
    other(
        OPERATING,
        "notice a dead connection within 15 s",
        "KEEPALIVE_IDLE, KEEPALIVE_INTERVAL and KEEPALIVE_RETRIES together, with a margin",
    ),
    other(OPERATING, "whole blocks of 65,536", "BLOCK_BITS of a row set is its power of two"),
    other(
        PROGRAM,
        "takes effect within 5 seconds",
        "KEY_CACHE_SECONDS and KEY_CHECK_MS together, rounded up",
    ),
    other(PROGRAM, "exits with 0 within 10 seconds", "STOP_MS_MAX with a margin"),
];
