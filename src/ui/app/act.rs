//! What each action does to the state.

mod going;
mod replay;

use super::action::Action;
use super::boxes::Scope;
use super::field::Field;
use super::message::Effect;
use super::model::{Model, Pane};
use super::overlay::{self, Overlay, Plan, Prompt, Purpose, Question, Then};
use super::run::cause;
use super::{panes, reviewing, state, typing};
use crate::patch::proposal_of;
use crate::step::{Status, StepId, Wants};
use crate::workbench::{Command, Level, PastStep, RepairWish};

/// Does an action, or says why it can't be done now.
pub fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if let Err(why) = action.possible(model) {
        model.notices.add(Level::Hint, why, model.now);
        return;
    }
    let pane = model.focus;
    if model.boxes.is_some() && pane == Pane::Steps && going::in_boxes(model, action, effects) {
        return;
    }
    match action {
        Action::Boxes => model.toggle_boxes(),
        Action::BoxScope => {
            if model.boxes.is_none() {
                model.toggle_boxes();
            }
            model.scope_boxes(|scope| if scope == Scope::Unsettled { Scope::Near(2) } else { Scope::Unsettled });
        }
        Action::Up => panes::step(model, pane, -1),
        Action::Down => panes::step(model, pane, 1),
        Action::PageUp => panes::step(model, pane, -panes::page(model, pane)),
        Action::PageDown => panes::step(model, pane, panes::page(model, pane)),
        Action::HalfUp => panes::step(model, pane, -panes::page(model, pane) / 2),
        Action::HalfDown => panes::step(model, pane, panes::page(model, pane) / 2),
        Action::Top => panes::go(model, pane, 0),
        Action::Bottom => panes::end(model, pane),
        Action::Left if pane == Pane::Steps => {
            if !panes::fold(model, Some(true), effects) {
                panes::step(model, pane, -1);
            }
        }
        Action::Right if pane == Pane::Steps => {
            if !panes::fold(model, Some(false), effects) && model.chosen().is_some() {
                model.show(model.tab);
            }
        }
        Action::Left if pane == Pane::State => {
            model.state.close();
        }
        Action::Right if pane == Pane::State => {
            let row = model.state.rows.get(model.state.window.cursor);
            if row.is_some_and(|row| !model.state.is_open(row)) {
                going::open(model, effects);
            }
        }
        Action::Compare => {
            let on = model.state.compare();
            let text = if on { "kept: go to another step to see what differs" } else { "nothing is compared any more" };
            typing::tell(model, text);
        }
        Action::Left | Action::Right if pane == Pane::Source && going::link(model, action == Action::Right) => {}
        Action::Left => panes::shift(model, pane, -8),
        Action::Right => panes::shift(model, pane, 8),
        Action::Open | Action::Expand => going::open(model, effects),
        Action::NextPanel => going::next_panel(model, 1),
        Action::PrevPanel => going::next_panel(model, -1),
        Action::NextTab => going::next_tab(model, 1),
        Action::PrevTab => going::next_tab(model, -1),
        Action::ShowSteps => model.show(Pane::Steps),
        Action::ShowSource => model.show(Pane::Source),
        Action::ShowOutput => model.show(Pane::Output),
        Action::ShowState => model.show(Pane::State),
        Action::ShowPatch => {
            model.show(Pane::Patch);
            reviewing::tell_whose(model);
        }
        Action::ShowHistory => model.show(Pane::History),
        Action::ShowContext => model.show(Pane::Context),
        Action::OpenVersion | Action::OpenPart => going::open(model, effects),
        Action::WholeStory => model.history.whole = !model.history.whole,
        Action::AsItWas => {
            if !model.history.leave_past()
                && let Some(moment) = model.history.moment()
            {
                effects.push(Effect::Ask(Command::Past { moment }));
            }
        }
        Action::Restore | Action::RestoreRun => restore(model, action),
        Action::NextHunk if model.search.as_ref().is_some_and(|search| search.pane == Pane::Patch) => {
            going::next_match(model, true, effects);
        }
        Action::TakeLine
        | Action::ToggleHunk
        | Action::TakeHunk
        | Action::LeaveHunk
        | Action::Range
        | Action::NextHunk
        | Action::PrevHunk
        | Action::NextPatch
        | Action::PrevPatch
        | Action::CycleView
        | Action::MoreContext
        | Action::LessContext
        | Action::SplitHunk
        | Action::EditHunk
        | Action::CommentPatch
        | Action::Try
        | Action::Accept
        | Action::AcceptAndReplay
        | Action::Reject
        | Action::Revert => reviewing::act(model, action, effects),
        Action::Zoom => model.zoom = !model.zoom,
        Action::Widen => going::widen(model, 4),
        Action::Narrow => going::widen(model, -4),
        Action::Mouse => {
            model.mouse = !model.mouse;
            effects.push(Effect::Mouse(model.mouse));
            let text =
                if model.mouse { "the mouse is ours" } else { "the mouse selects text; the same key takes it back" };
            typing::tell(model, text);
        }
        Action::RunStep => replay::run(model, false, effects),
        Action::Retry => replay::run(model, true, effects),
        Action::Repair => {
            if let Some(step) = model.chosen().cloned() {
                let wish = RepairWish { step, agent: Vec::new(), tries: None, candidates: None, accept: false };
                model.overlays.push(Overlay::Confirm(Question {
                    text: format!("Ask the agent to repair {}?", wish.step),
                    details: vec![
                        "What it answers is tried on the side; what passes waits for you among the patches.".to_owned(),
                        "It may cost what its calls cost.".to_owned(),
                    ],
                    then: Then::Ask(Box::new(Command::Repair(wish))),
                }));
            }
        }
        Action::RunAll => {
            model.playhead = None;
            effects.push(Effect::Ask(Command::Run { steps: Vec::new(), retry_failed: false }));
        }
        Action::ReplayFrom => {
            let from = model.targets().into_iter().next();
            effects.push(Effect::Ask(Command::Replay { from, until: None }));
        }
        Action::ReplayAll => {
            let steps = model.run.snapshot.steps.len();
            model.overlays.push(Overlay::Confirm(Question {
                text: format!("Run all {steps} steps again from nothing?"),
                details: vec!["What they printed and made before is kept in their history.".to_owned()],
                then: Then::Ask(Box::new(Command::Replay { from: None, until: None })),
            }));
        }
        Action::Next => replay::next_step(model, effects),
        Action::Back => replay::back(model, effects),
        Action::RunToHere => {
            let last = model.targets().into_iter().next_back();
            let steps = model.run.snapshot.steps.iter().map(|row| row.id.clone());
            let steps = steps.take_while(|step| last.as_ref().is_some_and(|last| step <= last)).collect();
            effects.push(Effect::Ask(Command::Run { steps, retry_failed: false }));
        }
        Action::UntilFailure => {
            model.playhead = None;
            effects.push(Effect::Ask(Command::UntilFailure));
        }
        Action::Pause => effects.push(Effect::Ask(Command::Pause)),
        Action::Breakpoint => {
            let mut steps = model.run.snapshot.breakpoints.clone();
            replay::toggle(&mut steps, model.targets());
            effects.push(Effect::Ask(Command::Breakpoints { steps, names: model.run.snapshot.watched_names.clone() }));
        }
        Action::WatchName => {
            if let Some(name) = model.state.name_at(model.state.window.cursor) {
                let mut names = model.run.snapshot.watched_names.clone();
                replay::toggle(&mut names, vec![name.as_str().into()]);
                effects
                    .push(Effect::Ask(Command::Breakpoints { steps: model.run.snapshot.breakpoints.clone(), names }));
            }
        }
        Action::ToWriter => going::tied(model, false, effects),
        Action::ToReaders => going::tied(model, true, effects),
        Action::Plan => {
            model.overlays.push(Overlay::Plan(Plan { rows: None, top: 0 }));
            effects.push(Effect::Ask(Command::Plan { steps: Vec::new(), marked: Vec::new() }));
        }
        Action::Verify => effects.push(Effect::Ask(Command::Verify { check: None })),
        Action::Invalidate => effects.push(Effect::Ask(Command::Invalidate { steps: model.targets() })),
        Action::Stop => effects.push(Effect::Ask(Command::Stop)),
        Action::ReplayOnSave => {
            let on = !model.run.snapshot.replay_on_save;
            effects.push(Effect::Ask(Command::ReplayOnSave { on }));
            typing::tell(model, if on { "a saved step is replayed at once" } else { "a saved step waits for you" });
        }
        Action::Answer => {
            if let Some(question) = model.question().cloned() {
                match question.wants {
                    Wants::Line => {
                        let label = question.text.trim().trim_end_matches(':').to_owned();
                        let label = if label.is_empty() { question.step.to_string() } else { label };
                        prompt_for(model, Purpose::Answer(question.id), label, "");
                    }
                    Wants::Leave => model.overlays.push(Overlay::Leave(question)),
                }
            }
        }
        Action::Explain => {
            let cause =
                model.chosen_row().filter(|row| row.status != Status::Failed).and_then(|row| cause(row).cloned());
            if let Some(step) = cause {
                model.follow = false;
                panes::choose(model, &step, effects);
                model.notices.add(Level::Hint, format!("{step} is what failed"), model.now);
            }
            panes::to_why(model);
        }
        Action::Beside if model.output.beside().is_some() => model.output.set_beside(None),
        Action::Beside => {
            let label = "beside which run or recording (its own: enter)".to_owned();
            prompt_for(model, Purpose::Beside, label, "");
        }
        Action::Edit => {
            if let Some(step) = model.chosen().cloned() {
                let line = if model.source.step.as_ref() == Some(&step) { model.source.window.cursor + 1 } else { 1 };
                effects.push(Effect::Edit(step, line));
            }
        }
        Action::NewStep => {
            let text = after(model);
            prompt_for(model, Purpose::NewStep, "new step".to_owned(), &text);
        }
        Action::Rename => {
            if let Some(step) = model.chosen().cloned() {
                let text = step.to_string();
                prompt_for(model, Purpose::Rename(step), "rename to".to_owned(), &text);
            }
        }
        Action::Delete => {
            if let Some(step) = model.chosen().cloned() {
                model.overlays.push(Overlay::Confirm(delete_question(model, step)));
            }
        }
        Action::Undo => effects.push(Effect::Ask(Command::Undo)),
        Action::Redo => effects.push(Effect::Ask(Command::Redo)),
        Action::Rescan => effects.push(Effect::Ask(Command::Rescan)),
        Action::ToNeeds => going::along(model, false, effects),
        Action::ToUsers => going::along(model, true, effects),
        Action::Fold => {
            if !panes::fold(model, None, effects) {
                let run = model.keys.key(Action::RunStep).unwrap_or_default();
                typing::tell(model, format!("only frames and chains of fresh steps fold; {run} runs this step"));
            }
        }
        Action::FoldFresh => {
            model.steps.fold_fresh();
            panes::relist(model, effects);
        }
        Action::NextStale => going::attention(model, true, effects),
        Action::PrevStale => going::attention(model, false, effects),
        Action::Search | Action::Filter => typing::open(model, action),
        Action::NextMatch => going::next_match(model, true, effects),
        Action::PrevMatch => going::next_match(model, false, effects),
        Action::Jump => {
            model.overlays.push(Overlay::Jump("Jump to a step".to_owned(), overlay::jump(model, None), None))
        }
        Action::Follow => going::follow(model, effects),
        Action::Wrap => match pane {
            Pane::Source => {
                model.source.wrap = !model.source.wrap;
                model.source.window.left = 0;
            }
            Pane::Output => {
                model.output.cut = !model.output.cut;
                model.output.window.left = 0;
            }
            Pane::Patch => {
                model.patches.cut = !model.patches.cut;
                model.patches.window.left = 0;
            }
            _ => typing::tell(model, "only texts wrap"),
        },
        Action::Copy => copy(model, effects),
        Action::Messages => model.overlays.push(Overlay::Messages(0)),
        Action::Help => model.overlays.push(Overlay::Help(overlay::help(model))),
        Action::Palette => model.overlays.push(Overlay::Palette(overlay::palette())),
        Action::Cancel => cancel(model, effects),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Quit => {
            if model.busy() {
                model.overlays.push(Overlay::Confirm(Question {
                    text: "Steps are running. Stop them and quit?".to_owned(),
                    details: vec!["What ran to its end is kept.".to_owned()],
                    then: Then::Quit,
                }));
            } else {
                effects.push(Effect::Quit);
            }
        }
    }
}

