//! What a workbench tells.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Beside, CallView, ContextView, PastView, Snapshot, StoryRow, Ticket, TrialView, Weight};
use crate::agent::{Repair, Turn};
use crate::engine::{Halt, Verified};
use crate::feedback::Diagnosis;
use crate::step::{
    Chunk, Execution, Inside, Patch, PatchId, Question, Reason, Status, StepId, Variable, VersionNumber,
};
use crate::store::Freed;

/// Something that happened, or an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", content = "is", rename_all = "snake_case")]
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
        /// Whether it is fresh and executed only to have its state again.
        rebuilt: bool,
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
        /// Whether its code was executed because it was stale.
        ran: bool,
        /// Whether its code was executed only to have its state again.
        rebuilt: bool,
        /// Why it ran or is blocked.
        why: Vec<Reason>,
        /// The execution that holds, where there is one that may be shown as its result.
        execution: Option<Arc<Execution>>,
    },
    /// A running step waits until this is answered.
    Asked(Question),
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
    /// What is inside a variable.
    Inside {
        /// Right after which step.
        at: StepId,
        /// The variable.
        name: String,
        /// The way into it.
        path: Vec<usize>,
        /// What is there.
        inside: Arc<Inside>,
    },
    /// The text of a version.
    VersionText {
        /// Whose.
        step: StepId,
        /// Which.
        version: VersionNumber,
        /// The text.
        text: Arc<str>,
    },
    /// What happened to a step, or to the run, newest first.
    Story {
        /// To which step; to the run when `None`.
        step: Option<StepId>,
        /// What.
        rows: Arc<Vec<StoryRow>>,
    },
    /// How the run stood at a moment.
    Past(Arc<PastView>),
    /// What was cleared away.
    Freed(Freed),
    /// Why a step failed, and what could be done.
    Diagnosis {
        /// Which step.
        step: StepId,
        /// What was found.
        diagnosis: Arc<Diagnosis>,
    },
    /// How the outputs stand to a recording, or to another run.
    Beside(Arc<Beside>),
    /// What an agent is shown for a step.
    Context {
        /// Which.
        step: StepId,
        /// What.
        context: Arc<ContextView>,
    },
    /// What accepting a choice of a patch would come to. Only who asked is told.
    Weighed {
        /// The request.
        ticket: Ticket,
        /// Which patch.
        patch: PatchId,
        /// What it would come to.
        weight: Arc<Weight>,
    },
    /// What a patch did when it was run on the side.
    Tried {
        /// Which.
        patch: PatchId,
        /// What it did.
        trial: Arc<TrialView>,
    },
    /// The calls that a step made whose answers are kept.
    Calls {
        /// Which step.
        step: StepId,
        /// Its calls, in the order in which they began.
        calls: Arc<Vec<CallView>>,
    },
    /// A turn of a repair is done.
    Turn {
        /// Of which step.
        step: StepId,
        /// The turn.
        turn: Arc<Turn>,
    },
    /// What a repair came to. Only who asked is told.
    Repaired {
        /// Of which step.
        step: StepId,
        /// What it came to.
        repair: Arc<Repair>,
        /// The patch that was accepted, if that was asked for.
        accepted: Option<PatchId>,
    },
    /// Steps stopped before they were done, though nothing was cut off.
    Halted {
        /// The step that would have been next, if there was one.
        before: Option<StepId>,
        /// Why.
        why: Halt,
    },
    /// A full run on the side came to this step.
    Verifying {
        /// Which.
        step: StepId,
    },
    /// How full runs on the side compared with what is held. Only who asked is told.
    Verified {
        /// The request.
        ticket: Ticket,
        /// How.
        verified: Arc<Verified>,
    },
    /// What a run would do, in the order of the run. Only who asked is told.
    Plan {
        /// The request.
        ticket: Ticket,
        /// One entry a step.
        entries: Arc<Vec<PlanRow>>,
    },
    /// What a run did, in the order of the run: every step, those that were kept too. Comes before the
    /// request's [`Event::Done`]; only who asked is told.
    Ran {
        /// The request.
        ticket: Ticket,
        /// One entry a step.
        steps: Arc<Vec<StepResult>>,
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

/// What a run would do with a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRow {
    /// Which.
    pub id: StepId,
    /// What.
    pub action: PlanAction,
    /// Whether that is certain, or depends on values that other steps make.
    pub certain: bool,
    /// Why.
    pub why: Vec<Reason>,
    /// How long it took when it last ran, in microseconds: 0 for what would not run, `None` where it is
    /// not known.
    pub estimate_us: Option<u64>,
}

/// What a run would do with a step, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanAction {
    /// Execute its code.
    Run,
    /// Bring its results over.
    Carry,
    /// Nothing: it is up to date.
    Keep,
    /// Nothing: a failed step stands in its way.
    Blocked,
}

impl PlanAction {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Carry => "carry",
            Self::Keep => "keep",
            Self::Blocked => "blocked",
        }
    }
}

/// How a step stands after a run, and what the run did with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Which.
    pub id: StepId,
    /// How it stands.
    pub status: Status,
    /// Whether its code was executed because it was stale.
    pub ran: bool,
    /// Whether its results were brought over into another process.
    pub carried: bool,
    /// Whether its code was executed only to have its state again.
    pub rebuilt: bool,
    /// Why it ran, is blocked or still stale.
    pub why: Vec<Reason>,
    /// The execution that holds: what it printed and showed. `None` where there is none, or none that may
    /// be shown as its result.
    pub execution: Option<Arc<Execution>>,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// How things stand: nothing was done.
    Hint,
    /// Something was done.
    Info,
    /// Something is not as asked.
    Warning,
    /// Something failed.
    Error,
}

/// What a request came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What is wrong, naming the thing.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}
