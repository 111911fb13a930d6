-- The unfinished tasks of a domain, which a task's position is counted from: they are on the node of
-- the task, the queue may be on another.
CREATE INDEX tasks_unfinished ON tasks (domain_id, seq) WHERE status < 4;
