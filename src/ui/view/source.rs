//! The source of the chosen step.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::text::{self, Painted, Run, Tab};
use super::{highlight, panel};
use crate::ui::app::panes::{WRAPPED, gutter};
use crate::ui::app::source::Mark;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let source = &model.source;
    let Some(step) = model.chosen() else {
        let lines = ["no step is chosen", "", "enter or space unfolds what the cursor is on"];
        let show = model.loaded && !model.steps.rows.is_empty();
        return panel::empty(pen, inside, if show { &lines } else { &[] });
    };
    if source.step.as_ref() != Some(step) {
        return;
    }
    if source.lines.is_empty() {
        return panel::empty(pen, inside, &["the step is empty", "", "e  opens it in your editor"]);
    }
    let error = error_line(model);
    let gutter = gutter(source);
    let digits = gutter - 3;
    let width = usize::from(inside.width).saturating_sub(gutter);
    let mut y = 0;
    let mut at = source.window.top;
    let mut skip = source.window.skip;
    while y < inside.height && at < source.lines.len() {
        let line = source.lines.line(at);
        let current = at == source.window.cursor && model.focus == Pane::Source;
        let wrong = error.as_ref().filter(|(line, _)| *line == at);
        let found = found(pen, model, line);
        let text = line.len() - line.trim_start().len()..line.len();
        let below: Vec<Run> = wrong.map(|_| Run::new(text, pen.style(Role::ErrorLine))).into_iter().collect();
        let syntax = highlight::runs(source.tokens(at), pen.theme());
        let links = links(pen, model, at, line);
        let layers: [&[Run]; 4] = [&syntax, &links, &below, &found];
        let painted = Painted { line, layers: &layers, mark: pen.style(Role::Control), tab: Tab::SOURCE };
        let rows: Vec<Line<'static>> = if source.wrap {
            let rows = text::wrap_with(line, width, Tab::SOURCE);
            rows.take(WRAPPED).skip(skip).take(usize::from(inside.height - y)).map(|row| painted.row(&row)).collect()
        } else {
            vec![painted.window(source.window.left, width, None)]
        };
        let single = !source.wrap;
        for (nth, body) in rows.into_iter().enumerate() {
            let first = nth + skip == 0;
            let row = inside.row(y);
            pen.hit(row, Target::Line(Pane::Source, at));
            if current {
                pen.shade(row, pen.style(Role::Selected));
            }
            let number = if first { (at + 1).to_string() } else { pen.glyphs().wrapped.to_owned() };
            let role = if current { Role::LineNumberCurrent } else { Role::LineNumber };
            let (sign, mark) = match source.marks.get(&at).filter(|_| first) {
                Some(Mark::Added) => (pen.glyphs().changed, Role::Added),
                Some(Mark::Changed) => (pen.glyphs().changed, Role::Changed),
                Some(Mark::RemovedBefore) => (pen.glyphs().up, Role::Removed),
                None => (" ", Role::Gutter),
            };
            let mut drawn = Line::from(vec![
                pen.span(text::pad_start(&number, digits), role),
                pen.span(sign, mark),
                pen.span(pen.glyphs().frame.down, Role::Gutter),
                Span::raw(" "),
            ]);
            drawn.extend(body.spans);
            if let Some((_, message)) = wrong.filter(|_| first && single) {
                let room = usize::from(inside.width).saturating_sub(drawn.width() + 4);
                if room > 8 {
                    drawn.push_span(pen.span(format!("  {} ", pen.glyphs().left), Role::Error));
                    drawn.push_span(pen.cut(message, room, Role::Error));
                }
            }
            pen.line(row, &drawn);
            y += 1;
        }
        skip = 0;
        at += 1;
    }
}

/// Where the last execution failed in this text, or where it can't be read, from 0; and what went wrong.
fn error_line(model: &Model) -> Option<(usize, String)> {
    let row = model.chosen_row()?;
    if let Some(error) = &row.syntax_error {
        let (line, message) = error.split_once(':')?;
        return Some((line.trim().parse::<usize>().ok()?.saturating_sub(1), message.trim().to_owned()));
    }
    let execution = model.output.shown()?.execution.as_ref()?;
    let error = execution.error.as_ref().filter(|_| execution.version == row.version)?;
    let here = error.stack.iter().rev().find(|frame| frame.step.as_ref() == Some(&row.id)).map(|frame| frame.line);
    let line = here.or(error.line)?;
    Some((line.saturating_sub(1) as usize, format!("{}: {}", error.type_name, error.message)))
}

/// The names in a line that tie the step to others; the chosen one stands out.
fn links(pen: &Pen<'_>, model: &Model, at: usize, line: &str) -> Vec<Run> {
    let chosen = model.source.link.filter(|_| at == model.source.window.cursor && model.focus == Pane::Source);
    let ranges = model.names.links(line, model.source.tokens(at));
    let style = |nth: usize, name: &str| {
        let role = match model.names.find(name) {
            Some(found) if !found.from.is_empty() => Role::NameRead,
            _ => Role::NameWritten,
        };
        let style = Style { fg: None, ..pen.style(role) };
        if chosen == Some(nth) { style.patch(pen.style(Role::MatchCurrent)) } else { style }
    };
    ranges
        .into_iter()
        .enumerate()
        .map(|(nth, range)| Run::new(range.clone(), style(nth, line.get(range).unwrap_or_default())))
        .collect()
}

/// What is searched for in a line.
fn found(pen: &Pen<'_>, model: &Model, line: &str) -> Vec<Run> {
    let search = model.search.as_ref().filter(|search| search.pane == Pane::Source);
    let style = pen.style(Role::Match);
    search
        .map(|search| search.places(line).into_iter().map(|place| Run::new(place, style)).collect())
        .unwrap_or_default()
}
