-- What was sent, and with which key. Tasks of earlier versions have none of it. `content_length` is
-- the number of bytes of the payload without compression. `origin_checksum` covers these columns:
-- rows of earlier versions keep the checksum that they have.
ALTER TABLE tasks ADD COLUMN file_name TEXT;
ALTER TABLE tasks ADD COLUMN content_length INTEGER;
ALTER TABLE tasks ADD COLUMN submitted_key TEXT;
ALTER TABLE tasks ADD COLUMN submitted_key_name TEXT;
ALTER TABLE tasks ADD COLUMN origin_checksum INTEGER;

-- `run_by` is the id of the task that runs the payload of this dry run.
ALTER TABLE tasks ADD COLUMN run_by TEXT;
