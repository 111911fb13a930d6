-- Keys that administer their domain: 1, else null. Their column of write access is set, too.
ALTER TABLE keys ADD COLUMN admin_access BIGINT;

-- Sessions of the console, and codes that begin one, under the hash of their text. Each belongs to
-- a key and works no longer than that. `kind`: 0 for a code, 1 for a session.
CREATE TABLE sessions (
    domain_id   BIGINT NOT NULL,
    hash        BYTEA  NOT NULL,
    key_id      BYTEA  NOT NULL,
    kind        BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    checksum    BIGINT,
    PRIMARY KEY (domain_id, hash),
    CONSTRAINT sessions_hash UNIQUE (hash)
);
