-- The tables of a store in a PostgreSQL database. Every key begins with the domain, so that the
-- tables can be distributed by it; `domains`, `domain_removals`, `keys` and `sessions` are small
-- and read from everywhere, and `task_queue` is the one table that all domains share. Times are
-- Unix milliseconds, words are stored under the numbers that the model gives them, and what is
-- served is stored as the bytes that are served. Text that callers give is bytea: it may hold
-- U+0000 and is compared as bytes.
--
-- Rows that are served as they are stored have a checksum, which is written with them and shows
-- damage. The code says which columns a checksum covers.
--
-- Each statement is sent by itself. It ends at a semicolon at the end of a line.

-- The migrations that this store contains. `digest` is that of the migration's text.
CREATE TABLE caseload_migrations (
    version  BIGINT PRIMARY KEY,
    digest   BIGINT NOT NULL
);

-- How far the copy is that fills this store; while the row exists, the store cannot be used.
-- `source` is a digest of what is copied, `position` is where the next batch of the table begins.
CREATE TABLE copy_progress (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    source       BYTEA  NOT NULL,
    origin       TEXT   NOT NULL,
    attempt      BIGINT NOT NULL,
    table_name   TEXT   NOT NULL,
    position     BYTEA,
    copied_rows  BIGINT NOT NULL
);

-- The desk is the author of messages and notes that no agent signs. Without an address of its own,
-- it has one that is made from the name of the domain. A quota of null is no limit. Placeholders
-- are a comma list of words that are nobody's identity; null means the usual ones.
CREATE TABLE domains (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            TEXT   NOT NULL COLLATE "C",
    default_app_id  BYTEA  NOT NULL,
    created_at      BIGINT NOT NULL,
    desk_name       BYTEA  NOT NULL DEFAULT 'Desk'::bytea,
    desk_email      BYTEA,
    quota_bytes     BIGINT,
    quota_tasks     BIGINT,
    rate_limit      BIGINT,
    placeholders    BYTEA,
    CONSTRAINT domains_name UNIQUE (name)
);

-- Domains that are gone for everyone and whose records are still being removed.
CREATE TABLE domain_removals (
    removed_id BIGINT PRIMARY KEY
);

-- Hands out ids and times: max(now, last + 1). Locked last, just before commit. What only chunks of
-- writing tasks use (core profile ids, times of core profiles) needs no such lock before: a domain
-- has one such chunk at a time. A chunk of profiles begins with a lock that only calls that delete a
-- profile wait for, and they lock the clock first. `last_live_created_at` is the latest creation
-- time that was given to an issue as it was written; imports do not count. `stored_bytes` are those
-- of the domain's issues, profiles, payloads, records and attachments, and of the column `file` of
-- its imports.
CREATE TABLE domain_clocks (
    domain_id               BIGINT PRIMARY KEY,
    last_issue_id           BIGINT NOT NULL DEFAULT 0,
    last_core_profile_id    BIGINT NOT NULL DEFAULT 0,
    last_profile_change_at  BIGINT NOT NULL DEFAULT 0,
    last_created_at         BIGINT NOT NULL DEFAULT 0,
    last_change_at          BIGINT NOT NULL DEFAULT 0,
    last_app_number         BIGINT NOT NULL DEFAULT 0,
    last_task_seq           BIGINT NOT NULL DEFAULT 0,
    last_issue_row          BIGINT NOT NULL DEFAULT 0,
    last_live_created_at    BIGINT NOT NULL DEFAULT 0,
    stored_bytes            BIGINT NOT NULL DEFAULT 0,
    last_position           BIGINT NOT NULL DEFAULT 0,
    dropped_position        BIGINT NOT NULL DEFAULT 0
);

