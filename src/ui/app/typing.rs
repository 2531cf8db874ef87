//! Keys and clicks while something is open over the panels.

use super::act::act;
use super::action::Action;
use super::filter::Filter;
use super::hit::Target;
use super::hunt::Hunted;
use super::key::{Chord, Key};
use super::message::Effect;
use super::model::{Model, Pane};
use super::overlay::{Choice, HelpRow, Overlay, Prompt, Purpose, Then};
use super::search::Search;
use super::{hunt, panes};
use crate::step::{Answer, StepId};
use crate::workbench::{Command, Level};

/// What a key came to in an open list.
enum Picked {
    /// It was the list's.
    Taken,
    /// It closes the list.
    Closed,
    /// It chooses what the cursor is on.
    Chosen,
}

fn pick<T>(choice: &mut Choice<T>, chord: Chord, page: isize) -> Picked {
    match (chord.ctrl, chord.key) {
        (false, Key::Esc) | (true, Key::Char('c' | 'g')) => return Picked::Closed,
        (false, Key::Enter) => return Picked::Chosen,
        (false, Key::Up | Key::BackTab) | (true, Key::Char('p' | 'k')) => choice.step(-1),
        (false, Key::Down | Key::Tab) | (true, Key::Char('n' | 'j')) => choice.step(1),
        (false, Key::PageUp) => choice.step(-page),
        (false, Key::PageDown) => choice.step(page),
        _ => {
            if choice.field.key(chord) {
                choice.narrow();
            }
        }
    }
    Picked::Taken
}

/// Gives a key to what is open on top; says whether there was anything.
pub fn key(model: &mut Model, chord: Chord, effects: &mut Vec<Effect>) -> bool {
    let page = isize::try_from(model.size.1 / 2).unwrap_or(10);
    let Some(mut top) = model.overlays.pop() else { return false };
    match &mut top {
        Overlay::Help(choice) => match pick(choice, chord, page) {
            Picked::Taken => {}
            Picked::Closed => return true,
            Picked::Chosen => {
                if let Some(HelpRow::Action(action)) = choice.chosen().copied() {
                    act(model, action, effects);
                }
                return true;
            }
        },
        Overlay::Palette(choice) => match pick(choice, chord, page) {
            Picked::Taken => {}
            Picked::Closed => return true,
            Picked::Chosen => {
                if let Some(action) = choice.chosen().copied() {
                    act(model, action, effects);
                }
                return true;
            }
        },
        Overlay::Jump(_, choice, name) => match pick(choice, chord, page) {
            Picked::Taken => {}
            Picked::Closed => return true,
            Picked::Chosen => {
                if let Some(step) = choice.chosen().cloned() {
                    model.follow = false;
                    model.sought = name.take().map(|name| (step.clone(), name));
                    panes::choose(model, &step, effects);
                    panes::seek(model);
                }
                return true;
            }
        },
        Overlay::Confirm(question) => match chord.key {
            Key::Char('y' | 'Y') if !chord.ctrl && !chord.alt => {
                match &question.then {
                    Then::Ask(command) => effects.push(Effect::Ask((**command).clone())),
                    Then::Quit => effects.push(Effect::Quit),
                }
                return true;
            }
            Key::Char('n' | 'N' | 'q') | Key::Esc => return true,
            Key::Char('c') if chord.ctrl => return true,
            _ => {}
        },
        Overlay::Leave(question) => {
            let answer = match chord.key {
                Key::Char('y' | 'Y') if !chord.ctrl && !chord.alt => Answer::Yes,
                Key::Char('n' | 'N') if !chord.ctrl && !chord.alt => Answer::No,
                Key::Char('a' | 'A') if !chord.ctrl && !chord.alt => Answer::Always,
                Key::Char('e' | 'E') if !chord.ctrl && !chord.alt => Answer::All,
                Key::Esc | Key::Char('c' | 'q') => return true,
                _ => {
                    model.overlays.push(top);
                    return true;
                }
            };
            effects.push(Effect::Ask(Command::Answer { question: question.id, answer }));
            return true;
        }
        Overlay::Prompt(prompt) => match chord.key {
            Key::Char('d') if chord.ctrl && prompt.field.text().is_empty() => {
                if let Purpose::Answer(question) = prompt.purpose {
                    effects.push(Effect::Ask(Command::Answer { question, answer: Answer::End }));
                    return true;
                }
            }
            Key::Esc => {
                close(model, prompt, effects);
                return true;
            }
            Key::Char('c' | 'g') if chord.ctrl => {
                close(model, prompt, effects);
                return true;
            }
            Key::Enter => {
                if enter(model, prompt, effects) {
                    return true;
                }
            }
            Key::Tab => {
                if let Purpose::Search(Pane::Steps, _) = prompt.purpose {
                    model.search = None;
                    prompt.purpose = Purpose::Filter;
                    prompt.label = "list only".to_owned();
                    typed(model, prompt, effects);
                }
            }
            _ => {
                if prompt.field.key(chord) {
                    typed(model, prompt, effects);
                }
            }
        },
        Overlay::Messages(from) => match scroll_key(chord, page) {
            Some(by) => *from = from.saturating_add_signed(by),
            None => return true,
        },
        Overlay::Plan(plan) => match chord.key {
            Key::Enter | Key::Char('y') => {
                effects.push(Effect::Ask(Command::Run { steps: Vec::new(), retry_failed: false }));
                return true;
            }
            _ => match scroll_key(chord, page) {
                Some(by) => plan.top = plan.top.saturating_add_signed(by),
                None => return true,
            },
        },
    }
    model.overlays.push(top);
    true
}

