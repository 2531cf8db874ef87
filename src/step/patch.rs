//! A proposed change and its life.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, Millis, Provenance};

/// Which patch: a number within the run, counting up from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PatchId(pub u32);

impl fmt::Display for PatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Where a patch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchState {
    /// Read and placed; nobody has decided.
    Proposed,
    /// Ran on the side; nobody has decided.
    Tried,
    /// Written to the steps.
    Accepted,
    /// Turned down.
    Rejected,
    /// Accepted once and taken back.
    Reverted,
    /// Another patch made it needless.
    Superseded,
    /// It fits nowhere.
    Conflict,
    /// It fits in more than one place.
    Ambiguous,
    /// It could not be read.
    Malformed,
}

impl PatchState {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Proposed,
        Self::Tried,
        Self::Accepted,
        Self::Rejected,
        Self::Reverted,
        Self::Superseded,
        Self::Conflict,
        Self::Ambiguous,
        Self::Malformed,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Tried => "tried",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Reverted => "reverted",
            Self::Superseded => "superseded",
            Self::Conflict => "conflict",
            Self::Ambiguous => "ambiguous",
            Self::Malformed => "malformed",
        }
    }

    /// Whether it waits for a decision and has its place.
    pub fn may_be_tried(self) -> bool {
        matches!(self, Self::Proposed | Self::Tried)
    }

    /// Whether a person may still decide on it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Proposed | Self::Tried | Self::Conflict | Self::Ambiguous)
    }
}

/// A proposal as it is kept: what was said, by whom, and what it would change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// Which.
    pub id: PatchId,
    /// Where it stands.
    pub state: PatchState,
    /// One line for people.
    pub title: String,
    /// Who proposes it.
    pub provenance: Provenance,
    /// Hash of the proposal's text: a patch is known by its content.
    pub content: Digest,
    /// What it would change, one entry a file, as it was placed when it came in.
    pub files: Vec<FileChange>,
    /// What is wrong with it, in words.
    pub problems: Vec<String>,
    /// Remarks of those who decided, newest last.
    pub comments: Vec<(Millis, String)>,
}

/// What a patch does to one file of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path in the run, with its ending.
    pub path: String,
    /// The text that it was placed on; `None` makes a new file.
    pub base: Option<String>,
    /// The text after; `None` deletes the file.
    pub result: Option<String>,
}
