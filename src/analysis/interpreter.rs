//! What an interpreter's own parser can be asked, where there is one.
//!
//! The parser built in refuses some valid sources and takes some invalid ones. So what is shown as a syntax
//! error is decided by CPython's `compile`, and what only it can read is walked in the tree that it gives.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SyntaxError;

/// An interpreter's own parser. It reads sources and runs none of them.
pub trait PythonParser: Send + Sync {
    /// Judges sources, one answer for each in the same order.
    ///
    /// # Errors
    /// When the interpreter can't be asked.
    fn parse(&self, questions: &[Question<'_>]) -> Result<Vec<Judgement>, Unavailable>;
}

impl fmt::Debug for dyn PythonParser + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PythonParser")
    }
}

/// A source to be judged.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Question<'a> {
    /// Python, without IPython's syntax.
    pub source: &'a str,
    /// Whether its tree is wanted.
    pub tree: bool,
}

/// What an interpreter says of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// It can be compiled; with its tree, if that was wanted.
    Valid(Option<Tree>),
    /// It can't.
    Invalid(SyntaxError),
}

/// Why an interpreter can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the interpreter's parser can't be asked: {0}")]
pub struct Unavailable(pub String);

/// A syntax tree as CPython's `ast` gives it, flat: each node stands after the nodes that it holds, and the
/// last is the root.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Node {
    /// The name of its class.
    pub kind: String,
    /// Where it begins in the source, in bytes; 0 where it has no place.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Its fields: a node is `{"node": place}`, a list an array, a constant string `{"text": …}`; what is of
    /// no use to names is left out.
    pub fields: Map<String, Value>,
}
