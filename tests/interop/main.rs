//! Imports and exports as a whole: every format's fixture, round trips, mutated inputs, the command line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by failing")]

mod export;
mod fixtures;
mod fuzz;
mod large;
mod random;
