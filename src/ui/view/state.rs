//! The variables right after the chosen step.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{panel, text};
use crate::step::{Status, Variable};
use crate::ui::app::run::{short, short_from};
use crate::ui::app::state::{Change, Row, State, TableLine, Way, is_definition};
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;
use crate::workbench::Table;

/// Columns of "from".
const WRITER: usize = 5;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let state = &model.state;
    if state.variables.is_none() {
        let lines: &[&str] = match model.chosen_row().map(|row| row.status) {
            None => &[],
            Some(Status::Never) => &["it has never been run: there is no state after it yet"],
            Some(Status::Running) => &["it is running"],
            Some(_) => &["asking…"],
        };
        return panel::empty(pen, inside, lines);
    }
    if state.rows.is_empty() {
        return panel::empty(pen, inside, &["no variables as of here"]);
    }
    let widths = Widths::of(state, usize::from(inside.width));
    let head = widths.line(
        pen,
        " ",
        [("name", Role::Dim), ("type", Role::Dim), ("shape", Role::Dim), ("value", Role::Dim), ("from", Role::Dim)],
    );
    pen.line(inside.row(0), &head);
    let body = Area { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    let window = &state.window;
    for y in 0..body.height {
        let at = window.top + usize::from(y);
        let Some(kind) = state.rows.get(at) else { break };
        let row = body.row(y);
        pen.hit(row, Target::Line(Pane::State, at));
        if at == window.cursor {
            let focused = model.focus == Pane::State;
            pen.shade(row, pen.style(if focused { Role::Selected } else { Role::SelectedUnfocused }));
        }
        let line = line(pen, model, &widths, kind, usize::from(row.width));
        pen.line(row, &line);
    }
}

/// How wide each column is.
struct Widths {
    name: usize,
    kind: usize,
    shape: usize,
    value: usize,
}

impl Widths {
    fn of(state: &State, width: usize) -> Self {
        let longest = |of: &dyn Fn(&Variable) -> usize, most: usize| {
            state.list().iter().filter(|v| !is_definition(v)).map(of).max().unwrap_or(0).clamp(5, most.max(5))
        };
        let part = |row: &Row| match row {
            Row::Part(way, at) => {
                let key = state.inside(way).and_then(|inside| inside.parts.get(*at)).map_or(0, |p| text::width(&p.key));
                key + 2 * way.1.len() + 2
            }
            _ => 0,
        };
        let parts = state.rows.iter().map(part).max().unwrap_or(0).min(width / 3);
        let name = longest(&|v| text::width(&v.name), width / 4).max(parts) + 2;
        let kind = longest(&|v| text::width(&v.type_name), width / 6);
        let shape = longest(&|v| v.shape.as_ref().map_or(0, |shape| text::width(shape)), width / 5);
        let value = width.saturating_sub(name + kind + shape + WRITER + 5);
        Self { name, kind, shape, value }
    }

