-- The author of messages and notes that no agent signs. Without an address of its own, the desk has
-- one that is made from the name of the domain.

ALTER TABLE domains ADD COLUMN desk_name TEXT NOT NULL DEFAULT 'Desk';
ALTER TABLE domains ADD COLUMN desk_email TEXT;
