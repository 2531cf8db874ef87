//! What failed and blocked steps should have made, and which steps would see that it is not there.

use std::sync::Arc;

use super::pass::Walk;
use super::protocol::CompileReply;
use super::state::Slot;
use super::task::{EngineError, OnError, Task};
use super::walk::Engine;
use crate::step::{Digest, Execution, Name, Outcome, Reason, StepId};

impl Engine {
    /// Whether a step's text alone says that it would see what a failed step should have made.
    pub(super) fn blocked_by_text(&mut self, walk: &Walk<'_>, task: &Task) -> Result<Option<Reason>, EngineError> {
        if walk.missing.is_empty() || walk.goal.on_error != OnError::Block {
            return Ok(None);
        }
        let reply = self.compile(task)?;
        let names: Vec<Name> = reply.loads.iter().filter(|name| walk.missing.contains_key(*name)).cloned().collect();
        Ok(walk.missing_reason(names))
    }

    /// Moves over an execution that stands. Returns the step at which the run stops, if it does.
    pub(super) fn take(
        &mut self,
        walk: &mut Walk<'_>,
        at: usize,
        execution: &Arc<Execution>,
    ) -> Result<Option<StepId>, EngineError> {
        let failed = execution.outcome != Outcome::Done;
        let standing = match walk.tasks.get(at) {
            Some(task) if failed => self.standing_imports(walk, task)?,
            _ => Vec::new(),
        };
        let stopped = walk.take(at, execution);
        walk.missing.retain(|name, _| !standing.contains(name));
        Ok(stopped)
    }

    /// Notes what a blocked step should have made.
    pub(super) fn lose(&mut self, walk: &mut Walk<'_>, task: &Task, why: &Reason) -> Result<(), EngineError> {
        let standing = self.standing_imports(walk, task)?;
        walk.lose(task, &self.compile(task)?, why);
        walk.missing.retain(|name, _| !standing.contains(name));
        Ok(())
    }

    /// Names that `task` only imports, and that stand already by the same import: nobody misses them when it fails.
    fn standing_imports(&mut self, walk: &Walk<'_>, task: &Task) -> Result<Vec<Name>, EngineError> {
        let mut standing = Vec::new();
        for (name, target) in self.compile(task)?.imports {
            let Some(Slot::Known(now)) = walk.state.names().get(&name) else { continue };
            let wrote = |execution: &Execution| {
                let written = execution.observation.writes.get(&name)?.as_ref();
                Some(written.is_some_and(|written| written.digest == now.digest))
            };
            let last = walk.line.iter().rev().find_map(|(at, execution)| wrote(execution).map(|same| (*at, same)));
            if let Some((at, true)) = last
                && !walk.missing.contains_key(&name)
                && let Some(writer) = walk.tasks.get(at)
                && self.compile(writer)?.imports.get(&name) == Some(&target)
            {
                standing.push(name);
            }
        }
        Ok(standing)
    }

    /// Names that a failed step should have made or changed: what its text stores, what it changed before it
    /// failed, and what it made when it last went well (of that, where it had another text, what the text names).
    pub(super) fn would_make(&mut self, task: &Task, failed: &Execution) -> Result<Vec<Name>, EngineError> {
        let reply = self.compile(task)?;
        let mut names = reply.stores.clone();
        names.extend(failed.observation.writes.keys().filter(|n| !n.starts_with('@')).cloned());
        names.extend(went_well(task, &reply).into_iter().flat_map(|(good, same)| made(good, same, &reply)).cloned());
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// The last execution of a step that went well, and whether it was of its present code: such a one, if there is any.
pub(super) fn went_well<'a>(task: &'a Task, compiled: &CompileReply) -> Option<(&'a Execution, bool)> {
    let source = Digest::of(task.source.as_bytes());
    let same = |good: &Execution| {
        let seen = &good.observation;
        seen.source == Some(source) || seen.code.is_some_and(|code| compiled.codes.contains(&code))
    };
    let well = || task.held.iter().map(|held| &**held).filter(|held| held.outcome == Outcome::Done);
    well().find(|good| same(good)).map(|good| (good, true)).or_else(|| well().next().map(|good| (good, false)))
}

/// The names that an execution which went well made and that are missed if the step fails: where its code was another, only
/// those that the present text names.
pub(super) fn made<'a>(good: &'a Execution, same: bool, compiled: &'a CompileReply) -> impl Iterator<Item = &'a Name> {
    let written = good.observation.writes.keys().filter(|name| !name.starts_with('@'));
    written.filter(move |name| same || compiled.loads.contains(name))
}
