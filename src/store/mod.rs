//! The store of a run: versions, executions, blobs, patches and events, in SQLite.
