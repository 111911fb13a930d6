-- Domains and everything but issues. Every key begins with the domain. Times are Unix milliseconds.
-- Enum words are stored as the numbers of the model. Responses are stored as the bytes that are
-- served.

CREATE TABLE domains (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,
    default_app_id  TEXT    NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

-- Domains that no caller can reach and whose records are still being removed.
CREATE TABLE domain_removals (
    removed_id INTEGER PRIMARY KEY
) STRICT;

-- The readiness check writes here.
CREATE TABLE probe (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    writes  INTEGER NOT NULL
) STRICT;

-- The progress of a copy into this store. While the row exists, only the copy can open the store.
-- `source` is a fingerprint of the source; `position` is the start of the table's next batch.
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

-- Assigns ids and times: max(now, last + 1).
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

-- `fields` contains the stored members as JSON. `seq` is the id of the profile: ids are unique over
-- all domains, so that the table needs no other index. Only a copy may add a profile whose id is
-- the `seq` of another domain's profile; it gets another `seq`, and its id is in `moved_id`. Every
-- profile has at least one identity, through which the profiles of a domain are found.
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

-- An identity belongs to one core profile of the domain. `key` is the case-folded identity.
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

-- `seq` is the order of acceptance. Rules: succeeded + failed + unprocessed = total; a completed
-- task (status 4) has an outcome and a completion time. `cancel_at` is the time of the cancel
-- request. `purge` is 0 while payload and records are stored, 1 while they are being removed, 2
-- afterwards.
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

-- Compressed blocks of payload entries, with the bytes that were sent.
CREATE TABLE payload_blocks (
    seq          INTEGER PRIMARY KEY,
    domain_id    INTEGER NOT NULL,
    task_id      TEXT    NOT NULL,
    first_index  INTEGER NOT NULL,
    last_index   INTEGER NOT NULL,
    bytes        BLOB    NOT NULL,
    UNIQUE (domain_id, task_id, last_index)
) STRICT;

-- Uploads: payloads whose task is not accepted yet. Their blocks are in payload_blocks under the id
-- of the future task. Accepting the task removes this row in the same transaction. `touched_at` is
-- the time of the last block, or 0 if the upload was given up.
CREATE TABLE uploads (
    domain_id   INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    touched_at  INTEGER NOT NULL,
    PRIMARY KEY (domain_id, id)
) STRICT, WITHOUT ROWID;

-- Compressed JSON lines of results (kind 1) and errors (kind 2). `first_index` is the first entry
-- that they are about; `next_index` is the index after the last one.
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

-- The first answers to requests with an idempotency key. `content` is a hash of the request.
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
