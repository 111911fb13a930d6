-- Issues are also found by spans of 32 days and by spans of numbers, which are sets of their own
-- among the others.
INSERT INTO incomplete_indexes SELECT 'issue spans' WHERE EXISTS (SELECT 1 FROM issues);