-- `admin_access` is 1 for keys that administer their domain, else null. Such keys have
-- `write_access`, too.
CREATE TABLE keys (
    domain_id     BIGINT  NOT NULL,
    id            BYTEA   NOT NULL,
    hash          BYTEA   NOT NULL,
    name          BYTEA   NOT NULL,
    write_access  BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    last_used_at  BIGINT,
    expires_at    BIGINT,
    revoked_at    BIGINT,
    admin_access  BIGINT,
    PRIMARY KEY (domain_id, id),
    CONSTRAINT keys_hash UNIQUE (hash)
);

-- Sessions of the console, and codes that begin one, under the hash of their text. Each belongs to
-- a key and ends with it at the latest. `kind`: 0 for a code, 1 for a session.
CREATE TABLE sessions (
    domain_id   BIGINT NOT NULL,
    hash        BYTEA  NOT NULL,
    key_id      BYTEA  NOT NULL,
    kind        BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, hash),
    CONSTRAINT sessions_hash UNIQUE (hash)
);

CREATE TABLE apps (
    domain_id   BIGINT NOT NULL,
    id          BYTEA  NOT NULL,
    publish_id  BYTEA  NOT NULL,
    title       BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

CREATE TABLE agents (
    domain_id   BIGINT NOT NULL,
    id          BYTEA  NOT NULL,
    name        BYTEA  NOT NULL,
    email       BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

CREATE TABLE queues (
    domain_id   BIGINT NOT NULL,
    id          BYTEA  NOT NULL,
    name        BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

-- Named views of the lists of the console. `key_id` is empty if the view belongs to the domain. The
-- commands see to it that a name is unique in its list and owner.
CREATE TABLE views (
    domain_id   BIGINT NOT NULL,
    id          BYTEA  NOT NULL,
    key_id      BYTEA  NOT NULL,
    list        BIGINT NOT NULL,
    name        BYTEA  NOT NULL,
    query       BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

-- The changes of the records of a domain, a row for each transaction. `bytes` is a packed batch
-- of changes, whose positions are `first_position` to `last_position`. The oldest rows are purged;
-- `domain_clocks.dropped_position` is the last position that is gone.
CREATE TABLE changes (
    domain_id       BIGINT NOT NULL,
    last_position   BIGINT NOT NULL,
    first_position  BIGINT NOT NULL,
    at              BIGINT NOT NULL,
    bytes           BYTEA  NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (domain_id, last_position)
);

-- Which batches have changes of which issues and core profiles. A batch of few records of a kind
-- has a row for each of them. One of many has a single row with the id -1 and the span of their
-- ids.
CREATE TABLE change_records (
    domain_id       BIGINT   NOT NULL,
    id              BIGINT   NOT NULL,
    last_position   BIGINT   NOT NULL,
    lowest          BIGINT,
    highest         BIGINT,
    resource        SMALLINT NOT NULL,
    PRIMARY KEY (domain_id, resource, id, last_position)
);

-- Followers of the log of changes that the server calls. `resources` and `actions` have the bit of
-- each word's number; 0 means all. Everything up to `position` is delivered or does not match.
-- `pause_reason` is null unless the server paused the webhook. `retry_until` is the last position
-- of the changes that are sent again at `next_try_at`. `attempts` numbers the deliveries. Until
-- `old_secret_until` both secrets sign. Each lease, and each change by a caller, raises
-- `lease_epoch`.
CREATE TABLE webhooks (
    domain_id         BIGINT  NOT NULL,
    id                BYTEA   NOT NULL,
    created_at        BIGINT  NOT NULL,
    url               BYTEA   NOT NULL,
    resources         BIGINT  NOT NULL,
    actions           BIGINT  NOT NULL,
    include_record    BOOLEAN NOT NULL,
    paused            BOOLEAN NOT NULL,
    pause_reason      BYTEA,
    position          BIGINT  NOT NULL,
    failures          BIGINT  NOT NULL DEFAULT 0,
    next_try_at       BIGINT,
    retry_until       BIGINT,
    test_asked        BOOLEAN NOT NULL DEFAULT FALSE,
    secret            BYTEA   NOT NULL,
    old_secret        BYTEA,
    old_secret_until  BIGINT,
    lease_server      BYTEA,
    lease_until       BIGINT  NOT NULL DEFAULT 0,
    lease_epoch       BIGINT  NOT NULL DEFAULT 0,
    leased_at         BIGINT  NOT NULL DEFAULT 0,
    attempts          BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (domain_id, id)
);

-- The last attempts of each webhook. `changes` is null for a test, `status` if there was no answer;
-- `answer` is the beginning of the answer, or why there was none.
CREATE TABLE webhook_deliveries (
    domain_id       BIGINT NOT NULL,
    webhook_id      BYTEA  NOT NULL,
    number          BIGINT NOT NULL,
    at              BIGINT NOT NULL,
    duration_ms     BIGINT NOT NULL,
    message_id      BYTEA  NOT NULL,
    changes         BIGINT,
    first_position  BIGINT,
    last_position   BIGINT,
    status          BIGINT,
    answer          BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, webhook_id, number)
);

-- First answers to requests that may be repeated. `content` is a hash of what was asked for.
CREATE TABLE idempotency_keys (
    domain_id   BIGINT NOT NULL,
    key         BYTEA  NOT NULL,
    content     BYTEA  NOT NULL,
    location    TEXT   NOT NULL,
    answer      BYTEA  NOT NULL,
    expires_at  BIGINT NOT NULL,
    checksum    BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key)
);

CREATE INDEX idempotency_keys_expiring ON idempotency_keys (domain_id, expires_at);

-- `fields` holds the stored members as JSON. `row` numbers the core profiles of a domain, in the
-- order of their ids, ties a profile to the sets of its terms and is never shown.
CREATE TABLE core_profiles (
    domain_id   BIGINT NOT NULL,
    row         BIGINT NOT NULL,
    id          BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    fields      BYTEA  NOT NULL,
    checksum    BIGINT NOT NULL,
    PRIMARY KEY (domain_id, row)
);

CREATE UNIQUE INDEX core_profiles_by_id ON core_profiles (domain_id, id);

-- Columns with external storage, here and below, hold bytes that are compressed already or served
-- as they are: trying to compress them again would only cost time.
ALTER TABLE core_profiles ALTER COLUMN fields SET STORAGE EXTERNAL;

-- An identity belongs to one core profile of the domain. `key` is the model's folded form.
CREATE TABLE identities (
    domain_id        BIGINT NOT NULL,
    key              BYTEA  NOT NULL,
    core_profile_id  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key)
);

-- The core profiles that have each term of the model's, as sets of `row`: one set per term and block
-- of 65,536 row numbers, none that is empty. `kind` and `value` are the model's; instants are terms,
-- so that the sets are also the index of both orders. One transaction at a time writes those of a
-- domain, in place.
CREATE TABLE profile_sets (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    block      BIGINT   NOT NULL,
    rows       BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
);

-- The last block of a set is replaced again and again, so the table is swept sooner than others.
ALTER TABLE profile_sets ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE profile_sets
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- `checksum` covers the columns that never change, `fields_checksum` the fields.
CREATE TABLE app_profiles (
    domain_id        BIGINT NOT NULL,
    pid              BYTEA  NOT NULL,
    app_id           BYTEA  NOT NULL,
    name             BYTEA  NOT NULL,
    emails           BYTEA  NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    fields           BYTEA  NOT NULL,
    checksum         BIGINT NOT NULL,
    fields_checksum  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, pid)
);

