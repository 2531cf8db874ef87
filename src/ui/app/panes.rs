//! Moving in panels: each has a window on its lines; and what the panels must be told when the chosen step is
//! another.

use super::document::Document;
use super::message::Effect;
use super::model::{Model, Pane};
use super::output::Output;
use super::patch::{self, Mode, Patches};
use super::reviewing;
use super::screen::Class;
use super::source::Source;
use super::window::{Ground, Window};
use crate::step::Status;
use crate::ui::view::text::{self, Tab};
use crate::workbench::Command;

/// Columns that the source's line numbers and marks take.
pub fn gutter(source: &Source) -> usize {
    source.lines.len().max(99).to_string().len() + 3
}

/// Columns left free at the left edge of panels of text.
pub const MARGIN: usize = 1;

/// Columns of the box, the two numbers and the sign before a line of a patch; without the numbers in a narrow panel.
pub fn patch_gutter(width: usize) -> usize {
    if width < 60 { 6 } else { 15 }
}

/// How many rows at the foot of the Patch panel say what the choice comes to, and list the hunks.
pub fn patch_foot(model: &Model, inside: super::screen::Area) -> u16 {
    let hunks = model.patches.review.as_ref().map_or(0, |review| review.hunks().count());
    let covered = u16::from(!model.patches.covering().is_empty());
    match inside.height {
        0..8 => 0,
        8..14 => 2,
        height => 3 + covered + u16::try_from(hunks).unwrap_or(u16::MAX).min(height / 4),
    }
}

/// How many rows a line may take that is wrapped: beyond, the rest is left out.
pub const WRAPPED: usize = 2_000;

