//! Going about: in the list, among boxes, along edges and names, from panel to panel.

use super::propose;
use crate::step::Status;
use crate::ui::app::action::Action;
use crate::ui::app::boxes::Scope;
use crate::ui::app::hunt::{self, Hunted};
use crate::ui::app::message::Effect;
use crate::ui::app::model::{Model, Pane};
use crate::ui::app::output::Kind;
use crate::ui::app::overlay::{self, Overlay};
use crate::ui::app::screen::Class;
use crate::ui::app::steps::Row;
use crate::ui::app::{events, panes, reviewing, typing};
use crate::workbench::Command;

/// What actions of moving mean among boxes; says whether it was one.
pub(super) fn in_boxes(model: &mut Model, action: Action, effects: &mut Vec<Effect>) -> bool {
    let (x, y) = match action {
        Action::Up => (0, -1),
        Action::Down => (0, 1),
        Action::Left => (-1, 0),
        Action::Right => (1, 0),
        Action::Widen | Action::Narrow => {
            let by = if action == Action::Widen { 1 } else { -1 };
            model.scope_boxes(|scope| match scope {
                Scope::Near(hops) => Scope::Near(hops.saturating_add_signed(by).clamp(1, 6)),
                Scope::Unsettled => Scope::Unsettled,
            });
            return true;
        }
        Action::Cancel => {
            model.boxes = None;
            return true;
        }
        _ => return false,
    };
    if let Some(step) = model.box_beside(x, y) {
        model.follow = false;
        panes::choose(model, &step, effects);
    }
    true
}

/// Goes to the next name in the line, or the one before; says whether there is one.
pub(super) fn link(model: &mut Model, forward: bool) -> bool {
    let all = model.links().len();
    let next = match (model.source.link, forward) {
        (None, true) => 0,
        (None, false) => return false,
        (Some(at), true) => at + 1,
        (Some(at), false) => match at.checked_sub(1) {
            Some(before) => before,
            None => {
                model.source.link = None;
                return true;
            }
        },
    };
    if next < all {
        model.source.link = Some(next);
    }
    next < all
}

/// Goes to the steps that wrote the name under the cursor, or that use it.
pub(super) fn tied(model: &mut Model, readers: bool, effects: &mut Vec<Effect>) {
    let Some(name) = model.name_under_cursor() else {
        typing::tell(model, "no name under the cursor ties this step to others");
        return;
    };
    let places = model.tied(&name, readers);
    let step = |at: &usize| model.run.snapshot.steps.get(*at).map(|row| row.id.clone());
    match (places.as_slice(), places.first().and_then(step)) {
        ([_], Some(step)) => {
            model.follow = false;
            model.sought = Some((step.clone(), name));
            panes::choose(model, &step, effects);
            model.show(Pane::Source);
            panes::seek(model);
        }
        ([], _) | (_, None) => {
            let text = if readers { "no other step uses" } else { "no other step wrote" };
            typing::tell(model, format!("{text} {name}"));
        }
        _ => {
            let title = format!("Steps that {} {name}", if readers { "use" } else { "write" });
            model.overlays.push(Overlay::Jump(title, overlay::jump(model, Some(&places)), Some(name)));
        }
    }
}

/// Enter: unfolds, or goes to what the line under the cursor speaks of.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.focus {
        Pane::Steps => {
            if model.chosen().is_none() {
                panes::fold(model, None, effects);
            } else {
                model.show(model.tab);
            }
        }
        Pane::Output => {
            let line = model.output.window.cursor;
            let proposal = model.output.shown().and_then(|document| document.proposal_at(line));
            match model.output.shown().map(|document| document.line(line).0) {
                Some(Kind::Frame(Some((step, line)))) => {
                    panes::choose(model, &step, effects);
                    model.show(Pane::Source);
                    panes::go(model, Pane::Source, line.saturating_sub(1) as usize);
                }
                Some(Kind::Fact(Some(step))) => panes::choose(model, &step, effects),
                _ if let Some(at) = proposal => propose(model, at, effects),
                _ => typing::tell(model, "enter goes to the source from a traceback, and takes a proposal in"),
            }
        }
        Pane::State => {
            if let Some(way) = model.state.toggle() {
                events::ask_inside(model, way, effects);
            }
        }
        Pane::Source => {}
        Pane::Patch => reviewing::act(model, Action::TakeLine, effects),
        Pane::History => {
            let wanted = model.history.toggle();
            let ask = |(step, version)| Effect::Ask(Command::VersionText { step, version });
            effects.extend(wanted.into_iter().map(ask));
        }
        Pane::Context => model.context.toggle(),
    }
}

