//! What a diagnosis is made from: the error, the steps around it, what they read and wrote, and what came
//! before.

use std::collections::BTreeMap;

use crate::analysis::StepNames;
use crate::step::{Digest, Name, Observation, StackLine, StepError, StepId, Written};

/// A failed execution and what is known around it.
#[derive(Clone, Copy)]
pub struct Failure<'a> {
    /// The step that failed.
    pub step: &'a StepId,
    /// The error that ended it.
    pub error: &'a StepError,
    /// Every step of the run, in its order.
    pub steps: &'a [StepText<'a>],
    /// Steps that were removed, newest first.
    pub removed: &'a [Removed],
    /// Earlier failures of the same step, newest first.
    pub earlier: &'a [Earlier],
    /// What lies in the run's directory.
    pub files: &'a dyn Listing,
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
    /// What can be seen in the text.
    pub names: &'a StepNames,
    /// What its last execution read and wrote, if it has one.
    pub observed: Option<&'a Observation>,
}

impl StepText<'_> {
    /// Whether the step bound or changed a name: by its record, or where it has none by its text.
    pub fn writes(&self, name: &str) -> bool {
        match self.observed {
            Some(seen) if !seen.writes.is_empty() => matches!(seen.writes.get(name), Some(Some(_))),
            _ => self.names.writes.contains_key(name),
        }
    }

    /// What it wrote, where that is recorded.
    pub fn written(&self) -> Option<&BTreeMap<Name, Option<Written>>> {
        self.observed.map(|seen| &seen.writes)
    }
}

/// A step that is no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Which.
    pub id: StepId,
    /// The names that its last text wrote.
    pub writes: Vec<Name>,
}

/// An earlier failure of the same step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Digest of the step's text then.
    pub text: Digest,
    /// What failed: see [`super::fingerprint`].
    pub fingerprint: Digest,
}

/// The files of a run, as far as a diagnosis asks for them.
pub trait Listing {
    /// Names in a directory of the run (`""` for the run itself), at most a few thousand; nothing if it is not
    /// there. Directories end with a slash.
    fn names(&self, directory: &str) -> Option<Vec<String>>;
}

/// No files are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Listing for NoFiles {
    fn names(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

impl<'a> Failure<'a> {
    /// A step by its id.
    pub fn step_text(&self, id: &StepId) -> Option<&'a StepText<'a>> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The step whose text raised: it may be another than the one that was executed, where a function stands
    /// in an earlier step.
    pub fn raised_in(&self) -> Option<&'a StepText<'a>> {
        let raised = self.error.step.as_ref().and_then(|id| self.step_text(id));
        raised.or_else(|| self.step_text(self.step))
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

    /// The innermost frame that is a step's.
    pub fn frame(&self) -> Option<&'a StackLine> {
        self.error.stack.iter().rev().find(|line| line.step.is_some())
    }
}