/// Works with the window of a panel of lines; does nothing for the list.
fn with_window(model: &mut Model, pane: Pane, work: impl FnOnce(&mut Window, &Ground<'_>)) {
    let area = model.screen().inside(pane);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let foot = usize::from(patch_foot(model, area));
    let Model { source, output, state, patches, history, context, .. } = model;
    match pane {
        Pane::Steps => {}
        Pane::Source => {
            let Source { lines, window, wrap, .. } = source;
            let width = width.saturating_sub(lines.len().max(99).to_string().len() + 3);
            let rows = |at: usize| if *wrap { text::rows(lines.line(at), width, Tab::SOURCE, WRAPPED) } else { 1 };
            work(window, &Ground { lines: lines.len(), height, rows: &rows });
        }
        Pane::Output => {
            let mut window = output.window;
            let width = width.saturating_sub(MARGIN);
            let Output { cut, .. } = *output;
            let document = output.shown();
            let rows = |at: usize| match document {
                Some(document) if !cut => text::rows(&document.line(at).1, width, Tab::TERMINAL, WRAPPED),
                _ => 1,
            };
            work(&mut window, &Ground { lines: document.map_or(0, |d| d.len()), height, rows: &rows });
            output.window = window;
        }
        Pane::State => {
            let lines = state.rows.len();
            let height = height.saturating_sub(1);
            work(&mut state.window, &Ground { lines, height, rows: &|_| 1 });
        }
        Pane::Patch => {
            let height = height.saturating_sub(foot);
            let Patches { rows, review, window, cut, mode, .. } = patches;
            let width = width.saturating_sub(patch_gutter(width));
            let wraps = !*cut && *mode == Mode::Unified;
            let tall = |at: usize| match (rows.get(at), review.as_ref().filter(|_| wraps)) {
                (Some(patch::Row::Line(file, line)), Some(review)) => {
                    let line = review.files.get(*file).and_then(|file| file.lines.get(*line));
                    line.map_or(1, |line| text::rows(line.content(), width, Tab::SOURCE, WRAPPED))
                }
                _ => 1,
            };
            work(window, &Ground { lines: rows.len(), height, rows: &tall });
        }
        Pane::History => {
            let lines = history.rows.len();
            work(&mut history.window, &Ground { lines, height, rows: &|_| 1 });
        }
        Pane::Context => {
            let (lines, height) = (context.rows.len(), height.saturating_sub(1));
            work(&mut context.window, &Ground { lines, height, rows: &|_| 1 });
        }
    }
}

/// Moves the cursor of a panel by lines.
pub fn step(model: &mut Model, pane: Pane, by: isize) {
    match pane {
        Pane::Steps => {
            model.follow = false;
            let row = model.steps.cursor.saturating_add_signed(by);
            model.steps.go(row, &model.run);
        }
        _ => with_window(model, pane, |window, ground| window.step(by, ground)),
    }
    if pane == Pane::Source {
        model.source.link = None;
    }
    at_end(model, pane);
}

/// Puts the cursor of a panel on a line.
pub fn go(model: &mut Model, pane: Pane, line: usize) {
    match pane {
        Pane::Steps => {
            model.follow = false;
            model.steps.go(line, &model.run);
        }
        _ => with_window(model, pane, |window, ground| window.go(line, ground)),
    }
    if pane == Pane::Source {
        model.source.link = None;
    }
    at_end(model, pane);
}

/// Puts the cursor on the last line.
pub fn end(model: &mut Model, pane: Pane) {
    match pane {
        Pane::Steps => go(model, pane, usize::MAX),
        _ => with_window(model, pane, |window, ground| window.end(ground)),
    }
    at_end(model, pane);
}

/// Moves what is seen of a panel by rows.
pub fn scroll(model: &mut Model, pane: Pane, by: isize) {
    match pane {
        Pane::Steps => {
            let height = usize::from(model.screen().inside(pane).height);
            let steps = &mut model.steps;
            steps.top = steps.top.saturating_add_signed(by).min(steps.height().saturating_sub(height));
            let first = steps.row_at(steps.top);
            let last = steps.row_at(steps.top + height.max(1)).saturating_sub(1).max(first);
            let row = steps.cursor.clamp(first, last);
            if row != steps.cursor {
                model.follow = false;
                model.steps.go(row, &model.run);
            }
        }
        _ => with_window(model, pane, |window, ground| window.scroll(by, ground)),
    }
    at_end(model, pane);
}

/// Moves what is seen of a panel by columns.
pub fn shift(model: &mut Model, pane: Pane, by: isize) {
    let wrapped = match pane {
        Pane::Source => model.source.wrap,
        Pane::Output => !model.output.cut,
        Pane::Patch => !model.patches.cut && model.patches.mode != super::patch::Mode::Split,
        _ => false,
    };
    if wrapped {
        let key = model.keys.key(super::action::Action::Wrap).unwrap_or_default();
        return super::typing::tell(model, format!("nothing is cut: lines are wrapped; {key} cuts them"));
    }
    with_window(model, pane, |window, _| window.left = window.left.saturating_add_signed(by).min(1_000_000));
}

/// Output is followed as long as its end is seen while more may come.
fn at_end(model: &mut Model, pane: Pane) {
    if pane == Pane::Output {
        let mut ends = false;
        with_window(model, pane, |window, ground| ends = window.ends(ground));
        model.output.follow = ends && model.output.shown().is_some_and(Document::may_grow);
    }
}

/// How many rows a page of a panel has.
pub fn page(model: &Model, pane: Pane) -> isize {
    let area = model.screen().inside(pane);
    let head = if pane == Pane::Patch { patch_foot(model, area) } else { 0 };
    isize::try_from(area.height.saturating_sub(head).max(2) - 1).unwrap_or(1)
}

/// Folds or unfolds what the cursor of the list is on.
pub fn fold(model: &mut Model, only: Option<bool>, effects: &mut Vec<Effect>) -> bool {
    let changed = model.steps.fold(only, &model.run);
    if changed {
        relist(model, effects);
    }
    changed
}

/// Works the rows of the list out anew.
pub fn relist(model: &mut Model, effects: &mut Vec<Effect>) {
    let job = model.steps.rebuild(&model.run);
    effects.push(Effect::Lay(job));
}

/// Goes to a step, wherever it is hidden.
pub fn choose(model: &mut Model, step: &crate::step::StepId, effects: &mut Vec<Effect>) {
    if model.steps.choose(step, &model.run) {
        relist(model, effects);
    }
}

/// Shows why the chosen step failed.
pub fn to_why(model: &mut Model) {
    model.show(Pane::Output);
    match model.output.shown().and_then(|document| document.why_at()) {
        Some(at) => {
            go(model, Pane::Output, usize::MAX);
            go(model, Pane::Output, at);
        }
        None => model.seeks_why = true,
    }
}

/// Shows the output, at how it stands to what the run is set beside.
pub fn to_beside(model: &mut Model) {
    model.show(Pane::Output);
    if let Some(at) = model.output.shown().and_then(|document| document.beside_at()) {
        go(model, Pane::Output, usize::MAX);
        go(model, Pane::Output, at);
    }
}

/// Puts the cursor of the source on the name that is sought, once its step's source is there.
pub fn seek(model: &mut Model) {
    let Some((step, name)) = model.sought.take_if(|(step, _)| model.source.step.as_ref() == Some(step)) else {
        return;
    };
    if model.chosen() != Some(&step) {
        return;
    }
    let found = (0..model.source.lines.len()).find_map(|line| {
        let text = model.source.lines.line(line);
        let links = model.names.links(text, model.source.tokens(line));
        let link = links.iter().position(|range| text.get(range.clone()) == Some(name.as_str()))?;
        Some((line, link))
    });
    if let Some((line, link)) = found {
        go(model, Pane::Source, line);
        model.source.link = Some(link);
    }
}

/// After anything: asks for what the panels need and don't have, and brings every window into its bounds.
pub fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    ask(model, effects);
    reviewing::settle(model, effects);
    model.kin.take(model.steps.chosen.as_ref(), &model.run);
    model.names.take(model.steps.chosen.as_ref(), &model.run);
    model.settle_boxes();
    let screen = model.screen();
    if screen.class == Class::TooSmall {
        return;
    }
    let height = usize::from(screen.inside(Pane::Steps).height);
    let steps = &mut model.steps;
    let line = steps.line(steps.cursor);
    let above =
        steps.lanes.as_ref().and_then(|lanes| lanes.rows.get(steps.cursor)).is_some_and(|row| row.link.is_some());
    steps.top = steps.top.min(line - usize::from(above && line > 0)).max((line + 1).saturating_sub(height));
    steps.top = steps.top.min(steps.height().saturating_sub(height));
    for pane in Pane::TABS {
        let follow = *pane == Pane::Output && model.output.follow;
        with_window(model, *pane, |window, ground| if follow { window.end(ground) } else { window.settle(ground) });
    }
}

