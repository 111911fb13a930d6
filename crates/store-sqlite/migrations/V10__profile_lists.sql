-- The orders in which lists of profiles are read. Ids break the ties of core profiles, pids those of
-- app profiles.

CREATE INDEX core_profiles_by_creation
    ON core_profiles (domain_id, created_at, coalesce(moved_id, seq));
CREATE INDEX core_profiles_by_update
    ON core_profiles (domain_id, updated_at, coalesce(moved_id, seq));
CREATE INDEX app_profiles_by_creation ON app_profiles (domain_id, created_at, pid);
CREATE INDEX app_profiles_by_update ON app_profiles (domain_id, updated_at, pid);