ALTER TABLE app_profiles ALTER COLUMN fields SET STORAGE EXTERNAL;

-- The orders in which lists of app profiles are read. Pids break ties.
CREATE INDEX app_profiles_by_creation ON app_profiles (domain_id, created_at, pid);
CREATE INDEX app_profiles_by_update ON app_profiles (domain_id, updated_at, pid);

-- The identities of app profiles: addresses in the model's folded form, and identifiers as `uid`.
CREATE TABLE app_profile_identities (
    domain_id  BIGINT NOT NULL,
    key        BYTEA  NOT NULL,
    pid        BYTEA  NOT NULL,
    -- The code of the identity's type.
    kind       BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key, pid)
);

-- Only identifiers are looked up by their profile: it has its addresses itself.
CREATE INDEX app_profile_identities_by_identifier ON app_profile_identities (domain_id, pid)
    WHERE kind = 1;

-- `seq` is the order of acceptance in the domain. Laws: succeeded + failed + unprocessed = total,
-- completed (status 4) together with an outcome and a time of completion. `cancel_at` is when an
-- end was asked for; `purge` is 0 while payload and records are kept, 1 while they are removed, 2
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
    domain_id           BIGINT   NOT NULL,
    id                  BYTEA    NOT NULL,
    seq                 BIGINT   NOT NULL,
    family              SMALLINT NOT NULL,
    action              SMALLINT NOT NULL,
    writes              BOOLEAN  NOT NULL,
    dry_run             BOOLEAN  NOT NULL,
    status              SMALLINT NOT NULL,
    outcome             SMALLINT,
    total               INTEGER  NOT NULL,
    succeeded           INTEGER  NOT NULL DEFAULT 0,
    failed              INTEGER  NOT NULL DEFAULT 0,
    unprocessed         INTEGER  NOT NULL,
    next_index          INTEGER  NOT NULL,
    created_at          BIGINT   NOT NULL,
    queued_at           BIGINT,
    started_at          BIGINT,
    completed_at        BIGINT,
    expires_at          BIGINT,
    attempts            INTEGER  NOT NULL DEFAULT 0,
    parent_id           BYTEA,
    cancel_at           BIGINT,
    purge               SMALLINT NOT NULL DEFAULT 0,
    retried_by          BYTEA,
    warnings            BIGINT   NOT NULL DEFAULT 0,
    deaths              INTEGER  NOT NULL DEFAULT 0,
    next_try_at         BIGINT,
    file_name           BYTEA,
    content_length      BIGINT,
    submitted_key       BYTEA,
    submitted_key_name  BYTEA,
    run_by              BYTEA,
    upsert              BIGINT,
    import_id           BYTEA,
    changes_before      BIGINT,
    PRIMARY KEY (domain_id, id),
    CONSTRAINT tasks_seq UNIQUE (domain_id, seq),
    CHECK (succeeded + failed + unprocessed = total),
    CHECK ((status = 4) = (outcome IS NOT NULL)),
    CHECK ((status = 4) = (completed_at IS NOT NULL))
);

