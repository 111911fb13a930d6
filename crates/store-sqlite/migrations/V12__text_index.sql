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

-- The issues that are there are read in the background.
INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
    SELECT domain_id, min(row), max(row), 0 FROM issues GROUP BY domain_id;
