//! How the interface looks.
//!
//! # Architecture
//!
//! - [`text`]: the only place that turns hostile text into cells.

pub mod text;
