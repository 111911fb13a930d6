-- Domains and everything but issues. Every key begins with the domain, times are Unix
-- milliseconds, words are stored under the numbers that the model gives them, and what is served
-- is stored as the bytes that are served.

CREATE TABLE domains (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,
    default_app_id  TEXT    NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

-- Domains that are gone for everyone and whose records are still being removed.
CREATE TABLE domain_removals (
    removed_id INTEGER PRIMARY KEY
) STRICT;

-- Written to see whether the store can be written.
CREATE TABLE probe (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    writes  INTEGER NOT NULL
) STRICT;

-- How far the copy is that fills this store; while the row is there, the store is not one yet.
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

INSERT INTO probe (id, writes) VALUES (1, 0);

-- Hands out ids and times: max(now, last + 1).
CREATE TABLE domain_clocks (
    domain_id             INTEGER PRIMARY KEY REFERENCES domains (id),
    last_issue_id         INTEGER NOT NULL DEFAULT 0,
    last_core_profile_id  INTEGER NOT NULL DEFAULT 0,
    last_created_at       INTEGER NOT NULL DEFAULT 0,
    last_change_at        INTEGER NOT NULL DEFAULT 0,
    last_app_number       INTEGER NOT NULL DEFAULT 0
) STRICT;

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
    PRIMARY KEY (domain_id, id)
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

-- `fields` holds the stored members as JSON. `seq` is the profile's id: ids are given out so that
-- no two domains meet, and no index is needed beside the table. Only a copy may bring a profile whose
-- id is another domain's `seq` already: it gets another number, and its id is in `moved_id`.
-- The profiles of a domain are found by their identities; each has one at least.
CREATE TABLE core_profiles (
    seq         INTEGER PRIMARY KEY,
    moved_id    INTEGER,
    domain_id   INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    fields      BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX core_profiles_moved ON core_profiles (domain_id, moved_id)
    WHERE moved_id IS NOT NULL;

-- An identity belongs to one core profile of the domain. `key` is the model's folded form.
CREATE TABLE identities (
    domain_id        INTEGER NOT NULL,
    key              BLOB    NOT NULL,
    core_profile_id  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE app_profiles (
    seq         INTEGER PRIMARY KEY,
    domain_id   INTEGER NOT NULL,
    pid         TEXT    NOT NULL,
    app_id      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    emails      BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    fields      BLOB    NOT NULL,
    UNIQUE (domain_id, pid)
) STRICT;

-- `seq` is the order of acceptance. Laws: succeeded + failed + unprocessed = total, completed
-- (status 4) together with an outcome and a time of completion. `cancel_at` is when an end was asked
-- for; `purge` is 0 while payload and records are kept, 1 while they are removed, 2 afterwards.
CREATE TABLE tasks (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    domain_id     INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    family        INTEGER NOT NULL,
    action        INTEGER NOT NULL,
    writes        INTEGER NOT NULL,
    dry_run       INTEGER NOT NULL,
    status        INTEGER NOT NULL,
    outcome       INTEGER,
    total         INTEGER NOT NULL,
    succeeded     INTEGER NOT NULL DEFAULT 0,
    failed        INTEGER NOT NULL DEFAULT 0,
    unprocessed   INTEGER NOT NULL,
    next_index    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    queued_at     INTEGER,
    started_at    INTEGER,
    completed_at  INTEGER,
    expires_at    INTEGER,
    attempts      INTEGER NOT NULL DEFAULT 0,
    not_before    INTEGER NOT NULL DEFAULT 0,
    lease_server  TEXT,
    lease_epoch   INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER NOT NULL DEFAULT 0,
    parent_id     TEXT,
    cancel_at     INTEGER,
    purge         INTEGER NOT NULL DEFAULT 0,
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

-- Compressed blocks of entries, as they were sent.
CREATE TABLE payload_blocks (
    seq          INTEGER PRIMARY KEY,
    domain_id    INTEGER NOT NULL,
    task_id      TEXT    NOT NULL,
    first_index  INTEGER NOT NULL,
    last_index   INTEGER NOT NULL,
    bytes        BLOB    NOT NULL,
    UNIQUE (domain_id, task_id, last_index)
) STRICT;

-- Payloads on their way in whose task is not accepted yet. Their blocks are in payload_blocks under
-- the id that the task will have; accepting it removes the row here in the same transaction.
-- `touched_at` is when the last block came, 0 once nobody sends any more.
CREATE TABLE uploads (
    domain_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    touched_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

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
    UNIQUE (domain_id, task_id, kind, first_index)
) STRICT;

-- First answers to requests that may be repeated. `content` is a hash of what was asked for.
CREATE TABLE idempotency_keys (
    domain_id   INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    content     BLOB    NOT NULL,
    location    TEXT    NOT NULL,
    answer      BLOB    NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_expiring ON idempotency_keys (expires_at);
