//! Worker processes, checkpoints, carrying, limits, effects, and the replay that uses them.
