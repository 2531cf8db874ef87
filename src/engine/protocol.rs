//! What is said between the engine and its workers (`worker/wire.py` has the frame).
//!
//! A worker runs hostile code: what it says is read as hostile bytes, with a bound on size, and never
//! unpickled here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::wall::WallHead;
use crate::step::{Answered, CallFrame, Digest, Inside, Name, Pairs, StepError};

/// Longest JSON that is accepted from a worker, in bytes.
pub(super) const JSON_LIMIT: u32 = 512 << 20;
/// Most bytes that are accepted beside it.
pub(super) const DATA_LIMIT: u64 = 8 << 30;

/// What a worker is asked.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Ask<'a> {
    /// Become the root of a run.
    SetUp {
        dir: &'a str,
        spool: &'a str,
        seed: u32,
        ignored: &'a [String],
        open_files: Option<u64>,
        file_size: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        wall: Option<&'a WallHead>,
    },
    /// Leave a copy of the process that waits on the descriptors that come along.
    Fork {
        #[serde(skip_serializing_if = "Option::is_none")]
        aside: Option<&'a AsideHead<'a>>,
        /// Put it behind the wall.
        wall: bool,
    },
    /// Show a process that went aside other directories.
    Put { pid: i32, places: &'a [(String, String)], borrowed: &'a [(String, String)] },
    /// Go on, the directories being shown or not.
    Land { unisolated: Option<&'a str> },
    /// The listener was fetched.
    GoOn,
    /// Have these files be read-only for steps.
    Protect { paths: &'a [String] },
    /// Execute the step whose text comes along; `again` is the hidden state that the execution used which this one makes
    /// again, if it does.
    Run {
        step: &'a str,
        file: &'a str,
        interruptible: bool,
        answers: &'a [Answered],
        #[serde(skip_serializing_if = "Option::is_none")]
        again: Option<Vec<&'a Name>>,
    },
    /// What a person said to a question; `why` there is no line, if so.
    Answer { line: Option<&'a str>, why: Option<&'a str> },
    /// Say what code the text that comes along is.
    Compile { step: &'a str, file: &'a str },
    /// Say what an import of these names would load.
    Packages { names: &'a [String] },
    /// Take names away, bring over the values that come along, one after the other, and put names at the end, in order.
    Load { delete: &'a [Name], values: &'a [ValueHead<'a>], order: &'a [Name] },
    /// Tell variables.
    State { names: &'a [String], limit: usize },
    /// Tell what is inside a variable.
    Inside { name: &'a str, path: &'a [usize] },
}

/// A copy of the run's directory that a fork is to see in its place.
#[derive(Debug, Serialize)]
pub(super) struct AsideHead<'a> {
    pub copy: &'a str,
    /// What is shown, and where.
    pub places: &'a [(String, String)],
    /// What shows through, read-only, and where.
    pub borrowed: &'a [(String, String)],
}

/// A fork that went aside.
#[derive(Debug, Deserialize)]
pub(super) struct AsideReply {
    /// Whether it waits until the root has shown it its view.
    #[serde(default)]
    pub waits: bool,
    /// Why it could not be given a view of its own, if so.
    #[serde(default)]
    pub unisolated: Option<String>,
}

/// The root has shown a process its view.
#[derive(Debug, Deserialize)]
pub(super) struct PutReply {
    /// Why it could not, if so.
    pub unisolated: Option<String>,
}

/// Something was done that has no answer of its own.
#[derive(Debug, Deserialize)]
pub(super) struct Done {}

/// One pickled component within the bytes of a [`Ask::Load`].
#[derive(Debug, Serialize)]
pub(super) struct ValueHead<'a> {
    pub members: &'a [Name],
    pub size: usize,
}

/// The root tells what it is.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RootReply {
    pub version: String,
    pub implementation: String,
}

/// A process forked.
#[derive(Debug, Deserialize)]
pub(super) struct ForkReply {
    pub pid: i32,
}

/// What code a text is.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CompileReply {
    /// By what runs; with where the functions stand that are made in it; with where all of it stands.
    pub codes: [Digest; 3],
    #[serde(default)]
    pub loads: Vec<Name>,
    #[serde(default)]
    pub stores: Vec<Name>,
    /// Names that one import binds and nothing else, each with what is imported.
    #[serde(default)]
    pub imports: BTreeMap<Name, String>,
}

