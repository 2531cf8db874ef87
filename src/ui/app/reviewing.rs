//! What the keys of the Patch tab do.

use super::action::Action;
use super::field::Field;
use super::message::Effect;
use super::model::{Model, Pane};
use super::overlay::{Overlay, Prompt, Purpose, Question, Then};
use super::patch::Mode;
use super::review::{Choice, Tag};
use super::{panes, typing};
use crate::step::{Digest, PatchId, PatchState, StepId};
use crate::workbench::{Command, PatchRow};

/// With fewer columns the two sides of the split view show little of a line.
const SPLIT: u16 = 100;

/// Does an action of the Patch tab.
pub fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::TakeLine
        | Action::TakeHunk
        | Action::LeaveHunk
        | Action::ToggleHunk
        | Action::SplitHunk
        | Action::EditHunk
            if open_patch(model).is_none() => {}
        Action::TakeLine => {
            if model.patches.toggle(false) {
                weigh(model, effects);
            } else {
                typing::tell(model, "that line stays: there is nothing to decide about it");
            }
        }
        Action::TakeHunk => decide(model, Choice::Taken, effects),
        Action::LeaveHunk => decide(model, Choice::Left, effects),
        Action::ToggleHunk => {
            model.patches.toggle(true);
            weigh(model, effects);
        }
        Action::Range => {
            let cursor = model.patches.window.cursor;
            model.patches.anchor = if model.patches.anchor.is_some() { None } else { Some(cursor) };
        }
        Action::NextHunk => next_hunk(model, true, effects),
        Action::PrevHunk => next_hunk(model, false, effects),
        Action::NextPatch => next_patch(model, true, effects),
        Action::PrevPatch => next_patch(model, false, effects),
        Action::CycleView => {
            let patches = &mut model.patches;
            patches.mode = match patches.mode {
                Mode::Unified => Mode::Split,
                Mode::Split => Mode::Result,
                Mode::Result if patches.trial.is_some() => Mode::Trial,
                Mode::Result | Mode::Trial => Mode::Unified,
            };
            patches.rebuild();
            let zoom = model.keys.key(Action::Zoom).filter(|_| !model.zoom);
            if let (Mode::Split, Some(zoom), true) =
                (model.patches.mode, zoom, model.screen().inside(Pane::Patch).width < SPLIT)
            {
                typing::tell(model, format!("{zoom} gives the two sides the whole screen"));
            }
        }
        Action::MoreContext => context(model, 3),
        Action::LessContext => context(model, -3),
        Action::SplitHunk => {
            let place = model.patches.at_cursor();
            let split = place.zip(model.patches.review.as_mut());
            if split.is_some_and(|((file, line), review)| review.split(file, line)) {
                model.patches.rebuild();
            } else {
                typing::tell(model, "a hunk is split before a line within it");
            }
        }
        Action::EditHunk => edit(model, effects),
        Action::Accept => accept(model, false, effects),
        Action::AcceptAndReplay => accept(model, true, effects),
        Action::Reject => {
            if let Some(patch) = open_patch(model) {
                prompt(model, Purpose::Reject(patch), format!("reject {patch} because"));
            }
        }
        Action::CommentPatch => {
            if let Some(patch) = model.patches.chosen {
                let place = place(model);
                let label = if place.is_empty() { format!("remark on {patch}") } else { format!("remark on {place}") };
                prompt(model, Purpose::Comment(patch, place), label);
            }
        }
        Action::Try if model.patches.takes_nothing() => {
            typing::tell(model, "nothing of it is taken, so there is nothing to try");
        }
        Action::Try => {
            if let Some(patch) = open_patch(model) {
                let again = model.patches.mode == Mode::Trial;
                model.patches.trying = true;
                effects.push(Effect::Ask(Command::Try { patch, files: model.patches.selection() }));
                // Once one was tried, the same key sets the others that wait beside it.
                let waits = |row: &&std::sync::Arc<PatchRow>| row.state.may_be_tried() && row.id != patch;
                let others: Vec<PatchId> = model.run.snapshot.patches.iter().filter(waits).map(|row| row.id).collect();
                if again && !others.is_empty() {
                    let asked = others.iter().map(|patch| Command::Try { patch: *patch, files: Vec::new() });
                    effects.extend(asked.map(Effect::Ask));
                    typing::tell(model, format!("{patch} and {} more are run on the side", others.len()));
                } else {
                    typing::tell(model, format!("{patch} is run on the side"));
                }
            }
        }
        Action::Revert => match state(model) {
            Some((patch, PatchState::Accepted)) => {
                model.overlays.push(Overlay::Confirm(Question {
                    text: format!("Take {patch} back?"),
                    details: vec!["The steps get back what it changed; later edits elsewhere stay.".to_owned()],
                    then: Then::Ask(Box::new(Command::Revert { patch })),
                }));
            }
            _ => typing::tell(model, "only an accepted patch can be taken back"),
        },
        _ => {}
    }
}

