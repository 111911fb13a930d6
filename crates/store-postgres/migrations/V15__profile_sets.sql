-- The sets by which core profiles are found, in rows of neighbours: for each value of a filter the
-- profiles that have it, and all profiles by creation and by last update. `kind` and `value` are the
-- model's; in an order, `value` is the instant of the first member. `ids` has the members after
-- `first_id`.
CREATE TABLE profile_sets (
    domain_id  BIGINT  NOT NULL,
    kind       BIGINT  NOT NULL,
    value      BYTEA   NOT NULL,
    first_id   BIGINT  NOT NULL,
    n          INTEGER NOT NULL CHECK (n > 0),
    ids        BYTEA   NOT NULL,
    PRIMARY KEY (domain_id, kind, value, first_id)
);

-- Members are compressed already. The last row of a set is replaced again and again, so the table is
-- swept sooner than others.
ALTER TABLE profile_sets ALTER COLUMN ids SET STORAGE EXTERNAL;
ALTER TABLE profile_sets
    SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- The sets have both orders.
DROP INDEX core_profiles_by_creation;
DROP INDEX core_profiles_by_update;

INSERT INTO incomplete_indexes SELECT 'profile sets' WHERE EXISTS (SELECT 1 FROM core_profiles);