/// By how many lines a key moves what can only be scrolled; `None` closes it.
fn scroll_key(chord: Chord, page: isize) -> Option<isize> {
    match chord.key {
        Key::Up | Key::Char('k') => Some(-1),
        Key::Down | Key::Char('j') => Some(1),
        Key::PageUp => Some(-page),
        Key::PageDown | Key::Char(' ') => Some(page),
        Key::Char('d') if chord.ctrl => Some(page / 2),
        Key::Char('u') if chord.ctrl => Some(-page / 2),
        Key::Home | Key::Char('g') => Some(isize::MIN),
        _ => None,
    }
}

/// Gives pasted text to what is being typed; says whether anything is.
pub fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(mut top) = model.overlays.pop() else { return false };
    let taken = match &mut top {
        Overlay::Help(choice) => paste_into(choice, text),
        Overlay::Palette(choice) => paste_into(choice, text),
        Overlay::Jump(_, choice, _) => paste_into(choice, text),
        Overlay::Prompt(prompt) => {
            prompt.field.paste(text);
            typed(model, prompt, effects);
            true
        }
        Overlay::Confirm(_) | Overlay::Leave(_) | Overlay::Messages(_) | Overlay::Plan(_) => false,
    };
    model.overlays.push(top);
    taken
}

fn paste_into<T>(choice: &mut Choice<T>, text: &str) -> bool {
    choice.field.paste(text);
    choice.narrow();
    true
}

/// Gives the wheel to what is open; says whether anything is.
pub fn wheel(model: &mut Model, by: isize) -> bool {
    match model.overlays.last_mut() {
        None => return false,
        Some(Overlay::Help(choice)) => choice.step(by),
        Some(Overlay::Palette(choice)) => choice.step(by),
        Some(Overlay::Jump(_, choice, _)) => choice.step(by),
        Some(Overlay::Messages(from)) => *from = from.saturating_add_signed(by),
        Some(Overlay::Plan(plan)) => plan.top = plan.top.saturating_add_signed(by),
        Some(Overlay::Confirm(_) | Overlay::Leave(_) | Overlay::Prompt(_)) => {}
    }
    true
}

/// Gives a click to what is open: on a row it chooses, outside it closes what loses nothing by it.
pub fn click(model: &mut Model, target: Option<Target>, effects: &mut Vec<Effect>) -> bool {
    let at = match target {
        Some(Target::Choice(at)) => Some(at),
        _ => None,
    };
    match (model.overlays.last_mut(), at) {
        (Some(Overlay::Help(choice)), Some(at)) => choice.cursor = at,
        (Some(Overlay::Palette(choice)), Some(at)) => choice.cursor = at,
        (Some(Overlay::Jump(_, choice, _)), Some(at)) => choice.cursor = at,
        (Some(Overlay::Confirm(_) | Overlay::Prompt(_)), _) => return false,
        (_, None) => {
            model.overlays.pop();
            return true;
        }
        _ => return false,
    }
    key(model, Chord::plain(Key::Enter), effects)
}

/// What is typed changed: searches and filters show at once, ids are checked.
fn typed(model: &mut Model, prompt: &mut Prompt, effects: &mut Vec<Effect>) {
    let text = prompt.field.text();
    prompt.problem = None;
    match &prompt.purpose {
        Purpose::Search(pane, from) => {
            let search = Search { pane: *pane, text: text.to_owned() };
            model.search = (!text.is_empty()).then(|| search.clone());
            model.found = None;
            if !text.is_empty() {
                let line = match hunt::start(model, search, *from, true, true, effects) {
                    Hunted::At(line, _) => {
                        hunt::count(model, line);
                        line
                    }
                    Hunted::NotYet => *from,
                    Hunted::Nowhere => {
                        hunt::nowhere(model);
                        prompt.problem = Some("not found".to_owned());
                        *from
                    }
                };
                panes::go(model, *pane, line);
            }
        }
        Purpose::Filter => {
            model.steps.filter = Filter::parse(text);
            panes::relist(model, effects);
            if model.steps.rows.is_empty() && model.steps.filter.is_some() {
                prompt.problem = Some("no step answers to that".to_owned());
            }
        }
        Purpose::NewStep | Purpose::Rename(_) => {
            if !text.is_empty() {
                prompt.problem = new_id(model, prompt).err();
            }
        }
        Purpose::Answer(_) | Purpose::Reject(_) | Purpose::Comment(..) | Purpose::Beside => {}
    }
}

