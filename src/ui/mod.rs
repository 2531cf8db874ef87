//! The terminal interface.
//!
//! # Architecture
//!
//! - [`theme`]: roles to styles.
//! - [`view`]: how it looks.

pub mod theme;
pub mod view;
