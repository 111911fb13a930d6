-- The orders in which lists of profiles are read. Ids break the ties of core profiles, pids those of
-- app profiles.

CREATE INDEX core_profiles_by_creation
    ON core_profiles (domain_id, created_at, coalesce(moved_id, seq));
CREATE INDEX core_profiles_by_update
    ON core_profiles (domain_id, updated_at, coalesce(moved_id, seq));
CREATE INDEX app_profiles_by_creation ON app_profiles (domain_id, created_at, pid);
CREATE INDEX app_profiles_by_update ON app_profiles (domain_id, updated_at, pid);

-- The identities of app profiles: addresses in the model's folded form, and identifiers as `uid`.
CREATE TABLE app_profile_identities (
    domain_id  INTEGER NOT NULL,
    key        BLOB    NOT NULL,
    pid        TEXT    NOT NULL,
    -- The code of the identity's type.
    kind       INTEGER NOT NULL,
    PRIMARY KEY (domain_id, key, pid)
) STRICT, WITHOUT ROWID;

-- Only identifiers are looked up by their profile: it has its addresses itself.
CREATE INDEX app_profile_identities_by_identifier ON app_profile_identities (domain_id, pid)
    WHERE kind = 1;

-- Indexes to which the program that opens the store next adds the stored rows.
CREATE TABLE incomplete_indexes (
    name  TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

INSERT INTO incomplete_indexes SELECT 'identities' WHERE EXISTS (SELECT 1 FROM app_profiles);