fn ask(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(row) = model.chosen_row().cloned() else {
        model.asked = super::model::Asked::default();
        model.source.clear();
        model.output.show(None);
        model.state.clear();
        return;
    };
    let screen = model.screen();
    model.output.show(Some(&row.id));
    let step = row.id.clone();
    if model.asked.source.as_ref().is_none_or(|asked| asked.id != row.id || asked.version != row.version) {
        model.asked.source = Some(row.clone());
        effects.push(Effect::Ask(Command::Source { step: step.clone() }));
    }
    if row.status != Status::Running && model.asked.execution.as_ref() != Some(&row) {
        model.asked.execution = Some(row.clone());
        effects.push(Effect::Ask(Command::Execution { step: step.clone() }));
    }
    if row.status == Status::Failed
        && screen.panel(Pane::Output).is_some()
        && let Some(began) = model.output.document(&step).and_then(|document| document.began())
        && model.output.why(&step).is_none()
        && model.asked.why.as_ref() != Some(&(step.clone(), began))
    {
        model.asked.why = Some((step.clone(), began));
        effects.push(Effect::Ask(Command::Diagnose { step: step.clone() }));
    }
    let now = model.run.snapshot.generation;
    if screen.panel(Pane::History).is_some() {
        let of = (!model.history.whole).then(|| step.clone());
        if model.asked.story.as_ref() != Some(&(of.clone(), now)) {
            model.asked.story = Some((of.clone(), now));
            effects.push(Effect::Ask(Command::Story { step: of }));
        }
    }
    let asked = model.asked.context.as_ref();
    let comes = model.asked.context_comes && asked.is_some_and(|(of, _)| *of == step);
    if screen.panel(Pane::Context).is_some() && !comes && asked != Some(&(step.clone(), now)) {
        model.asked.context = Some((step.clone(), now));
        model.asked.context_comes = true;
        effects.push(Effect::Ask(Command::Context { step: step.clone(), budget: None }));
    }
    if row.status == Status::Never && model.state.at.as_ref() != Some(&step) {
        // There is no state after it to be asked for.
        model.state.clear();
        model.asked.state = None;
    } else if screen.panel(Pane::State).is_some()
        && !matches!(row.status, Status::Running | Status::Never)
        && model.asked.state.as_ref() != Some(&row)
    {
        model.asked.state = Some(row);
        if model.state.at.as_ref() != Some(&step) {
            model.state.wait();
        }
        effects.push(Effect::Ask(Command::State { at: Some(step), names: Vec::new() }));
    }
}