/// Decides about the hunk or the range, and goes on to what is undecided.
fn decide(model: &mut Model, choice: Choice, effects: &mut Vec<Effect>) {
    if model.patches.decide(true, choice) {
        weigh(model, effects);
        if !model.patches.next_undecided() {
            let key = model.keys.key(Action::Accept).unwrap_or_default();
            typing::tell(model, format!("all is decided; {key} accepts what is taken"));
        }
    }
}

/// Asks what the present choice would come to.
pub fn weigh(model: &mut Model, effects: &mut Vec<Effect>) {
    let open = state(model).is_some_and(|(_, state)| state.is_open());
    // No file would be the whole patch.
    if model.patches.takes_nothing() {
        model.patches.weight = None;
    } else if let Some(patch) = model.patches.chosen.filter(|_| open) {
        model.patches.weighing += 1;
        effects.push(Effect::Ask(Command::Weigh { patch, files: model.patches.selection() }));
    }
}

fn context(model: &mut Model, by: isize) {
    model.patches.context = model.patches.context.saturating_add_signed(by).min(10_000);
    model.patches.rebuild();
}

/// The patch that is shown, as it stands now.
fn standing(model: &Model) -> Option<(PatchId, Digest)> {
    model.patch_row().map(|row| (row.id, row.stamp))
}

fn state(model: &Model) -> Option<(PatchId, PatchState)> {
    model.patch_row().map(|row| (row.id, row.state))
}

/// The patch that is shown, if it still waits for a decision; says so if it does not.
fn open_patch(model: &mut Model) -> Option<PatchId> {
    match state(model) {
        Some((patch, state)) if state.is_open() => Some(patch),
        Some((patch, PatchState::Malformed)) => {
            typing::tell(
                model,
                format!("{patch} can't be read, so there is nothing to decide; what is wrong stands with it"),
            );
            None
        }
        Some((patch, state)) => {
            typing::tell(model, format!("{patch} is {} already", state.word()));
            None
        }
        None => None,
    }
}

fn accept(model: &mut Model, replay: bool, effects: &mut Vec<Effect>) {
    let Some(patch) = open_patch(model) else { return };
    let Some(review) = &model.patches.review else { return };
    let (taken, all) = review.taken();
    let undecided = if review.is_decided() { review.undecided() } else { 0 };
    let files = review.selection();
    if files.is_empty() {
        typing::tell(model, "nothing of it is taken; D rejects it");
        return;
    }
    let mut details = Vec::new();
    if undecided > 0 {
        details.push(format!("{undecided} lines are undecided and would be left."));
    }
    let mut anyway = false;
    if let Some(weight) = model.patches.weight.as_ref().filter(|_| model.patches.weighing == 0) {
        for fault in &weight.faults {
            anyway = true;
            details.push(format!("{} would be no Python: line {}: {}", fault.path, fault.line, fault.what));
        }
        if let Some(why) = model.patches.trial.as_ref().and_then(|trial| trial.refusal()) {
            anyway = true;
            details.push(format!("What must pass does not: {why}."));
        }
        for path in &weight.moved {
            details.push(format!("{path} is not what the patch was made for any more."));
        }
    }
    let command = Command::Accept { patch, files, comment: None, replay, anyway };
    if details.is_empty() {
        effects.push(Effect::Ask(command));
    } else {
        let text = format!("Accept {taken} of {all} lines of {patch} all the same?");
        model.overlays.push(Overlay::Confirm(Question { text, details, then: Then::Ask(Box::new(command)) }));
    }
}

fn prompt(model: &mut Model, purpose: Purpose, label: String) {
    model.overlays.push(Overlay::Prompt(Prompt { purpose, label, field: Field::default(), problem: None }));
}

/// The cursor's line as `path:line`, for a remark.
fn place(model: &Model) -> String {
    let line = || {
        let (file, line) = model.patches.at_cursor()?;
        let file = model.patches.review.as_ref()?.files.get(file)?;
        let line = file.lines.get(line)?;
        Some(format!("{}:{}", file.path, line.new.or(line.old)?))
    };
    line().unwrap_or_default()
}

fn next_hunk(model: &mut Model, forward: bool, effects: &mut Vec<Effect>) {
    if !model.patches.next_hunk(forward) {
        next_patch(model, forward, effects);
    }
}

