-- The orders in which lists of profiles are read. Ids break the ties of core profiles, pids those of
-- app profiles.

CREATE INDEX core_profiles_by_creation ON core_profiles (domain_id, created_at, id);
CREATE INDEX core_profiles_by_update ON core_profiles (domain_id, updated_at, id);
CREATE INDEX app_profiles_by_creation ON app_profiles (domain_id, created_at, pid);
CREATE INDEX app_profiles_by_update ON app_profiles (domain_id, updated_at, pid);

-- The identities of app profiles: addresses in the model's folded form, and identifiers as `uid`.
CREATE TABLE app_profile_identities (
    domain_id  BIGINT NOT NULL,
    key        BYTEA  NOT NULL,
    pid        BYTEA  NOT NULL,
    -- The code of the identity's type.
    kind       BIGINT NOT NULL,
    PRIMARY KEY (domain_id, key, pid)
);

-- Only identifiers are looked up by their profile: it has its addresses itself.
CREATE INDEX app_profile_identities_by_identifier ON app_profile_identities (domain_id, pid)
    WHERE kind = 1;

-- Indexes to which the server that starts next adds the stored rows.
CREATE TABLE incomplete_indexes (
    name  BYTEA NOT NULL PRIMARY KEY
);

INSERT INTO incomplete_indexes SELECT 'identities' WHERE EXISTS (SELECT 1 FROM app_profiles);
