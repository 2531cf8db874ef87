//! Some of the graph as boxes.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::steps::{joint, lane};
use super::{bars, panel, text};
use crate::ui::app::boxes::{Boxes, MOST, Scope};
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::layout::Dirs;
use crate::ui::theme::Role;

/// Draws the boxes, the chosen one as near the middle as the picture allows.
pub fn draw(pen: &mut Pen<'_>, model: &Model, boxes: &Boxes, inside: Area) {
    if boxes.places.is_empty() {
        let many = format!("{} steps are too many to draw as boxes: at most {MOST} are", boxes.wanted);
        let lines: &[&str] = match (boxes.scope, boxes.wanted) {
            (Scope::Unsettled, 0) => &["every step is fresh", "", "V  shows a neighbourhood"],
            (_, 0) => &["no step is chosen"],
            _ => &[&many, "", "-  shows fewer,  v  shows lanes"],
        };
        return panel::empty(pen, inside, lines);
    }
    let chosen = boxes.find(&model.run, model.chosen());
    let centre = chosen.and_then(|at| boxes.layers.nodes.get(at));
    let (x, y) = centre.map_or((0, 0), |node| (node.x + node.width / 2, node.y + boxes.rows / 2));
    let left = pan(x, boxes.layers.width, usize::from(inside.width));
    let top = pan(y, boxes.layers.height, usize::from(inside.height));
    let place = |x: usize, y: usize| -> Option<(u16, u16)> {
        let x = i64::try_from(x).ok()? - left;
        let y = i64::try_from(y).ok()? - top;
        let (x, y) = (u16::try_from(x).ok()?, u16::try_from(y).ok()?);
        (x < inside.width && y < inside.height).then_some((inside.x + x, inside.y + y))
    };
    for (&(y, x), cell) in &boxes.layers.cells {
        let Some((x, y)) = place(x, y) else { continue };
        let lit = cell
            .edges
            .iter()
            .any(|edge| boxes.edges.get(*edge).is_some_and(|(from, to)| Some(*from) == chosen || Some(*to) == chosen));
        let line = Line::from(Span::styled(joint(pen, cell.dirs), lane(pen, lit)));
        pen.line(Area::new(x, y, 1, 1), &line);
    }
    for node in &boxes.layers.nodes {
        let Some(at) = boxes.places.get(node.node) else { continue };
        let Some(row) = model.run.snapshot.steps.get(*at) else { continue };
        let current = Some(node.node) == chosen;
        let (sign, sign_role) = bars::standing(pen, model, row.status);
        let role = match () {
            () if current => Role::Strong,
            () if model.kin.needs(*at) => Role::Ancestor,
            () if model.kin.uses(*at) => Role::Descendant,
            () => Role::Text,
        };
        let frame = if boxes.rows > 1 { 4 } else { 2 };
        let name = text::pad(row.id.name(), node.width.saturating_sub(frame + 2));
        let border = if current { Role::BorderFocused } else { Role::Border };
        let glyphs = if current { pen.glyphs().frame_focused } else { pen.glyphs().frame };
        let (open, close) = if boxes.rows > 1 { (glyphs.down, glyphs.down) } else { ("[", "]") };
        let blank = if boxes.rows > 1 { " " } else { "" };
        let middle = Line::from(vec![
            pen.span(format!("{open}{blank}"), border),
            pen.span(sign, sign_role),
            pen.span(format!(" {name}{blank}"), role),
            pen.span(close, border),
        ]);
        let across = glyphs.across.repeat(node.width.saturating_sub(2));
        let rows = if boxes.rows > 1 {
            vec![
                Line::from(pen.span(format!("{}{across}{}", glyphs.top_left, glyphs.top_right), border)),
                middle,
                Line::from(pen.span(format!("{}{across}{}", glyphs.bottom_left, glyphs.bottom_right), border)),
            ]
        } else {
            vec![middle]
        };
        for (dy, line) in rows.iter().enumerate() {
            clipped(pen, inside, left, top, node.x, node.y + dy, line);
        }
        if boxes.rows > 1 {
            joints(pen, boxes, node, &place, border);
        }
        let first = place(node.x, node.y).or_else(|| place(node.x + node.width / 2, node.y));
        if let (Some((x, y)), Some(row)) = (first, model.steps.row_of(*at)) {
            let width = u16::try_from(node.width).unwrap_or(0);
            pen.hit(Area::new(x, y, width, u16::try_from(boxes.rows).unwrap_or(1)), Target::Row(row));
        }
        if current && model.focus == Pane::Steps && boxes.rows == 1 {
            for dx in 0..node.width {
                if let Some((x, y)) = place(node.x + dx, node.y) {
                    pen.shade(Area::new(x, y, 1, 1), pen.style(Role::Selected));
                }
            }
        }
    }
}

/// Where edges leave a box: its border opens to them.
fn joints(
    pen: &mut Pen<'_>,
    boxes: &Boxes,
    node: &crate::ui::layout::layers::Node,
    place: &dyn Fn(usize, usize) -> Option<(u16, u16)>,
    border: Role,
) {
    if pen.glyphs().is_ascii() {
        return;
    }
    let x = node.x + node.width / 2;
    let heavy = border == Role::BorderFocused;
    let above = node.y.checked_sub(1).and_then(|y| boxes.layers.cells.get(&(y, x)));
    if above.is_some_and(|cell| cell.dirs.has(Dirs::DOWN))
        && let Some((x, y)) = place(x, node.y)
    {
        let line = Line::from(pen.span(if heavy { "┷" } else { "┴" }, border));
        pen.line(Area::new(x, y, 1, 1), &line);
    }
    let below = boxes.layers.cells.get(&(node.y + boxes.rows, x));
    if below.is_some_and(|cell| cell.dirs.has(Dirs::UP))
        && let Some((x, y)) = place(x, node.y + boxes.rows - 1)
    {
        let line = Line::from(pen.span(if heavy { "┯" } else { "┬" }, border));
        pen.line(Area::new(x, y, 1, 1), &line);
    }
}

/// Draws a line of a box as far as it is seen.
fn clipped(pen: &mut Pen<'_>, inside: Area, left: i64, top: i64, x: usize, y: usize, line: &Line<'static>) {
    let at = |n: usize, from: i64| i64::try_from(n).unwrap_or(i64::MAX) - from;
    let Ok(row) = u16::try_from(at(y, top)) else { return };
    if row >= inside.height {
        return;
    }
    let mut column = at(x, left);
    for span in &line.spans {
        for c in span.content.chars() {
            let mut buffer = [0; 4];
            let sign: &str = c.encode_utf8(&mut buffer);
            let width = text::width(sign);
            if let Ok(x) = u16::try_from(column)
                && usize::from(x) + width <= usize::from(inside.width)
            {
                let cell = Area::new(inside.x + x, inside.y + row, 2, 1);
                pen.line(cell, &Line::from(Span::styled(sign.to_owned(), span.style)));
            }
            column += i64::try_from(width).unwrap_or(0);
        }
    }
}

/// From where a picture is seen, so that a point is in the middle; a picture that fits is in the middle itself.
fn pan(point: usize, whole: usize, window: usize) -> i64 {
    let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    if whole <= window {
        return -(signed(window - whole) / 2);
    }
    (signed(point) - signed(window / 2)).clamp(0, signed(whole - window))
}
