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

-- Lists and sets are compressed already. Marks are emptied again and again, so they are swept sooner
-- than other tables.
ALTER TABLE issue_text_segments ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE issue_text_grams ALTER COLUMN rows SET STORAGE EXTERNAL;
ALTER TABLE issue_text_marks
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- The issues that are there are read in the background.
INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
    SELECT domain_id, min("row"), max("row"), false FROM issues GROUP BY domain_id;
