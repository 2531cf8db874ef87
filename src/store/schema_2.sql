-- Schema 2: how steps stood when the run last came to them, and the engine's notes.

-- Where a step's newest execution does not say by itself what holds. `latest` is what was newest then: once
-- another is, this row says nothing more. `source` is the digest of the text for which `execution` held, or at
-- which the step was blocked.
CREATE TABLE hold (
    line      INTEGER PRIMARY KEY,
    latest    INTEGER,
    execution INTEGER,
    source    BLOB NOT NULL,
    blocked   TEXT
) STRICT;

-- Small texts of the engine's own, such as which files steps left. Never used without a right `mac`.
CREATE TABLE note (
    name TEXT PRIMARY KEY,
    at   INTEGER NOT NULL,
    data BLOB NOT NULL,
    mac  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
