//! What waits to be done by the engine, for whom.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::Ticket;
use super::decide::Wish;
use super::desk::ClientId;
use crate::step::{FileChange, PatchId, StepId};

/// A piece of work for the engine, and who asked for it.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub client: ClientId,
    pub ticket: Ticket,
    pub kind: JobKind,
}

impl Job {
    /// The requests that it answers.
    pub(super) fn tickets(&self) -> Vec<Ticket> {
        match &self.kind {
            JobKind::Try { choices } => choices.iter().map(|choice| choice.ticket).collect(),
            _ => vec![self.ticket],
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub(super) enum JobKind {
    /// Bring the run up to date.
    Update {
        /// The steps wanted; all when empty.
        wanted: Wanted,
        /// Run failed steps again.
        retry_failed: bool,
        /// Where it ends before that.
        halts: Halts,
    },
    /// Say what that would do.
    Plan {
        /// The steps wanted; all when empty.
        wanted: BTreeSet<StepId>,
        /// Steps looked at as if they were marked by hand.
        marked: BTreeSet<StepId>,
    },
    /// Compare with full runs on the side.
    Verify {
        /// So many, to find what answers differently.
        check: Option<NonZeroU32>,
    },
    /// Try choices of patches on the side.
    Try {
        /// Which, and for which request each.
        choices: Vec<ToTry>,
    },
    /// Tell what is inside a variable.
    Inside {
        /// Right after which step; the last when `None`.
        at: Option<StepId>,
        /// The variable.
        name: String,
        /// The way into it.
        path: Vec<usize>,
    },
    /// Tell the variables after a step.
    State {
        /// The step; the last when `None`.
        at: Option<StepId>,
        /// Which variables; all when empty.
        names: Vec<String>,
    },
}

/// A choice of a patch to be tried.
#[derive(Debug, Clone)]
pub(super) struct ToTry {
    pub ticket: Ticket,
    pub patch: PatchId,
    /// What is taken; all when empty.
    pub files: Vec<FileChange>,
    /// What is to be done once it passed.
    pub then: Option<Wish>,
}

/// Where an update ends before all that is wanted is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halts {
    /// At breakpoints.
    AtBreakpoints,
    /// There, and after the first step that fails.
    AtFailure,
    /// After one step.
    AfterOne,
    /// Nowhere.
    Never,
}

/// Which steps an update is for. Resolved when it begins, since the run may change until then.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// All.
    All,
    /// These.
    Steps(BTreeSet<StepId>),
    /// All as far as this one.
    Until(StepId),
    /// These and all that is stale because of them.
    Following(BTreeSet<StepId>),
}
