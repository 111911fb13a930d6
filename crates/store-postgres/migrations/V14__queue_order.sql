-- The order in which a claim looks at the queue, of which it reads only a part if it is long.
CREATE INDEX task_queue_order ON task_queue (domain_id, writes, seq);
-- Tasks that no server has seen yet.
CREATE INDEX task_queue_new ON task_queue (domain_id) WHERE NOT queued;
