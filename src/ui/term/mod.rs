//! The terminal: taken, listened to, drawn on, and given back as it was found.
//!
//! # Architecture
//!
//! - [`Session`] (`session.rs`): the terminal while the workbench has it. [`restore`] is the one way back, safe to
//!   call from anywhere; quitting, panics, signals, the editor and Ctrl-Z all take it. `mode.rs` holds the bytes.
//! - [`Screen`] (`screen.rs`): frames, and their ASCII form. `out.rs` sends them past all locks, and only while the
//!   terminal is ours.
//! - [`Listener`] (`input.rs`): the thread that listens, and that can be paused for certain; [`Parser`] (`parse.rs`)
//!   makes [`Input`]s of bytes.
//! - [`Capabilities`] (`caps.rs`): what the environment says of the terminal; [`Answers`] (`question.rs`): what the
//!   terminal says itself.
//! - [`Signal`] (`signal.rs`): what the system tells.
//! - [`crash`]: what a panic leaves behind.
//! - [`clipboard`], [`Editor`] (`editor.rs`): other programs.

mod caps;
pub mod clipboard;
pub mod crash;
mod editor;
#[cfg(any(not(unix), test))]
mod event;
mod input;
mod mode;
mod out;
mod parse;
mod question;
mod screen;
mod session;
mod signal;

pub use caps::{Capabilities, Multiplexer};
pub use editor::Editor;
pub use input::{Answer, Input, Listener, Pointer, PointerKind};
pub use mode::Modes;
pub use out::Out;
pub use parse::Parser;
pub use question::Answers;
pub use screen::{Screen, flatten};
pub use session::{Session, restore};
pub use signal::{Signal, listen};
