//! Asking for leave: questions that a step waits for, their answers, and what follows for later.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::run::Area;
use crate::step::StepId;

/// What a running step wants to do and may only with somebody's leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The step; `None` where a process between steps wants it.
    pub step: Option<StepId>,
    /// The kind of effect.
    pub area: Area,
    /// On what: a host, an address, a program's path. Hostile.
    pub target: String,
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "{step} wants to ")?,
            None => f.write_str("a process of the run wants to ")?,
        }
        match (self.area, &self.target) {
            (Area::Network, target) if target.starts_with("listen ") => {
                write!(f, "listen on {}", target.trim_start_matches("listen "))
            }
            (Area::Network, target) => write!(f, "connect to {target}"),
            (Area::Process, target) => write!(f, "start {target}"),
            (area, target) => write!(f, "{} {target}", area.word()),
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leave {
    /// Yes, until the step ends.
    Once,
    /// Yes, whenever this step wants it, as long as the workbench is open.
    Step,
    /// Yes, for every step, as long as the workbench is open.
    Run,
    /// No.
    No,
}

impl Leave {
    /// The answer in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "yes, once",
            Self::Step => "yes, always for this step",
            Self::Run => "yes, always for this run",
            Self::No => "no",
        }
    }
}

/// Who can be asked. It is called on a thread of its own, and may take as long as a person does.
pub trait Asker: fmt::Debug + Send + Sync {
    /// The answer, `None` if there is nobody to give one; `wanted` tells whether the step still waits.
    fn ask(&self, question: &Wish, wanted: &dyn Fn() -> bool) -> Option<Leave>;
}

/// What was given leave for longer than one execution.
#[derive(Debug, Clone, Default)]
pub struct Leaves(Arc<Mutex<Vec<Given>>>);

/// To which step, or to all, and for what.
type Given = (Option<StepId>, Area, String);

impl Leaves {
    pub(super) fn covers(&self, step: Option<&StepId>, area: Area, target: &str) -> bool {
        let given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        given
            .iter()
            .any(|(whose, of, what)| *of == area && what == target && (whose.is_none() || whose.as_ref() == step))
    }

    pub(super) fn give(&self, step: Option<StepId>, area: Area, target: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((step, area, target.to_owned()));
    }
}
