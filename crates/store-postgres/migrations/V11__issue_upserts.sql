-- Whether an import replaces issues whose id it names: 1, else null. The checksum of a row adds it.
ALTER TABLE tasks ADD COLUMN upsert BIGINT;