fn prompt_for(model: &mut Model, purpose: Purpose, label: String, text: &str) {
    model.overlays.push(Overlay::Prompt(Prompt { purpose, label, field: Field::of(text), problem: None }));
}

/// An id that sorts right after the chosen step: its number with the next letter, in the same frame.
fn after(model: &Model) -> String {
    let steps = &model.run.snapshot.steps;
    let Some(row) = model.chosen_row().or(steps.last()) else { return "01_".to_owned() };
    let frame = row.id.frame().map(|frame| format!("{frame}/")).unwrap_or_default();
    let name = row.id.name();
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    let number = name.get(..digits).and_then(|digits| digits.parse::<u64>().ok());
    let is_last = steps.last().is_some_and(|last| last.id == row.id);
    match number {
        Some(number) if is_last => format!("{frame}{:0digits$}_", number + 1),
        Some(number) => format!("{frame}{number:0digits$}a_"),
        None => frame,
    }
}

fn delete_question(model: &Model, step: StepId) -> Question {
    let users = model.run.place(&step).map_or(0, |at| model.run.users(at).count());
    let mut details = vec!["Its file is removed; its history stays, and undo brings it back.".to_owned()];
    if users > 0 {
        let who = if users == 1 { "1 step uses".to_owned() } else { format!("{users} steps use") };
        details.push(format!("{who} what it makes, and will be stale."));
    }
    Question { text: format!("Delete {step}?"), details, then: Then::Ask(Box::new(Command::Delete { step })) }
}

