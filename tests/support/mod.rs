//! What several tests use.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

pub mod picture;
pub mod pty;
