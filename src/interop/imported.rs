//! What an import gives: steps with what was recorded of them, files, patches and warnings.

use std::fmt;

use crate::step::{
    Chunk, Display, Execution, FileChange, Kind, Millis, Outcome, Output, PatchState, Provenance, StepError,
};
use crate::step::{StepId, Stream, VersionNumber};

use super::{Format, ImportError};

/// One code action of a recording, as a step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStep {
    /// Its id; rising in the order of the recording.
    pub id: StepId,
    /// [`Kind::Shell`] for a `.sh` file, a sort of Python otherwise.
    pub kind: Kind,
    /// The whole text of its file, header included.
    pub text: String,
    /// Who wrote it, when and in which call.
    pub provenance: Provenance,
    /// What was recorded when it ran; `None` if nothing says that it did.
    pub recorded: Option<Recorded>,
    /// What stands between the step before and this one, and is not code.
    pub notes: Vec<Note>,
    /// Its texts before, oldest first.
    pub earlier: Vec<Earlier>,
}

/// A text that a step had before.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The text.
    pub text: String,
    /// Who wrote it, when and in which call.
    pub provenance: Provenance,
    /// What was recorded when it ran.
    pub recorded: Option<Recorded>,
}

impl ImportedStep {
    /// The step's file, relative to the run.
    pub fn path(&self) -> String {
        format!("{}.{}", self.id, if self.kind == Kind::Shell { "sh" } else { "py" })
    }
}

/// What a recording says of the run of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// When it began, where that is known.
    pub started: Option<Millis>,
    /// How long it took, in microseconds, where that is known.
    pub duration_us: Option<u64>,
    /// What it printed.
    pub output: Output,
    /// What it showed.
    pub displays: Vec<Display>,
    /// The error that ended it.
    pub error: Option<StepError>,
}

impl Recorded {
    /// Adds what was printed; pieces of one stream that follow each other are one.
    pub fn print(&mut self, stream: Stream, text: String) {
        match self.output.chunks.last_mut() {
            Some(last) if last.stream == stream => last.text.push_str(&text),
            _ => self.output.chunks.push(Chunk { stream, text }),
        }
    }

    /// All that was printed, both streams mixed.
    pub fn all_output(&self) -> String {
        self.output.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }

    /// As an execution of version `version` of `step`: recorded, never executed here.
    pub fn into_execution(self, step: StepId, version: VersionNumber) -> Execution {
        Execution {
            duration_us: self.duration_us.unwrap_or_default(),
            outcome: Outcome::Recorded,
            output: self.output,
            displays: self.displays,
            error: self.error,
            ..Execution::new(step, version, self.started.unwrap_or_default())
        }
    }
}

/// Something of a recording that is not a step: a thought, a message, the use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What sort of thing it is.
    pub kind: NoteKind,
    /// Who or what: a role, the name of a tool, a type of record.
    pub by: String,
    /// What was said, or what the tool was given.
    pub text: String,
    /// What the tool gave back.
    pub result: Option<String>,
}

/// What sort of thing a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Text of a notebook between two code cells.
    Markdown,
    /// What a person or the system said.
    Message,
    /// What the agent thought or said.
    Thought,
    /// A call of a tool that can't be replayed as a step.
    Tool,
    /// A record that is not understood, as it stands.
    Other,
}

/// A file to lay beside the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Path in the run, with `/`.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is a file that the recorded agent worked on: kept as it is, and never a step.
    pub work: bool,
}

impl ImportedFile {
    /// A file that belongs to the import.
    pub fn beside(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: content.into(), work: false }
    }

    /// A file of the recorded agent's own.
    pub fn work(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: content.into(), work: true }
    }
}

/// A change to a file that the recorded agent made.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPatch {
    /// One line for people.
    pub title: String,
    /// Who made it, when, in which call.
    pub provenance: Provenance,
    /// The proposal as it was written, where it was a text.
    pub text: Option<String>,
    /// What it did, one entry a file.
    pub files: Vec<FileChange>,
    /// Where it stands: accepted, where the recording says that it was made.
    pub state: PatchState,
    /// What is not known or not right about it.
    pub problems: Vec<String>,
    /// Remarks of those who decided.
    pub comments: Vec<(Millis, String)>,
}

/// Something of the file that could not be taken as it is, and what was done instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where in the file.
    pub place: Option<Place>,
    /// What, in words.
    pub what: String,
}

/// A place in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A 1-based line.
    Line(u64),
    /// Several lines, as `3, 7–9`.
    Lines(String),
    /// A 1-based cell of a notebook, counting all kinds.
    Cell(usize),
    /// A 1-based record of a list.
    Record(usize),
    /// A member of an archive.
    Member(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Lines(lines) if lines.bytes().all(|b| b.is_ascii_digit()) => write!(f, "line {lines}"),
            Self::Lines(lines) => write!(f, "lines {lines}"),
            Self::Cell(cell) => write!(f, "cell {cell}"),
            Self::Record(record) => write!(f, "record {record}"),
            Self::Member(name) => write!(f, "{name:?} in the archive"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Warning {
    /// A warning about the file as a whole.
    pub fn new(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into() }
    }

    /// A warning about one place in it.
    pub fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place: Some(place), what: what.into() }
    }
}

/// Where an import goes, piece by piece. Steps come in the order of the recording, but those of a frame may come
/// before or after those around it: their ids say where they stand.
pub trait Sink {
    /// Takes the next step.
    ///
    /// # Errors
    /// Where it can't be kept; the import ends.
    fn step(&mut self, step: ImportedStep) -> Result<(), ImportError>;

    /// Takes a file to lay beside the steps.
    ///
    /// # Errors
    /// Where it can't be kept; the import ends.
    fn file(&mut self, file: ImportedFile) -> Result<(), ImportError>;

    /// Takes a change that the recorded agent made to a file.
    ///
    /// # Errors
    /// Where it can't be kept; the import ends.
    fn patch(&mut self, patch: ImportedPatch) -> Result<(), ImportError>;

    /// Takes the text of the run's `reweave.toml`, where the import has one.
    fn config(&mut self, text: String);

    /// Takes a warning.
    fn warn(&mut self, warning: Warning);
}

/// An import in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// What the file is.
    pub format: Option<Format>,
    /// The steps, in the order of the recording.
    pub steps: Vec<ImportedStep>,
    /// Files to lay beside them.
    pub files: Vec<ImportedFile>,
    /// Changes to files, in order.
    pub patches: Vec<ImportedPatch>,
    /// The run's `reweave.toml`, where the import has one.
    pub config: Option<String>,
    /// What could not be taken as it is.
    pub warnings: Vec<Warning>,
}

impl Sink for Imported {
    fn step(&mut self, step: ImportedStep) -> Result<(), ImportError> {
        self.steps.push(step);
        Ok(())
    }

    fn file(&mut self, file: ImportedFile) -> Result<(), ImportError> {
        self.files.push(file);
        Ok(())
    }

    fn patch(&mut self, patch: ImportedPatch) -> Result<(), ImportError> {
        self.patches.push(patch);
        Ok(())
    }

    fn config(&mut self, text: String) {
        self.config = Some(text);
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
}

/// What an import came to, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// What the file was.
    pub format: Option<Format>,
    /// Steps laid out.
    pub steps: usize,
    /// How many of them have a recorded execution.
    pub recorded: usize,
    /// Changes to files.
    pub patches: usize,
    /// What could not be taken as it is.
    pub warnings: Vec<Warning>,
}
