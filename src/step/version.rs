//! Versions of steps and where they came from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Digest, PatchId, StepId};

/// A moment, in milliseconds since the Unix epoch.
pub type Millis = i64;

/// The number of a version within its step: 1 for the first text ever seen, then counting up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionNumber(pub u32);

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The immutable text of a step at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Which step.
    pub step: StepId,
    /// Which version of it.
    pub number: VersionNumber,
    /// Hash of the file's bytes.
    pub source: Digest,
    /// Who made it, when and by what.
    pub provenance: Provenance,
    /// Whether this version is the removal of the step.
    pub deleted: bool,
}

/// Who wrote a text, when, and by which means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Who.
    pub author: Author,
    /// When it was first seen.
    pub at: Millis,
    /// The model that an agent used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The producer's own id of the call that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The accepted patch that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PatchId>,
    /// Why, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the author was shown before writing it: a blob in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Digest>,
    /// What the call cost, where the producer says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// Tokens of a model call, as its provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read, cached ones included.
    pub input: u64,
    /// Written.
    pub output: u64,
}

impl Provenance {
    /// A change by `author` at `at`, nothing more known.
    pub fn new(author: Author, at: Millis) -> Self {
        Self { author, at, model: None, call: None, patch: None, reason: None, context: None, tokens: None }
    }
}

/// Who made a version or a patch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "by", content = "name", rename_all = "snake_case")]
pub enum Author {
    /// A person's edit, seen on disk. Any program that writes the file looks like this.
    Person,
    /// An agent, by name.
    Agent(String),
    /// An import, by its format.
    Import(String),
    /// One of reweave's own rules, by its name.
    Rule(String),
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str("a person"),
            Self::Agent(name) => write!(f, "agent {name}"),
            Self::Import(format) => write!(f, "import from {format}"),
            Self::Rule(rule) => write!(f, "rule {rule}"),
        }
    }
}
