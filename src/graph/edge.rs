//! That one step needs another.

use serde::Serialize;

use crate::step::{Name, StepId};

/// That one step needs another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Edge {
    /// The step that is needed.
    pub from: StepId,
    /// The step that needs it.
    pub to: StepId,
    /// The names that it needs, sorted; paths for a file edge.
    pub names: Vec<Name>,
    /// What makes it needed.
    pub kind: EdgeKind,
}

/// What makes one step need another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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

impl EdgeKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Declared => "declared",
            Self::File => "file",
            Self::Order => "order",
        }
    }
}
