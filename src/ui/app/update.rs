//! How the state follows from what happens. This file only says who takes what.

use super::act::act;
use super::hit::Target;
use super::key::{Chord, Key};
use super::keymap::Found;
use super::message::{Effect, Message, Mouse, MouseKind};
use super::model::{Drag, Model, Pane, SPIN};
use super::{events, hunt, panes, reviewing, typing};
use crate::workbench::{Command, Level};

/// Takes what happened into the state and says what is to be done outside.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    let mut effects = Vec::new();
    match message {
        Message::Now(now) => {
            let seen = |model: &Model| {
                let spin = model.run.snapshot.running.is_some().then(|| model.now.div_euclid(SPIN));
                (spin, model.notices.current(model.now).cloned())
            };
            let before = seen(model);
            model.now = now;
            model.dirty |= seen(model) != before;
            return effects;
        }
        Message::Key(chord) => key(model, chord, &mut effects),
        Message::Paste(text) => {
            if !typing::paste(model, &text, &mut effects) {
                let text = "what was pasted was left out: no text is being typed here";
                model.notices.add(Level::Info, text, model.now);
            }
        }
        Message::Mouse(mouse) => {
            if !mouse_event(model, mouse, &mut effects) {
                return effects;
            }
        }
        Message::Resized(width, height) => model.size = (width, height),
        Message::Run(event) => events::take(model, event, &mut effects),
        Message::Laid { serial, lanes } => {
            if !model.steps.laid(serial, lanes) {
                return effects;
            }
        }
        Message::Highlighted { serial, first, lines } => {
            if !model.source.highlighted(serial, first, lines) {
                return effects;
            }
        }
        Message::Composed(step, document) => model.output.take(&step, *document),
        Message::Hunt => hunt::go_on(model, &mut effects),
        Message::Edited(step) => {
            model.asked.source = None;
            if model.run.row(&step).is_some() {
                effects.push(Effect::Ask(Command::Rescan));
            }
        }
        Message::TextEdited(Some(text)) => reviewing::edited(model, &text, &mut effects),
        Message::TextEdited(None) => {}
        Message::Told(level, text) => model.notices.add(level, text, model.now),
    }
    model.dirty = true;
    panes::settle(model, &mut effects);
    effects
}

fn key(model: &mut Model, chord: Chord, effects: &mut Vec<Effect>) {
    if typing::key(model, chord, effects) {
        return;
    }
    if !model.typed.is_empty() && chord == Chord::plain(Key::Esc) {
        model.typed.clear();
        return;
    }
    model.notices.dismiss_hints(model.now);
    model.typed.push(chord);
    match model.keys.find(model.focus, &model.typed) {
        Found::Action(action) => {
            model.typed.clear();
            act(model, action, effects);
        }
        Found::Prefix => {}
        Found::Nothing => {
            let whole = std::mem::take(&mut model.typed);
            if whole.len() == 1 {
                let text = match model.keys.elsewhere(&whole) {
                    Some((pane, action)) => {
                        let name = action.entry().map_or("", |entry| entry.name);
                        format!("{chord} is {name} in {}; {} goes there", pane.title(), pane.number())
                    }
                    None => format!("{chord} means nothing here; ? shows the keys"),
                };
                model.notices.add(Level::Hint, text, model.now);
            }
        }
    }
}

/// Takes what the mouse did; says whether anything came of it.
fn mouse_event(model: &mut Model, mouse: Mouse, effects: &mut Vec<Effect>) -> bool {
    match mouse.kind {
        MouseKind::WheelUp | MouseKind::WheelDown => {
            let by = if mouse.kind == MouseKind::WheelUp { -3 } else { 3 };
            if !typing::wheel(model, by) {
                let Some(pane) = mouse.pane else { return false };
                panes::scroll(model, pane, by);
            }
        }
        MouseKind::Press => {
            if !model.overlays.is_empty() {
                return typing::click(model, mouse.target, effects);
            }
            match mouse.target {
                Some(Target::Row(row)) => {
                    let again = model.focus == Pane::Steps && model.steps.cursor == row;
                    model.show(Pane::Steps);
                    model.follow = false;
                    model.steps.go(row, &model.run);
                    if again && model.chosen().is_none() {
                        panes::fold(model, None, effects);
                    }
                }
                Some(Target::Line(pane, line)) => {
                    model.show(pane);
                    panes::go(model, pane, line);
                }
                Some(Target::Pane(pane) | Target::Tab(pane)) => model.show(pane),
                Some(Target::Hint(action)) => act(model, action, effects),
                Some(Target::Divider) => model.drag = Drag::Divider,
                Some(Target::Ledge) => model.drag = Drag::Ledge,
                Some(Target::Choice(_)) | None => return false,
            }
        }
        MouseKind::Drag => {
            let percent = |at: u16, whole: u16| (u32::from(at) * 100 / u32::from(whole.max(1))).clamp(10, 90) as u16;
            match model.drag {
                Drag::None => return false,
                Drag::Divider => {
                    let share = percent(mouse.x + 1, model.size.0);
                    if model.size.0 >= 110 { model.shares.wide = share } else { model.shares.normal = share }
                }
                Drag::Ledge => {
                    let below = model.size.1.saturating_sub(3);
                    model.shares.source = percent(mouse.y, below);
                }
            }
        }
        MouseKind::Release => {
            let dragged = std::mem::take(&mut model.drag);
            return dragged != Drag::None;
        }
    }
    true
}
