//! What the larger answers hold: what a patch would come to, a trial, a story.

use serde::{Deserialize, Serialize};

use super::Covering;
use crate::step::{Millis, Outcome, PatchId, PatchState, Reason, Status, StepId, VersionNumber};
use crate::store::query::Moment;

/// What accepting a choice of a patch would come to, told before it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weight {
    /// Steps that would turn stale, in the order of the run.
    pub stale: Vec<StepId>,
    /// How long these took when they last ran, in microseconds, as far as that is known.
    pub estimate_us: u64,
    /// Paths whose file is not what the patch was placed on any more.
    pub moved: Vec<String>,
    /// Where what it makes can't be read as Python.
    pub faults: Vec<Fault>,
    /// How it weakens what checks it, in words.
    #[serde(default)]
    pub weakened: Vec<String>,
    /// The tests that cover what it changes: functions that it writes anew, or whole steps.
    #[serde(default)]
    pub tests: Vec<Covering>,
}

/// A place where a text is no Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub what: String,
}

/// What a patch did when it was run on the side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialView {
    /// The steps that ran, or would not run any more, in the order of the run.
    pub steps: Vec<TrialStep>,
    /// Whether it was kept from the run's directory by the system, or only by being run on a copy.
    pub isolated: bool,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Remarks: that it weakens a test, that it reached outside.
    pub remarks: Vec<String>,
    /// Steps that it made stale and that ran anew, in the order of the run.
    #[serde(default)]
    pub stale: Vec<StepId>,
    /// What must pass before it is accepted.
    #[serde(default)]
    pub gates: Vec<GateView>,
}

/// Something that must pass before a patch is accepted, and whether it did in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateView {
    /// A step's id, or the program.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Why not; may hold what a program printed, which is hostile.
    pub why: Option<String>,
}

impl TrialView {
    /// How many tests it came to, and how many of them pass before and after.
    pub fn tests(&self) -> (usize, usize, usize) {
        let tests = || self.steps.iter().filter(|step| step.test);
        let pass = |status| status == Status::Fresh;
        (
            tests().count(),
            tests().filter(|step| pass(step.before)).count(),
            tests().filter(|step| pass(step.after)).count(),
        )
    }

    /// How many steps fail or are blocked before and after.
    pub fn failures(&self) -> (usize, usize) {
        let fails = |status| matches!(status, Status::Failed | Status::Blocked);
        let count = |of: &dyn Fn(&TrialStep) -> Status| self.steps.iter().filter(|step| fails(of(step))).count();
        (count(&|step| step.before), count(&|step| step.after))
    }

    /// Whether another trial did the same to every step.
    pub fn is_like(&self, other: &Self) -> bool {
        self.steps == other.steps && self.gates == other.gates
    }

    /// The first of what must pass that did not.
    pub fn refusal(&self) -> Option<&str> {
        self.gates.iter().find(|gate| !gate.passed).map(|gate| gate.why.as_deref().unwrap_or(&gate.name))
    }
}

/// A step in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialStep {
    /// Which.
    pub id: StepId,
    /// Whether it is a test.
    pub test: bool,
    /// How it stands without the patch.
    pub before: Status,
    /// How it stood with the patch.
    pub after: Status,
    /// What it printed and showed without the patch; hostile.
    pub output_before: String,
    /// What it printed and showed with the patch; hostile.
    pub output_after: String,
    /// Variables that have another value with the patch: name, short form before and after.
    pub values: Vec<ValueChange>,
    /// What it did outside its namespace with the patch, in words.
    pub effects: Vec<String>,
}

/// A variable that has another value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueChange {
    /// Which.
    pub name: String,
    /// Its short form before; `None` where there was none. Hostile.
    pub before: Option<String>,
    /// Its short form after; `None` where there is none. Hostile.
    pub after: Option<String>,
}

/// Something that happened to a step or to the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryRow {
    /// Its place in the run's history, counting up: the moment right after it.
    pub seq: i64,
    /// When.
    pub at: Millis,
    /// To which step, by its present id.
    pub step: Option<StepId>,
    /// What.
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Happening {
    /// A step got a new text, or was removed.
    Version {
        /// The text's number.
        number: VersionNumber,
        /// The one that it replaced.
        replaced: Option<VersionNumber>,
        /// Who wrote it, in words.
        author: String,
        /// The model that an agent used.
        model: Option<String>,
        /// The accepted patch that made it.
        patch: Option<PatchId>,
        /// Why, in the author's words; hostile.
        reason: Option<String>,
        /// Whether it is the removal of the step.
        deleted: bool,
    },
    /// A step was given another id.
    Renamed {
        /// The old one.
        from: StepId,
        /// The new one.
        to: StepId,
    },
    /// A step was executed.
    Executed {
        /// Which version.
        version: VersionNumber,
        /// How it ended.
        outcome: Outcome,
        /// How long it took, in microseconds.
        duration_us: u64,
        /// Why it was executed.
        why: Vec<Reason>,
        /// Its error on one line; hostile.
        error: Option<String>,
    },
    /// A step was marked stale by hand.
    Invalidated,
    /// A patch came in, was decided on, or was remarked upon.
    Patch {
        /// Which.
        patch: PatchId,
        /// Its line for people; hostile.
        title: String,
        /// Where it stands since then, if that changed.
        state: Option<PatchState>,
        /// The remark, if one was made; hostile.
        comment: Option<String>,
    },
    /// A remark of reweave's.
    Note {
        /// The remark.
        text: String,
    },
}

/// The run as it stood at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastView {
    /// When.
    pub moment: Moment,
    /// The steps that were there, in the order that they had.
    pub steps: Vec<PastStep>,
    /// Steps that are there now and were not then.
    pub later: Vec<StepId>,
    /// Variables and files that held something else at the end than they do now, by name; hostile.
    pub values: Vec<String>,
}

/// A step at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastStep {
    /// Its id then.
    pub id: StepId,
    /// The id by which its history is found: the one that it has now, or had last.
    pub now: StepId,
    /// Its text then.
    pub version: VersionNumber,
    /// The text of its last execution until then, and how that ended.
    pub execution: Option<(VersionNumber, Outcome)>,
    /// The text that it has now; `None` where it is there no more.
    pub present: Option<VersionNumber>,
    /// Whether that is another text.
    pub changed: bool,
    /// Whether what it printed and showed is another now.
    pub output: bool,
}
