//! What analysis says, held against CPython: the names of real files, what random programs really do, and cases for
//! each construct.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by failing")]

mod constructs;
mod debatable;
mod fuzz;
mod generate;
mod mutate;
mod names;
mod programs;
mod python;
#[path = "../interop/random.rs"]
mod random;
