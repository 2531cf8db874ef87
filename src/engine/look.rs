//! Looking at a state: the variables right after a step, and what is inside one of them.

use std::collections::BTreeMap;

use super::aside::{Aside, Isolation};
use super::decide::Choice;
use super::line::{Line, Node};
use super::pass::Walk;
use super::process::Process;
use super::protocol::{Ask, InsideReply, StateReply};
use super::state::State;
use super::task::{EngineError, Goal, Task};
use super::walk::Engine;
use crate::step::{Inside, StepId, Variable};

/// Longest `repr` of a variable, in bytes of UTF-8 as Python counts characters.
const REPR_LIMIT: usize = 64 << 10;

/// What was looked at since the last update.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The state that was looked at last. To have it again may have cost much.
    last: Option<Last>,
    /// Where states are had that take steps to be executed: who goes through a run has each from the one before.
    aside: Option<Aside>,
}

#[derive(Debug)]
struct Last {
    line: Line,
    state: State,
    /// The process that holds it, if it is not the one on the side.
    node: Option<Node>,
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
            self.compile_if_needed(task)?;
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
        let held = self.looked.last.take().filter(|last| last.line == walk.keys && last.state == target);
        let node = match held {
            Some(last) => last.node,
            None => self.on_the_side(&walk, &target)?,
        };
        // Each question is put to a copy, since the code of values may spoil a process.
        let (process, node) = match node {
            Some(mut node) => (node.process.fork(), Some(node)),
            None => (self.stand_aside(&walk, &target)?.process.fork(), None),
        };
        self.looked.last = Some(Last { line: walk.keys.clone(), state: target, node });
        Ok((walk, process?))
    }

    /// The process on the side, holding the state of `walk`. It may be had from what it held before.
    pub(super) fn stand_aside(&mut self, walk: &Walk<'_>, target: &State) -> Result<&mut Node, EngineError> {
        let stands = |aside: &mut Aside| aside.engine().live.as_ref().is_some_and(|node| node.line == walk.keys);
        let held = self.looked.aside.take().and_then(|mut aside| stands(&mut aside).then_some(aside));
        let mut aside = match held {
            Some(aside) => aside,
            None => self.aside(walk.tasks)?,
        };
        let elsewhere = *aside.isolation() != Isolation::Kernel;
        let mut again = Walk::new(walk.tasks, walk.goal, BTreeMap::new());
        again.state = target.clone();
        again.line = walk.line.clone();
        again.keys = walk.keys.clone();
        let length = again.line.len();
        let engine = aside.engine();
        let stands = engine.stand(&mut again, length, &mut |_| {})?;
        engine.evict();
        if stands.is_none() && engine.live.is_some() {
            let live = self.looked.aside.insert(aside).engine().live.as_mut();
            return live.ok_or_else(nowhere);
        }
        let task = stands.and_then(|place| walk.tasks.get(place));
        Err(match task {
            Some(task) if elsewhere => EngineError {
                what: format!(
                    "the state can only be had again by running {} in a copy of the run at another path, and there it \
                     comes out differently",
                    task.id
                ),
                hint: Some("what may give it a view of its own, so that the path is the same: reweave doctor".into()),
            },
            Some(task) => EngineError {
                what: format!(
                    "{} answers differently each time, so that the state after it can't be had again",
                    task.id
                ),
                hint: Some("see in what with: reweave replay --check 2".into()),
            },
            None => nowhere(),
        })
    }
}

fn nowhere() -> EngineError {
    EngineError { what: "no process could be brought to this state".into(), hint: None }
}
