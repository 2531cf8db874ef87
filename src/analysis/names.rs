//! What is known of one step without executing it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::step::{Name, Pairs};

use super::effects::{CallSite, Function, Use, Value};

/// The names that a step reads and writes, seen alone: what earlier steps wrote is not known here, so that
/// `reads` holds builtins too. [`crate::graph`] puts steps together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StepNames {
    /// Names that may be looked up before the step has bound them on every path.
    pub reads: Pairs<Name, Read>,
    /// Names bound, deleted or changed in place.
    pub writes: Pairs<Name, Certainty>,
    /// Why the step may read and write any name, if so. This costs precision, never a dependency.
    pub opaque: Option<String>,
    /// Whether any name may be read: `globals()`, a computed `eval`.
    pub reads_everything: bool,
    /// Whether any name may be written: `from m import *`, a computed `exec`.
    pub writes_anything: bool,
    /// Modules imported, in the order in which they stand.
    pub imports: Vec<Import>,
    /// Names declared `global` in a function, a class or at the top.
    pub declared: BTreeSet<Name>,
    /// Callees that are neither functions of the run nor builtins, as written: `np.load`, `df.apply`.
    pub unknown_calls: BTreeSet<String>,
    /// What it calls that is a part of something, as written, whether that is known or not: `sp.run`, `rows.append`.
    #[serde(skip)]
    pub parts_called: BTreeSet<String>,
    /// Paths that lead out of the run and that it hands to something that opens files, as written.
    pub paths: BTreeSet<String>,
    /// Whether the step ends in an expression whose value is shown.
    pub displays_last: bool,
    /// Why the source is no Python, if so.
    pub syntax_error: Option<SyntaxError>,
    /// By what the source was read.
    pub analyzed_by: AnalyzedBy,
    /// Every use of a run's name, in the order of the text.
    pub occurrences: Vec<Occurrence>,
    /// Functions and classes made by the step: what running them reads and writes.
    pub functions: Vec<Function>,
    /// What the names written may hold at the step's end that matters to those who use them later.
    pub values: Pairs<Name, Value>,
    /// How names that the step got from elsewhere are used.
    pub uses: Pairs<Name, Use>,
    /// Calls of functions that other steps define.
    pub calls: Vec<CallSite>,
    /// What it does instead where a context manager that it got from elsewhere swallows errors: then the body of the
    /// `with` may end anywhere.
    #[serde(skip)]
    pub if_swallowed: Option<Box<Swallowed>>,
}

/// What a step does if one of the context managers that it got from elsewhere swallows errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swallowed {
    /// Names whose values may be, or make, those context managers.
    pub managers: BTreeSet<Name>,
    /// What the step does then.
    pub names: Arc<StepNames>,
}

impl StepNames {
    /// Names read only by functions that the step defines and does not itself run.
    pub fn deferred_reads(&self) -> impl Iterator<Item = &Name> {
        self.reads.iter().filter(|(_, read)| **read == Read::Deferred).map(|(name, _)| name)
    }

    /// Names written on some paths only.
    pub fn may_writes(&self) -> impl Iterator<Item = &Name> {
        self.writes.iter().filter(|(_, how)| **how == Certainty::Possible).map(|(name, _)| name)
    }

    /// A step of which nothing is known: it may read and write any name.
    pub fn opaque(why: impl Into<String>) -> Self {
        Self {
            opaque: Some(why.into()),
            reads_everything: true,
            writes_anything: true,
            analyzed_by: AnalyzedBy::Opaque,
            ..Self::default()
        }
    }
}

/// When a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Read {
    /// While the step runs.
    Now,
    /// When a function that the step defines is called.
    Deferred,
}

/// Whether something happens on every path to the step's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// On every path.
    Certain,
    /// On some.
    Possible,
}

impl Certainty {
    /// Certain only if both are.
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// Whether it is [`Certainty::Certain`].
    pub fn is_certain(self) -> bool {
        self == Self::Certain
    }
}

/// By what a step's source was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnalyzedBy {
    /// The parser built in.
    #[default]
    Parser,
    /// The interpreter's own parser, since the one built in could not read it.
    Worker,
    /// Nothing could read it.
    Opaque,
}

/// A module that a step imports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// The module as written, dots of a relative import included.
    pub module: String,
    /// What is taken from it; `*` for all, `None` where the module itself is imported.
    pub item: Option<String>,
    /// The name that it is bound to.
    pub binds: Option<Name>,
    /// 1-based line.
    pub line: u32,
    /// Whether it stands in a function.
    pub deferred: bool,
}

/// Why a source is no Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyntaxError {
    /// In the words of whoever found it.
    pub message: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// Who says so.
    pub judged_by: Judge,
}

/// Who says that a source is no Python. Only the interpreter's word is final: the parser built in refuses
/// some valid sources, and takes some that are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// The interpreter's `compile`.
    Interpreter,
    /// The parser built in; no interpreter was at hand.
    Parser,
}

/// One place in the text where a name of the run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Occurrence {
    /// The name, as the run knows it (NFKC, mangled).
    pub name: Name,
    /// What is done with it.
    pub kind: OccurrenceKind,
    /// Bytes in the text; always on character borders and within it.
    pub range: Range<usize>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// Whether it happens when a function is called, not while the step runs.
    pub deferred: bool,
    /// For a read: whether the step itself has bound the name on every path before.
    pub own: bool,
}

/// What is done with a name at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurrenceKind {
    /// Looked up.
    Read,
    /// Bound by assignment, `for`, `with`, `except`, a pattern or `:=`.
    Bind,
    /// Bound by `def` or `class`.
    Define,
    /// Bound by an import.
    Import,
    /// The value that it holds is changed in place.
    Mutate,
    /// Unbound.
    Delete,
    /// Declared `global`.
    Declare,
}
