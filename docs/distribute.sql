-- Distributes the tables of a Caseload database by domain, on PostgreSQL with the extension Citus
-- or on an engine with the same functions. Run it once, after the first `caseload serve` has
-- created the tables. Every key begins with the id of the domain, so that nothing else has to
-- change. Servers may keep running; their writes wait.

-- These tables are small and replicated to every node. An API key is looked up before its domain is
-- known.
SELECT create_reference_table('domains');
SELECT create_reference_table('keys');
SELECT create_reference_table('sessions');

-- `task_queue` (the unfinished tasks of all domains and their leases), `domain_removals` and
-- `copy_progress` (the progress of a copy into the store) remain on one node. They are small, and
-- every server reads them.

SELECT create_distributed_table('domain_clocks', 'domain_id');
SELECT create_distributed_table('apps', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('agents', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('queues', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('idempotency_keys', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('core_profiles', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('identities', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('app_profiles', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('app_profile_identities', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('tasks', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('uploads', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('payload_blocks', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('record_blocks', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issues', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_bodies', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_counts', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_count_deltas', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_sets', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_values', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_set_deltas', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_text_marks', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_text_segments', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('issue_text_grams', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('attachments', 'domain_id', colocate_with => 'domain_clocks');
SELECT create_distributed_table('attachment_pieces', 'domain_id', colocate_with => 'domain_clocks');
