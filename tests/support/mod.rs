//! What several tests use.

pub mod pty;
