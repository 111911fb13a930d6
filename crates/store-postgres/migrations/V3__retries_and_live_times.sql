-- `last_live_created_at` is the latest creation time that was given to an issue as it was written;
-- imports do not count. Until now such a time was at most the last change, unless an import brought
-- issues of the future.
ALTER TABLE domain_clocks ADD COLUMN last_live_created_at BIGINT NOT NULL DEFAULT 0;

UPDATE domain_clocks SET last_live_created_at = least(last_created_at, last_change_at);

-- `retried_by` is the id of the task that retries this one; of several, the first.
ALTER TABLE tasks ADD COLUMN retried_by BYTEA;

UPDATE tasks SET retried_by = retries.id
    FROM (SELECT DISTINCT ON (domain_id, parent_id) domain_id, parent_id, id FROM tasks
          WHERE parent_id IS NOT NULL ORDER BY domain_id, parent_id, seq) AS retries
    WHERE tasks.domain_id = retries.domain_id AND tasks.id = retries.parent_id;

-- `warnings` counts the warnings in the task's result records.
ALTER TABLE tasks ADD COLUMN warnings BIGINT NOT NULL DEFAULT 0;
