//! The terminal interface.
//!
//! # Architecture
//!
//! - [`app`]: what the person is doing: the state, and how it follows from what happens. Pure.
//! - [`layout`]: pictures of a graph, without a terminal.
//! - [`theme`]: roles to styles.
//! - [`view`]: how it looks.

pub mod app;
pub mod layout;
#[cfg(test)]
mod stage;
pub mod theme;
pub mod view;
