//! What an engine is given and what it tells.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::calls::Calls;
use super::leave::{Asker, Leaves};
use super::vault::Vault;
use crate::run::{Policy, Size};
pub use crate::step::OnError;
use crate::step::{Answered, Chunk, Execution, Kind, Name, Question, Reason, StepId, VersionNumber};

/// A limit of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// In bytes.
    pub bytes: u64,
    /// As it was set: a share of what is free is another number of bytes each time.
    pub set: Size,
}

impl Memory {
    /// So many bytes.
    pub fn of(bytes: u64) -> Self {
        Self { bytes, set: Size::Bytes(bytes) }
    }
}

/// What is fixed while an engine lives.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run's directory, absolute.
    pub dir: PathBuf,
    /// The interpreter: a path, or a name to look up.
    pub python: PathBuf,
    /// Seeds `random`, numpy's generator and `PYTHONHASHSEED`.
    pub seed: u32,
    /// Longest that a step may take, unless its header says otherwise.
    pub timeout: Option<Duration>,
    /// Bytes of output that are kept of a step, head and tail.
    pub output_limit: u64,
    /// Memory that a running step's process and those that it starts may hold; no limit when `None`.
    pub memory: Option<Memory>,
    /// How many processes a running step may have, its own among them; no limit when `None`.
    pub processes: Option<u64>,
    /// Files that a process may have open; what the system says when `None`.
    pub open_files: Option<u64>,
    /// Bytes of the largest file that a step may write; what the system says when `None`.
    pub file_size: Option<u64>,
    /// Threads of BLAS and OpenMP, where the environment does not say.
    pub threads: u32,
    /// Bytes of memory that checkpoints may hold for themselves.
    pub checkpoint_memory: Option<u64>,
    /// Whether somebody can be asked while steps run. Where nobody can, what was answered before is used.
    pub answered: bool,
    /// Names of steps' files that are not run but may be imported, and other paths that are the
    /// workbench's own: never counted as files that a step used.
    pub ignore: Vec<PathBuf>,
    /// Where values and file contents are kept between runs.
    pub vault: Arc<dyn Vault>,
    /// Who answers calls that are made once.
    pub calls: Arc<dyn Calls>,
    /// What steps may do outside their namespace.
    pub policy: Policy,
    /// Who is asked where the policy asks; without anyone it is no.
    pub asker: Option<Arc<dyn Asker>>,
    /// What was given leave so far, for longer than one execution.
    pub leaves: Leaves,
}

/// A step as it stands on disk, with what is remembered of it.
#[derive(Debug, Clone)]
pub struct Task {
    /// Which.
    pub id: StepId,
    /// What sort. Steps of kind `module` are not given to an engine.
    pub kind: Kind,
    /// Its text.
    pub source: Arc<str>,
    /// Which version that is.
    pub version: VersionNumber,
    /// Longest that it may take, if its header says so.
    pub timeout: Option<Duration>,
    /// Files that must be there after it.
    pub produces: Vec<String>,
    /// What it was answered when it last ran.
    pub answers: Vec<Answered>,
    /// Earlier executions of the step, newest first. Any of them may be found to hold now.
    pub held: Vec<Arc<Execution>>,
    /// Why it must run whatever is found, if so.
    pub forced: Option<Reason>,
}

impl Task {
    /// What was answered when it last ran, to be used again where `why` does not ask for a new beginning.
    pub(super) fn answers(&self, answered: bool, why: &[Reason]) -> &[Answered] {
        let anew = |reason: &Reason| matches!(reason, Reason::Invalidated | Reason::Retried);
        if answered && why.iter().any(anew) { &[] } else { &self.answers }
    }
}

