//! What can be asked of a run.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{EvolveWish, RepairWish};
use crate::agent::Turn;
use crate::step::{Answer, FileChange, Name, PatchId, Provenance, QuestionId, StepId, VersionNumber};
use crate::store::query::Moment;

/// Tells the answers of one request from another's; handed out by who asks, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub u64);

/// A command with the ticket that its answers carry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Comes back with every event that answers.
    pub ticket: Ticket,
    /// What is asked.
    pub command: Command,
}

/// Everything that can be asked of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Bring these steps, with what they need, up to date; all when empty. Answered by
    /// [`super::Event::Ran`].
    Run {
        /// Which.
        steps: Vec<StepId>,
        /// Run failed steps again even if nothing that they used changed.
        retry_failed: bool,
    },
    /// Mark `from` (or everything) stale and bring the run up to date as far as `until`. Answered by
    /// [`super::Event::Ran`].
    Replay {
        /// First step to run again; `None` for all.
        from: Option<StepId>,
        /// Last step to bring up to date.
        until: Option<StepId>,
    },
    /// Run exactly the next step that is not up to date, and no more.
    Next,
    /// Bring every step up to date, and stop after the first that fails. Answered by [`super::Event::Ran`].
    UntilFailure,
    /// Say what [`Command::Run`] would do: answered by [`super::Event::Plan`].
    Plan {
        /// Which steps; all when empty.
        steps: Vec<StepId>,
        /// Steps that are looked at as if they had been marked by hand.
        marked: Vec<StepId>,
    },
    /// Run everything from nothing on the side and compare with what is held: answered by
    /// [`super::Event::Verified`].
    Verify {
        /// Do so this many times, and mark the steps that answer differently with the same inputs.
        check: Option<NonZeroU32>,
    },
    /// Mark these stale by hand.
    Invalidate {
        /// Which.
        steps: Vec<StepId>,
    },
    /// Ask what calls a step made whose answers are kept: answered by [`super::Event::Calls`].
    Calls {
        /// Which.
        step: StepId,
    },
    /// Let go of the answer of a call, so that it is asked again.
    InvalidateCall {
        /// The step that made it.
        step: StepId,
        /// The call: its number among the step's calls, or how its key begins.
        call: String,
    },
    /// Answer a question that a running step waits with: one of [`super::Snapshot::questions`].
    Answer {
        /// Which.
        question: QuestionId,
        /// What is said to it.
        answer: Answer,
    },
    /// Stop what runs: interrupt, then terminate, then kill.
    Stop,
    /// Make a step with this source.
    NewStep {
        /// Its id.
        step: StepId,
        /// Its text.
        source: String,
    },
    /// Give a step another id. Its history goes with it.
    Rename {
        /// Which.
        step: StepId,
        /// The new id.
        to: StepId,
    },
    /// Remove a step's file. Its history stays.
    Delete {
        /// Which.
        step: StepId,
    },
    /// Write an earlier version back.
    Restore {
        /// Which.
        step: StepId,
        /// Which version.
        version: VersionNumber,
    },
    /// Replace a step's text.
    Edit {
        /// Which.
        step: StepId,
        /// The new text.
        source: String,
    },
    /// Make a step, or replace its text, in another's name: an agent's.
    Write {
        /// Which.
        step: StepId,
        /// Its text.
        source: String,
        /// Whether it must not be there yet; else it must be.
        new: bool,
        /// Who writes it, and how. The moment is the one at which it is done.
        from: Box<Provenance>,
    },
    /// Take back the last thing that reweave did to a step's file.
    Undo,
    /// Do again what was taken back.
    Redo,
    /// Whether a saved file is replayed at once.
    ReplayOnSave {
        /// On or off.
        on: bool,
    },
    /// Ask for a step's present text: answered by [`super::Event::Source`].
    Source {
        /// Which.
        step: StepId,
    },
    /// Ask for a step's last execution: answered by [`super::Event::Execution`].
    Execution {
        /// Which.
        step: StepId,
    },
    /// Ask for the variables right after a step: answered by [`super::Event::State`].
    State {
        /// Which; the last step when `None`.
        at: Option<StepId>,
        /// Only these names; all when empty.
        names: Vec<String>,
    },
    /// Ask for a patch in full: answered by [`super::Event::Patch`].
    Patch {
        /// Which.
        patch: PatchId,
    },
    /// Ask what is inside a variable right after a step: answered by [`super::Event::Inside`].
    Inside {
        /// Which step; the last when `None`.
        at: Option<StepId>,
        /// The variable.
        name: String,
        /// The way into it: at each turn the place of a part among those of [`super::Inside::parts`].
        path: Vec<usize>,
    },
    /// Ask for the text of an earlier version: answered by [`super::Event::VersionText`].
    VersionText {
        /// Whose.
        step: StepId,
        /// Which.
        version: VersionNumber,
    },
    /// Ask what happened to a step, or to the run: answered by [`super::Event::Story`].
    Story {
        /// To which step; to the run when `None`.
        step: Option<StepId>,
    },
    /// Ask how the run stood at a moment, and what it would take to have it so again: answered by
    /// [`super::Event::Past`].
    Past {
        /// When.
        moment: Moment,
    },
    /// Take a step, or the whole run, back to how it stood at a moment: one change that can be undone.
    RestoreTo {
        /// Which step; the whole run when `None`.
        step: Option<StepId>,
        /// When.
        moment: Moment,
    },
    /// Make the record smaller, as [`crate::store::Retention`] says; what is not given has its default. Refused while
    /// steps run. Answered by [`super::Event::Freed`].
    Gc {
        /// How many executions of a step are kept whatever their age.
        executions: Option<u32>,
        /// For how many days all executions are kept.
        days: Option<u32>,
        /// Most bytes of saved values.
        saved: Option<u64>,
    },
    /// Ask why a step failed, and what could be done: answered by [`super::Event::Diagnosis`].
    Diagnose {
        /// Which.
        step: StepId,
    },
    /// Ask how the outputs stand to what was recorded of the steps, or to those of another run: answered by
    /// [`super::Event::Beside`].
    Beside {
        /// The other run's directory, or a recording, relative to the run; what was recorded of this one when `None`.
        other: Option<String>,
    },
    /// Ask an agent for patches to a failed step until one passes on the side, a bounded number of times. Each turn is
    /// told by [`super::Event::Turn`]; answered by [`super::Event::Repaired`].
    Repair(RepairWish),
    /// Ask an agent to write a function anew until the tests that use it pass, a bounded number of times. Answered as
    /// [`Command::Repair`] is.
    Evolve(EvolveWish),
    /// Keep a turn of a repair in the history of its step, and tell it.
    Remark {
        /// Which step.
        step: StepId,
        /// The turn.
        turn: Box<Turn>,
    },
    /// Ask what an agent is shown for a step: answered by [`super::Event::Context`].
    Context {
        /// Which.
        step: StepId,
        /// The most tokens that it may have; what the settings say when `None`.
        #[serde(default)]
        budget: Option<usize>,
    },
    /// Ask what accepting this choice of a patch would come to, changing nothing: answered by
    /// [`super::Event::Weighed`].
    Weigh {
        /// Which.
        patch: PatchId,
        /// What is taken of it.
        files: Vec<FileChange>,
    },
    /// Run a choice of a patch on the side: answered by [`super::Event::Tried`].
    Try {
        /// Which.
        patch: PatchId,
        /// What is taken of it; all when empty.
        files: Vec<FileChange>,
    },
    /// Take a patch in: answered by [`super::Event::Patch`]. One that came before is the same patch.
    AddPatch {
        /// Its bytes, in any of the formats.
        text: Vec<u8>,
        /// The file meant where it names none, by its path in the run.
        target: Option<String>,
        /// Who made it, and how; a person when `None`. The moment is the one at which it comes in.
        from: Option<Box<Provenance>>,
    },
    /// Write a choice of a patch to the steps. Refused where a file is not what the choice was made on, where it makes
    /// a text that is no Python, and where what must pass before does not.
    Accept {
        /// Which.
        patch: PatchId,
        /// What is taken of it; all when empty.
        files: Vec<FileChange>,
        /// What is said of what was left, for who proposed it.
        comment: Option<String>,
        /// Bring the run up to date with it.
        replay: bool,
        /// Also where its text is no Python or what must pass does not: that is recorded.
        #[serde(default)]
        anyway: bool,
    },
    /// Turn a patch down.
    Reject {
        /// Which.
        patch: PatchId,
        /// Why, for who proposed it.
        comment: Option<String>,
    },
    /// Take an accepted patch back.
    Revert {
        /// Which.
        patch: PatchId,
    },
    /// Remark on a patch, deciding nothing.
    Comment {
        /// Which.
        patch: PatchId,
        /// The remark.
        text: String,
    },
    /// Where steps are not gone past while they run: before these steps, and after a step that changes one of these
    /// names. Replaces what was set before.
    Breakpoints {
        /// Which steps.
        steps: Vec<StepId>,
        /// Which names.
        names: Vec<Name>,
    },
    /// Let the step that executes end, and run no further.
    Pause,
    /// Look at the directory again now.
    Rescan,
    /// End: close processes and the store.
    Close,
}
