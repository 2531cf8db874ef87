//! What the run tells, taken into the state.

use super::action::Action;
use super::document::Document;
use super::message::Effect;
use super::model::{Model, Pane};
use super::overlay::{Overlay, Then};
use super::state::Way;
use super::{panes, reviewing};
use crate::step::{Execution, Kind, Outcome, PatchState, Status, StepId};
use crate::ui::view::highlight::Language;
use crate::workbench::{Command, Event, FileProblem, Halt, Level, Snapshot, StepRow, Verdict};
use std::collections::HashSet;
use std::sync::Arc;

/// How many files that are wrong are told one by one when they come at once.
const MOST_PROBLEMS: usize = 20;

/// Takes an event.
pub fn take(model: &mut Model, event: Event, effects: &mut Vec<Effect>) {
    match event {
        Event::Snapshot(snapshot) => take_snapshot(model, snapshot, effects),
        Event::Started { step, rebuilt, .. } => {
            if !rebuilt {
                model.output.begin(&step);
                if model.follow || std::mem::take(&mut model.stepping) {
                    panes::choose(model, &step, effects);
                    model.playhead = model.playhead.is_some().then_some(step);
                }
            }
        }
        Event::Printed { step, chunk } => model.output.push(&step, &chunk),
        Event::Settled { step, status, ran, execution, .. } => {
            model.output.end(&step);
            ask_calls(&step, execution.as_deref(), effects);
            let stopped = execution.as_ref().is_some_and(|execution| execution.outcome == Outcome::Interrupted);
            if let Some(execution) = execution {
                take_execution(model, step.clone(), Some(execution), effects);
            }
            if model.asked.execution.as_ref().is_some_and(|asked| asked.id == step) {
                model.asked.execution = None;
            }
            match (status, ran) {
                (_, true) if stopped => model.notices.add(Level::Warning, format!("{step} was stopped"), model.now),
                (Status::Failed, true) => {
                    let key = model.keys.key(Action::NextStale).unwrap_or_default();
                    let text = format!("{step} failed; {key} goes to what needs you");
                    model.notices.add(Level::Error, text, model.now);
                }
                _ => {}
            }
        }
        Event::Asked(question) => {
            let key = model.keys.key(Action::Answer).unwrap_or_default();
            let text = format!("{} waits for an answer ({key}): {}", question.step, question.text.trim());
            model.notices.add(Level::Warning, text, model.now);
        }
        Event::Source { step, version, text, executed } => {
            if model.chosen() == Some(&step) {
                let height = usize::from(model.size.1);
                let shell = model.run.row(&step).is_some_and(|row| row.kind == Kind::Shell);
                let mut job = model.source.take(step, version, text, executed.as_deref(), height);
                if shell {
                    job.language = Language::Shell;
                }
                effects.push(Effect::Highlight(job));
                model.names.take(model.steps.chosen.as_ref(), &model.run);
                panes::seek(model);
            }
        }
        Event::Execution { step, execution } => {
            ask_calls(&step, execution.as_deref(), effects);
            take_execution(model, step, execution, effects);
        }
        Event::State { at, variables } => {
            if model.chosen() == Some(&at) {
                let ways = model.state.take(at, variables);
                ways.into_iter().for_each(|way| ask_inside(model, way, effects));
            }
        }
        Event::Plan { entries, .. } => {
            for overlay in &mut model.overlays {
                if let Overlay::Plan(plan) = overlay {
                    plan.rows = Some(entries.clone());
                }
            }
        }
        Event::Verifying { .. } => {}
        Event::Verified { verified, .. } => {
            for difference in verified.differences.iter().take(5) {
                let text = format!("{}: {} is not what a full run gives", difference.id, difference.what);
                model.notices.add(Level::Error, text, model.now);
            }
        }
        Event::Inside { at, name, path, inside } => model.state.take_inside(&at, (name, path), inside),
        Event::Patch(patch) => {
            if model.patches.take(patch) {
                reviewing::weigh(model, effects);
            }
        }
        Event::Weighed { patch, weight, .. } => {
            model.patches.weighing = model.patches.weighing.saturating_sub(1);
            if model.patches.chosen == Some(patch) {
                model.patches.weight = Some(weight);
            }
        }
        Event::Tried { patch, trial } => model.patches.take_trial(patch, trial),
        Event::Story { step, rows } => model.history.take(step, rows),
        Event::VersionText { step, version, text } => model.history.take_text(step, version, text),
        Event::Past(past) => model.history.take_past(past),
        Event::Freed(_) => {}
        Event::Diagnosis { step, diagnosis } => {
            model.output.explain(&step, diagnosis);
            if std::mem::take(&mut model.seeks_why) {
                panes::to_why(model);
            }
        }
        Event::Context { step, context } => {
            if model.chosen() == Some(&step) {
                model.asked.context_comes = false;
                model.context.take(step, context);
            }
        }
        Event::Ran { .. } => {
            // What it was set beside stands to other outputs now.
            if let Some(beside) = model.output.beside() {
                effects.push(Effect::Ask(Command::Beside { other: beside.other.clone() }));
            }
        }
        Event::Repaired { .. } => {}
        Event::Beside(beside) => {
            let is_new = model.output.beside().is_none();
            model.output.set_beside(Some(beside));
            if is_new {
                panes::to_beside(model);
            }
        }
        Event::Calls { step, calls } => model.output.take_calls(&step, &calls),
        Event::Turn { step, turn } => {
            let level = if turn.verdict == Verdict::Passed { Level::Info } else { Level::Warning };
            model.notices.add(level, format!("{step}: {}", turn.line()), model.now);
        }
        Event::Halted { before, why } => halted(model, before, &why, effects),
        Event::Done { result: Ok(summary), .. } => {
            if !summary.text.is_empty() {
                let level = if summary.failed > 0 { Level::Warning } else { Level::Info };
                let mut text = in_keys(model, summary.text);
                let failed = |row: &StepRow| row.status == Status::Failed;
                if summary.failed > 0
                    && model.run.snapshot.steps.iter().any(|row| failed(row))
                    && !model.chosen_row().is_some_and(|row| failed(row))
                {
                    let key = model.keys.key(Action::NextStale).unwrap_or_default();
                    text.push_str(&format!("; {key} goes to what needs you"));
                }
                model.notices.add(level, text, model.now);
            }
        }
        Event::Done { result: Err(failure), .. } => {
            let text = match failure.hint {
                Some(hint) => format!("{}: {hint}", failure.what),
                None => failure.what,
            };
            let text = in_keys(model, text);
            // A plan that waits for its answer waits no more.
            model.overlays.retain(|open| !matches!(open, Overlay::Plan(plan) if plan.rows.is_none()));
            model.notices.add(Level::Error, text, model.now);
        }
        Event::Notice { level, text } => model.notices.add(level, text, model.now),
        Event::Closed => {
            model.closed = true;
            effects.push(Effect::Quit);
        }
    }
}

