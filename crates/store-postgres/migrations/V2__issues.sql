-- Issues: a narrow row to filter and sort by, the rendered fragments beside it, and what they are
-- found by: counters and sets of rows. `row` numbers the issues of a domain, ties the tables
-- together and is never shown. Nobody waits for another writer at counters and sets: a transaction
-- adds what it changes to the tables of deltas, readers add base and deltas up, and deltas are folded
-- into the base later, in small transactions.

ALTER TABLE domain_clocks ADD COLUMN last_issue_row BIGINT NOT NULL DEFAULT 0;

-- Columns are what filters, sorts and counters look at; nothing here is rendered. `state` is the
-- model's number of the word, `author_email` is folded.
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

-- Served as they are: packing and unpacking them would only cost time.
ALTER TABLE issue_bodies
    ALTER COLUMN head SET STORAGE EXTERNAL,
    ALTER COLUMN messages SET STORAGE EXTERNAL,
    ALTER COLUMN meta SET STORAGE EXTERNAL,
    ALTER COLUMN custom_fields SET STORAGE EXTERNAL,
    ALTER COLUMN private_notes SET STORAGE EXTERNAL;

-- How many issues stand in each counter of the model's; none that is zero. `day` is a UTC day or the
-- number of a span of days, whose counter is the sum of its days'. The key carries the number, so
-- that counters are added up from the index alone.
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
    rows     BYTEA    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, block)
);

-- The same for kinds whose values are those of few issues each. The block comes before the value, so
-- that new issues, whatever their values, are written to the pages of the last block, and an import
-- of any size goes on as fast as it began; who looks for a value looks once in each block. A set may
-- have parts beside its base, which is part -1: an import whose values are nearly all different adds
-- parts without looking whether there is a base, each under the place of its first row in the block.
CREATE TABLE issue_values (
    domain_id  BIGINT   NOT NULL,
    kind       SMALLINT NOT NULL,
    block      BIGINT   NOT NULL,
    value      BYTEA    NOT NULL,
    part       INTEGER  NOT NULL DEFAULT -1,
    rows     BYTEA    NOT NULL,
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

-- Written often and small, or emptied again and again: swept sooner than other tables.
ALTER TABLE issue_sets ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE issue_count_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE issue_set_deltas
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- Files that came with messages. `issue_id` is null while a file is staged: it arrives, and its
-- message is not there yet.
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

-- Their bytes, in pieces numbered from 0.
CREATE TABLE attachment_pieces (
    domain_id      BIGINT  NOT NULL,
    attachment_id  BYTEA   NOT NULL,
    number         INTEGER NOT NULL,
    bytes          BYTEA   NOT NULL,
    PRIMARY KEY (domain_id, attachment_id, number)
);

ALTER TABLE attachment_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
