-- Schema 1 of a run's store. Numbers of versions, executions and patches are what people see.
-- Times are milliseconds since the Unix epoch. Digests are BLAKE3, 32 bytes.

-- Texts and bytes, each once, known by content. packed: 0 as it is, 1 a zstd frame.
CREATE TABLE blob (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size   INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    data   BLOB NOT NULL
) STRICT;

-- Everything that happened, in order: the one clock of a run. Versions and executions are found by their `seq`;
-- `item` is the patch that an event is about.
CREATE TABLE event (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL,
    line INTEGER,
    item INTEGER,
    text TEXT
) STRICT;
CREATE INDEX event_line ON event (line, seq) WHERE line IS NOT NULL;
CREATE INDEX event_at ON event (at);
CREATE INDEX event_item ON event (item, seq) WHERE item IS NOT NULL;

-- A step through all its names. `path` is the id that it has now, or had last, since event `named`; `head` its
-- newest version, of event `head_seq` and with text `source` (null: it was removed); `latest` its newest execution.
CREATE TABLE line (
    id       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL UNIQUE,
    named    INTEGER NOT NULL,
    head     INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    source   BLOB,
    latest   INTEGER
) STRICT;

-- The ids that a step had, each from an event on.
CREATE TABLE path (
    line  INTEGER NOT NULL,
    since INTEGER NOT NULL,
    path  TEXT NOT NULL,
    PRIMARY KEY (line, since)
) STRICT, WITHOUT ROWID;

-- The immutable texts. `source` is the digest of a blob, null where the step was removed.
CREATE TABLE version (
    id          INTEGER PRIMARY KEY,
    line        INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    source      BLOB,
    at          INTEGER NOT NULL,
    author      TEXT NOT NULL,
    author_name TEXT,
    model       TEXT,
    call        TEXT,
    patch       INTEGER,
    reason      TEXT,
    context     BLOB,
    tokens_in   INTEGER,
    tokens_out  INTEGER,
    UNIQUE (line, number)
) STRICT;
CREATE INDEX version_seq ON version (line, seq, number, source);

-- Names of variables (file 0) and paths of files (file 1).
CREATE TABLE name (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    file INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (file, text)
) STRICT;

-- Sets of names that executions read or wrote. Executions of one step mostly share theirs.
-- `names` holds the ids as 32-bit little-endian numbers; `member` is the way back from a name.
CREATE TABLE nameset (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    names  BLOB NOT NULL
) STRICT;
CREATE TABLE member (
    name    INTEGER NOT NULL,
    nameset INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    PRIMARY KEY (name, nameset)
) STRICT, WITHOUT ROWID;

-- Executions. `reads` and `writes` are sets of names; `written` has a digest for each name of `writes`, in
-- its order, all zeros where the name was deleted. What was printed is the blob
-- with digest `output`, the rest the blob `body`.
CREATE TABLE execution (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    line             INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    started          INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    outcome          TEXT NOT NULL,
    why              TEXT NOT NULL,
    error            TEXT,
    caused_by        TEXT,
    nondeterministic TEXT,
    reads            INTEGER NOT NULL,
    writes           INTEGER NOT NULL,
    written          BLOB NOT NULL,
    output           BLOB NOT NULL,
    body             INTEGER NOT NULL
) STRICT;
CREATE INDEX execution_line ON execution (line, seq);
CREATE INDEX execution_reads ON execution (reads, seq);
CREATE INDEX execution_writes ON execution (writes, seq);

-- Blobs that an execution's files need to be put back.
CREATE TABLE holds (
    execution INTEGER NOT NULL,
    blob      INTEGER NOT NULL,
    PRIMARY KEY (execution, blob)
) STRICT, WITHOUT ROWID;

-- Marks set by hand: they last until the step is executed.
CREATE TABLE invalidated (
    line   INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- Proposals, known by content, and what became of them.
CREATE TABLE patch (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    content     BLOB NOT NULL UNIQUE,
    state       TEXT NOT NULL,
    title       TEXT NOT NULL,
    files       INTEGER NOT NULL,
    problems    TEXT NOT NULL,
    proposal    INTEGER,
    at          INTEGER NOT NULL,
    author      TEXT NOT NULL,
    author_name TEXT,
    model       TEXT,
    call        TEXT,
    patch       INTEGER,
    reason      TEXT,
    context     BLOB,
    tokens_in   INTEGER,
    tokens_out  INTEGER
) STRICT;
-- The steps that a patch would change, to find patches by step.
CREATE TABLE patch_step (
    step  TEXT NOT NULL,
    patch INTEGER NOT NULL,
    PRIMARY KEY (step, patch)
) STRICT, WITHOUT ROWID;
CREATE TABLE patch_change (
    patch   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    state   TEXT,
    comment TEXT,
    PRIMARY KEY (patch, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE trial (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    patch   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    fixed   TEXT NOT NULL,
    broken  TEXT NOT NULL,
    result  INTEGER NOT NULL,
    context BLOB
) STRICT;
CREATE INDEX trial_patch ON trial (patch, id);

-- What reweave did, or was about to do, to step files. state: intent, done, undone, dropped.
CREATE TABLE deed (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    title      TEXT NOT NULL,
    state      TEXT NOT NULL,
    of         INTEGER,
    provenance TEXT NOT NULL,
    patch      INTEGER,
    patch_from TEXT,
    patch_to   TEXT
) STRICT;
CREATE INDEX deed_state ON deed (state, id);
CREATE TABLE deed_file (
    deed   INTEGER NOT NULL,
    place  INTEGER NOT NULL,
    path   TEXT NOT NULL,
    step   TEXT,
    before INTEGER,
    after  INTEGER,
    PRIMARY KEY (deed, place)
) STRICT, WITHOUT ROWID;

-- Contents of files that no execution left and that something may overwrite.
CREATE TABLE kept_file (
    path TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (path, seq)
) STRICT, WITHOUT ROWID;

-- Values that steps wrote, pickled by a worker. Never used without a right `mac`.
CREATE TABLE saved (
    digest      BLOB NOT NULL,
    interpreter TEXT NOT NULL,
    names       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    used        INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    blob        INTEGER NOT NULL,
    mac         BLOB NOT NULL,
    PRIMARY KEY (digest, interpreter)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_used ON saved (used);
