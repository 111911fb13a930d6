-- Rows of sets of profiles are shorter than before, and dense ones have words instead of distances.
-- Programs before this version cannot read words. The program that opens the store next writes all
-- sets again.
DELETE FROM profile_sets;

INSERT INTO incomplete_indexes SELECT 'profile sets' WHERE EXISTS (SELECT 1 FROM core_profiles)
    ON CONFLICT DO NOTHING;
