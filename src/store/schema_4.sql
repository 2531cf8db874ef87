-- Schema 4: calls that are made once, and what they gave. `key` says all that was asked; `mac` is the user's mark on
-- what a worker will unpack, null for plain text. One that was dropped stays for the history.
CREATE TABLE call (
    id         INTEGER PRIMARY KEY,
    key        BLOB NOT NULL,
    kind       TEXT NOT NULL,
    step       TEXT NOT NULL,
    name       TEXT NOT NULL,
    question   INTEGER NOT NULL,
    answer     INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    at         INTEGER NOT NULL,
    took_ms    INTEGER NOT NULL,
    model      TEXT,
    call       TEXT,
    tokens_in  INTEGER,
    tokens_out INTEGER,
    mac        BLOB,
    dropped    INTEGER
) STRICT;
CREATE UNIQUE INDEX call_kept ON call (key) WHERE dropped IS NULL;