pub(super) fn next_panel(model: &mut Model, by: isize) {
    let screen = model.screen();
    let panes: Vec<Pane> = match screen.class {
        Class::Narrow | Class::TooSmall => Pane::ALL.to_vec(),
        _ if model.zoom => vec![Pane::Steps, model.tab],
        _ => screen.panels.iter().map(|panel| panel.pane).collect(),
    };
    if let Some(pane) = cycle(&panes, model.focus, by) {
        model.show(pane);
    }
}

pub(super) fn next_tab(model: &mut Model, by: isize) {
    let screen = model.screen();
    let wide = screen.class == Class::Wide && !model.zoom;
    let shown = if wide {
        model.detail
    } else if model.focus == Pane::Steps {
        model.tab
    } else {
        model.focus
    };
    let tabs = if wide { Pane::DETAILS } else { Pane::TABS };
    let Some(next) = cycle(tabs, shown, by) else { return };
    // From the list one looks through the tabs without leaving it.
    if matches!(model.focus, Pane::Steps) && screen.class != Class::Narrow || wide && model.focus == Pane::Source {
        if wide { model.detail = next } else { model.tab = next }
    } else {
        model.show(next);
    }
}

fn cycle(panes: &[Pane], from: Pane, by: isize) -> Option<Pane> {
    let len = isize::try_from(panes.len()).ok().filter(|len| *len > 0)?;
    let at = panes.iter().position(|pane| *pane == from).and_then(|at| isize::try_from(at).ok());
    let next = at.map_or(0, |at| (at + by).rem_euclid(len));
    panes.get(usize::try_from(next).ok()?).copied()
}

pub(super) fn widen(model: &mut Model, by: i16) {
    let change = |share: u16, by: i16| share.saturating_add_signed(by).clamp(10, 90);
    let by_list = if model.focus == Pane::Steps { by } else { -by };
    match model.screen().class {
        Class::Wide if model.focus == Pane::Steps => model.shares.wide = change(model.shares.wide, by),
        Class::Wide => {
            let by = if model.focus == Pane::Source { by } else { -by };
            model.shares.source = change(model.shares.source, by);
        }
        _ => model.shares.normal = change(model.shares.normal, by_list),
    }
}

/// Goes along an edge: to the nearest step that the chosen one needs, or that uses it.
pub(super) fn along(model: &mut Model, down: bool, effects: &mut Vec<Effect>) {
    let Some(at) = model.chosen().and_then(|step| model.run.place(step)) else { return };
    let next = if down {
        model.run.users(at).map(|edge| edge.to).min()
    } else {
        model.run.needs(at).map(|edge| edge.from).max()
    };
    let step = next.and_then(|at| model.run.snapshot.steps.get(at)).map(|row| row.id.clone());
    match step {
        Some(step) => {
            model.follow = false;
            panes::choose(model, &step, effects);
        }
        None => typing::tell(model, if down { "no step uses what this one makes" } else { "it needs no other step" }),
    }
}

/// Goes to the nearest step that is not fresh.
pub(super) fn attention(model: &mut Model, forward: bool, effects: &mut Vec<Effect>) {
    let steps = &model.run.snapshot.steps;
    let from = match model.steps.rows.get(model.steps.cursor) {
        Some(Row::Step(at) | Row::Frame { first: at, .. } | Row::Chain { first: at, .. }) => *at as usize,
        None => 0,
    };
    let wanted = |at: &usize| steps.get(*at).is_some_and(|row| row.status != Status::Fresh);
    let found = if forward {
        (from + 1..steps.len()).chain(0..from).find(wanted)
    } else {
        (0..from).rev().chain((from + 1..steps.len()).rev()).find(wanted)
    };
    match found.and_then(|at| steps.get(at)).map(|row| row.id.clone()) {
        Some(step) => {
            model.follow = false;
            panes::choose(model, &step, effects);
        }
        None => typing::tell(model, "no other step needs attention"),
    }
}

pub(super) fn next_match(model: &mut Model, forward: bool, effects: &mut Vec<Effect>) {
    let Some(search) = model.search.clone() else { return };
    let pane = search.pane;
    let text = search.text.clone();
    let from = typing::cursor(model, pane);
    match hunt::start(model, search, from, forward, false, effects) {
        Hunted::At(line, round) => {
            hunt::count(model, line);
            model.show(pane);
            panes::go(model, pane, line);
            if round {
                typing::tell(model, "the search went round the end");
            }
        }
        Hunted::NotYet => {}
        Hunted::Nowhere => {
            hunt::nowhere(model);
            typing::tell(model, format!("{text:?} is not found"));
        }
    }
}

pub(super) fn follow(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.focus == Pane::Output {
        panes::end(model, Pane::Output);
        return;
    }
    model.follow = !model.follow;
    typing::tell(model, if model.follow { "the newest step is followed" } else { "no longer following" });
    if model.follow
        && let Some((step, _)) = model.run.snapshot.running.clone()
    {
        panes::choose(model, &step, effects);
    }
}
