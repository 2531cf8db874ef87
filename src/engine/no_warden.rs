//! Who decides at the call, on systems whose kernel can't be had to ask: nobody.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::brood::Brood;
use super::guard::{Grounds, Guard};
use super::task::{EngineError, Settings};
use super::wall::WallReply;
use crate::step::{Effect, StepId};

/// There is no listener to be had.
pub(super) fn fetch(_pid: i32, _number: i32) -> Result<OwnedFd, EngineError> {
    Err(EngineError { what: "calls can't be asked about here".into(), hint: None })
}

/// Decides on nothing.
#[derive(Debug)]
pub(super) struct Warden {
    /// What of the policy nothing enforces.
    pub(super) missing: Vec<String>,
    /// Whether the run's own files are read-only for steps.
    pub(super) mounted: bool,
}

impl Warden {
    pub(super) fn new(
        _listener: Option<OwnedFd>,
        reply: &WallReply,
        _settings: &Settings,
        _grounds: Grounds,
        _brood: Brood,
    ) -> Result<Arc<Self>, EngineError> {
        Ok(Arc::new(Self { missing: reply.missing(), mounted: reply.is_mounted() }))
    }

    pub(super) fn begin(&self, _step: &StepId, _pid: i32) {}

    pub(super) fn end(&self) -> Vec<Effect> {
        Vec::new()
    }

    pub(super) fn may_have_changed(&self) -> bool {
        false
    }

    pub(super) fn is_asked(&self) -> bool {
        false
    }

    pub(super) fn notes_for(&self, _guard: &Guard) -> bool {
        false
    }

    pub(super) fn is_overrun(&self) -> bool {
        false
    }

    pub(super) fn waited(&self) -> Duration {
        Duration::ZERO
    }
}
