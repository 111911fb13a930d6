-- The sets by which core profiles are found, in rows of neighbours: for each value of a filter the
-- profiles that have it, and all profiles by creation and by last update. `kind` and `value` are the
-- model's; in an order, `value` is the instant of the first member. `ids` has the members after
-- `first_id`.
CREATE TABLE profile_sets (
    domain_id  INTEGER NOT NULL,
    kind       INTEGER NOT NULL,
    value      BLOB    NOT NULL,
    first_id   INTEGER NOT NULL,
    n          INTEGER NOT NULL CHECK (n > 0),
    ids        BLOB    NOT NULL,
    PRIMARY KEY (domain_id, kind, value, first_id)
) STRICT, WITHOUT ROWID;

-- The sets have both orders.
DROP INDEX core_profiles_by_creation;
DROP INDEX core_profiles_by_update;

INSERT INTO incomplete_indexes SELECT 'profile sets' WHERE EXISTS (SELECT 1 FROM core_profiles);