/// Takes a suggestion in as a patch by its rule, to be reviewed like any other.
fn propose(model: &mut Model, at: usize, effects: &mut Vec<Effect>) {
    let why = model.output.shown().and_then(|document| document.why.clone());
    let Some(suggestion) = why.as_ref().and_then(|why| why.suggestions.get(at)) else { return };
    // The desk says when.
    let (text, from) = proposal_of(suggestion, 0);
    let command = Command::AddPatch { text: text.into_bytes(), target: None, from: Some(Box::new(from)) };
    effects.push(Effect::Ask(command));
    model.patches.awaits =
        Some(model.run.snapshot.patches.iter().map(|row| row.id).max().unwrap_or(crate::step::PatchId(0)));
    model.notices.add(Level::Info, "it waits among the patches", model.now);
    model.show(Pane::Patch);
}

fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let text = match model.focus {
        Pane::Steps => model.targets().iter().map(StepId::to_string).collect::<Vec<_>>().join("\n"),
        Pane::Source => model.source.text.to_string(),
        Pane::Output => {
            let lines = |document: &super::document::Document| {
                (0..document.len()).map(|at| document.line(at).1.into_owned() + "\n").collect::<String>()
            };
            model.output.shown().map(lines).unwrap_or_default()
        }
        Pane::State => {
            let row = model.state.rows.get(model.state.window.cursor);
            match row {
                Some(state::Row::Part(way, at)) => {
                    let part = model.state.inside(way).and_then(|inside| inside.parts.get(*at));
                    part.map(|part| part.repr.clone()).unwrap_or_default()
                }
                _ => {
                    let name = model.state.name_at(model.state.window.cursor);
                    let variable = model.state.list().iter().find(|variable| Some(&variable.name) == name.as_ref());
                    variable.map(|variable| variable.repr.clone()).unwrap_or_default()
                }
            }
        }
        Pane::Patch => {
            let line = model.patches.at_cursor().and_then(|(file, line)| {
                model.patches.review.as_ref()?.files.get(file)?.lines.get(line).map(|line| line.content().to_owned())
            });
            line.unwrap_or_default()
        }
        Pane::History | Pane::Context => String::new(),
    };
    let text = match model.focus {
        Pane::Context => {
            let parts = model.context.view.iter().flat_map(|view| &view.parts);
            parts.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
        }
        _ => text,
    };
    if text.is_empty() {
        typing::tell(model, "there is nothing to copy here");
    } else {
        effects.push(Effect::Copy(text));
    }
}

