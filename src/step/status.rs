//! How a step stands, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Name, StepId};

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has never been executed.
    Never,
    /// Its recorded result is what an in-order execution gives now.
    Fresh,
    /// It must be checked: its source, or something that it may have used, changed.
    Stale,
    /// It is executing now.
    Running,
    /// Its last execution failed, and nothing that it used has changed since.
    Failed,
    /// It would see what a failed step should have made.
    Blocked,
}

impl Status {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What follows from a failed step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// Its changes are undone, steps that would see what it should have made are blocked, others run.
    #[default]
    Block,
    /// Nothing after it runs.
    Stop,
    /// What it did before failing stands, and the run goes on.
    Continue,
}

/// Why a step is stale, ran or could not run. Shown to people, stored, and never guessed from text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// It has no execution yet.
    NeverRun,
    /// Its code changed.
    SourceChanged,
    /// A person asked.
    Invalidated,
    /// A step that it needs is stale, so that these names may change.
    Upstream {
        /// The step that may write them anew.
        step: StepId,
        /// The names; empty when the need is declared.
        names: Vec<Name>,
    },
    /// These names hold other values than when it ran.
    ValueChanged {
        /// The names.
        names: Vec<Name>,
    },
    /// A file that it used is not what it was.
    FileChanged {
        /// The path, relative to the run where it is inside.
        path: String,
    },
    /// Hidden state that it used is not what it was.
    AmbientChanged {
        /// What, in words: "the random generator", "environment variable X".
        what: String,
    },
    /// The interpreter, or a package that it imported, is another.
    InterpreterChanged {
        /// What it ran with, and what there is instead: `numpy 2.5.4, not numpy 2.5.5`.
        what: String,
    },
    /// Steps were added, removed or moved before it, so that what it needs may come from elsewhere.
    OrderChanged {
        /// A step whose place matters.
        step: StepId,
    },
    /// It failed and was asked to be tried again.
    Retried,
    /// What it made can't be brought over and a later step needs it.
    Rebuilt {
        /// The names or files in question.
        names: Vec<Name>,
    },
    /// It is run again because what may be kept can't be told.
    InDoubt {
        /// Why it can't be told.
        why: String,
    },
    /// It needs what a failed or blocked step should have made.
    BlockedBy {
        /// The failed step at the root.
        step: StepId,
        /// The names that are missing.
        names: Vec<Name>,
    },
    /// The run stopped before it.
    Stopped {
        /// The step at which it stopped.
        at: StepId,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[Name]| names.iter().map(|n| &**n).collect::<Vec<_>>().join(", ");
        match self {
            Self::NeverRun => f.write_str("never run"),
            Self::SourceChanged => f.write_str("its code changed"),
            Self::Invalidated => f.write_str("marked by hand"),
            Self::Upstream { step, names } if names.is_empty() => write!(f, "needs {step}"),
            Self::Upstream { step, names } => write!(f, "{} from {step}", list(names)),
            Self::ValueChanged { names } => write!(f, "{} changed", list(names)),
            Self::FileChanged { path } => write!(f, "file {path} changed"),
            Self::AmbientChanged { what } => write!(f, "{what} changed"),
            Self::InterpreterChanged { what } => write!(f, "ran with {what}"),
            Self::OrderChanged { step } => write!(f, "steps were moved: {step}"),
            Self::Retried => f.write_str("tried again"),
            Self::Rebuilt { names } if names.is_empty() => f.write_str("rebuilt: what it left can't be carried"),
            Self::Rebuilt { names } => write!(f, "rebuilt: {} can't be carried", list(names)),
            Self::InDoubt { why } => write!(f, "in doubt: {why}"),
            Self::BlockedBy { step, names } if names.is_empty() => write!(f, "blocked by {step}"),
            Self::BlockedBy { step, names } => write!(f, "blocked by {step}: {}", list(names)),
            Self::Stopped { at } => write!(f, "the run stopped at {at}"),
        }
    }
}
