//! The terminal interface.
//!
//! # Architecture
//!
//! - [`layout`]: pictures of a graph, without a terminal.
//! - [`theme`]: roles to styles.
//! - [`view`]: how it looks.

pub mod layout;
pub mod theme;
pub mod view;
