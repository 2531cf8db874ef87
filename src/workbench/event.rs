//! What a workbench tells.

use std::sync::Arc;

use super::{Snapshot, Ticket};
use crate::step::{Chunk, Execution, Patch, Reason, Status, StepId, Variable, VersionNumber};

/// Something that happened, or an answer.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run as it stands. Sent at the start and whenever anything in it changed, never more often than
    /// a listener can use.
    Snapshot(Arc<Snapshot>),
    /// A step began to execute.
    Started {
        /// Which.
        step: StepId,
        /// Why it runs.
        why: Vec<Reason>,
    },
    /// A running step printed.
    Printed {
        /// Which.
        step: StepId,
        /// What.
        chunk: Chunk,
    },
    /// A step was executed, or was found to be as it would be.
    Settled {
        /// Which.
        step: StepId,
        /// How it stands now.
        status: Status,
        /// Whether its code was executed.
        ran: bool,
    },
    /// A running step asks for a line of input.
    InputWanted {
        /// Which.
        step: StepId,
        /// What it shows before.
        prompt: String,
    },
    /// The text of a step.
    Source {
        /// Whose.
        step: StepId,
        /// Which version.
        version: VersionNumber,
        /// The text.
        text: Arc<str>,
        /// The text at its last execution, where that is another.
        executed: Option<Arc<str>>,
    },
    /// The last execution of a step, if it has one.
    Execution {
        /// Whose.
        step: StepId,
        /// What.
        execution: Option<Arc<Execution>>,
    },
    /// The variables right after a step.
    State {
        /// Which step.
        at: StepId,
        /// The variables.
        variables: Arc<Vec<Variable>>,
    },
    /// A patch.
    Patch(Arc<Patch>),
    /// A request ended.
    Done {
        /// Which.
        ticket: Ticket,
        /// How.
        result: Result<Summary, Failure>,
    },
    /// Something that a person should know, in words.
    Notice {
        /// How grave.
        level: Level,
        /// What.
        text: String,
    },
    /// The workbench ended.
    Closed,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is not as asked.
    Warning,
    /// Something failed.
    Error,
}

/// What a request came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Steps whose code was executed because they were stale.
    pub ran: usize,
    /// Steps kept.
    pub kept: usize,
    /// Fresh steps that were executed only to have their state again.
    pub rebuilt: usize,
    /// Steps that stand failed.
    pub failed: usize,
    /// One line for people.
    pub text: String,
}

/// Why a request failed, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What is wrong, naming the thing.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}