CREATE INDEX tasks_listed ON tasks (domain_id, family, seq, status, action);
CREATE INDEX tasks_expiring ON tasks (domain_id, expires_at) WHERE status = 4 AND purge < 2;
-- The unfinished tasks of a domain, which a task's position is counted from: they are on the node
-- of the task, the queue may be on another.
CREATE INDEX tasks_unfinished ON tasks (domain_id, seq) WHERE status < 4;
CREATE INDEX tasks_of_imports ON tasks (domain_id, import_id, seq, status, outcome)
    WHERE import_id IS NOT NULL;

-- Files that became tasks. The state and the counts of an import are those of its tasks together.
-- `file` says how the file was read, in words of the API. `digest` is that of its bytes and of the
-- options; of the imports with the same one that are not dry runs, only the last one has it.
-- `without_id` entries have no id and are created; `sketch` has the smallest hashes of them, and
-- `doubles` of them were in the import `doubles_of`, which was created at `doubles_at`.
CREATE TABLE imports (
    domain_id           BIGINT   NOT NULL,
    id                  BYTEA    NOT NULL,
    family              SMALLINT NOT NULL,
    action              SMALLINT NOT NULL,
    dry_run             BOOLEAN  NOT NULL,
    upsert              BOOLEAN  NOT NULL,
    file                BYTEA    NOT NULL,
    digest              BYTEA,
    created_at          BIGINT   NOT NULL,
    expires_at          BIGINT   NOT NULL,
    parent_id           BYTEA,
    retried_by          BYTEA,
    run_by              BYTEA,
    repeat_of           BYTEA,
    file_name           BYTEA,
    content_length      BIGINT,
    submitted_key       BYTEA,
    submitted_key_name  BYTEA,
    without_id          INTEGER  NOT NULL,
    sketch              BYTEA,
    doubles_of          BYTEA,
    doubles_at          BIGINT,
    doubles             INTEGER,
    PRIMARY KEY (domain_id, id)
);

