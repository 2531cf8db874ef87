//! What the chosen step printed, showed and failed with.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::text::{self, Painted, Run, Tab};
use super::{ansi, panel};
use crate::step::Status;
use crate::ui::app::output::Kind;
use crate::ui::app::panes::WRAPPED;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let Some(document) = model.output.shown().filter(|document| !document.is_empty()) else {
        let row = model.chosen_row();
        let lines: &[&str] = match row.map(|row| row.status) {
            None => &[],
            Some(Status::Never) if row.is_some_and(|row| row.recorded) => {
                &["nothing was printed or shown when it was recorded", "", "x  runs it with what it needs"]
            }
            Some(Status::Never) => &["it has never been run", "", "x  runs it with what it needs"],
            Some(Status::Running) => &["it runs and has printed nothing yet"],
            Some(Status::Blocked) => &["it could not run: a step that it needs failed"],
            Some(_) => &["it printed nothing"],
        };
        return panel::empty(pen, inside, lines);
    };
    let window = &model.output.window;
    let inside = Area { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    let width = usize::from(inside.width);
    let mut y = 0;
    let mut at = window.top;
    let mut skip = window.skip;
    let mut look = document.look(at);
    while y < inside.height && at < document.len() {
        let (kind, raw) = document.line(at);
        let role = match kind {
            Kind::Stdout => Role::Text,
            Kind::Stderr => Role::Stderr,
            Kind::Heading => Role::Dim,
            Kind::Value => Role::Displayed,
            Kind::Error => Role::Error,
            Kind::Frame(Some(_)) => Role::Link,
            Kind::Frame(None) | Kind::Trace => Role::Dim,
            Kind::Remark => Role::Warning,
            Kind::Head => Role::Title,
            Kind::Rule => Role::Dim,
            Kind::Picture(..) | Kind::Why => Role::Text,
            Kind::Fact(None) => Role::Dim,
            Kind::Fact(Some(_)) => Role::Link,
            Kind::Proposal(_, true) => Role::Patch,
            Kind::Proposal(_, false) => Role::Warning,
            Kind::Pair(true) => Role::Title,
            Kind::Pair(false) => Role::Text,
            Kind::Change(true) => Role::Added,
            Kind::Change(false) => Role::Removed,
        };
        if let Kind::Picture(which, row) = kind {
            let area = inside.row(y);
            pen.hit(area, Target::Line(Pane::Output, at));
            if let Some(picture) = document.picture(which) {
                pen.line(area, &half_blocks(pen, &picture.row(row, width)));
            }
            y += 1;
            at += 1;
            skip = 0;
            continue;
        }
        if let Kind::Pair(is_head) = kind {
            let row = inside.row(y);
            pen.hit(row, Target::Line(Pane::Output, at));
            if at == window.cursor && model.focus == Pane::Output {
                pen.shade(Area { x: row.x - 1, width: row.width + 1, ..row }, pen.style(Role::Selected));
            }
            pen.line(row, &pair(pen, &raw, is_head, width));
            y += 1;
            at += 1;
            skip = 0;
            continue;
        }
        if kind == Kind::Heading {
            let row = inside.row(y);
            pen.hit(row, Target::Line(Pane::Output, at));
            pen.rule(row, &raw, role);
            y += 1;
            at += 1;
            skip = 0;
            continue;
        }
        let printed = if matches!(kind, Kind::Stdout | Kind::Stderr) {
            let (printed, next) = ansi::line(&raw, look);
            look = next;
            printed
        } else if kind == Kind::Rule {
            ansi::Printed { text: pen.glyphs().frame.across.repeat(raw.len()), looks: Vec::new() }
        } else {
            ansi::Printed { text: raw.into_owned(), looks: Vec::new() }
        };
        let base = [Run::new(0..printed.text.len(), pen.style(role))];
        let looks = printed.runs(pen.theme());
        let found = found(pen, model, &printed.text);
        let layers: [&[Run]; 3] = [&base, &looks, &found];
        let painted =
            Painted { line: &printed.text, layers: &layers, mark: pen.style(Role::Control), tab: Tab::TERMINAL };
        let rows: Vec<Line<'static>> = if model.output.cut {
            vec![painted.window(window.left, width, None)]
        } else {
            let rows = text::wrap_with(&printed.text, width, Tab::TERMINAL);
            rows.take(WRAPPED).skip(skip).take(usize::from(inside.height - y)).map(|row| painted.row(&row)).collect()
        };
        let current = at == window.cursor && model.focus == Pane::Output;
        for body in rows {
            let row = inside.row(y);
            pen.hit(row, Target::Line(Pane::Output, at));
            if current {
                let whole = Area { x: row.x - 1, width: row.width + 1, ..row };
                pen.shade(whole, pen.style(Role::Selected));
            }
            pen.line(row, &body);
            y += 1;
        }
        skip = 0;
        at += 1;
    }
}

/// Two sides, each in half of the width.
fn pair(pen: &Pen<'_>, sides: &str, is_head: bool, width: usize) -> Line<'static> {
    let (left, right) = sides.split_once('\t').unwrap_or((sides, ""));
    let half = width.saturating_sub(3) / 2;
    let (old, new) = if is_head { (Role::Title, Role::Title) } else { (Role::Removed, Role::Added) };
    let cell = |text: &str, role: Role| pen.span(text::pad(&text::cut(&shown(text), half), half), role);
    let between = pen.span(format!(" {} ", pen.glyphs().frame.down), Role::Border);
    Line::from(vec![cell(left, old), between, cell(right, new)])
}

/// A line of output without what a terminal would do with it.
fn shown(line: &str) -> String {
    ansi::line(line, ansi::Look::default()).0.text
}

/// A row of a picture: each column shows two dots, one above the other; in shades where there are no colours.
fn half_blocks(pen: &Pen<'_>, dots: &[([u8; 3], [u8; 3])]) -> Line<'static> {
    let depth = pen.theme().depth();
    let color = |[r, g, b]: [u8; 3]| depth.nearest(Color::Rgb(r, g, b));
    if color([255, 0, 0]) == Color::Reset || pen.glyphs().half.is_ascii() {
        let shades = pen.glyphs().shades;
        let dark = |[r, g, b]: [u8; 3]| 765 - (usize::from(r) + usize::from(g) + usize::from(b));
        let shade = |(upper, lower): &([u8; 3], [u8; 3])| {
            let at = (dark(*upper) + dark(*lower)) * (shades.len() - 1) / 1530;
            shades.get(at).copied().unwrap_or(" ")
        };
        return Line::from(dots.iter().map(shade).collect::<String>());
    }
    let half = pen.glyphs().half;
    let spans = dots.iter().map(|(upper, lower)| Span::styled(half, Style::new().fg(color(*upper)).bg(color(*lower))));
    Line::from(spans.collect::<Vec<_>>())
}

/// What is searched for in a line.
fn found(pen: &Pen<'_>, model: &Model, line: &str) -> Vec<Run> {
    let search = model.search.as_ref().filter(|search| search.pane == Pane::Output);
    let style = pen.style(Role::Match);
    search
        .map(|search| search.places(line).into_iter().map(|place| Run::new(place, style)).collect())
        .unwrap_or_default()
}