    fn line(&self, pen: &Pen<'_>, sign: &str, cells: [(&str, Role); 5]) -> Line<'static> {
        let widths = [self.name, self.kind, self.shape, self.value, WRITER];
        let mut line = Line::from(pen.span(sign, Role::Changed));
        for ((cell, role), width) in cells.into_iter().zip(widths) {
            line.push_span(pen.span(text::pad(cell, width), role));
            line.push_span(Span::raw(" "));
        }
        line
    }
}

fn line(pen: &Pen<'_>, model: &Model, widths: &Widths, row: &Row, width: usize) -> Line<'static> {
    let state = &model.state;
    let fold = if !state.opens(row) {
        " "
    } else if state.is_open(row) {
        pen.glyphs().open
    } else {
        pen.glyphs().folded
    };
    match row {
        Row::Variable(at) => match state.list().get(*at) {
            Some(variable) => {
                let (sign, role) = match state.change(variable) {
                    Some(Change::Added) => ("+", Role::Added),
                    Some(Change::Changed) => ("~", Role::Changed),
                    _ if model.run.snapshot.watched_names.iter().any(|name| **name == *variable.name) => {
                        (pen.glyphs().breakpoint, Role::Breakpoint)
                    }
                    _ => (" ", Role::Text),
                };
                self::variable(pen, model, widths, variable, fold, sign, role)
            }
            None => Line::default(),
        },
        Row::Gone(at) => match state.other.as_ref().and_then(|(_, list)| list.get(*at)) {
            Some(variable) => self::variable(pen, model, widths, variable, " ", "-", Role::Removed),
            None => Line::default(),
        },
        Row::Part(way, at) => {
            let Some(part) = state.inside(way).and_then(|inside| inside.parts.get(*at)) else {
                return Line::default();
            };
            let indent = "  ".repeat(way.1.len() + 1);
            let name = format!("{indent}{fold} {}", part.key);
            let shape = part.shape.as_deref().unwrap_or_default();
            let repr = one_line(&part.repr);
            let cells = [
                (&*name, Role::Variable),
                (&*part.type_name, Role::Type),
                (shape, Role::Dim),
                (&*repr, Role::Text),
                ("", Role::Dim),
            ];
            widths.line(pen, " ", cells)
        }
        Row::Table(way, line) => state.table(way).map(|t| table(pen, t, way, *line, width)).unwrap_or_default(),
        Row::Asking(depth) => Line::from(pen.span(format!(" {}  asking…", "  ".repeat(*depth)), Role::Dim)),
        Row::More(depth, count) => Line::from(pen.span(format!(" {}  {count} more", "  ".repeat(*depth)), Role::Dim)),
    }
}

fn variable(
    pen: &Pen<'_>,
    model: &Model,
    widths: &Widths,
    variable: &Variable,
    fold: &str,
    sign: &str,
    role: Role,
) -> Line<'static> {
    let here = variable.written_by.is_some() && variable.written_by.as_ref() == model.state.at.as_ref();
    let writer = variable.written_by.as_ref().map_or_else(String::new, |step| {
        model.state.at.as_ref().map_or_else(|| short(step).to_owned(), |at| short_from(step, at))
    });
    let name = format!("{fold} {}", variable.name);
    let quiet = is_definition(variable);
    let name_role = match () {
        () if role != Role::Text => role,
        () if quiet => Role::Dim,
        () if here => Role::NameWritten,
        () => Role::Text,
    };
    let mut repr = one_line(&variable.repr);
    if variable.truncated {
        repr.push_str(pen.glyphs().ellipsis);
    }
    if let Some((_, other)) = model.state.other.as_ref().filter(|_| sign == "~")
        && let Some(before) = other.iter().find(|v| v.name == variable.name)
    {
        repr = format!("{} {} {repr}", one_line(&before.repr), pen.glyphs().right);
    }
    let value_role = if quiet { Role::Dim } else { Role::Text };
    let cells = [
        (&*name, name_role),
        (&*variable.type_name, if quiet { Role::Dim } else { Role::Type }),
        (variable.shape.as_deref().unwrap_or_default(), Role::Dim),
        (&*repr, value_role),
        (&*writer, if here { Role::Changed } else { Role::Dim }),
    ];
    let mut line = widths.line(pen, "", cells);
    line.spans.insert(0, pen.span(sign.to_owned(), role));
    line
}

fn one_line(repr: &str) -> String {
    repr.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A line of a table: its columns stand under one another.
fn table(pen: &Pen<'_>, table: &Table, way: &Way, line: TableLine, width: usize) -> Line<'static> {
    let indent = " ".repeat(3 + 2 * way.1.len());
    let label = table.index.iter().map(|label| text::width(label)).max().unwrap_or(0).clamp(1, 12);
    let mut drawn = Line::from(Span::raw(indent));
    let (mark, role) = match line {
        TableLine::Head => ("", Role::Title),
        TableLine::Types => ("", Role::Type),
        TableLine::Bars => ("", Role::Chart),
        TableLine::Range => ("", Role::Dim),
        TableLine::Cells(at) => (table.index.get(at).map_or("", String::as_str), Role::Text),
    };
    drawn.push_span(pen.span(text::pad_start(mark, label), Role::Dim));
    let bars = pen.glyphs().bars;
    for column in &table.columns {
        let range = match (&column.least, &column.most) {
            (Some(least), Some(most)) => format!("{least}…{most}"),
            _ => String::new(),
        };
        let kind = match column.missing {
            0 => column.type_name.clone(),
            n => format!("{} {n} missing", column.type_name),
        };
        let wide = column.cells.iter().chain([&column.name, &kind, &range]).map(|cell| text::width(cell)).max();
        let wide = wide.unwrap_or(0).max(column.bars.len()).clamp(3, 24);
        let cell = match line {
            TableLine::Head => column.name.clone(),
            TableLine::Types => kind,
            TableLine::Range => range,
            TableLine::Bars => {
                let most = column.bars.iter().max().copied().unwrap_or(0).max(1);
                let bar = |&count: &u32| match count {
                    0 => " ",
                    _ => bars.get((count as usize * 8).div_ceil(most as usize).clamp(1, 8) - 1).copied().unwrap_or(" "),
                };
                column.bars.iter().map(bar).collect()
            }
            TableLine::Cells(at) => column.cells.get(at).map(|cell| one_line(cell)).unwrap_or_default(),
        };
        if drawn.width() + wide + 2 > width {
            drawn.push_span(pen.span(format!(" {}", pen.glyphs().more_right), Role::Dim));
            break;
        }
        drawn.push_span(Span::raw("  "));
        drawn.push_span(pen.span(text::pad_start(&cell, wide), role));
    }
    drawn
}
