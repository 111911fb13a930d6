-- Domains and everything but issues. Every key begins with the domain, so that the tables can be
-- distributed by it; `domains`, `domain_removals` and `keys` are small and read from everywhere, and
-- `task_queue` is the one table that all domains share. Times are Unix milliseconds, words are
-- stored under the numbers that the model gives them, and what is served is stored as the bytes that
-- are served. Text that callers give is bytea: it may hold U+0000 and is compared as bytes.

CREATE TABLE domains (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            TEXT   NOT NULL COLLATE "C",
    default_app_id  BYTEA  NOT NULL,
    created_at      BIGINT NOT NULL,
    CONSTRAINT domains_name UNIQUE (name)
);

-- Domains that are gone for everyone and whose records are still being removed.
CREATE TABLE domain_removals (
    removed_id BIGINT PRIMARY KEY
);

-- Hands out ids and times: max(now, last + 1). Locked last, just before commit. What only chunks of
-- writing tasks use (core profile ids, times of core profiles) needs no lock before: a domain has one
-- such chunk at a time.
CREATE TABLE domain_clocks (
    domain_id               BIGINT PRIMARY KEY,
    last_issue_id           BIGINT NOT NULL DEFAULT 0,
    last_core_profile_id    BIGINT NOT NULL DEFAULT 0,
    last_profile_change_at  BIGINT NOT NULL DEFAULT 0,
    last_created_at         BIGINT NOT NULL DEFAULT 0,
    last_change_at          BIGINT NOT NULL DEFAULT 0,
    last_app_number         BIGINT NOT NULL DEFAULT 0,
    last_task_seq           BIGINT NOT NULL DEFAULT 0
);

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
    PRIMARY KEY (domain_id, id),
    CONSTRAINT keys_hash UNIQUE (hash)
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

-- First answers to requests that may be repeated. `content` is a hash of what was asked for.
CREATE TABLE idempotency_keys (
    domain_id   BIGINT NOT NULL,
    key         BYTEA  NOT NULL,
    content     BYTEA  NOT NULL,
    location    TEXT   NOT NULL,
    answer      BYTEA  NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key)
);

CREATE INDEX idempotency_keys_expiring ON idempotency_keys (domain_id, expires_at);

-- `fields` holds the stored members as JSON.
CREATE TABLE core_profiles (
    domain_id   BIGINT NOT NULL,
    id          BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    fields      BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, id)
);

-- An identity belongs to one core profile of the domain. `key` is the model's folded form.
CREATE TABLE identities (
    domain_id        BIGINT NOT NULL,
    key              BYTEA  NOT NULL,
    core_profile_id  BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key)
);

CREATE TABLE app_profiles (
    domain_id   BIGINT NOT NULL,
    pid         BYTEA  NOT NULL,
    app_id      BYTEA  NOT NULL,
    name        BYTEA  NOT NULL,
    emails      BYTEA  NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    fields      BYTEA  NOT NULL,
    PRIMARY KEY (domain_id, pid)
);

-- `seq` is the order of acceptance in the domain. Laws: succeeded + failed + unprocessed = total,
-- completed (status 4) together with an outcome and a time of completion. `cancel_at` is when an end
-- was asked for; `purge` is 0 while payload and records are kept, 1 while they are removed, 2
-- afterwards.
CREATE TABLE tasks (
    domain_id     BIGINT   NOT NULL,
    id            BYTEA    NOT NULL,
    seq           BIGINT   NOT NULL,
    family        SMALLINT NOT NULL,
    action        SMALLINT NOT NULL,
    writes        BOOLEAN  NOT NULL,
    dry_run       BOOLEAN  NOT NULL,
    status        SMALLINT NOT NULL,
    outcome       SMALLINT,
    total         INTEGER  NOT NULL,
    succeeded     INTEGER  NOT NULL DEFAULT 0,
    failed        INTEGER  NOT NULL DEFAULT 0,
    unprocessed   INTEGER  NOT NULL,
    next_index    INTEGER  NOT NULL,
    created_at    BIGINT   NOT NULL,
    queued_at     BIGINT,
    started_at    BIGINT,
    completed_at  BIGINT,
    expires_at    BIGINT,
    attempts      INTEGER  NOT NULL DEFAULT 0,
    parent_id     BYTEA,
    cancel_at     BIGINT,
    purge         SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (domain_id, id),
    CONSTRAINT tasks_seq UNIQUE (domain_id, seq),
    CHECK (succeeded + failed + unprocessed = total),
    CHECK ((status = 4) = (outcome IS NOT NULL)),
    CHECK ((status = 4) = (completed_at IS NOT NULL))
);

CREATE INDEX tasks_listed ON tasks (domain_id, family, seq, status, action);
CREATE INDEX tasks_expiring ON tasks (domain_id, expires_at) WHERE status = 4 AND purge < 2;

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
    PRIMARY KEY (domain_id, task_id, last_index)
);

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
    PRIMARY KEY (domain_id, task_id, kind, first_index)
);

-- Compressed already, or served as they are: trying to compress them again would only cost time.
ALTER TABLE payload_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE record_blocks ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE core_profiles ALTER COLUMN fields SET STORAGE EXTERNAL;
ALTER TABLE app_profiles ALTER COLUMN fields SET STORAGE EXTERNAL;

-- How far the copy is that fills this store; while the row is there, the store is not one yet.
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
