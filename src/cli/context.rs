//! What every command is given: how to answer, and where.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::{CliError, Faces, Palette};

/// How to answer, and where. The one door to standard output and standard error, so that a test or another
/// program sees the same text.
#[derive(Debug)]
pub struct Context {
    /// Answer with one JSON document.
    pub json: bool,
    /// Colours of standard output.
    pub palette: Palette,
    /// Colours of standard error.
    pub messages: Palette,
    /// What only the binary can join.
    pub faces: Faces,
}

impl Context {
    /// As the process was started.
    pub(super) fn new(json: bool, faces: Faces) -> Self {
        Self { json, palette: Palette::of(&io::stdout()), messages: Palette::of(&io::stderr()), faces }
    }

    /// Whether a person is at both ends: keys can be read and a screen drawn.
    pub fn has_terminal(&self) -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Writes text to standard output.
    ///
    /// # Errors
    /// When standard output can't be written; quiet when its reader went away.
    pub fn print(&self, text: impl AsRef<str>) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_ref().as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Writes bytes to standard output as they are.
    ///
    /// # Errors
    /// As [`Context::print`].
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(())
    }

    /// Writes one JSON document on one line.
    ///
    /// # Errors
    /// As [`Context::print`].
    pub fn print_json(&self, document: &impl Serialize) -> Result<(), CliError> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        serde_json::to_writer(&mut out, document)?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    }

    /// Answers: the document with `--json`, the text otherwise.
    ///
    /// # Errors
    /// As [`Context::print`].
    pub fn answer(
        &self,
        document: &impl Serialize,
        text: impl FnOnce(Palette) -> String,
    ) -> Result<ExitCode, CliError> {
        if self.json {
            self.print_json(document)?;
        } else {
            self.print(text(self.palette))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A message for people, on standard error. Its loss is no error.
    pub fn message(&self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }
}
