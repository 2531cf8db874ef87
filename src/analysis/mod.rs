//! Python source to the names that it reads and writes, in order of execution. Nothing here touches a file,
//! a process or another step.
//!
//! # Architecture
//!
//! - [`analyze`]: one step's source to [`StepNames`]. [`reads`] and [`writes`] give only the names.
//! - [`Options`]: the run's Python version, whether IPython's syntax is allowed, and a [`PythonParser`] to
//!   ask where the parser built in can't read a source.
//! - [`effects`]: what calling a function does; it is charged to whoever calls it.
//! - [`PythonParser`]: an interpreter's own parser, handed in by whoever has one; `tree` makes its [`Tree`] over.
//! - `lexical`, `rewrite`, `magics`, `depth`: what is done to a source before it is parsed; nothing moves, so
//!   that places in the text stay what they are.
//! - `walk`: the tree, in order of execution.
//!
//! Static analysis only says what may be used: what a step really used is observed when it runs. So what
//! can't be seen here, such as a change through a second name for an object that an earlier step made, is
//! left to observation; and what is dynamic makes a step opaque, never independent.

pub(crate) mod bits;
pub mod builtins;
mod constant;
mod deep_stack;
mod depth;
pub mod effects;
mod interpreter;
mod lexical;
mod lines;
mod magics;
mod names;
mod outward;
mod reading;
mod rewrite;
mod tree;
mod walk;

use std::collections::BTreeSet;

use crate::step::Name;

use reading::Reading;

pub use constant::{literal, with_value};
pub use interpreter::{Judgement, Node, PythonParser, Question, Tree, Unavailable};
pub use lines::Lines;
pub use names::{
    AnalyzedBy, Certainty, Import, Judge, Occurrence, OccurrenceKind, Read, StepNames, Swallowed, SyntaxError,
};
pub use outward::{Outward, outward};
pub use reading::with_tree;

/// Which Python a run uses, as far as it changes what a source means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonVersion {
    /// 3
    pub major: u8,
    /// 12 for Python 3.12
    pub minor: u8,
}

impl PythonVersion {
    /// The version taken where none is known.
    pub const DEFAULT: Self = Self { major: 3, minor: 12 };

    /// Whether annotations are evaluated only when they are asked for (PEP 649).
    pub fn lazy_annotations(self) -> bool {
        self >= Self { major: 3, minor: 14 }
    }
}

/// How to read sources.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'p> {
    /// The run's Python; [`PythonVersion::DEFAULT`] where it is not known.
    pub python: Option<PythonVersion>,
    /// An interpreter's own parser, asked where the parser built in can't read a source, and for the last word
    /// on what is no Python.
    pub parser: Option<&'p dyn PythonParser>,
}

/// The names that a step reads and writes.
pub fn analyze(source: &str, options: &Options<'_>) -> StepNames {
    analyze_all(&[source], options).pop().unwrap_or_default()
}

/// As [`analyze`], for many steps. The interpreter's parser, if there is one, is asked once for all.
pub fn analyze_all(sources: &[&str], options: &Options<'_>) -> Vec<StepNames> {
    let python = options.python.unwrap_or(PythonVersion::DEFAULT);
    // One thread for all: it costs less than a step.
    deep_stack::with_deep_stack(|| read_all(sources, options, python))
        .unwrap_or_else(|| sources.iter().map(|_| StepNames::opaque("no stack could be had to read it")).collect())
}

fn read_all(sources: &[&str], options: &Options<'_>, python: PythonVersion) -> Vec<StepNames> {
    let mut read: Vec<Reading> = sources.iter().map(|source| reading::read(source, python)).collect();
    if let Some(parser) = options.parser {
        let questions: Vec<Question<'_>> = read
            .iter()
            .zip(sources)
            .map(|(reading, source)| Question { source: reading.python(source), tree: reading.names.is_none() })
            .collect();
        // An interpreter that can't be asked leaves things as they are, and the judge says who it was.
        let judgements = parser.parse(&questions).unwrap_or_default();
        for ((reading, source), judgement) in read.iter_mut().zip(sources).zip(judgements) {
            reading.judge(source, judgement, python);
        }
    }
    read.into_iter().map(Reading::finish).collect()
}

/// The names that a source may read before it has bound them, builtins left out.
///
/// ```
/// let reads = reweave::analysis::reads("y = x + len(z)");
/// assert_eq!(reads.iter().map(|n| &**n).collect::<Vec<_>>(), ["x", "z"]);
/// ```
pub fn reads(source: &str) -> BTreeSet<Name> {
    analyze(source, &Options::default()).reads.into_keys().filter(|name| !builtins::is_builtin(name)).collect()
}

/// The names that a source may bind, delete or change in place.
///
/// ```
/// let writes = reweave::analysis::writes("y = x\nz.append(y)");
/// assert_eq!(writes.iter().map(|n| &**n).collect::<Vec<_>>(), ["y", "z"]);
/// ```
pub fn writes(source: &str) -> BTreeSet<Name> {
    analyze(source, &Options::default()).writes.into_keys().collect()
}
