//! Why a command ended without doing what was asked, as a person reads it.

use std::io;

use crate::engine::EngineError;
use crate::step::InvalidStepId;
use crate::workbench::Failure;

/// An error of the command line: printed as `error: …` and, with a remedy, `hint: …`.
///
/// The text names the thing and its place. The exit status is 2 (bad usage or unreadable input) unless
/// [`CliError::status`] says another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    what: String,
    hint: Option<String>,
    status: u8,
    quiet: bool,
}

impl CliError {
    /// An error with exit status 2 and no hint yet.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: 2, quiet: false }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with another exit status: 1 for a step that failed or a patch that did not apply, 130 for an
    /// interruption.
    #[must_use]
    pub fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    /// Whoever read the output went away: nothing to say, and nobody to say it to.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// What is wrong.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The exit status of the process.
    pub fn exit_status(&self) -> u8 {
        self.status
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        Self { what: failure.what, hint: failure.hint, status: 2, quiet: false }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        Self { what: error.what, hint: error.hint, status: 2, quiet: false }
    }
}

impl From<InvalidStepId> for CliError {
    fn from(error: InvalidStepId) -> Self {
        Self::new(error.to_string()).hint("a step's id is its path in the run without the ending, like `fit/02_train`")
    }
}

/// Only for errors of writing to standard output: errors about files name the file themselves.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { what: String::new(), hint: None, status: 0, quiet: true },
            _ => Self::new(format!("standard output: {error}")),
        }
    }
}

/// Only for documents that are made to be printed.
impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self::from(io::Error::from(kind)),
            None => Self::new(format!("the answer can't be written as JSON: {error}")),
        }
    }
}
