-- Every row that cannot be compared with others has a checksum, which is written with it and shows
-- damage. Rows of earlier versions have none until they are written again: a checksum that is
-- computed later would vouch for bytes that may be damaged already. The code says which columns a
-- checksum covers.

ALTER TABLE domains ADD COLUMN checksum BIGINT;
ALTER TABLE domain_clocks ADD COLUMN checksum BIGINT;
ALTER TABLE keys ADD COLUMN checksum BIGINT;
ALTER TABLE apps ADD COLUMN checksum BIGINT;
ALTER TABLE agents ADD COLUMN checksum BIGINT;
ALTER TABLE queues ADD COLUMN checksum BIGINT;
ALTER TABLE idempotency_keys ADD COLUMN checksum BIGINT;
ALTER TABLE core_profiles ADD COLUMN checksum BIGINT;
ALTER TABLE tasks ADD COLUMN checksum BIGINT;
ALTER TABLE payload_blocks ADD COLUMN checksum BIGINT;
ALTER TABLE record_blocks ADD COLUMN checksum BIGINT;
ALTER TABLE attachments ADD COLUMN checksum BIGINT;
ALTER TABLE attachment_pieces ADD COLUMN checksum BIGINT;

-- Of an app profile, `checksum` covers the columns that never change, `fields_checksum` the fields.
ALTER TABLE app_profiles ADD COLUMN checksum BIGINT;
ALTER TABLE app_profiles ADD COLUMN fields_checksum BIGINT;

-- Four bytes for each fragment, in the order of the columns: a view reads some of the fragments.
ALTER TABLE issue_bodies ADD COLUMN checksums BYTEA;

-- The quotas of a domain; null is without a limit.
ALTER TABLE domains ADD COLUMN quota_bytes BIGINT;
ALTER TABLE domains ADD COLUMN quota_tasks BIGINT;
ALTER TABLE domains ADD COLUMN rate_limit BIGINT;

-- Bytes of the domain's issues, profiles, payloads, records and files.
ALTER TABLE domain_clocks ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;

UPDATE domain_clocks SET stored_bytes = used.bytes
    FROM (SELECT domain_id, sum(bytes)::bigint AS bytes FROM (
        SELECT i.domain_id, length(b.head) + length(b.messages) + length(b.meta)
            + length(b.custom_fields) + coalesce(length(b.feedback), 0)
            + coalesce(length(b.queue), 0) + coalesce(length(b.private_notes), 0)
            + coalesce(length(b.predict_labels), 0) + coalesce(length(b.sentiment_analysis), 0)
            + coalesce(length(b.smart_intents), 0) AS bytes
            FROM issues i JOIN issue_bodies b ON b.domain_id = i.domain_id AND b.row = i.row
        UNION ALL SELECT domain_id, length(fields) FROM core_profiles
        UNION ALL SELECT domain_id, length(fields) FROM app_profiles
        UNION ALL SELECT domain_id, length(bytes) FROM payload_blocks
        UNION ALL SELECT domain_id, length(bytes) FROM record_blocks
        UNION ALL SELECT domain_id, length(bytes) FROM attachment_pieces) AS stored
        GROUP BY domain_id) AS used
    WHERE used.domain_id = domain_clocks.domain_id;

-- The checksum of a clock is the sum of its numbers, so that a statement that advances one of them
-- advances the checksum by as much.
UPDATE domain_clocks SET checksum = domain_id + last_issue_id + last_core_profile_id
    + last_created_at + last_change_at + last_app_number + last_live_created_at + stored_bytes
    + last_profile_change_at + last_task_seq + last_issue_row;
