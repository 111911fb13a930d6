-- Issues: a narrow row to filter and sort by, the rendered fragments beside it, and kept counts.
-- Every key begins with the domain; `row` ties the two tables together and is never shown.

-- Columns are what filters, sorts and counters look at; nothing here is rendered. `state` is the
-- model's number of the word, `author_email` is folded.
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
-- issue that it belongs to.
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
    smart_intents       BLOB
) STRICT;

-- How many issues stand in each counter of the model's; none that is zero. `day` is a UTC day or the
-- number of a span of days, whose counter is the sum of its days'.
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

-- The same for kinds whose values are those of few issues each. The block comes before the value, so
-- that new issues, whatever their values, are written to the pages of the last block, and an import
-- of any size goes on as fast as it began; who looks for a value looks once in each block.
CREATE TABLE issue_values (
    domain_id  INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (domain_id, kind, block, value)
) STRICT, WITHOUT ROWID;

-- Files that came with messages. `issue_id` is null while a file is staged: it arrives, and its
-- message is not there yet.
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

-- Their bytes, in pieces numbered from 0.
CREATE TABLE attachment_pieces (
    seq            INTEGER PRIMARY KEY,
    domain_id      INTEGER NOT NULL,
    attachment_id  TEXT    NOT NULL,
    number         INTEGER NOT NULL,
    bytes          BLOB    NOT NULL,
    UNIQUE (domain_id, attachment_id, number)
) STRICT;
