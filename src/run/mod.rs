//! The run on disk: finding and ordering steps, headers, configuration, atomic writes, watching.