CREATE INDEX imports_listed ON imports (domain_id, family, created_at, id);
CREATE UNIQUE INDEX imports_of_files ON imports (domain_id, family, digest) WHERE NOT dry_run;

-- The unfinished tasks of all domains and their leases: small, looked through by every server that
-- asks for work, and the one table that is not distributed. A row goes when its task completes.
CREATE TABLE task_queue (
    domain_id     BIGINT  NOT NULL,
    task_id       BYTEA   NOT NULL,
    seq           BIGINT  NOT NULL,
    writes        BOOLEAN NOT NULL,
    queued        BOOLEAN NOT NULL DEFAULT FALSE,
    not_before    BIGINT  NOT NULL DEFAULT 0,
    lease_server  TEXT,
    lease_epoch   BIGINT  NOT NULL DEFAULT 0,
    lease_until   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (domain_id, task_id)
);

-- The order in which a claim looks at the queue, of which it reads only a part if it is long.
CREATE INDEX task_queue_order ON task_queue (domain_id, writes, seq);
-- Tasks that no server has seen yet.
CREATE INDEX task_queue_new ON task_queue (domain_id) WHERE NOT queued;

-- Payloads on their way in: blocks under an id that no task has yet.
CREATE TABLE uploads (
    domain_id   BIGINT NOT NULL,
    id          BYTEA  NOT NULL,
    touched_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

-- Compressed blocks of entries, as they were sent.
CREATE TABLE payload_blocks (
    domain_id    BIGINT  NOT NULL,
    task_id      BYTEA   NOT NULL,
    first_index  INTEGER NOT NULL,
    last_index   INTEGER NOT NULL,
    bytes        BYTEA   NOT NULL,
    checksum     BIGINT  NOT NULL,
    PRIMARY KEY (domain_id, task_id, last_index)
);

ALTER TABLE payload_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Compressed JSON lines of results (kind 1) and errors (kind 2), keyed by the first entry that they
-- are about; `next_index` is past the last one.
CREATE TABLE record_blocks (
    domain_id    BIGINT   NOT NULL,
    task_id      BYTEA    NOT NULL,
    kind         SMALLINT NOT NULL,
    first_index  INTEGER  NOT NULL,
    next_index   INTEGER  NOT NULL,
    lines        INTEGER  NOT NULL,
    bytes        BYTEA    NOT NULL,
    checksum     BIGINT   NOT NULL,
    PRIMARY KEY (domain_id, task_id, kind, first_index)
);

-- Runs with a state: dry runs of more than one chunk, which are a task or an import with all its
-- tasks, and imports of issues. `ended_at` is set once no entry is left; then the state is purged.
CREATE TABLE dry_runs (
    domain_id  BIGINT NOT NULL,
    id         BYTEA  NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (domain_id, id)
);

CREATE INDEX dry_runs_ended ON dry_runs (domain_id, ended_at) WHERE ended_at IS NOT NULL;

-- The state that the entries of a dry run so far would have left, or the ids of the issues that an
-- import has changed. The first byte of a key is its kind; the first byte of a value is 1, or 0 if
-- the record would be gone.
CREATE TABLE dry_run_state (
    domain_id  BIGINT NOT NULL,
    run_id     BYTEA  NOT NULL,
    key        BYTEA  NOT NULL,
    value      BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, run_id, key)
);

