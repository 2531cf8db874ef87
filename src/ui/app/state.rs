//! The variables as of the chosen step.

use std::sync::Arc;

use super::window::Window;
use crate::step::{StepId, Variable};

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// As of right after which step.
    pub at: Option<StepId>,
    /// The variables; `None` until they are told.
    pub variables: Option<Arc<Vec<Variable>>>,
    /// What is seen.
    pub window: Window,
}

impl State {
    /// Takes the variables right after a step.
    pub fn take(&mut self, at: StepId, variables: Arc<Vec<Variable>>) {
        self.at = Some(at);
        self.variables = Some(variables);
    }

    /// The variables, empty until they are told.
    pub fn list(&self) -> &[Variable] {
        self.variables.as_deref().map_or(&[], Vec::as_slice)
    }
}