/// Shows the next patch, or the one before, of those that wait; of all where none does.
fn next_patch(model: &mut Model, forward: bool, effects: &mut Vec<Effect>) {
    let patches = &model.run.snapshot.patches;
    let waits = |patch: &&std::sync::Arc<PatchRow>| patch.state.is_open() || patch.state == PatchState::Malformed;
    let mut ids: Vec<PatchId> = patches.iter().filter(waits).map(|patch| patch.id).collect();
    if ids.is_empty() {
        ids = patches.iter().map(|patch| patch.id).collect();
    }
    let next = if forward {
        ids.iter().find(|id| Some(**id) > model.patches.chosen).or(ids.first())
    } else {
        ids.iter().rev().find(|id| Some(**id) < model.patches.chosen).or(ids.last())
    };
    match next.copied() {
        Some(next) if Some(next) != model.patches.chosen => {
            model.patches.choose(Some(next));
            follow(model, effects);
        }
        _ => typing::tell(model, "there is no other patch"),
    }
}

/// Chooses the step that the shown patch changes first.
fn follow(model: &mut Model, effects: &mut Vec<Effect>) {
    let path = model.patch_row().and_then(|row| row.files.first().cloned());
    let step = path.and_then(|path| path.rsplit_once('.').and_then(|(step, _)| step.parse::<StepId>().ok()));
    if let Some(step) = step.filter(|step| model.run.row(step).is_some()) {
        panes::choose(model, &step, effects);
    }
}

/// Opens the lines that come in the editor.
fn edit(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some((file, hunk)) = model.patches.hunk() else { return };
    let Some(review) = &model.patches.review else { return };
    let lines = review.hunk(file, hunk).unwrap_or_default();
    let text: String = lines.iter().filter(|line| line.tag == Tag::Added).map(|line| &*line.text).collect();
    let name = review.files.get(file).map(|file| file.path.clone()).unwrap_or_default();
    effects.push(Effect::EditText { name, text });
}

/// Takes the edited lines of the hunk under the cursor.
pub fn edited(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let Some((at, hunk)) = model.patches.hunk() else { return };
    let Some(file) = model.patches.review.as_ref().and_then(|review| review.files.get(at)) else { return };
    let Some(range) = file.hunks.get(hunk).map(|hunk| hunk.lines.clone()) else { return };
    let mut result = String::new();
    for (place, line) in file.lines.iter().enumerate() {
        if place == range.start {
            result.push_str(text);
            let last = range.end >= file.lines.len();
            if !last && !text.is_empty() && !text.ends_with('\n') {
                result.push('\n');
            }
        }
        if !range.contains(&place) && line.tag != Tag::Removed {
            result.push_str(&line.text);
        }
    }
    if let Some(review) = &mut model.patches.review {
        review.rewrite(at, result);
    }
    model.patches.rebuild();
    weigh(model, effects);
    typing::tell(model, "the patch holds what you wrote; it is accepted as it is shown");
}

/// Says so if the patch that is shown is for another step than the chosen one.
pub fn tell_whose(model: &mut Model) {
    let (Some(step), Some(patch)) = (model.chosen(), model.patch_row()) else { return };
    if !touches(patch, step) {
        let of = if patch.files.is_empty() { "no file".to_owned() } else { patch.files.join(", ") };
        let text = format!("no patch waits for {step}; this one is for {of}");
        typing::tell(model, text);
    }
}

/// Whether a patch changes a step.
fn touches(patch: &PatchRow, step: &StepId) -> bool {
    patch.files.iter().any(|path| path.rsplit_once('.').is_some_and(|(id, _)| id == step.as_str()))
}

/// Keeps the shown patch in step with the run: one that waits for the chosen step goes before others, unless a
/// person is at it.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let patches = &model.run.snapshot.patches;
    let known = model.patches.chosen.is_some_and(|chosen| patches.iter().any(|patch| patch.id == chosen));
    if let Some(before) = model.patches.awaits
        && let Some(came) = patches.iter().find(|row| row.id > before)
    {
        let came = came.id;
        model.patches.choose(Some(came));
        model.patches.awaits = None;
        return settle(model, effects);
    }
    if model.focus != Pane::Patch || !known {
        let of_step =
            model.chosen().and_then(|step| patches.iter().rev().find(|row| row.state.is_open() && touches(row, step)));
        let waiting = || patches.iter().find(|row| row.state.is_open()).or(patches.last());
        let wanted = match of_step {
            Some(row) => Some(row.id),
            None if known => model.patches.chosen,
            None => waiting().map(|row| row.id),
        };
        model.patches.choose(wanted);
    }
    let shown = model.screen().panel(Pane::Patch).is_some();
    if let Some(asked) = standing(model).filter(|_| shown)
        && model.patches.asked != Some(asked)
    {
        model.patches.asked = Some(asked);
        effects.push(Effect::Ask(Command::Patch { patch: asked.0 }));
    }
}
