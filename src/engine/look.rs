//! Looking at a state: the variables right after a step, and what is inside one of them.

use std::collections::BTreeMap;

use super::decide::Choice;
use super::line::Line;
use super::pass::Walk;
use super::process::Process;
use super::protocol::{Ask, InsideReply, StateReply};
use super::stand::Side;
use super::state::State;
use super::task::{EngineError, Goal, Task};
use super::walk::Engine;
use crate::step::{Inside, StepId, Variable};

/// Longest `repr` of a variable, in bytes of UTF-8 as Python counts characters.
const REPR_LIMIT: usize = 64 << 10;

/// A state that was looked at last. Each question is put to a copy of its process, since the code of values may spoil
/// one, and to have it again may have cost much.
#[derive(Debug)]
pub(super) struct Looked {
    line: Line,
    state: State,
    side: Side,
}

impl Engine {
    /// The variables right after step `at`, those in `names` or all; modules, functions and classes too,
    /// dunder names not. The run's own record is not touched, and its files are as they were afterwards.
    ///
    /// # Errors
    /// When `at` was never reached, or its state can't be had again.
    pub fn state(
        &mut self,
        tasks: &[Task],
        goal: &Goal,
        at: &StepId,
        names: &[String],
    ) -> Result<Vec<Variable>, EngineError> {
        let (walk, mut process) = self.look(tasks, goal, at)?;
        process.ask(&Ask::State { names, limit: REPR_LIMIT }, &[], &[])?;
        let reply: StateReply = process.answer_unless(&self.stop)?;
        let mut writers: BTreeMap<&str, &StepId> = BTreeMap::new();
        for (_, execution) in &walk.line {
            for name in execution.observation.writes.keys() {
                writers.insert(name, &execution.step);
            }
        }
        Ok(reply
            .variables
            .into_iter()
            .map(|variable| Variable {
                written_by: writers.get(variable.name.as_str()).map(|step| (*step).clone()),
                name: variable.name,
                type_name: variable.type_name,
                repr: variable.repr,
                truncated: variable.truncated,
                digest: variable.digest,
                shape: variable.shape,
            })
            .collect())
    }

    /// What is inside a variable right after step `at`: at the end of `path`, which gives at each turn the place of a
    /// part among those of the value before.
    ///
    /// # Errors
    /// As [`Engine::state`], and when there is no such variable.
    pub fn inside(
        &mut self,
        tasks: &[Task],
        goal: &Goal,
        at: &StepId,
        name: &str,
        path: &[usize],
    ) -> Result<Inside, EngineError> {
        let (_, mut process) = self.look(tasks, goal, at)?;
        process.ask(&Ask::Inside { name, path }, &[], &[])?;
        let reply: InsideReply = process.answer_unless(&self.stop)?;
        reply.inside.ok_or_else(|| EngineError {
            what: format!("there is no variable {name} right after {at}"),
            hint: Some(format!("see the variables with: reweave state --at {at}")),
        })
    }

    /// A process of its own that holds the state right after step `at`, and how that state comes about.
    fn look<'a>(&mut self, tasks: &'a [Task], goal: &'a Goal, at: &StepId) -> Result<(Walk<'a>, Process), EngineError> {
        let end = tasks.iter().position(|task| task.id == *at).ok_or_else(|| EngineError {
            what: format!("there is no step {at}"),
            hint: Some("see the steps with: reweave status".into()),
        })?;
        let mut walk = Walk::new(tasks, goal, BTreeMap::new());
        let mut after: Option<State> = None;
        for (place, task) in tasks.iter().enumerate() {
            let blocked = match self.blocked_by_text(&walk, task)? {
                Some(why) => Some(why),
                None => task.held.first().and_then(|execution| walk.blocked_by_reads(execution)),
            };
            let chosen = match self.compare_aside(&mut walk, task)? {
                _ if blocked.is_some() => None,
                Choice::Keep(execution) => Some(execution),
                Choice::Run(_) | Choice::Again(_) => task.held.first().cloned(),
            };
            if let Some(why) = blocked {
                self.lose(&mut walk, task, &why)?;
                if place == end {
                    after = Some(walk.state.clone());
                    break;
                }
                continue;
            }
            match chosen {
                Some(execution) => {
                    self.take(&mut walk, place, &execution)?;
                }
                None if place == end => {
                    return Err(EngineError {
                        what: format!("{at} has not run, so there is no state after it"),
                        hint: Some("bring it up to date with: reweave run".into()),
                    });
                }
                None => {}
            }
            if place == end {
                after = Some(walk.state.clone());
                break;
            }
        }
        let target = after.unwrap_or_default();
        let held = self.looked.as_ref().is_some_and(|looked| looked.line == walk.keys && looked.state == target);
        if !held {
            let side = self.on_the_side(&walk, &target)?;
            self.looked = Some(Box::new(Looked { line: walk.keys.clone(), state: target, side }));
        }
        match &mut self.looked {
            Some(looked) => Ok((walk, looked.side.node.process.fork()?)),
            None => Err(EngineError { what: "no process holds the state".into(), hint: None }),
        }
    }
}
