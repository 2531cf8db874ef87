//! What a file is, found out from its content.

use std::fmt;
use std::io::Read;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::json::{Clean, at, outline};
use super::recording::Packing;
use super::{ImportError, Recording, formats};

/// How much of a file is looked at to tell what it is.
const LOOKED_AT: u64 = 1 << 20;

/// Most records that are looked at.
const MOST_RECORDS: usize = 40;

/// The formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A Jupyter notebook, nbformat 2 to 4.
    Notebook,
    /// A Claude Code session log.
    ClaudeCode,
    /// A Codex rollout log.
    Codex,
    /// The memory of a smolagents agent.
    Smolagents,
    /// Events of OpenHands.
    OpenHands,
    /// A SWE-agent trajectory.
    SweAgent,
    /// A mini-swe-agent trajectory.
    MiniSweAgent,
    /// A log of inspect_ai.
    Inspect,
    /// OpenTelemetry spans.
    Spans,
    /// An Open Interpreter conversation.
    OpenInterpreter,
    /// Checkpoints of LangGraph.
    LangGraph,
    /// A call tree of agentic functions.
    CallTree,
    /// A Python script.
    Script,
    /// reweave's own export.
    Reweave,
}

impl Format {
    /// The word for it, as answers and provenance have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Notebook => "notebook",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Smolagents => "smolagents",
            Self::OpenHands => "openhands",
            Self::SweAgent => "swe-agent",
            Self::MiniSweAgent => "mini-swe-agent",
            Self::Inspect => "inspect",
            Self::Spans => "spans",
            Self::OpenInterpreter => "open-interpreter",
            Self::LangGraph => "langgraph",
            Self::CallTree => "call-tree",
            Self::Script => "script",
            Self::Reweave => "reweave",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Notebook => "Jupyter notebook",
            Self::ClaudeCode => "Claude Code session",
            Self::Codex => "Codex session",
            Self::Smolagents => "smolagents memory",
            Self::OpenHands => "OpenHands events",
            Self::SweAgent => "SWE-agent trajectory",
            Self::MiniSweAgent => "mini-swe-agent trajectory",
            Self::Inspect => "inspect log",
            Self::Spans => "OpenTelemetry spans",
            Self::OpenInterpreter => "Open Interpreter conversation",
            Self::LangGraph => "LangGraph checkpoints",
            Self::CallTree => "call tree",
            Self::Script => "Python script",
            Self::Reweave => "reweave's own export",
        }
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How the records of a text file follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One JSON document that is an object.
    Object,
    /// One JSON document that is a list.
    List,
    /// A record a line.
    Lines,
    /// No JSON at all.
    Text,
    /// An archive or a database.
    Packed,
}

/// What a file was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The format.
    pub format: Format,
    /// How its records follow one another.
    pub layout: Layout,
}

/// The first records of a file, long texts and lists cut short.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// How they follow one another.
    pub layout: Layout,
    /// The records; the document itself for [`Layout::Object`].
    pub records: Vec<Value>,
}

impl Sample {
    /// Whether some record has a value that is not null at `path`.
    pub fn has(&self, path: &[&str]) -> bool {
        self.records.iter().any(|record| !at(record, path).is_null())
    }
}

/// Finds out what a file is from its content; its name plays no part.
///
/// # Errors
/// If it can't be read or is nothing that is known.
pub fn detect(recording: &Recording<'_>) -> Result<Found, ImportError> {
    let unknown = |found: &str| ImportError::Unknown { path: recording.path().to_owned(), found: found.to_owned() };
    let packed = |format| Ok(Found { format, layout: Layout::Packed });
    match recording.packing() {
        Packing::Zip if formats::inspect::is_archive(recording) => return packed(Format::Inspect),
        Packing::Sqlite if formats::langgraph::is_database(recording) => return packed(Format::LangGraph),
        Packing::Zip => return Err(unknown("a ZIP archive without the parts of an inspect log")),
        Packing::Sqlite => return Err(unknown("an SQLite database without LangGraph's tables")),
        Packing::Plain | Packing::Zstd => {}
    }
    let mut prefix = Vec::new();
    recording.read()?.take(LOOKED_AT).read_to_end(&mut prefix).map_err(|error| recording.unreadable(error))?;
    let Some(sample) = sample(&prefix) else {
        if formats::script::is(&prefix) {
            return Ok(Found { format: Format::Script, layout: Layout::Text });
        }
        return Err(unknown(if prefix.contains(&0) { "binary data" } else { "text that is neither JSON nor Python" }));
    };
    match formats::of(&sample) {
        Some(format) => Ok(Found { format, layout: sample.layout }),
        None => Err(unknown(&described(&sample))),
    }
}

