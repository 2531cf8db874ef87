//! Python source to the names that it reads and writes, in order of execution. Nothing here touches a file,
//! a process or another step.
//!
//! # Architecture
//!
//! - [`analyze`]: one step's source to [`StepNames`]. [`reads`] and [`writes`] give only the names.
//! - [`Options`]: the run's Python version, whether IPython's syntax is allowed, and a [`PythonParser`] to
//!   ask where the parser built in can't read a source.
//! - [`effects`]: what calling a function does; it is charged to whoever calls it.
//! - `lexical`, `rewrite`, `magics`, `depth`: what is done to a source before it is parsed; nothing moves, so
//!   that places in the text stay what they are.
//! - `walk`: the tree, in order of execution.
//!
//! Static analysis only says what may be used: what a step really used is observed when it runs. So what
//! can't be seen here, such as a change through a second name for an object that an earlier step made, is
//! left to observation; and what is dynamic makes a step opaque, never independent.

mod bits;
pub mod builtins;
mod depth;
pub mod effects;
mod lexical;
mod lines;
mod names;
mod rewrite;
mod walk;

use std::collections::BTreeSet;

use rustpython_parser::{Parse, ast};

use crate::step::Name;

pub use lines::Lines;
pub use names::{AnalyzedBy, Certainty, Import, Judge, Occurrence, OccurrenceKind, Read, StepNames, SyntaxError};

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

/// How to read a source.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The run's Python.
    pub python: PythonVersion,
}

impl Default for Options {
    fn default() -> Self {
        Self { python: PythonVersion::DEFAULT }
    }
}

/// The names that a step reads and writes.
pub fn analyze(source: &str, options: &Options) -> StepNames {
    if let Err(why) = depth::check(source) {
        return StepNames::opaque(why.to_string());
    }
    let text = rewrite::rewrite(source);
    match ast::Suite::parse(&text, "<step>") {
        Ok(body) => walk::walk(source, &text, &body, options.python),
        Err(error) => {
            let relaxed = rewrite::relax(&text);
            match ast::Suite::parse(&relaxed, "<step>") {
                Ok(body) => walk::walk(source, &relaxed, &body, options.python),
                Err(_) => {
                    let at = error.offset.to_usize().min(source.len());
                    let (line, column) = Lines::new(source).position(source, at);
                    let mut names = StepNames::opaque("the source can't be parsed");
                    names.syntax_error =
                        Some(SyntaxError { message: error.error.to_string(), line, column, judged_by: Judge::Parser });
                    names
                }
            }
        }
    }
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