/// Names the keys of what a message, made for a shell as well, says by commands.
fn in_keys(model: &Model, text: String) -> String {
    let commands = [
        ("`reweave undo`", Action::Undo),
        ("`reweave stop`", Action::Stop),
        ("`reweave run`", Action::RunStep),
        ("`reweave log`", Action::ShowHistory),
        ("`reweave patch list`", Action::ShowPatch),
    ];
    commands.into_iter().fold(text, |text, (command, action)| match model.keys.key(action) {
        Some(key) if text.contains(command) => text.replace(command, &key),
        _ => text,
    })
}

/// Takes a step's last execution; one that is large is made lines of elsewhere.
fn take_execution(model: &mut Model, step: StepId, execution: Option<Arc<Execution>>, effects: &mut Vec<Effect>) {
    match execution {
        Some(execution) if !Document::is_cheap(&execution) => effects.push(Effect::Compose(step, execution)),
        Some(execution) => model.output.take(&step, Document::of(execution)),
        None => model.output.take(&step, Document::default()),
    }
}

/// Steps stopped where a person wants to look: a replay by hand goes on from there.
fn halted(model: &mut Model, before: Option<StepId>, why: &Halt, effects: &mut Vec<Effect>) {
    let text = match &before {
        Some(step) => format!("stopped before {step}: {why}"),
        None => format!("stopped at the end: {why}"),
    };
    let level = if matches!(why, Halt::Failed { .. }) { Level::Error } else { Level::Warning };
    model.notices.add(level, text, model.now);
    let steps = &model.run.snapshot.steps;
    let last = match before.as_ref().and_then(|step| model.run.place(step)) {
        Some(at) => at.checked_sub(1).and_then(|at| steps.get(at)),
        None => steps.last(),
    };
    model.playhead = last.map(|row| row.id.clone());
    let shown = match why {
        Halt::Failed { step } => Some(step.clone()),
        Halt::Breakpoint | Halt::Changed { .. } | Halt::Paused => before,
    };
    // Who reads something else goes on reading.
    if let Some(step) = shown.filter(|_| model.follow || (model.focus == Pane::Steps && model.overlays.is_empty())) {
        panes::choose(model, &step, effects);
    }
}

