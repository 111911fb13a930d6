-- The tables of a store in a SQLite file. Every key begins with the domain. Times are Unix
-- milliseconds, words are stored under the numbers that the model gives them, and what is served is
-- stored as the bytes that are served.
--
-- Rows that are served as they are stored have a checksum, which is written with them and shows
-- damage. The code says which columns a checksum covers.

-- The migrations that this store contains. `digest` is that of the migration's text.
CREATE TABLE caseload_migrations (
    version  INTEGER PRIMARY KEY,
    digest   INTEGER NOT NULL
) STRICT;

-- Written to see whether the store can be written.
CREATE TABLE probe (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    writes  INTEGER NOT NULL
) STRICT;

INSERT INTO probe (id, writes) VALUES (1, 0);

-- How far the copy is that fills this store; while the row exists, the store cannot be used.
-- `source` is a digest of what is copied, `position` is where the next batch of the table begins.
CREATE TABLE copy_progress (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    source       BLOB    NOT NULL,
    origin       TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    table_name   TEXT    NOT NULL,
    position     BLOB,
    copied_rows  INTEGER NOT NULL
) STRICT;

-- The desk is the author of messages and notes that no agent signs. Without an address of its own,
-- it has one that is made from the name of the domain. A quota of null is no limit. Placeholders
-- are a comma list of words that are nobody's identity; null means the usual ones.
CREATE TABLE domains (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,
    default_app_id  TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    desk_name       TEXT    NOT NULL DEFAULT 'Desk',
    desk_email      TEXT,
    quota_bytes     INTEGER,
    quota_tasks     INTEGER,
    rate_limit      INTEGER,
    placeholders    TEXT
) STRICT;

-- Domains that are gone for everyone and whose records are still being removed.
CREATE TABLE domain_removals (
    removed_id INTEGER PRIMARY KEY
) STRICT;

