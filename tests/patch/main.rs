//! Patches as agents write them: what is placed where, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod cases;
mod fuzz;
mod git;
mod large;
mod random;
mod round_trip;
