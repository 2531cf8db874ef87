//! The run as a list to draw.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Failure, Level, shared};
use crate::step::{Digest, Kind, Millis, Name, PatchId, PatchState, Question, Reason, Status, StepId, VersionNumber};

/// The run as it stands: everything that a list and a graph need, nothing that is large.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Counts up with every change.
    pub generation: u64,
    /// The run's directory.
    pub dir: PathBuf,
    /// The steps, in the order of the run.
    pub steps: Vec<Arc<StepRow>>,
    /// The edges, by places in `steps`.
    pub edges: Arc<[Edge]>,
    /// The patches, oldest first.
    pub patches: Vec<Arc<PatchRow>>,
    /// Whether this is only what was known when the run was open last: the steps are being read, and any of them may
    /// stand otherwise by now.
    #[serde(default)]
    pub checking: bool,
    /// What is wrong with files and directories of the run; each concerns its own file alone.
    pub problems: Vec<FileProblem>,
    /// Why there is nothing to run, where that is so.
    pub nothing: Option<Failure>,
    /// The step that executes now, and since when.
    pub running: Option<(StepId, Millis)>,
    /// What of the request that is being worked on is done: steps settled, steps in all.
    pub progress: Option<(usize, usize)>,
    /// How many requests wait until the engine is free.
    #[serde(default)]
    pub waiting: usize,
    /// Steps about which an agent is being asked.
    #[serde(default)]
    pub asked_about: Vec<StepId>,
    /// Whether a saved file is replayed at once.
    pub replay_on_save: bool,
    /// The engine in a few words.
    pub engine: EngineView,
    /// How the directory is watched.
    pub watch: WatchView,
    /// Steps that are not gone past while steps run.
    #[serde(default)]
    pub breakpoints: Vec<StepId>,
    /// What running steps wait with.
    #[serde(default)]
    pub questions: Vec<Question>,
    /// Names whose change stops.
    #[serde(default)]
    pub watched_names: Vec<Name>,
}

/// Something wrong with one file or directory of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProblem {
    /// Its path in the run.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// How grave it is.
    pub level: Level,
}

/// A step as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// Which.
    pub id: StepId,
    /// What sort.
    pub kind: Kind,
    /// How it stands.
    pub status: Status,
    /// Why it is stale or blocked; empty when fresh.
    pub reasons: Vec<Reason>,
    /// Its present version.
    pub version: VersionNumber,
    /// Its header's line for people.
    pub summary: Option<String>,
    /// The agent that wrote the present version, if one did.
    pub agent: Option<String>,
    /// Length of its last execution, in microseconds.
    pub duration_us: Option<u64>,
    /// Type and message of its last error, on one line.
    pub error: Option<String>,
    /// The failed step of which its failure is only a consequence.
    pub caused_by: Option<StepId>,
    /// Whether its output comes from a recording and was not made here.
    pub recorded: bool,
    /// Whether there is a recording of it, made elsewhere, beside what was run here.
    #[serde(default)]
    pub recording: bool,
    /// What it consulted that can't be told again.
    pub nondeterministic: Vec<String>,
    /// Names that it reads from other steps.
    #[serde(deserialize_with = "shared::names")]
    pub reads: Vec<Name>,
    /// Names that it writes.
    #[serde(deserialize_with = "shared::names")]
    pub writes: Vec<Name>,
    /// A syntax error, as `line: message`.
    pub syntax_error: Option<String>,
    /// What its text names that reaches outside, by kind and in words. It warns, and protects nothing.
    #[serde(default)]
    pub reaches: Vec<String>,
    /// What its last execution did that its header's `allow` does not announce, in words.
    #[serde(default)]
    pub unannounced: Vec<String>,
}

impl StepRow {
    /// A fresh step in its first version of which nothing else is known.
    pub fn fresh(id: StepId) -> Self {
        Self {
            id,
            kind: Kind::Step,
            status: Status::Fresh,
            reasons: Vec::new(),
            version: VersionNumber(1),
            summary: None,
            agent: None,
            duration_us: None,
            error: None,
            caused_by: None,
            recorded: false,
            recording: false,
            nondeterministic: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            syntax_error: None,
            reaches: Vec::new(),
            unannounced: Vec::new(),
        }
    }
}

/// That one step needs another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Place of the step that is needed.
    pub from: usize,
    /// Place of the step that needs it.
    pub to: usize,
    /// The names that it needs; paths for a file edge.
    #[serde(deserialize_with = "shared::list")]
    pub names: Arc<[Name]>,
    /// What makes it needed.
    pub kind: EdgeKind,
}

/// What makes one step need another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// It reads names that the other wrote.
    Data,
    /// Its header says so.
    Declared,
    /// It reads files that the other wrote.
    File,
    /// It must only come after the other.
    Order,
}

/// A patch as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatchRow {
    /// Which.
    pub id: PatchId,
    /// Where it stands.
    pub state: PatchState,
    /// One line.
    pub title: String,
    /// Who proposes it.
    pub author: String,
    /// Paths that it changes.
    pub files: Vec<String>,
    /// Lines added and removed.
    pub lines: (usize, usize),
    /// Changes when anything about it does: where it stands, what it would change now, what was remarked.
    pub stamp: Digest,
}

/// The engine in a few words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineView {
    /// `CPython 3.12.1`, empty before the first run.
    pub interpreter: String,
    /// How many checkpoints are held.
    pub checkpoints: usize,
    /// Memory that only they hold, in bytes.
    pub memory: u64,
    /// What of the policy nothing enforces here, in words; empty before the first step runs.
    #[serde(default)]
    pub unguarded: Vec<String>,
}

/// How the directory is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "watch", content = "why", rename_all = "lowercase")]
pub enum WatchView {
    /// Not at all.
    #[default]
    Off,
    /// By the kernel.
    Live,
    /// By looking again and again, and why.
    Polling(String),
}