-- Hands out ids and times: max(now, last + 1). `last_live_created_at` is the latest creation time
-- that was given to an issue as it was written; imports do not count. `stored_bytes` are those of
-- the domain's issues, profiles, payloads, records and attachments, and of the column `file` of its
-- imports.
CREATE TABLE domain_clocks (
    domain_id             INTEGER PRIMARY KEY REFERENCES domains (id),
    last_issue_id         INTEGER NOT NULL DEFAULT 0,
    last_core_profile_id  INTEGER NOT NULL DEFAULT 0,
    last_created_at       INTEGER NOT NULL DEFAULT 0,
    last_change_at        INTEGER NOT NULL DEFAULT 0,
    last_app_number       INTEGER NOT NULL DEFAULT 0,
    last_live_created_at  INTEGER NOT NULL DEFAULT 0,
    stored_bytes          INTEGER NOT NULL DEFAULT 0,
    last_position         INTEGER NOT NULL DEFAULT 0,
    dropped_position      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `admin_access` is 1 for keys that administer their domain, else null. Such keys have
-- `write_access`, too.
CREATE TABLE keys (
    domain_id     INTEGER NOT NULL REFERENCES domains (id),
    id            TEXT    NOT NULL,
    hash          BLOB    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    write_access  INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER,
    expires_at    INTEGER,
    revoked_at    INTEGER,
    admin_access  INTEGER,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- Sessions of the console, and codes that begin one, under the hash of their text. Each belongs to
-- a key and ends with it at the latest. `kind`: 0 for a code, 1 for a session.
CREATE TABLE sessions (
    domain_id   INTEGER NOT NULL,
    hash        BLOB    NOT NULL UNIQUE,
    key_id      TEXT    NOT NULL,
    kind        INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    domain_id   INTEGER NOT NULL REFERENCES domains (id),
    id          TEXT    NOT NULL,
    publish_id  TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    domain_id   INTEGER NOT NULL REFERENCES domains (id),
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    email       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE queues (
    domain_id   INTEGER NOT NULL REFERENCES domains (id),
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- Named views of the lists of the console. `key_id` is empty if the view belongs to the domain. The
-- commands see to it that a name is unique in its list and owner.
CREATE TABLE views (
    domain_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    key_id      TEXT    NOT NULL,
    list        INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    query       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- The changes of the records of a domain, a row for each transaction. `bytes` is a packed batch
-- of changes, whose positions are `first_position` to `last_position`. The oldest rows are purged;
-- `domain_clocks.dropped_position` is the last position that is gone.
CREATE TABLE changes (
    domain_id       INTEGER NOT NULL,
    last_position   INTEGER NOT NULL,
    first_position  INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    bytes           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL,
    PRIMARY KEY (domain_id, last_position)
) STRICT, WITHOUT ROWID;

-- Which batches have changes of which issues and core profiles. A batch of few records of a kind
-- has a row for each of them. One of many has a single row with the id -1 and the span of their
-- ids.
CREATE TABLE change_records (
    domain_id       INTEGER NOT NULL,
    resource        INTEGER NOT NULL,
    id              INTEGER NOT NULL,
    last_position   INTEGER NOT NULL,
    lowest          INTEGER,
    highest         INTEGER,
    PRIMARY KEY (domain_id, resource, id, last_position)
) STRICT, WITHOUT ROWID;

-- Followers of the log of changes that the server calls. `resources` and `actions` have the bit of
-- each word's number; 0 means all. Everything up to `position` is delivered or does not match.
-- `pause_reason` is null unless the server paused the webhook. `retry_until` is the last position
-- of the changes that are sent again at `next_try_at`. `attempts` numbers the deliveries. Until
-- `old_secret_until` both secrets sign. Each lease, and each change by a caller, raises
-- `lease_epoch`.
CREATE TABLE webhooks (
    domain_id         INTEGER NOT NULL,
    id                TEXT    NOT NULL,
    created_at        INTEGER NOT NULL,
    url               TEXT    NOT NULL,
    resources         INTEGER NOT NULL,
    actions           INTEGER NOT NULL,
    include_record    INTEGER NOT NULL,
    paused            INTEGER NOT NULL,
    pause_reason      TEXT,
    position          INTEGER NOT NULL,
    failures          INTEGER NOT NULL DEFAULT 0,
    next_try_at       INTEGER,
    retry_until       INTEGER,
    test_asked        INTEGER NOT NULL DEFAULT 0,
    secret            BLOB    NOT NULL,
    old_secret        BLOB,
    old_secret_until  INTEGER,
    lease_server      TEXT,
    lease_until       INTEGER NOT NULL DEFAULT 0,
    lease_epoch       INTEGER NOT NULL DEFAULT 0,
    leased_at         INTEGER NOT NULL DEFAULT 0,
    attempts          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- The last attempts of each webhook. `changes` is null for a test, `status` if there was no answer;
-- `answer` is the beginning of the answer, or why there was none.
CREATE TABLE webhook_deliveries (
    domain_id       INTEGER NOT NULL,
    webhook_id      TEXT    NOT NULL,
    number          INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    duration_ms     INTEGER NOT NULL,
    message_id      TEXT    NOT NULL,
    changes         INTEGER,
    first_position  INTEGER,
    last_position   INTEGER,
    status          INTEGER,
    answer          TEXT    NOT NULL,
    PRIMARY KEY (domain_id, webhook_id, number)
) STRICT, WITHOUT ROWID;

-- First answers to requests that may be repeated. `content` is a hash of what was asked for.
CREATE TABLE idempotency_keys (
    domain_id   INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    content     BLOB    NOT NULL,
    location    TEXT    NOT NULL,
    answer      BLOB    NOT NULL,
    expires_at  INTEGER NOT NULL,
    checksum    INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_expiring ON idempotency_keys (expires_at);

-- `fields` holds the stored members as JSON. `row` ties a profile to the sets of its terms and is
-- never shown; in a domain, rows have the order of ids.
CREATE TABLE core_profiles (
    row         INTEGER PRIMARY KEY,
    domain_id   INTEGER NOT NULL,
    id          INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    fields      BLOB    NOT NULL,
    checksum    INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX core_profiles_by_id ON core_profiles (domain_id, id);

-- An identity belongs to one core profile of the domain. `key` is the model's folded form.
CREATE TABLE identities (
    domain_id        INTEGER NOT NULL,
    key              BLOB    NOT NULL,
    core_profile_id  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key)
) STRICT, WITHOUT ROWID;

-- The core profiles that have each term of the model's, as sets of `row`: one set per term and block
-- of 65,536 row numbers, none that is empty. `kind` and `value` are the model's; instants are terms,
-- so that the sets are also the index of both orders.
CREATE TABLE profile_sets (
    domain_id  INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    block      INTEGER NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
) STRICT, WITHOUT ROWID;

-- `checksum` covers the columns that never change, `fields_checksum` the fields.
CREATE TABLE app_profiles (
    seq              INTEGER PRIMARY KEY,
    domain_id        INTEGER NOT NULL,
    pid              TEXT    NOT NULL,
    app_id           TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    emails           BLOB    NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    fields           BLOB    NOT NULL,
    checksum         INTEGER NOT NULL,
    fields_checksum  INTEGER NOT NULL,
    UNIQUE (domain_id, pid)
) STRICT;

-- The orders in which lists of app profiles are read. Pids break ties.
CREATE INDEX app_profiles_by_creation ON app_profiles (domain_id, created_at, pid);
CREATE INDEX app_profiles_by_update ON app_profiles (domain_id, updated_at, pid);

-- The identities of app profiles: addresses in the model's folded form, and identifiers as `uid`.
CREATE TABLE app_profile_identities (
    domain_id  INTEGER NOT NULL,
    key        BLOB    NOT NULL,
    pid        TEXT    NOT NULL,
    -- The code of the identity's type.
    kind       INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key, pid)
) STRICT, WITHOUT ROWID;

-- Only identifiers are looked up by their profile: it has its addresses itself.
CREATE INDEX app_profile_identities_by_identifier ON app_profile_identities (domain_id, pid)
    WHERE kind = 1;

-- `seq` is the order of acceptance. Laws: succeeded + failed + unprocessed = total, completed
-- (status 4) together with an outcome and a time of completion. `cancel_at` is when an end was
-- asked for; `purge` is 0 while payload and records are kept, 1 while they are removed, 2
-- afterwards. `retried_by` is the id of the task that retries this one; of several, the first.
-- `warnings` counts the warnings in the task's result records. `run_by` is the id of the task that
-- runs the payload of this dry run. `upsert` is 1 if an import replaces issues whose id it names,
-- else null.
--
-- `deaths` counts the servers that died with the task since an entry of it was committed.
-- `next_try_at` is set while the task waits because of that.
--
-- `content_length` is the number of bytes of the payload without compression. `import_id` is the
-- import whose file has the entries of the task.
--
-- Of a task of an import: `changes_before` is the time of the last change of a profile before it.
CREATE TABLE tasks (
    seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
    domain_id           INTEGER NOT NULL,
    id                  TEXT    NOT NULL,
    family              INTEGER NOT NULL,
    action              INTEGER NOT NULL,
    writes              INTEGER NOT NULL,
    dry_run             INTEGER NOT NULL,
    status              INTEGER NOT NULL,
    outcome             INTEGER,
    total               INTEGER NOT NULL,
    succeeded           INTEGER NOT NULL DEFAULT 0,
    failed              INTEGER NOT NULL DEFAULT 0,
    unprocessed         INTEGER NOT NULL,
    next_index          INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    queued_at           INTEGER,
    started_at          INTEGER,
    completed_at        INTEGER,
    expires_at          INTEGER,
    attempts            INTEGER NOT NULL DEFAULT 0,
    not_before          INTEGER NOT NULL DEFAULT 0,
    lease_server        TEXT,
    lease_epoch         INTEGER NOT NULL DEFAULT 0,
    lease_until         INTEGER NOT NULL DEFAULT 0,
    parent_id           TEXT,
    cancel_at           INTEGER,
    purge               INTEGER NOT NULL DEFAULT 0,
    retried_by          TEXT,
    warnings            INTEGER NOT NULL DEFAULT 0,
    deaths              INTEGER NOT NULL DEFAULT 0,
    next_try_at         INTEGER,
    file_name           TEXT,
    content_length      INTEGER,
    submitted_key       TEXT,
    submitted_key_name  TEXT,
    run_by              TEXT,
    upsert              INTEGER,
    import_id           TEXT,
    changes_before      INTEGER,
    UNIQUE (domain_id, id),
    CHECK (succeeded + failed + unprocessed = total),
    CHECK ((status = 4) = (outcome IS NOT NULL)),
    CHECK ((status = 4) = (completed_at IS NOT NULL))
) STRICT;

CREATE INDEX tasks_created ON tasks (domain_id, seq) WHERE status = 1;
CREATE INDEX tasks_unfinished ON tasks (domain_id, writes, seq) WHERE status < 4;
CREATE INDEX tasks_listed ON tasks (domain_id, family, seq, status, action);
CREATE INDEX tasks_expiring ON tasks (expires_at) WHERE status = 4 AND purge < 2;
CREATE INDEX tasks_leased ON tasks (lease_server) WHERE lease_server IS NOT NULL;
CREATE INDEX tasks_of_imports ON tasks (domain_id, import_id, seq, status, outcome)
    WHERE import_id IS NOT NULL;

-- Files that became tasks. The state and the counts of an import are those of its tasks together.
-- `file` says how the file was read, in words of the API. `digest` is that of its bytes and of the
-- options; of the imports with the same one that are not dry runs, only the last one has it.
-- `without_id` entries have no id and are created; `sketch` has the smallest hashes of them, and
-- `doubles` of them were in the import `doubles_of`, which was created at `doubles_at`.
CREATE TABLE imports (
    domain_id           INTEGER NOT NULL,
    id                  TEXT    NOT NULL,
    family              INTEGER NOT NULL,
    action              INTEGER NOT NULL,
    dry_run             INTEGER NOT NULL,
    upsert              INTEGER NOT NULL,
    file                TEXT    NOT NULL,
    digest              BLOB,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    parent_id           TEXT,
    retried_by          TEXT,
    run_by              TEXT,
    repeat_of           TEXT,
    file_name           TEXT,
    content_length      INTEGER,
    submitted_key       TEXT,
    submitted_key_name  TEXT,
    without_id          INTEGER NOT NULL,
    sketch              BLOB,
    doubles_of          TEXT,
    doubles_at          INTEGER,
    doubles             INTEGER,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX imports_listed ON imports (domain_id, family, created_at, id);
CREATE UNIQUE INDEX imports_of_files ON imports (domain_id, family, digest) WHERE NOT dry_run;

-- Payloads on their way in whose task is not accepted yet. Their blocks are in payload_blocks under
-- the id that the task will have; accepting it removes the row here in the same transaction.
-- `touched_at` is the last sign that the upload continues, 0 once nobody sends any more.
CREATE TABLE uploads (
    domain_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    touched_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- Compressed blocks of entries, as they were sent.
CREATE TABLE payload_blocks (
    seq          INTEGER PRIMARY KEY,
    domain_id    INTEGER NOT NULL,
    task_id      TEXT    NOT NULL,
    first_index  INTEGER NOT NULL,
    last_index   INTEGER NOT NULL,
    bytes        BLOB    NOT NULL,
    checksum     INTEGER NOT NULL,
    UNIQUE (domain_id, task_id, last_index)
) STRICT;

-- Compressed JSON lines of results (kind 1) and errors (kind 2), keyed by the first entry that they
-- are about; `next_index` is past the last one.
CREATE TABLE record_blocks (
    seq          INTEGER PRIMARY KEY,
    domain_id    INTEGER NOT NULL,
    task_id      TEXT    NOT NULL,
    kind         INTEGER NOT NULL,
    first_index  INTEGER NOT NULL,
    next_index   INTEGER NOT NULL,
    lines        INTEGER NOT NULL,
    bytes        BLOB    NOT NULL,
    checksum     INTEGER NOT NULL,
    UNIQUE (domain_id, task_id, kind, first_index)
) STRICT;

-- Runs with a state: dry runs of more than one chunk, which are a task or an import with all its
-- tasks, and imports of issues. `ended_at` is set once no entry is left; then the state is purged.
CREATE TABLE dry_runs (
    domain_id  INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dry_runs_ended ON dry_runs (ended_at) WHERE ended_at IS NOT NULL;

-- The state that the entries of a dry run so far would have left, or the ids of the issues that an
-- import has changed. The first byte of a key is its kind; the first byte of a value is 1, or 0 if
-- the record would be gone.
CREATE TABLE dry_run_state (
    domain_id  INTEGER NOT NULL,
    run_id     TEXT    NOT NULL,
    key        BLOB    NOT NULL,
    value      BLOB    NOT NULL,
    PRIMARY KEY (domain_id, run_id, key)
) STRICT, WITHOUT ROWID;

-- What filters, sorts and counters of issues look at; nothing here is rendered. `row` ties the
-- tables of issues together and is never shown. `state` is the model's number of the word,
-- `author_email` is folded.
CREATE TABLE issues (
    row                  INTEGER PRIMARY KEY,
    domain_id            INTEGER NOT NULL,
    id                   INTEGER NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    changed_at           INTEGER NOT NULL,
    state                INTEGER NOT NULL,
    redacted             INTEGER NOT NULL,
    rating               INTEGER,
    original_created_at  INTEGER,
    app_id               TEXT    NOT NULL,
    platform_type        TEXT,
    queue_id             TEXT,
    hs_user_id           TEXT    NOT NULL,
    assignee_id          TEXT,
    language             TEXT,
    issue_mode           TEXT,
    author_email         TEXT    NOT NULL
) STRICT;

-- Where an index ends in the state, it counts and finds issues of a state without their rows.
CREATE UNIQUE INDEX issues_by_id ON issues (domain_id, id);
CREATE UNIQUE INDEX issues_by_creation ON issues (domain_id, created_at);
CREATE INDEX issues_by_state ON issues (domain_id, state, created_at);
CREATE INDEX issues_by_rating ON issues (domain_id, rating, created_at, state)
    WHERE rating IS NOT NULL;
CREATE INDEX issues_by_update ON issues (domain_id, updated_at, id, state);
CREATE INDEX issues_by_change ON issues (domain_id, changed_at, id, state);

-- The fragments that are served, in the order in which an issue shows them. A row goes with the
-- issue that it belongs to. `checksums` has four bytes for each fragment, in the order of the
-- columns: a view reads some of the fragments.
CREATE TABLE issue_bodies (
    row                 INTEGER PRIMARY KEY REFERENCES issues (row) ON DELETE CASCADE,
    head                BLOB    NOT NULL,
    messages            BLOB    NOT NULL,
    meta                BLOB    NOT NULL,
    custom_fields       BLOB    NOT NULL,
    feedback            BLOB,
    queue               BLOB,
    private_notes       BLOB,
    predict_labels      BLOB,
    sentiment_analysis  BLOB,
    smart_intents       BLOB,
    checksums           BLOB    NOT NULL
) STRICT;

-- How many issues stand in each counter of the model's; none that is zero. `day` is a UTC day or
-- the number of a span of days, whose counter is the sum of its days'.
CREATE TABLE issue_counts (
    domain_id  INTEGER NOT NULL,
    facet      INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    day        INTEGER NOT NULL,
    n          INTEGER NOT NULL CHECK (n > 0),
    PRIMARY KEY (domain_id, facet, value, day)
) STRICT, WITHOUT ROWID;

-- The issues that stand in each term of the model's, as sets of `row`: one set per term and block
-- of 65,536 row numbers, none that is empty. `kind` and `value` are the model's; values of one kind
-- sort as what they stand for.
CREATE TABLE issue_sets (
    domain_id  INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    block      INTEGER NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
) STRICT, WITHOUT ROWID;

-- The same for kinds whose values are those of few issues each. The block comes before the value,
-- so that new issues, whatever their values, are written to the pages of the last block, and an
-- import of any size continues as fast as it began; who looks for a value looks once in each block.
CREATE TABLE issue_values (
    domain_id  INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, kind, block, value)
) STRICT, WITHOUT ROWID;

-- The text index of issues. Marks are ranges of rows that writes left to be read for it; `erased`
-- ones were deleted. Segments are sets of rows whose texts were read. Grams are, for each segment
-- and bucket of four-byte pieces of text, the places of the issues among the rows of the segment.
CREATE TABLE issue_text_marks (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    domain_id  INTEGER NOT NULL,
    first_row  INTEGER NOT NULL,
    last_row   INTEGER NOT NULL,
    erased     INTEGER NOT NULL
) STRICT;

CREATE INDEX issue_text_marks_by_domain ON issue_text_marks (domain_id, seq);

CREATE TABLE issue_text_segments (
    domain_id  INTEGER NOT NULL,
    segment    INTEGER NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE issue_text_grams (
    domain_id  INTEGER NOT NULL,
    segment    INTEGER NOT NULL,
    bucket     INTEGER NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, segment, bucket)
) STRICT, WITHOUT ROWID;

-- Files that came with messages. `issue_id` is null while a file is staged: it arrives, and its
-- message does not exist yet.
CREATE TABLE attachments (
    domain_id     INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    issue_id      INTEGER,
    file_name     TEXT    NOT NULL,
    content_type  TEXT    NOT NULL,
    size          INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachments_staged ON attachments (created_at) WHERE issue_id IS NULL;
-- The files of an issue, which go when the issue is deleted.
CREATE INDEX attachments_of_issue ON attachments (domain_id, issue_id) WHERE issue_id IS NOT NULL;

-- Their bytes, in pieces numbered from 0.
CREATE TABLE attachment_pieces (
    seq            INTEGER PRIMARY KEY,
    domain_id      INTEGER NOT NULL,
    attachment_id  TEXT    NOT NULL,
    number         INTEGER NOT NULL,
    bytes          BLOB    NOT NULL,
    checksum       INTEGER NOT NULL,
    UNIQUE (domain_id, attachment_id, number)
) STRICT;
