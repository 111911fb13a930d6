-- Issues: a narrow row for filters and sorting, the rendered fragments in a second table, counters
-- and term sets. `row` numbers the issues of a domain, connects the tables and is never shown.
-- Writers do not wait for each other at counters and term sets: a transaction adds its changes as
-- deltas, readers sum up base and deltas, and compaction merges deltas into the base later, in
-- small transactions.

ALTER TABLE domain_clocks ADD COLUMN last_issue_row BIGINT NOT NULL DEFAULT 0;

-- The columns that filters, sorts and counters read; none of them is rendered. `state` is the
-- model's number of the state, and `author_email` is case-folded.
CREATE TABLE issues (
    domain_id            BIGINT   NOT NULL,
    row                BIGINT   NOT NULL,
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

-- These indexes include the row number, so that they answer queries without the table.
CREATE UNIQUE INDEX issues_by_id ON issues (domain_id, id) INCLUDE (row);
CREATE UNIQUE INDEX issues_by_creation ON issues (domain_id, created_at) INCLUDE (row);
CREATE INDEX issues_by_state ON issues (domain_id, state, created_at) INCLUDE (row);
CREATE INDEX issues_by_rating ON issues (domain_id, rating, created_at, state) INCLUDE (row)
    WHERE rating IS NOT NULL;
CREATE INDEX issues_by_update ON issues (domain_id, updated_at, id, state) INCLUDE (row);
CREATE INDEX issues_by_change ON issues (domain_id, changed_at, id, state) INCLUDE (row);

-- The fragments that are served, in the order in which an issue shows them. There is no foreign key
-- to `issues`, because it would cost a lookup per row of an import; the check verifies the
-- reference.
CREATE TABLE issue_bodies (
    domain_id           BIGINT NOT NULL,
    row               BIGINT NOT NULL,
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
    PRIMARY KEY (domain_id, row)
) WITH (toast_tuple_target = 8160);

-- These values are served as they are: compressing them would only cost time.
ALTER TABLE issue_bodies
    ALTER COLUMN head SET STORAGE EXTERNAL,
    ALTER COLUMN messages SET STORAGE EXTERNAL,
    ALTER COLUMN meta SET STORAGE EXTERNAL,
    ALTER COLUMN custom_fields SET STORAGE EXTERNAL,
    ALTER COLUMN private_notes SET STORAGE EXTERNAL;

-- The counters of the model; none of them is zero. `day` is a UTC day or the number of a span of
-- days, whose counter is the sum of its days. The index includes the number, so that counters are
-- summed up from the index alone.
CREATE TABLE issue_counts (
    domain_id  BIGINT   NOT NULL,
    facet      SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    day        BIGINT   NOT NULL,
    n          BIGINT   NOT NULL CHECK (n > 0),
    PRIMARY KEY (domain_id, facet, value, day) INCLUDE (n)
);

-- Deltas of counters, until compaction merges them. `seq` only makes the keys unique.
CREATE TABLE issue_count_deltas (
    domain_id  BIGINT   NOT NULL,
    facet      SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    day        BIGINT   NOT NULL,
    seq        BIGINT   NOT NULL GENERATED ALWAYS AS IDENTITY,
    n          BIGINT   NOT NULL CHECK (n <> 0),
    PRIMARY KEY (domain_id, facet, value, day, seq)
);

-- Term sets: the issues with each term of the model, as sets of `row`. There is one set per term
-- and block of 65,536 row numbers; none is empty. `kind` and `value` are those of the model, and
-- the stored values of a kind sort like the values that they encode.
CREATE TABLE issue_sets (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    value      BYTEA    NOT NULL,
    block      BIGINT   NOT NULL,
    rows     BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
);

-- Term sets of kinds whose values have few issues each. The block comes before the value in the
-- key, so that new issues with any values go to the pages of the last block, and a large import
-- does not slow down. A search for a value looks into each block. A set has a base (part -1) and
-- may have further parts: an import whose values are nearly all different adds parts without
-- reading the base. The number of such a part is the position of its first row in the block.
CREATE TABLE issue_values (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    block      BIGINT   NOT NULL,
    value      BYTEA    NOT NULL,
    part       INTEGER  NOT NULL DEFAULT -1,
    rows     BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, block, value, part)
);

-- Deltas of the term sets of both tables, until compaction merges them: the rows that entered a
-- term and those that left it. The deltas of one row are ordered by `seq`, because a transaction
-- locks an issue before it changes it.
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

-- These tables are small and change often, so that they are vacuumed earlier than others.
ALTER TABLE issue_sets ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE issue_count_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE issue_set_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- Attachments of messages. `issue_id` is null while an attachment is staged: it is being uploaded,
-- and its message does not exist yet.
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

-- The bytes of attachments, in pieces numbered from 0.
CREATE TABLE attachment_pieces (
    domain_id      BIGINT  NOT NULL,
    attachment_id  BYTEA   NOT NULL,
    number         INTEGER NOT NULL,
    bytes          BYTEA   NOT NULL,
    PRIMARY KEY (domain_id, attachment_id, number)
);

ALTER TABLE attachment_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
