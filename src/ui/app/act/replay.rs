//! Running steps, and a replay by hand.

use crate::step::{Status, StepId};
use crate::ui::app::action::Action;
use crate::ui::app::message::Effect;
use crate::ui::app::model::{Model, Pane};
use crate::ui::app::screen::Class;
use crate::ui::app::{panes, typing};
use crate::workbench::Command;

/// Puts in what is not there, takes out what is.
pub(super) fn toggle<T: PartialEq>(all: &mut Vec<T>, these: Vec<T>) {
    for one in these {
        match all.iter().position(|other| *other == one) {
            Some(at) => {
                all.remove(at);
            }
            None => all.push(one),
        }
    }
}

/// In a replay by hand: goes on by one step. What is up to date is only looked at; else the next step runs.
pub(super) fn next_step(model: &mut Model, effects: &mut Vec<Effect>) {
    let steps = &model.run.snapshot.steps;
    let next = model.playhead.as_ref().and_then(|step| model.run.place(step)).and_then(|at| steps.get(at + 1));
    match next.filter(|row| row.status == Status::Fresh).map(|row| row.id.clone()) {
        Some(step) => stand(model, step, effects),
        None => {
            model.stepping = true;
            model.playhead = model.playhead.take().or_else(|| model.chosen().cloned());
            effects.push(Effect::Ask(Command::Next));
        }
    }
}

/// In a replay by hand: goes back by one step. Nothing is run.
pub(super) fn back(model: &mut Model, effects: &mut Vec<Effect>) {
    let from = model.playhead.as_ref().or(model.chosen()).and_then(|step| model.run.place(step));
    let before = from.and_then(|at| at.checked_sub(1)).and_then(|at| model.run.snapshot.steps.get(at));
    match before.map(|row| row.id.clone()) {
        Some(step) => stand(model, step, effects),
        None => typing::tell(model, "this is where the run begins"),
    }
}

/// Stands right after a step, with its state shown.
fn stand(model: &mut Model, step: StepId, effects: &mut Vec<Effect>) {
    model.follow = false;
    panes::choose(model, &step, effects);
    model.playhead = Some(step);
    match model.screen().class {
        Class::Wide => model.detail = Pane::State,
        _ => model.tab = Pane::State,
    }
}

pub(super) fn run(model: &mut Model, retry: bool, effects: &mut Vec<Effect>) {
    model.playhead = None;
    let steps = model.targets();
    // Who asks for a failed step to run wants to see it run, though nothing that it used changed.
    let failed = model.chosen_row().is_some_and(|row| row.status == Status::Failed);
    if model.chosen_row().is_some_and(|row| row.status == Status::Fresh) {
        let key = model.keys.key(Action::ReplayFrom).unwrap_or_default();
        typing::tell(model, format!("it is up to date; {key} runs it again all the same"));
    }
    effects.push(Effect::Ask(Command::Run { steps, retry_failed: retry || failed }));
}