/// The first records in `prefix`, if it is the start of JSON.
fn sample(prefix: &[u8]) -> Option<Sample> {
    let text = prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(prefix);
    let first = *text.iter().find(|b| **b != 0 && !b.is_ascii_whitespace())?;
    // A list is one document, whatever its lines look like.
    if first != b'[' {
        let lines: Vec<Value> = text
            .split(|b| *b == b'\n')
            .filter_map(|line| {
                let mut line = line;
                while let [0, rest @ ..] = line {
                    line = rest;
                }
                let (record, _) = outline(Clean::new(line), 4096, 8);
                let whole = serde_json::from_reader::<_, serde::de::IgnoredAny>(Clean::new(line)).is_ok();
                (whole && record.as_object().is_some_and(|keys| !keys.is_empty())).then_some(record)
            })
            .take(MOST_RECORDS)
            .collect();
        if let [only] = lines.as_slice()
            && text.iter().filter(|b| **b == b'\n').count() <= 1
        {
            return Some(Sample { layout: Layout::Object, records: vec![only.clone()] });
        }
        if !lines.is_empty() {
            return Some(Sample { layout: Layout::Lines, records: lines });
        }
    }
    if first != b'[' && first != b'{' {
        return None;
    }
    let (document, _) = outline(Clean::new(text), 4096, MOST_RECORDS);
    match document {
        Value::Array(records) => Some(Sample { layout: Layout::List, records }),
        Value::Object(keys) if !keys.is_empty() => {
            Some(Sample { layout: Layout::Object, records: vec![Value::Object(keys)] })
        }
        _ => None,
    }
}

/// Unknown JSON in words: the keys of its first record.
fn described(sample: &Sample) -> String {
    let keys = |record: &Value| match record {
        Value::Object(keys) if !keys.is_empty() => {
            let some: Vec<String> = keys.keys().take(6).map(|key| format!("{key:?}")).collect();
            format!("with the keys {}{}", some.join(", "), if keys.len() > 6 { ", …" } else { "" })
        }
        Value::Object(_) => "without keys".to_owned(),
        other => format!("that are {}", super::json::kind_of(other)),
    };
    let first = sample.records.first().unwrap_or(&Value::Null);
    match sample.layout {
        Layout::Object => format!("a JSON object {}", keys(first)),
        Layout::List => format!("a JSON list of records {}", keys(first)),
        _ => format!("JSON lines of records {}", keys(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Watch;

    fn found(name: &str, bytes: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        match Recording::open(&path, &Watch::none()).and_then(|recording| detect(&recording)) {
            Ok(found) => found.format.to_string(),
            Err(error) => error.to_string().replace(&path.display().to_string(), name),
        }
    }

    #[test]
    fn the_name_of_a_file_says_nothing() {
        assert_eq!(found("x.py", br#"{"cells": [], "nbformat": 4}"#), "notebook");
        assert_eq!(found("x.ipynb", b"import os\nprint(os.name)\n"), "script");
    }

    #[test]
    fn what_is_unknown_is_told_by_what_was_found() {
        assert_eq!(found("a", b""), "a: the file is empty");
        assert_eq!(found("a", b"\0\x01\x02\xff"), "a: not a recording that is known: binary data");
        assert_eq!(
            found("a", br#"{"x": 1, "y": 2}"#),
            r#"a: not a recording that is known: a JSON object with the keys "x", "y""#
        );
        assert_eq!(found("a", b"[1, 2]"), "a: not a recording that is known: a JSON list of records that are a number");
        assert_eq!(
            found("a", b"Dear all,\nhere we go.\n"),
            "a: not a recording that is known: text that is neither JSON nor Python"
        );
    }

    #[test]
    fn layouts_are_told_apart_even_when_the_start_is_broken() {
        let layout = |text: &str| sample(text.as_bytes()).map(|sample| (sample.layout, sample.records.len()));
        assert_eq!(layout("{\"a\": 1}"), Some((Layout::Object, 1)));
        assert_eq!(layout("{\n  \"a\": {\n    \"b\": {}\n  }\n}\n"), Some((Layout::Object, 1)));
        assert_eq!(layout("{\"a\": 1}\n{\"a\": 2}\n"), Some((Layout::Lines, 2)));
        assert_eq!(layout("{\"a\": \n\0\0{\"a\": 2}\n{\"a\": 3}"), Some((Layout::Lines, 2)));
        assert_eq!(layout("[{\"a\": 1},\n{\"a\": 2}]"), Some((Layout::List, 2)));
        assert_eq!(layout("{\"a\": [\"cut off here"), Some((Layout::Object, 1)));
        assert_eq!(layout("text"), None);
    }
}