/// Asks what was asked and answered in the calls that a step made.
fn ask_calls(step: &StepId, execution: Option<&Execution>, effects: &mut Vec<Effect>) {
    if execution.is_some_and(|execution| !execution.observation.calls.is_empty()) {
        effects.push(Effect::Ask(Command::Calls { step: step.clone() }));
    }
}

/// Asks what is inside a variable, as of the moment that the panel shows.
pub fn ask_inside(model: &Model, way: Way, effects: &mut Vec<Effect>) {
    let (name, path) = way;
    effects.push(Effect::Ask(Command::Inside { at: model.state.at.clone(), name, path }));
}

fn take_snapshot(model: &mut Model, snapshot: Arc<Snapshot>, effects: &mut Vec<Effect>) {
    // Beside what is only a picture of the last time, everything would be new.
    let known = model.loaded && !model.run.snapshot.checking;
    if known {
        tell_patches(model, &snapshot);
    }
    tell_problems(model, &snapshot);
    let newest = newest(model, &snapshot).filter(|_| known);
    let structure = model.run.structure;
    model.run.take(snapshot);
    let statuses = model.steps.filter.is_some() || model.steps.hides_trouble(&model.run);
    if model.run.structure != structure || statuses || !model.loaded {
        panes::relist(model, effects);
    }
    if !model.loaded {
        model.loaded = true;
        // A run opens where it was left, or else on what needs a person.
        let trouble = [Status::Failed, Status::Stale, Status::Running]
            .into_iter()
            .find_map(|status| model.run.snapshot.steps.iter().find(|row| row.status == status));
        let place = model.place.take().filter(|step| model.run.place(step).is_some());
        if let Some(step) = place.or_else(|| trouble.map(|row| row.id.clone())) {
            panes::choose(model, &step, effects);
        }
        let (mut steps, names) = std::mem::take(&mut model.stops);
        steps.retain(|step| model.run.place(step).is_some());
        let none = model.run.snapshot.breakpoints.is_empty() && model.run.snapshot.watched_names.is_empty();
        if none && !(steps.is_empty() && names.is_empty()) {
            effects.push(Effect::Ask(Command::Breakpoints { steps, names }));
        }
    }
    // What was asked because steps ran need not be answered when they have ended.
    if !model.busy()
        && model
            .overlays
            .pop_if(|open| matches!(open, Overlay::Confirm(question) if question.then == Then::Quit))
            .is_some()
    {
        let key = model.keys.key(Action::Quit).unwrap_or_default();
        model.notices.add(Level::Info, format!("the steps have ended; {key} quits"), model.now);
    }
    if let Some(step) = model.awaited.take_if(|step| model.run.place(step).is_some()) {
        panes::choose(model, &step, effects);
    }
    if let Some(step) = newest.filter(|_| model.follow) {
        panes::choose(model, &step, effects);
    }
}

/// A step of the new snapshot that the one before did not have: the last of them.
fn newest(model: &Model, snapshot: &Snapshot) -> Option<crate::step::StepId> {
    let new = snapshot.steps.iter().rev().find(|row| model.run.place(&row.id).is_none());
    new.filter(|_| model.loaded).map(|row| row.id.clone())
}

/// Tells of files that came to be no steps, or no patches, or stand in doubt. The header tells that there are some as long
/// as that is so.
fn tell_problems(model: &mut Model, snapshot: &Snapshot) {
    let known: HashSet<(&str, &str)> =
        model.run.snapshot.problems.iter().map(|problem| (problem.path.as_str(), problem.what.as_str())).collect();
    let is_new = |problem: &&FileProblem| !known.contains(&(problem.path.as_str(), problem.what.as_str()));
    let new = snapshot.problems.iter().filter(is_new).take(MOST_PROBLEMS);
    let told: Vec<_> =
        new.map(|problem| (problem.level, format!("{}: {}; {}", problem.path, problem.what, problem.remedy))).collect();
    for (level, text) in told {
        model.notices.add(level, text, model.now);
    }
}

fn tell_patches(model: &mut Model, snapshot: &Snapshot) {
    let known = model.run.snapshot.patches.iter().map(|patch| patch.id).max();
    let new: Vec<_> = snapshot
        .patches
        .iter()
        .filter(|patch| Some(patch.id) > known)
        .filter_map(|patch| match patch.state {
            PatchState::Malformed => {
                Some((Level::Warning, format!("patch {} can't be read: {}", patch.id, patch.title)))
            }
            state => {
                let text = format!("patch {} by {}: {}", patch.id, patch.author, patch.title);
                state.is_open().then_some((Level::Info, text))
            }
        })
        .collect();
    for (level, text) in new {
        model.notices.add(level, text, model.now);
    }
}