/// A component as a worker tells it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ComponentReply {
    pub digest: Digest,
    pub members: Vec<Name>,
    pub refs: Vec<Name>,
    pub uncarryable: Option<String>,
    #[serde(default)]
    pub placed: Option<Digest>,
}

/// A pickled component that comes along with a reply.
#[derive(Debug, Deserialize)]
pub(super) struct ValueReply {
    pub digest: Digest,
    pub size: usize,
}

/// What a step used and changed, as the worker saw it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Observed {
    /// One of those in [`CompileReply`], or another where the step has seen its own text.
    pub code: Option<Digest>,
    /// Whether nothing shows where the step itself stands.
    pub anywhere: bool,
    /// Whether it could see where code stands.
    pub saw_places: bool,
    pub reads: Pairs<Name, Option<Digest>>,
    pub unset: Vec<Name>,
    pub saw_names: Option<Vec<Name>>,
    pub saw_order: bool,
    pub order: Vec<Name>,
    pub saw_prefixes: Vec<String>,
    pub writes: BTreeMap<Name, Option<ComponentReply>>,
    pub incidental: Pairs<Name, Option<Digest>>,
    pub rebound: Vec<Name>,
    pub left: Pairs<Name, Digest>,
    pub values: Vec<ValueReply>,
    /// Path to `content`, `exists` or `list`.
    pub files_read: BTreeMap<String, String>,
    /// Path to a copy of what stood there, or a word for what can't be copied.
    pub files_written: BTreeMap<String, Option<String>>,
    pub effects: Vec<(String, Vec<String>)>,
    pub clock: Vec<String>,
    pub doubts: Vec<String>,
    pub left_behind: Vec<String>,
    pub packages: Vec<PackageReply>,
    pub answers: Vec<Answered>,
    pub calls: Vec<CallFrame>,
}

/// A package as a worker tells it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PackageReply {
    pub name: String,
    pub version: Option<String>,
    pub place: String,
    /// Whether the place is what an installer wrote beside it.
    pub installed: bool,
    /// Whether a step put the directory that it lies in on the path.
    pub added: bool,
}

/// What imports would load.
#[derive(Debug, Deserialize)]
pub(super) struct PackagesReply {
    pub found: BTreeMap<String, Option<PackageReply>>,
}

/// A displayed value.
#[derive(Debug, Deserialize)]
pub(super) struct DisplayReply {
    pub repr: String,
    #[serde(default)]
    pub mime: BTreeMap<String, String>,
    #[serde(default)]
    pub last: bool,
}

/// A running step asks for a line. The first word tells it from a [`RunReply`].
#[derive(Debug, Deserialize)]
pub(super) struct AskedReply {
    pub ask: String,
}

/// How an [`AskedReply`] begins.
pub(super) const ASKED: &[u8] = br#"{"ask":"#;

/// A step was executed.
#[derive(Debug, Deserialize)]
pub(super) struct RunReply {
    pub us: u64,
    #[serde(default)]
    pub error: Option<StepError>,
    #[serde(default)]
    pub interrupted: bool,
    #[serde(default)]
    pub displays: Vec<DisplayReply>,
    #[serde(default)]
    pub observation: Observed,
}

/// Values were brought over.
#[derive(Debug, Deserialize)]
pub(super) struct LoadReply {
    pub bad: Vec<Name>,
    pub components: BTreeMap<Name, ComponentReply>,
}

/// Variables.
#[derive(Debug, Deserialize)]
pub(super) struct StateReply {
    pub variables: Vec<VariableReply>,
}

/// What is inside a value.
#[derive(Debug, Deserialize)]
pub(super) struct InsideReply {
    pub inside: Option<Inside>,
}

/// One variable.
#[derive(Debug, Deserialize)]
pub(super) struct VariableReply {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub repr: String,
    pub truncated: bool,
    #[serde(default)]
    pub digest: Option<String>,
    #[serde(default)]
    pub shape: Option<String>,
}
