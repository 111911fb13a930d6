-- The files of an issue, which go when the issue is deleted.
CREATE INDEX attachments_of_issue ON attachments (domain_id, issue_id) WHERE issue_id IS NOT NULL;
