//! One reader a format. Each knows only its own keys and hands steps on as it finds them.
//!
//! # Architecture
//!
//! - [`of`], [`read`]: the table of formats: what tells one, and what reads it.
//! - `notebook`: Jupyter, nbformat 2 to 4; `script`: Python text, split at `# %%` or at top-level statements.
//! - `claude_code`, `codex`, `smolagents`, `mini_swe_agent`, `swe_agent`, `openhands`, `open_interpreter`,
//!   `inspect`, `langgraph`: logs of agents, each through a [`super::recorder::Recorder`].
//! - `own`: reweave's own export.
//! - `spans`, `call_tree`: traces, through a [`tree::Tree`] of calls.
//! - [`records`]: the records of a file one at a time, whether they stand on lines or in a list; [`result`]:
//!   what tools give, in the words of a step.
//!
//! A reader never fails on a part that it does not understand: it says so in a warning and goes on.

mod apply_patch;
mod call_tree;
mod claude_code;
#[cfg(test)]
mod claude_code_tests;
mod claude_edit;
mod code;
mod codex;
mod codex_output;
#[cfg(test)]
mod codex_tests;
pub mod inspect;
#[cfg(test)]
mod inspect_tests;
pub mod langgraph;
mod mini_swe_agent;
mod msgpack;
pub mod notebook;
mod notebook_output;
mod open_interpreter;
mod openhands;
mod openhands_sdk;
mod own;
mod records;
mod result;
pub mod script;
mod smolagents;
mod spans;
mod swe_agent;
mod traceback;
mod tree;

use super::detect::Sample;
use super::{Format, Found, ImportError, Recording, Sink};

/// Whether records are of a format.
type Tells = fn(&Sample) -> bool;

/// What sorts of records tell a format, most telling first.
const TABLE: &[(Format, Tells)] = &[
    (Format::Reweave, own::is),
    (Format::Notebook, notebook::is),
    (Format::ClaudeCode, claude_code::is),
    (Format::Codex, codex::is),
    (Format::Smolagents, smolagents::is),
    (Format::MiniSweAgent, mini_swe_agent::is),
    (Format::SweAgent, swe_agent::is),
    (Format::Inspect, inspect::is),
    (Format::Spans, spans::is),
    (Format::LangGraph, langgraph::is),
    (Format::CallTree, call_tree::is),
    (Format::OpenInterpreter, open_interpreter::is),
    (Format::OpenHands, openhands::is),
];

/// The format that these records are of.
pub fn of(sample: &Sample) -> Option<Format> {
    TABLE.iter().find(|(_, is)| is(sample)).map(|(format, _)| *format)
}

/// Reads a file of a known format.
///
/// # Errors
/// As [`super::import_into`].
pub fn read(found: Found, recording: &Recording<'_>, sink: &mut dyn Sink) -> Result<(), ImportError> {
    match found.format {
        Format::Notebook => notebook::read(recording, sink),
        Format::ClaudeCode => claude_code::read(recording, found.layout, sink),
        Format::Codex => codex::read(recording, found.layout, sink),
        Format::Smolagents => smolagents::read(recording, found.layout, sink),
        Format::MiniSweAgent => mini_swe_agent::read(recording, found.layout, sink),
        Format::SweAgent => swe_agent::read(recording, found.layout, sink),
        Format::OpenHands => openhands::read(recording, found.layout, sink),
        Format::Inspect => inspect::read(recording, found.layout, sink),
        Format::Spans => spans::read(recording, found.layout, sink),
        Format::LangGraph => langgraph::read(recording, found.layout, sink),
        Format::CallTree => call_tree::read(recording, found.layout, sink),
        Format::OpenInterpreter => open_interpreter::read(recording, found.layout, sink),
        Format::Script => script::read(recording, sink),
        Format::Reweave => own::read(recording, sink),
    }
}

#[cfg(test)]
mod testing {
    //! Importing what stands in a test.

    use serde_json::Value;

    use crate::interop::{Imported, import};

    /// The import of one JSON document.
    pub fn imported(document: &Value) -> Imported {
        imported_bytes(document.to_string().as_bytes())
    }

    /// The import of records, one a line.
    pub fn imported_lines(records: &[Value]) -> Imported {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        imported_bytes(lines.as_bytes())
    }

    /// The import of a file of these bytes.
    pub fn imported_bytes(bytes: &[u8]) -> Imported {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recording");
        std::fs::write(&path, bytes).unwrap();
        import(&path).unwrap()
    }

    /// The warnings of an import, as people read them.
    pub fn warnings(imported: &Imported) -> Vec<String> {
        imported.warnings.iter().map(ToString::to_string).collect()
    }
}
