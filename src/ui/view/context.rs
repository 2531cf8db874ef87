//! What an agent is shown for the chosen step.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{panel, text};
use crate::ui::app::context::Row;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;

/// Columns of the bar that shows a part's share.
const BAR: usize = 12;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let context = &model.context;
    let Some(view) = context.view.as_ref().filter(|_| context.step.as_ref() == model.chosen()) else {
        return panel::empty(pen, inside, if model.chosen().is_some() { &["asking…"] } else { &[] });
    };
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let saved = match view.flat_tokens {
        0 => String::new(),
        flat => format!("; all that came before would be {flat}"),
    };
    let head = format!("{} tokens{budget}{saved}", view.tokens);
    pen.put(inside.x + 1, inside.y, inside.width.saturating_sub(2), &head, Role::Strong);
    let body = Area { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    let most = view.parts.iter().map(|part| part.tokens).max().unwrap_or(1).max(1);
    let width = usize::from(inside.width);
    let window = &context.window;
    for y in 0..body.height {
        let at = window.top + usize::from(y);
        let Some(row) = context.rows.get(at).copied() else { break };
        let area = body.row(y);
        pen.hit(area, Target::Line(Pane::Context, at));
        if at == window.cursor {
            let focused = model.focus == Pane::Context;
            pen.shade(area, pen.style(if focused { Role::Selected } else { Role::SelectedUnfocused }));
        }
        let line = match row {
            Row::Part(part) => {
                let Some(shown) = context.part(part) else { continue };
                let fold = if context.is_open(part) { pen.glyphs().open } else { pen.glyphs().folded };
                let full = (shown.tokens * BAR).div_ceil(most).min(BAR);
                let note = if shown.shortened { "  shortened" } else { "" };
                Line::from(vec![
                    pen.span(format!(" {fold} "), Role::Dim),
                    pen.span(text::pad(&shown.title, width.saturating_sub(BAR + 24)), Role::Text),
                    pen.span(text::pad_start(&shown.tokens.to_string(), 7), Role::Number),
                    Span::raw(" "),
                    pen.span(pen.glyphs().full.repeat(full), Role::Chart),
                    pen.span(pen.glyphs().empty.repeat(BAR - full), Role::Dim),
                    pen.span(note, Role::Warning),
                ])
            }
            Row::Line(part, line) => Line::from(vec![
                Span::raw("     "),
                pen.cut(context.line(part, line), width.saturating_sub(6), Role::Dim),
            ]),
        };
        pen.line(area, &line);
    }
}
