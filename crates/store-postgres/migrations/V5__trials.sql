-- `one_by_one`: whether the entries of the task are applied one by one, because servers died or took
-- too long with several. `tries` counts deaths of servers before the entry `tried_index` committed,
-- or, one by one, how often that entry was tried alone.
ALTER TABLE tasks ADD COLUMN one_by_one SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN tried_index INTEGER NOT NULL DEFAULT -1;
