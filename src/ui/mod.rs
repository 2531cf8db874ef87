//! The terminal interface.
//!
//! # Architecture
//!
//! - [`app`]: what the person is doing: the state, and how it follows from what happens. Pure.
//! - [`layout`]: pictures of a graph, without a terminal.
//! - [`term`]: the terminal itself: taken, listened to, drawn on, given back.
//! - [`theme`]: roles to styles.
//! - [`view`]: how it looks.
//! - [`term`]: the terminal, taken and given back.
//! - [`run`] (`runtime.rs`): the loop that joins them. What happens waits in `inbox.rs`; `errands.rs` performs what
//!   the state asks for; `colours.rs` is the thread that highlights. [`Options`]: how it is set up.

pub mod app;
mod colours;
mod errands;
mod inbox;
pub mod layout;
mod memory;
mod options;
mod runtime;
#[cfg(test)]
mod stage;
pub mod term;
pub mod theme;
pub mod view;

pub use options::Options;
pub use runtime::run;
