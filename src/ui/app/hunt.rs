//! A search that is under way: it goes through a long text in slices, so that keys are answered meanwhile.

use super::message::Effect;
use super::model::{Model, Pane};
use super::overlay::Overlay;
use super::search::Search;
use super::{panes, typing};

/// About so many bytes are looked at in one slice: a few milliseconds.
const SLICE: usize = 1 << 20;
/// What it costs to look at a line however short, in bytes.
const LINE: usize = 50;

/// A search that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunt {
    search: Search,
    /// The line that it began at.
    from: usize,
    forward: bool,
    /// How many lines it went, and how many it may.
    by: usize,
    rest: usize,
}

/// What became of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hunted {
    /// It is in this line; and whether the search went round the end.
    At(usize, bool),
    /// It is nowhere.
    Nowhere,
    /// It goes on.
    NotYet,
}

/// How many lines hold what is searched for, and which of them was gone to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matches {
    /// The place of that line among them, from 1.
    pub nth: usize,
    /// How many there are.
    pub of: usize,
}

/// Counts the lines that hold what is searched for, unless that takes long.
pub fn count(model: &mut Model, line: usize) {
    model.found = None;
    let Some(search) = &model.search else { return };
    let (mut found, mut spent) = (Matches { nth: 0, of: 0 }, 0);
    for at in 0..model.searched_lines(search.pane) {
        spent += cost(model, search.pane, at);
        if spent > SLICE {
            return;
        }
        if model.line_holds(search.pane, at, &search.text) {
            found.of += 1;
            found.nth += usize::from(at <= line);
        }
    }
    model.found = Some(found);
}

/// Keeps that it is nowhere.
pub fn nowhere(model: &mut Model) {
    model.found = Some(Matches { nth: 0, of: 0 });
}

/// What it costs to look at a line.
fn cost(model: &Model, pane: Pane, at: usize) -> usize {
    LINE + match pane {
        Pane::Output => model.output.shown().map_or(0, |document| document.line(at).1.len()),
        Pane::Source => model.source.lines.line(at).len(),
        _ => LINE,
    }
}

/// Looks for the nearest line from `from` on (itself counted when `here`), going round the end. What takes longer
/// goes on by [`Effect::Hunt`].
pub fn start(
    model: &mut Model,
    search: Search,
    from: usize,
    forward: bool,
    here: bool,
    effects: &mut Vec<Effect>,
) -> Hunted {
    let rest = model.searched_lines(search.pane);
    model.hunt = Some(Hunt { search, from, forward, by: usize::from(!here), rest });
    let hunted = slice(model);
    if hunted == Hunted::NotYet {
        effects.push(Effect::Hunt);
    }
    hunted
}

/// Goes on with the search, and goes to what it finds.
pub fn go_on(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(search) = model.hunt.as_ref().map(|hunt| hunt.search.clone()) else { return };
    let hunted = slice(model);
    let typing = model.overlays.iter_mut().rev().find_map(|overlay| match overlay {
        Overlay::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    match (hunted, typing) {
        (Hunted::NotYet, _) => effects.push(Effect::Hunt),
        (Hunted::Nowhere, Some(prompt)) => {
            prompt.problem = Some("not found".to_owned());
            nowhere(model);
        }
        (Hunted::Nowhere, None) => {
            nowhere(model);
            typing::tell(model, format!("{:?} is not found", search.text));
        }
        (Hunted::At(line, _), Some(prompt)) => {
            prompt.problem = None;
            count(model, line);
            panes::go(model, search.pane, line);
        }
        (Hunted::At(line, round), None) => {
            count(model, line);
            model.show(search.pane);
            panes::go(model, search.pane, line);
            if round {
                typing::tell(model, "the search went round the end");
            }
        }
    }
}

fn slice(model: &mut Model) -> Hunted {
    let Some(mut hunt) = model.hunt.take() else { return Hunted::Nowhere };
    let pane = hunt.search.pane;
    let lines = model.searched_lines(pane);
    let mut spent = 0;
    while hunt.rest > 0 && lines > 0 {
        if spent > SLICE {
            model.hunt = Some(hunt);
            return Hunted::NotYet;
        }
        let (from, by) = (hunt.from.min(lines - 1), hunt.by);
        let at = if hunt.forward { (from + by) % lines } else { (from + lines - by % lines) % lines };
        if model.line_holds(pane, at, &hunt.search.text) {
            return Hunted::At(at, if hunt.forward { at < from } else { at > from });
        }
        hunt.by += 1;
        hunt.rest -= 1;
        spent += cost(model, pane, at);
    }
    Hunted::Nowhere
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Chunk, Stream};
    use crate::ui::app::document::Document;
    use crate::ui::app::{Message, update};
    use crate::ui::stage::{Stage, churn};

    #[test]
    fn a_search_through_much_goes_on_while_keys_are_answered() {
        let mut stage = Stage::new(120, 40, churn());
        let mut document = Document::default();
        let text = "nothing to be seen in this line\n".repeat(200_000) + "The Needle\n";
        document.push(&Chunk { stream: Stream::Stdout, text });
        let step = stage.model.chosen().cloned().unwrap();
        stage.keys("3").model.output.take(&step, document);
        stage.keys("g g / n e e d l e");
        assert_eq!(stage.model.output.window.cursor, 0);
        let mut slices = 0;
        while stage.effects.contains(&Effect::Hunt) {
            stage.effects.retain(|effect| *effect != Effect::Hunt);
            stage.effects.extend(update(&mut stage.model, Message::Hunt));
            slices += 1;
        }
        assert_eq!(stage.model.output.window.cursor, 200_000);
        assert!(slices > 10, "{slices}");
        stage.keys("enter n");
        assert!(stage.effects.contains(&Effect::Hunt));
    }
}