ALTER TABLE record_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- What filters, sorts and counters of issues look at; nothing here is rendered. `row` numbers the
-- issues of a domain, ties the tables of issues together and is never shown. `state` is the model's
-- number of the word, `author_email` is folded.
CREATE TABLE issues (
    domain_id            BIGINT   NOT NULL,
    row                  BIGINT   NOT NULL,
    id                   BIGINT   NOT NULL,
    created_at           BIGINT   NOT NULL,
    updated_at           BIGINT   NOT NULL,
    changed_at           BIGINT   NOT NULL,
    state                SMALLINT NOT NULL,
    redacted             BOOLEAN  NOT NULL,
    rating               SMALLINT,
    original_created_at  BIGINT,
    app_id               BYTEA    NOT NULL,
    platform_type        BYTEA,
    queue_id             BYTEA,
    hs_user_id           BYTEA    NOT NULL,
    assignee_id          BYTEA,
    language             BYTEA,
    issue_mode           BYTEA,
    author_email         BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, row)
);

-- With the row in it, an index answers without the table.
CREATE UNIQUE INDEX issues_by_id ON issues (domain_id, id) INCLUDE (row);
CREATE UNIQUE INDEX issues_by_creation ON issues (domain_id, created_at) INCLUDE (row);
CREATE INDEX issues_by_state ON issues (domain_id, state, created_at) INCLUDE (row);
CREATE INDEX issues_by_rating ON issues (domain_id, rating, created_at, state) INCLUDE (row)
    WHERE rating IS NOT NULL;
CREATE INDEX issues_by_update ON issues (domain_id, updated_at, id, state) INCLUDE (row);
CREATE INDEX issues_by_change ON issues (domain_id, changed_at, id, state) INCLUDE (row);

-- The fragments that are served, in the order in which an issue shows them. That each belongs to an
-- issue is no foreign key, which would look it up once per row of an import; the check looks.
-- `checksums` has four bytes for each fragment, in the order of the columns: a view reads some of
-- the fragments.
CREATE TABLE issue_bodies (
    domain_id           BIGINT NOT NULL,
    row                 BIGINT NOT NULL,
    head                BYTEA  NOT NULL,
    messages            BYTEA  NOT NULL,
    meta                BYTEA  NOT NULL,
    custom_fields       BYTEA  NOT NULL,
    feedback            BYTEA,
    queue               BYTEA,
    private_notes       BYTEA,
    predict_labels      BYTEA,
    sentiment_analysis  BYTEA,
    smart_intents       BYTEA,
    checksums           BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, row)
) WITH (toast_tuple_target = 8160);

ALTER TABLE issue_bodies
    ALTER COLUMN head SET STORAGE EXTERNAL,
    ALTER COLUMN messages SET STORAGE EXTERNAL,
    ALTER COLUMN meta SET STORAGE EXTERNAL,
    ALTER COLUMN custom_fields SET STORAGE EXTERNAL,
    ALTER COLUMN private_notes SET STORAGE EXTERNAL;

-- Nobody waits for another writer at counters and sets of issues: a transaction adds what it
-- changes to the tables of deltas, readers add base and deltas up, and deltas are folded into the
-- base later, in small transactions.
--
-- How many issues stand in each counter of the model's; none that is zero. `day` is a UTC day or
-- the number of a span of days, whose counter is the sum of its days'. The key carries the number,
-- so that counters are added up from the index alone.
CREATE TABLE issue_counts (
    domain_id  BIGINT   NOT NULL,
    facet      SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    day        BIGINT   NOT NULL,
    n          BIGINT   NOT NULL CHECK (n > 0),
    PRIMARY KEY (domain_id, facet, value, day) INCLUDE (n)
);

-- What transactions added to counters, until it is folded in. `seq` only makes the keys differ.
CREATE TABLE issue_count_deltas (
    domain_id  BIGINT   NOT NULL,
    facet      SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    day        BIGINT   NOT NULL,
    seq        BIGINT   NOT NULL GENERATED ALWAYS AS IDENTITY,
    n          BIGINT   NOT NULL CHECK (n <> 0),
    PRIMARY KEY (domain_id, facet, value, day, seq)
);

