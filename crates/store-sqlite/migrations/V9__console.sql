-- Keys that administer their domain: 1, else null. Their column of write access is set, too.
ALTER TABLE keys ADD COLUMN admin_access INTEGER;

-- Sessions of the console, and codes that begin one, under the hash of their text. Each belongs to
-- a key and works no longer than that. `kind`: 0 for a code, 1 for a session.
CREATE TABLE sessions (
    domain_id   INTEGER NOT NULL,
    hash        BLOB    NOT NULL UNIQUE,
    key_id      TEXT    NOT NULL,
    kind        INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    checksum    INTEGER,
    PRIMARY KEY (domain_id, hash)
) STRICT, WITHOUT ROWID;
