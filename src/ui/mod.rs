//! The terminal interface.
//!
//! # Architecture
//!
//! - [`app`]: what the person is doing: the state, and how it follows from what happens. Pure.
//! - [`layout`]: pictures of a graph, without a terminal.
//! - [`term`]: the terminal itself: taken, listened to, drawn on, given back.
//! - [`theme`]: roles to styles.
//! - [`view`]: how it looks.

pub mod app;
pub mod layout;
#[cfg(test)]
mod stage;
pub mod term;
pub mod theme;
pub mod view;
