//! What can be asked of a run.

use serde::{Deserialize, Serialize};

use crate::step::{PatchId, StepId, VersionNumber};

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
    /// Say what [`Command::Run`] would do: answered by [`super::Event::Plan`].
    Plan {
        /// Which steps; all when empty.
        steps: Vec<StepId>,
        /// Steps that are looked at as if they had been marked by hand.
        marked: Vec<StepId>,
    },
    /// Mark these stale by hand.
    Invalidate {
        /// Which.
        steps: Vec<StepId>,
    },
    /// Give the running step the line of input that it waits for; `None` is the end of input.
    Answer {
        /// The line, without its end.
        line: Option<String>,
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
    /// Look at the directory again now.
    Rescan,
    /// End: close processes and the store.
    Close,
}