/// How far an update goes.
#[derive(Debug, Clone, Default)]
pub struct Goal {
    /// The steps wanted; all when empty.
    pub steps: BTreeSet<StepId>,
    /// Whether steps whose failure would be kept are executed again.
    pub retry_failed: bool,
    /// What follows from a failure.
    pub on_error: OnError,
    /// Stop after this many steps were executed because they were stale.
    pub at_most: Option<usize>,
    /// Stop before any of these would execute.
    pub breaks: BTreeSet<StepId>,
    /// The one of them that is gone past, since the last update stopped there.
    pub past: Option<StepId>,
    /// Stop after a step that changes one of these names.
    pub watched: BTreeSet<Name>,
    /// Stop after the first step that fails.
    pub until_failure: bool,
}

/// Why an update stopped before it was done, though nothing was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "lowercase")]
pub enum Halt {
    /// A person wants to stop before the step that is next.
    Breakpoint,
    /// A watched name was changed.
    Changed {
        /// The name.
        name: Name,
        /// By which step.
        by: StepId,
    },
    /// A step failed.
    Failed {
        /// Which.
        step: StepId,
    },
    /// It was asked for.
    Paused,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Breakpoint => write!(f, "a breakpoint"),
            Self::Changed { name, by } => write!(f, "{by} changed {name}"),
            Self::Failed { step } => write!(f, "{step} failed"),
            Self::Paused => write!(f, "paused"),
        }
    }
}

/// What happens during an update.
#[derive(Debug, Clone)]
pub enum Report {
    /// A step's code begins to execute.
    Started {
        /// Which.
        step: StepId,
        /// Why.
        why: Vec<Reason>,
        /// Whether it is fresh and executed only to have its state again.
        rebuilt: bool,
    },
    /// The running step printed.
    Printed {
        /// Which.
        step: StepId,
        /// What.
        chunk: Chunk,
    },
    /// A step was executed. The execution has no place in the store yet.
    Executed {
        /// All about it.
        execution: Arc<Execution>,
        /// Whether it was fresh and executed only to have its state again.
        rebuilt: bool,
    },
    /// A step was found to be as an execution would leave it.
    Kept {
        /// Which.
        step: StepId,
        /// The execution that holds: the newest one, unless an earlier one came back.
        execution: Arc<Execution>,
        /// Whether its results were brought over into another process.
        carried: bool,
    },
    /// A step would see what a failed step should have made.
    Blocked {
        /// Which.
        step: StepId,
        /// By whom and for want of what.
        why: Reason,
    },
    /// The update ended before it, or it was not asked for.
    NotReached {
        /// Which.
        step: StepId,
        /// Why, if not simply that it was not asked for.
        why: Option<Reason>,
    },
    /// The running step waits until this is answered.
    Asked(Question),
    /// The update stopped before it was done.
    Halted {
        /// The step that would have been next, if there was one.
        before: Option<StepId>,
        /// Why.
        why: Halt,
    },
    /// Something that a person should know.
    Notice(String),
}

/// What an update would do with a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Which.
    pub step: StepId,
    /// What.
    pub action: Action,
    /// Whether that is certain, or depends on values that other steps make.
    pub certain: bool,
    /// Why.
    pub why: Vec<Reason>,
}

/// What would be done with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Its code would be executed.
    Run,
    /// Its results would be brought over.
    Carry,
    /// Nothing.
    Keep,
    /// It would not run because of a failed step.
    Blocked,
}

/// Stops an update from another thread: interrupt, then terminate, then kill.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    stop: AtomicBool,
    pause: AtomicBool,
}

impl StopHandle {
    /// Asks the update that runs to stop soon.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }

    /// Asks the update that runs to let the step that executes end, and to execute no other.
    pub fn pause(&self) {
        self.0.pause.store(true, Ordering::SeqCst);
    }

    /// Whether it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::SeqCst)
    }

    /// Whether it was asked to pause.
    pub fn is_paused(&self) -> bool {
        self.0.pause.load(Ordering::SeqCst)
    }

    /// Forgets that it was asked.
    pub fn reset(&self) {
        self.0.stop.store(false, Ordering::SeqCst);
        self.0.pause.store(false, Ordering::SeqCst);
    }
}

/// Why an engine could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EngineError {
    /// What is wrong, naming the thing.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}
