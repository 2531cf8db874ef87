//! What a diagnosis is made from: the error, the steps around it, what they read and wrote, and what came
//! before.

use crate::analysis::StepNames;
use crate::step::{Digest, Millis, Observation, Status, StepError, StepId};

/// A failed execution and what is known around it.
#[derive(Clone, Copy)]
pub struct Failure<'a> {
    /// The step that failed.
    pub step: &'a StepId,
    /// The error that ended it.
    pub error: &'a StepError,
    /// Every step of the run, in its order.
    pub steps: &'a [StepText<'a>],
    /// Earlier failures of the same step, newest first, without the one that is diagnosed; up to one that
    /// succeeded or the beginning.
    pub earlier: &'a [Earlier],
    /// What else can be asked.
    pub world: &'a dyn World,
}

/// A step of the run, as text and as what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct StepText<'a> {
    /// Which.
    pub id: &'a StepId,
    /// The path of its file in the run.
    pub path: &'a str,
    /// Its present text.
    pub text: &'a str,
    /// Digest of its file.
    pub digest: Digest,
    /// What can be seen in the text.
    pub names: &'a StepNames,
    /// What its last execution read and wrote, if it has one.
    pub observed: Option<&'a Observation>,
    /// How it stands.
    pub status: Status,
}

impl StepText<'_> {
    /// Whether the step bound or changed a name: by its record, or where it has none by its text.
    pub fn writes(&self, name: &str) -> bool {
        match self.observed {
            Some(seen) if !seen.writes.is_empty() => matches!(seen.writes.get(name), Some(Some(_))),
            _ => self.names.writes.contains_key(name),
        }
    }
}

/// An earlier failure of the same step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// When it began.
    pub at: Millis,
    /// Digest of the step's text then.
    pub text: Digest,
    /// What failed: see [`super::fingerprint`].
    pub fingerprint: Digest,
}

/// What a diagnosis asks of the run's directory, its history and its interpreter. A tree that is deep is walked on
/// another thread, which may ask too.
pub trait World: Sync {
    /// Names in a directory of the run (`""` for the run itself), at most a few thousand; nothing if it is not
    /// there. Directories end with a slash.
    fn names(&self, directory: &str) -> Option<Vec<String>>;

    /// Which of these texts the run's interpreter can compile; empty where it can't be asked.
    fn compile(&self, texts: &[String]) -> Vec<bool>;

    /// Whether the run's interpreter finds a module, without importing it.
    fn is_there(&self, module: &str) -> Option<bool>;

    /// The steps that ever wrote a name, removed ones too, newest execution first.
    fn writers(&self, name: &str) -> Vec<StepId>;

    /// The steps that ever wrote a file of the run, newest execution first.
    fn file_writers(&self, path: &str) -> Vec<StepId>;

    /// When a step got its texts, and their digests; newest first.
    fn texts(&self, step: &StepId) -> Vec<(Millis, Digest)>;
}

/// Nothing more is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl World for Nowhere {
    fn names(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn compile(&self, _: &[String]) -> Vec<bool> {
        Vec::new()
    }

    fn is_there(&self, _: &str) -> Option<bool> {
        None
    }

    fn writers(&self, _: &str) -> Vec<StepId> {
        Vec::new()
    }

    fn file_writers(&self, _: &str) -> Vec<StepId> {
        Vec::new()
    }

    fn texts(&self, _: &StepId) -> Vec<(Millis, Digest)> {
        Vec::new()
    }
}

impl<'a> Failure<'a> {
    /// A step by its id.
    pub fn step_text(&self, id: &StepId) -> Option<&'a StepText<'a>> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Steps before another, nearest first.
    pub fn before(&self, id: &StepId) -> impl Iterator<Item = &'a StepText<'a>> + use<'a> {
        let end = self.steps.iter().position(|step| step.id == id).unwrap_or(self.steps.len());
        self.steps.get(..end).unwrap_or_default().iter().rev()
    }

    /// Steps after another, nearest first.
    pub fn after(&self, id: &StepId) -> impl Iterator<Item = &'a StepText<'a>> + use<'a> {
        let start = self.steps.iter().position(|step| step.id == id).map_or(self.steps.len(), |at| at + 1);
        self.steps.get(start..).unwrap_or_default().iter()
    }
}
