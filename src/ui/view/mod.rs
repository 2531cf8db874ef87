//! How the interface looks.
//!
//! # Architecture
//!
//! - [`ansi`]: what programs print for a terminal, as text with colours.
//! - [`highlight`]: which bytes of a source are what.
//! - [`text`]: the only place that turns hostile text into cells.

pub mod ansi;
pub mod highlight;
pub mod text;