/// Asks before a step, or the whole run, is taken back.
fn restore(model: &mut Model, action: Action) {
    let history = &model.history;
    let (text, command) = match (action, history.then(), history.version(), history.moment()) {
        (Action::RestoreRun, _, _, Some(moment)) => {
            (format!("Take the whole run back to {moment}?"), Command::RestoreTo { step: None, moment })
        }
        (Action::Restore, Some(then), _, Some(moment)) => {
            let text = format!("Take {} back to {moment}?", then.now);
            (text, Command::RestoreTo { step: Some(then.now.clone()), moment })
        }
        (Action::Restore, None, Some((step, version, _)), _) => {
            (format!("Write {version} of {step} back?"), Command::Restore { step, version })
        }
        _ => return,
    };
    let mut details = vec!["What is there now stays in the history; undo brings it back.".to_owned()];
    if let (Command::RestoreTo { step: None, .. }, Some(past)) = (&command, &history.past) {
        let count = |wanted: &dyn Fn(&&PastStep) -> bool| past.steps.iter().filter(wanted).count();
        let texts = count(&|step| step.changed && step.present.is_some());
        let (back, gone) = (count(&|step| step.present.is_none()), past.later.len());
        details.insert(0, format!("Other texts: {texts}. Come back: {back}. Go: {gone}."));
    } else if matches!(command, Command::RestoreTo { .. }) {
        details.insert(0, "What was done together with that counts as done.".to_owned());
    }
    model.overlays.push(Overlay::Confirm(Question { text, details, then: Then::Ask(Box::new(command)) }));
}

/// Escape: leaves the last thing that was entered.
fn cancel(model: &mut Model, effects: &mut Vec<Effect>) {
    model.notices.dismiss(model.now);
    model.hunt = None;
    if model.search.take().is_some() || model.patches.anchor.take().is_some() || model.source.link.take().is_some() {
    } else if model.steps.filter.take().is_some() {
        panes::relist(model, effects);
    } else if model.playhead.take().is_some() || (model.focus == Pane::History && model.history.leave_past()) {
    } else if model.zoom {
        model.zoom = false;
    } else if model.focus != Pane::Steps {
        model.show(Pane::Steps);
    }
}
