//! An update that is going on: what the engine has told of each step so far.

use std::collections::HashMap;
use std::sync::Arc;

use super::StepResult;
use crate::step::{Digest, Execution, Reason, Status, StepId};

/// What the engine has told so far.
#[derive(Debug)]
pub(super) struct Update {
    /// The steps in the order of the run, with the digest of the text that each was given with.
    pub steps: Vec<(StepId, Digest)>,
    places: HashMap<StepId, usize>,
    told: Vec<Option<Told>>,
    starts: HashMap<StepId, Vec<Reason>>,
}

/// What became of one step.
#[derive(Debug, Clone)]
pub(super) enum Told {
    /// Its code was executed.
    Executed { execution: Arc<Execution>, rebuilt: bool, why: Vec<Reason> },
    /// It was found to hold.
    Kept { execution: Arc<Execution>, carried: bool },
    /// It could not run.
    Blocked { why: Reason },
    /// It was not come to.
    NotReached { why: Option<Reason> },
}

impl Update {
    /// An update of these steps, of which nothing was told yet.
    pub(super) fn new(steps: Vec<(StepId, Digest)>) -> Self {
        let places = steps.iter().enumerate().map(|(place, (id, _))| (id.clone(), place)).collect();
        let told = vec![None; steps.len()];
        Self { steps, places, told, starts: HashMap::new() }
    }

    /// A step's code begins to execute.
    pub(super) fn started(&mut self, step: &StepId, why: Vec<Reason>) {
        self.starts.insert(step.clone(), why);
    }

    /// Why a step that was executed was.
    pub(super) fn why(&mut self, step: &StepId) -> Vec<Reason> {
        self.starts.remove(step).unwrap_or_default()
    }

    /// What became of a step. A step that was rebuilt after it ran stays one that ran.
    pub(super) fn tell(&mut self, step: &StepId, told: Told) {
        let Some(slot) = self.places.get(step).and_then(|place| self.told.get_mut(*place)) else { return };
        match (&slot, &told) {
            (Some(Told::Executed { rebuilt: false, .. }), Told::Executed { rebuilt: true, .. } | Told::Kept { .. }) => {
            }
            (Some(Told::Executed { .. }), Told::Kept { .. }) => {}
            _ => *slot = Some(told),
        }
    }

    /// Whether a run stopped because of a failure, and not because a person said so.
    pub(super) fn is_failed_at(&self, why: &Reason) -> bool {
        let Reason::Stopped { at } = why else { return true };
        let told = self.places.get(at).and_then(|place| self.told.get(*place)).and_then(Option::as_ref);
        match told {
            Some(Told::Executed { execution, .. } | Told::Kept { execution, .. }) => {
                status_of(execution) == Status::Failed
            }
            _ => false,
        }
    }

    /// The digest of the text that a step was given with.
    pub(super) fn text_of(&self, step: &StepId) -> Option<Digest> {
        self.steps.get(*self.places.get(step)?).map(|(_, digest)| *digest)
    }

    /// Steps settled, steps in all.
    pub(super) fn progress(&self) -> (usize, usize) {
        (self.told.iter().flatten().count(), self.told.len())
    }

    /// Every step as the update left it; `standing` says how a step that it did not come to stands.
    pub(super) fn results(
        &self,
        mut standing: impl FnMut(&StepId) -> (Status, Vec<Reason>, Option<Arc<Execution>>),
    ) -> Vec<StepResult> {
        let result = |((id, _), told): (&(StepId, Digest), &Option<Told>)| {
            let mut result = StepResult {
                id: id.clone(),
                status: Status::Fresh,
                ran: false,
                carried: false,
                rebuilt: false,
                why: Vec::new(),
                execution: None,
            };
            match told {
                Some(Told::Executed { execution, rebuilt, why }) => {
                    result.status = status_of(execution);
                    result.ran = !rebuilt;
                    result.rebuilt = *rebuilt;
                    result.why = why.clone();
                    result.execution = Some(Arc::clone(execution));
                }
                Some(Told::Kept { execution, carried }) => {
                    result.status = status_of(execution);
                    result.carried = *carried;
                    result.execution = Some(Arc::clone(execution));
                }
                Some(Told::Blocked { why } | Told::NotReached { why: Some(why) }) => {
                    result.status = Status::Blocked;
                    result.why = vec![why.clone()];
                }
                Some(Told::NotReached { why: None }) | None => {
                    let (status, why, execution) = standing(id);
                    result.status = status;
                    result.why = why;
                    result.execution = execution;
                }
            }
            result
        };
        self.steps.iter().zip(&self.told).map(result).collect()
    }

    /// Roots that failed among the steps that the update came to.
    pub(super) fn failed(&self) -> usize {
        let failed = |told: &&Told| match told {
            Told::Executed { execution, .. } | Told::Kept { execution, .. } => status_of(execution) == Status::Failed,
            Told::Blocked { .. } | Told::NotReached { .. } => false,
        };
        self.told.iter().flatten().filter(failed).count()
    }
}

/// How a step stands by its execution alone.
pub(super) fn status_of(execution: &Execution) -> Status {
    use crate::step::Outcome;
    match execution.outcome {
        Outcome::Done => Status::Fresh,
        Outcome::Failed => Status::Failed,
        Outcome::Interrupted => Status::Stale,
        Outcome::Recorded => Status::Never,
    }
}
