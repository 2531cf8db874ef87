//! One reader a format. Each knows only its own keys and hands steps on as it finds them.
//!
//! # Architecture
//!
//! - [`read`]: the table of formats.
//! - `notebook`: Jupyter, nbformat 2 to 4; `script`: Python text, split at `# %%` or at top-level statements.
//!
//! A reader never fails on a part that it does not understand: it says so in a warning and goes on.

pub mod notebook;
mod notebook_output;
pub mod script;
mod traceback;

use super::{Format, ImportError, Recording, Sink};

/// Reads a file of a known format.
///
/// # Errors
/// As [`super::import_into`].
pub fn read(format: Format, recording: &Recording<'_>, sink: &mut dyn Sink) -> Result<(), ImportError> {
    match format {
        Format::Notebook => notebook::read(recording, sink),
        Format::Script => script::read(recording, sink),
    }
}
