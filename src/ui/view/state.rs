//! The variables right after the chosen step.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{panel, text};
use crate::step::Status;
use crate::ui::app::run::short;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let Some(variables) = &model.state.variables else {
        let lines: &[&str] = match model.chosen_row().map(|row| row.status) {
            None => &[],
            Some(Status::Never) => &["it has never been run: there is no state after it yet"],
            Some(Status::Running) => &["it is running"],
            Some(_) => &["asking…"],
        };
        return panel::empty(pen, inside, lines);
    };
    if variables.is_empty() {
        return panel::empty(pen, inside, &["no variables as of here"]);
    }
    let width = usize::from(inside.width);
    let longest = |of: &dyn Fn(&crate::step::Variable) -> usize, most: usize| {
        variables.iter().map(of).max().unwrap_or(0).clamp(4, most.max(4))
    };
    let name = longest(&|v| text::width(&v.name), width / 4);
    let kind = longest(&|v| text::width(&v.type_name), width / 6);
    let shape = longest(&|v| v.shape.as_ref().map_or(0, |shape| text::width(shape)), width / 6);
    let writer = 5;
    let value = width.saturating_sub(name + kind + shape + writer + 5);
    let here = model.state.at.as_ref();
    let row_of = |pen: &Pen<'_>, cells: [(&str, usize, Role); 5]| {
        let mut line = Line::from(Span::raw(" "));
        for (cell, width, role) in cells {
            line.push_span(pen.span(text::pad(cell, width), role));
            line.push_span(Span::raw(" "));
        }
        line
    };
    let head = row_of(
        pen,
        [
            ("name", name, Role::Dim),
            ("type", kind, Role::Dim),
            ("shape", shape, Role::Dim),
            ("value", value, Role::Dim),
            ("from", writer, Role::Dim),
        ],
    );
    pen.line(inside.row(0), &head);
    let body = Area { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    let window = &model.state.window;
    for y in 0..body.height {
        let at = window.top + usize::from(y);
        let Some(variable) = variables.get(at) else { break };
        let row = body.row(y);
        pen.hit(row, Target::Line(Pane::State, at));
        if at == window.cursor && model.focus == Pane::State {
            pen.shade(row, pen.style(Role::Selected));
        }
        let changed = variable.written_by.as_ref() == here;
        let repr = variable.repr.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let writer_name = variable.written_by.as_ref().map_or("", |step| short(step));
        let line = row_of(
            pen,
            [
                (&variable.name, name, if changed { Role::NameWritten } else { Role::Text }),
                (&variable.type_name, kind, Role::Type),
                (variable.shape.as_deref().unwrap_or_default(), shape, Role::Dim),
                (&repr, value, Role::Text),
                (writer_name, writer, if changed { Role::Changed } else { Role::Dim }),
            ],
        );
        pen.line(row, &line);
    }
}