-- The issues that stand in each term of the model's, as sets of `row`: one set per term and block
-- of 65,536 row numbers, none that is empty. `kind` and `value` are the model's; values of one kind
-- sort as what they stand for.
CREATE TABLE issue_sets (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    block      BIGINT   NOT NULL,
    rows       BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
);

ALTER TABLE issue_sets ALTER COLUMN rows SET STORAGE EXTERNAL;

-- The same for kinds whose values are those of few issues each. The block comes before the value,
-- so that new issues, whatever their values, are written to the pages of the last block, and an
-- import of any size continues as fast as it began; who looks for a value looks once in each block.
-- A set may have parts beside its base, which is part -1: an import whose values are nearly all
-- different adds parts without looking whether a base exists, each under the place of its first row
-- in the block.
CREATE TABLE issue_values (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    block      BIGINT   NOT NULL,
    value      BYTEA    NOT NULL,
    part       INTEGER  NOT NULL DEFAULT -1,
    rows       BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, block, value, part)
);

-- What transactions changed in sets of both tables, until it is folded in: the rows that entered a
-- term and those that left it. Of one row the deltas are in the order of `seq`, because whoever
-- changes an issue has locked it before.
CREATE TABLE issue_set_deltas (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    block      BIGINT   NOT NULL,
    seq        BIGINT   NOT NULL GENERATED ALWAYS AS IDENTITY,
    entered    BYTEA,
    gone       BYTEA,
    PRIMARY KEY (domain_id, kind, value, block, seq)
);

-- Emptied again and again, so these tables are swept sooner than others.
ALTER TABLE issue_count_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE issue_set_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- The text index of issues. Marks are ranges of rows that writes left to be read for it; `erased`
-- ones were deleted. Segments are sets of rows whose texts were read. Grams are, for each segment
-- and bucket of four-byte pieces of text, the places of the issues among the rows of the segment.
CREATE TABLE issue_text_marks (
    domain_id  BIGINT  NOT NULL,
    seq        BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY,
    first_row  BIGINT  NOT NULL,
    last_row   BIGINT  NOT NULL,
    erased     BOOLEAN NOT NULL,
    PRIMARY KEY (domain_id, seq)
);

CREATE TABLE issue_text_segments (
    domain_id  BIGINT NOT NULL,
    segment    BIGINT NOT NULL,
    rows       BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, segment)
);

CREATE TABLE issue_text_grams (
    domain_id  BIGINT  NOT NULL,
    segment    BIGINT  NOT NULL,
    bucket     INTEGER NOT NULL,
    rows       BYTEA   NOT NULL,
    PRIMARY KEY (domain_id, segment, bucket)
);

ALTER TABLE issue_text_segments ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE issue_text_grams ALTER COLUMN rows SET STORAGE EXTERNAL;
-- Marks are emptied again and again, so they are swept sooner than other tables.
ALTER TABLE issue_text_marks
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- Files that came with messages. `issue_id` is null while a file is staged: it arrives, and its
-- message does not exist yet.
CREATE TABLE attachments (
    domain_id     BIGINT NOT NULL,
    id            BYTEA  NOT NULL,
    issue_id      BIGINT,
    file_name     BYTEA  NOT NULL,
    content_type  BYTEA  NOT NULL,
    size          BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (domain_id, id)
);

CREATE INDEX attachments_staged ON attachments (domain_id, created_at) WHERE issue_id IS NULL;
-- The files of an issue, which go when the issue is deleted.
CREATE INDEX attachments_of_issue ON attachments (domain_id, issue_id) WHERE issue_id IS NOT NULL;

-- Their bytes, in pieces numbered from 0.
CREATE TABLE attachment_pieces (
    domain_id      BIGINT  NOT NULL,
    attachment_id  BYTEA   NOT NULL,
    number         INTEGER NOT NULL,
    bytes          BYTEA   NOT NULL,
    checksum       BIGINT  NOT NULL,
    PRIMARY KEY (domain_id, attachment_id, number)
);

ALTER TABLE attachment_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