/// The line of a panel that its cursor is on.
pub fn cursor(model: &Model, pane: Pane) -> usize {
    match pane {
        Pane::Steps => model.steps.cursor,
        Pane::Source => model.source.window.cursor,
        Pane::Output => model.output.window.cursor,
        Pane::State => model.state.window.cursor,
        Pane::Patch => model.patches.window.cursor,
        Pane::History => model.history.window.cursor,
        Pane::Context => model.context.window.cursor,
    }
}

fn new_id(model: &Model, prompt: &Prompt) -> Result<StepId, String> {
    let text = prompt.field.text().trim();
    let text = text.strip_suffix(".py").unwrap_or(text);
    let id: StepId = text.parse().map_err(|error: crate::step::InvalidStepId| error.to_string())?;
    let same = matches!(&prompt.purpose, Purpose::Rename(step) if *step == id);
    if model.run.row(&id).is_some() && !same {
        return Err(format!("there is a step {id} already"));
    }
    Ok(id)
}

/// Enter in a prompt; says whether it is closed by it.
fn enter(model: &mut Model, prompt: &mut Prompt, effects: &mut Vec<Effect>) -> bool {
    match &prompt.purpose {
        Purpose::Search(..) | Purpose::Filter => true,
        // What is offered is the beginning of a name.
        Purpose::NewStep if prompt.field.text().trim().trim_end_matches(".py").ends_with('_') => {
            prompt.problem = Some("write a name after the number".to_owned());
            false
        }
        Purpose::NewStep => match new_id(model, prompt) {
            Ok(step) => {
                model.awaited = Some(step.clone());
                effects.push(Effect::Ask(Command::NewStep { step, source: String::new() }));
                true
            }
            Err(problem) => {
                prompt.problem = Some(problem);
                false
            }
        },
        Purpose::Rename(step) => match new_id(model, prompt) {
            Ok(to) if to == *step => true,
            Ok(to) => {
                model.awaited = Some(to.clone());
                effects.push(Effect::Ask(Command::Rename { step: step.clone(), to }));
                true
            }
            Err(problem) => {
                prompt.problem = Some(problem);
                false
            }
        },
        Purpose::Beside => {
            let other = Some(prompt.field.text().trim().to_owned()).filter(|text| !text.is_empty());
            effects.push(Effect::Ask(Command::Beside { other }));
            true
        }
        Purpose::Reject(patch) => {
            let comment = Some(prompt.field.text().trim().to_owned()).filter(|text| !text.is_empty());
            effects.push(Effect::Ask(Command::Reject { patch: *patch, comment }));
            true
        }
        Purpose::Comment(patch, place) => {
            let text = prompt.field.text().trim();
            if !text.is_empty() {
                let text = if place.is_empty() { text.to_owned() } else { format!("{place}: {text}") };
                effects.push(Effect::Ask(Command::Comment { patch: *patch, text }));
            }
            true
        }
        Purpose::Answer(question) => {
            let answer = Answer::Line(prompt.field.text().to_owned());
            effects.push(Effect::Ask(Command::Answer { question: *question, answer }));
            true
        }
    }
}

/// Leaves a prompt without entering it.
fn close(model: &mut Model, prompt: &Prompt, effects: &mut Vec<Effect>) {
    match prompt.purpose {
        Purpose::Search(pane, from) => {
            (model.search, model.hunt) = (None, None);
            panes::go(model, pane, from);
        }
        Purpose::Filter => {
            model.steps.filter = None;
            panes::relist(model, effects);
        }
        _ => {}
    }
}

/// Opens a search in the focused panel, or a filter of the list.
pub fn open(model: &mut Model, action: Action) {
    let (purpose, label, field) = match action {
        Action::Filter => {
            let text = model.steps.filter.as_ref().map_or("", |filter| filter.text());
            (Purpose::Filter, "list only", text)
        }
        _ => (Purpose::Search(model.focus, cursor(model, model.focus)), "search", ""),
    };
    let field = super::field::Field::of(field);
    model.overlays.push(Overlay::Prompt(Prompt { purpose, label: label.to_owned(), field, problem: None }));
}

/// Says how things stand: that something was not found, or that the search went round the end.
pub fn tell(model: &mut Model, text: impl Into<String>) {
    model.notices.add(Level::Hint, text, model.now);
}
