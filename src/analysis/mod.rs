//! Python source to the names that it reads and writes, in order of execution. Pure.
