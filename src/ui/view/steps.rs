//! The list of steps with the lanes beside it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{bars, graph, panel, text};
use crate::step::Status;
use crate::ui::app::run::{brief, short};
use crate::ui::app::steps::Row;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::layout::{Dirs, Lanes, NOBODY};
use crate::ui::theme::Role;
use crate::workbench::{Edge, StepRow};

/// More lanes than this are cut.
const LANES: usize = 12;

/// Draws the list.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    if let Some(boxes) = &model.boxes {
        return graph::draw(pen, model, boxes, inside);
    }
    let steps = &model.steps;
    if steps.rows.is_empty() {
        let lines: &[&str] = match (model.loaded, &steps.filter) {
            (false, _) => &["reading the run…"],
            (true, Some(_)) => &["no step answers to the filter", "esc lists all again"],
            (true, None) => &["this run has no steps yet", "", "o  makes one", "or let an agent write *.py files here"],
        };
        return panel::empty(pen, inside, lines);
    }
    let lanes = steps.lanes.as_deref();
    let most = (usize::from(inside.width) / 4).min(LANES);
    let columns = lanes.map_or(1, |lanes| usize::from(lanes.width)).clamp(1, most.max(1));
    let list = List { model, lanes, columns, cut: lanes.is_some_and(|lanes| usize::from(lanes.width) > columns) };
    let mut row = steps.row_at(steps.top);
    let mut y = 0;
    while y < inside.height {
        let Some(kind) = steps.rows.get(row) else { break };
        let line = steps.top + usize::from(y);
        if steps.line(row) > line {
            list.link(pen, row, inside.row(y));
            y += 1;
            if y == inside.height {
                break;
            }
        }
        list.row(pen, row, kind, inside.row(y));
        row += 1;
        y += 1;
    }
    let free = inside.height.saturating_sub(y + 1);
    if free >= 5 && model.size.0 >= 110 {
        neighbours(pen, model, Area { y: inside.y + y + 1, height: free, ..inside });
    }
}

struct List<'a> {
    model: &'a Model,
    lanes: Option<&'a Lanes>,
    columns: usize,
    cut: bool,
}

impl List<'_> {
    fn row(&self, pen: &mut Pen<'_>, at: usize, kind: &Row, row: Area) {
        let model = self.model;
        let snapshot = &model.run.snapshot;
        let cursor = at == model.steps.cursor;
        let focused = model.focus == Pane::Steps;
        pen.hit(row, Target::Row(at));
        if cursor {
            pen.shade(row, pen.style(if focused { Role::Selected } else { Role::SelectedUnfocused }));
        }
        let step = match kind {
            Row::Step(place) => snapshot.steps.get(*place as usize),
            _ => None,
        };
        let stops = step.is_some_and(|step| snapshot.breakpoints.contains(&step.id));
        let mut line = Line::from(if stops {
            pen.span(pen.glyphs().breakpoint, Role::Breakpoint)
        } else if step.is_some_and(|step| model.playhead.as_ref() == Some(&step.id)) {
            pen.span(pen.glyphs().pointer, Role::Strong)
        } else {
            Span::raw(" ")
        });
        let (sign, role) = match (kind, step) {
            (_, Some(step)) => bars::standing(pen, model, step.status),
            (Row::Frame { folded, .. }, _) => {
                (if *folded { pen.glyphs().folded } else { pen.glyphs().open }, Role::Frame)
            }
            _ => bars::standing(pen, model, Status::Fresh),
        };
        self.lanes_of(pen, at, sign, role, &mut line);
        let indent = "  ".repeat(model.steps.depth(kind, &model.run).min(8));
        line.push_span(Span::raw(format!(" {indent}")));
        let room = usize::from(row.width).saturating_sub(line.width() + 1);
        match (kind, step) {
            (_, Some(step)) => self.step(pen, at, step, room, &mut line),
            (Row::Frame { path, count, folded, first }, _) => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let worst = worst(snapshot.steps.iter().skip(*first as usize).take(*count as usize));
                let worst = worst.filter(|status| *folded && *status != Status::Fresh);
                let sign = worst.map_or("", |status| bars::standing(pen, model, status).0);
                let text = if *folded {
                    format!("{count} step{} {sign}", if *count == 1 { "" } else { "s" })
                } else {
                    String::new()
                };
                let text = text.trim_end().to_owned();
                let name = text::cut(&format!("{name}/"), room.saturating_sub(text::width(&text) + 1));
                let gap = room.saturating_sub(text::width(&name) + text::width(&text));
                line.push_span(pen.span(name, Role::Frame));
                line.push_span(Span::raw(" ".repeat(gap)));
                line.push_span(pen.span(text, worst.map_or(Role::Dim, |status| bars::standing(pen, model, status).1)));
            }
            (Row::Chain { count, first }, _) => {
                let last = snapshot.steps.get((first + count).saturating_sub(1) as usize);
                let first = snapshot.steps.get(*first as usize);
                let name = |step: Option<&std::sync::Arc<StepRow>>| step.map_or("", |s| short(&s.id)).to_owned();
                let what = if model.run.snapshot.checking { "steps" } else { "fresh" };
                let text = format!("{} {count} {what}  {}…{}", pen.glyphs().dot.repeat(3), name(first), name(last));
                line.push_span(pen.cut(&text, room, Role::Dim));
            }
            (Row::Step(_), None) => {}
        }
        pen.line(row, &line);
    }

    /// The name of a step, and at the right edge how it stands.
    fn step(&self, pen: &Pen<'_>, at: usize, step: &StepRow, room: usize, line: &mut Line<'static>) {
        let model = self.model;
        let name = if model.steps.filter.is_some() { step.id.as_str() } else { step.id.name() };
        let place = model.run.place(&step.id).unwrap_or(usize::MAX);
        let role = match () {
            () if at == model.steps.cursor => Role::Strong,
            () if model.kin.needs(place) => Role::Ancestor,
            () if model.kin.uses(place) => Role::Descendant,
            () => Role::Text,
        };
        let patches = model.run.patches_of(&step.id);
        let badge = if patches > 0 { format!(" {}{patches}", pen.glyphs().patch) } else { String::new() };
        let beyond = if step.unannounced.is_empty() { "" } else { " !" };
        let checking = model.run.snapshot.checking;
        let status = match brief(step, pen.glyphs().left) {
            status if checking && step.status != Status::Fresh => format!("was {status}"),
            status => status,
        };
        let badge_width = text::width(&badge) + beyond.len();
        let beside = room.saturating_sub(text::width(name) + badge_width + 2);
        // Where there is no room for all of it, the reason says more than the word that the sign stands for already.
        let status = match (step.status, status.split_once(' ')) {
            (Status::Stale | Status::Blocked, Some((_, why))) if !checking && text::width(&status) > beside => {
                why.to_owned()
            }
            // That it was never run, or how long it took, goes before the name does.
            (Status::Never | Status::Fresh, _) if !checking && text::width(&status) > beside => String::new(),
            _ => status,
        };
        let wide = text::width(&status);
        let name_room = match room.checked_sub(wide + 2) {
            Some(rest) if rest >= text::width(name) + badge_width => rest,
            // The name goes before what is said of it, but leaves the first words of a failure.
            _ => room.saturating_sub(wide.min(room / 3) + 2),
        };
        let shown = text::cut(name, name_room.saturating_sub(badge_width));
        let taken = text::width(&shown) + badge_width;
        self.name(pen, &shown, role, line);
        line.push_span(pen.span(badge, Role::Patch));
        line.push_span(pen.span(beyond, Role::Warning));
        let rest = room.saturating_sub(taken + 2);
        if rest >= 4 || wide <= rest {
            let status = text::cut(&status, rest);
            let gap = room.saturating_sub(taken + text::width(&status));
            line.push_span(Span::raw(" ".repeat(gap)));
            let quiet = checking || step.status == Status::Fresh;
            let role = if quiet { Role::Dim } else { step.status.into() };
            line.push_span(pen.span(status, role));
        }
    }

    /// A name, with what is searched for marked in it.
    fn name(&self, pen: &Pen<'_>, safe: &str, role: Role, line: &mut Line<'static>) {
        let mut from = 0;
        if let Some(search) = self.model.search.as_ref().filter(|search| search.pane == Pane::Steps) {
            for place in search.places(safe) {
                line.push_span(pen.span(safe.get(from..place.start).unwrap_or_default(), role));
                line.push_span(pen.span(safe.get(place.clone()).unwrap_or_default(), Role::Match));
                from = place.end;
            }
        }
        line.push_span(pen.span(safe.get(from..).unwrap_or_default(), role));
    }

    /// The lanes beside a row.
    fn lanes_of(&self, pen: &Pen<'_>, at: usize, sign: &str, role: Role, line: &mut Line<'static>) {
        let Some(row) = self.lanes.and_then(|lanes| lanes.rows.get(at)) else {
            line.push_span(pen.span(format!("{sign} "), role));
            return;
        };
        for column in 0..self.columns {
            if column == usize::from(row.column) {
                line.push_span(pen.span(sign, role));
                line.push_span(Span::raw(" "));
                continue;
            }
            let owner = row.passing.get(column).copied().unwrap_or(NOBODY);
            if owner == NOBODY {
                line.push_span(Span::raw("  "));
            } else {
                let lit = self.passes(owner, at, false);
                line.push_span(Span::styled(format!("{} ", joint(pen, Dirs::VERTICAL)), lane(pen, lit)));
            }
        }
        self.clip(pen, row.passing.len().max(usize::from(row.column) + 1), sign, role, usize::from(row.column), line);
    }

    /// Where lanes were cut: a sign for the rest, or the step's own where its lane is cut.
    fn clip(&self, pen: &Pen<'_>, len: usize, sign: &str, role: Role, column: usize, line: &mut Line<'static>) {
        if self.cut {
            if column >= self.columns {
                line.push_span(pen.span(sign.to_owned(), role));
            } else {
                let more = if len > self.columns { pen.glyphs().more_right } else { " " };
                line.push_span(pen.span(more, Role::Lane));
            }
        }
    }

    /// The line above a row that joins it to what it needs.
    fn link(&self, pen: &mut Pen<'_>, at: usize, area: Area) {
        let Some(row) = self.lanes.and_then(|lanes| lanes.rows.get(at)) else { return };
        let Some(link) = &row.link else { return };
        let cursor = self.model.steps.cursor;
        // An edge from the chosen step into this one goes along the link from its lane to this row's.
        let from = self.needs(at).iter().any(|&from| from as usize == cursor).then(|| {
            let lane = link.iter().position(|cell| cell.owner as usize == cursor).unwrap_or(usize::from(row.column));
            let own = usize::from(row.column);
            lane.min(own)..=lane.max(own)
        });
        let mut line = Line::from(Span::raw(" "));
        for (column, cell) in link.iter().take(self.columns).enumerate() {
            let across = cell.dirs.0 & Dirs::HORIZONTAL.0 != 0;
            let lit = if across && at == cursor {
                // Of the chosen step's own link, all that leads to it.
                self.reaches(link, row.column, column)
            } else if across && from.as_ref().is_some_and(|span| span.contains(&column)) {
                true
            } else {
                cell.owner != NOBODY && self.passes(cell.owner, at, true)
            };
            let after = match link.get(column + 1) {
                Some(next) if cell.dirs.has(Dirs::RIGHT) && next.dirs.has(Dirs::LEFT) => joint(pen, Dirs::HORIZONTAL),
                _ => " ",
            };
            line.push_span(Span::styled(format!("{}{after}", joint(pen, cell.dirs)), lane(pen, lit)));
        }
        if self.cut && link.len() > self.columns {
            line.push_span(pen.span(pen.glyphs().more_right, Role::Lane));
        }
        pen.line(area, &line);
    }

    /// Whether a cell of a link lies between the row's lane and the farthest lane that it joins on that side.
    fn reaches(&self, link: &[crate::ui::layout::Link], own: u16, column: usize) -> bool {
        let own = usize::from(own);
        let (from, to) = (own.min(column), own.max(column));
        link.get(from..to).is_some_and(|part| part.iter().all(|cell| cell.dirs.has(Dirs::RIGHT)))
    }

    fn needs(&self, at: usize) -> &[u32] {
        self.lanes.and_then(|lanes| lanes.needs.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Whether a lane that passes row `at` carries an edge of the chosen step; `above` asks about the line above.
    fn passes(&self, owner: u32, at: usize, above: bool) -> bool {
        let cursor = self.model.steps.cursor;
        let before = if above { at <= cursor } else { at < cursor };
        owner as usize == cursor || (before && self.needs(cursor).contains(&owner))
    }
}

pub(super) fn lane(pen: &Pen<'_>, lit: bool) -> Style {
    pen.style(if lit { Role::LaneLit } else { Role::Lane })
}

/// The character for lines in these directions.
pub(super) fn joint(pen: &Pen<'_>, dirs: Dirs) -> &'static str {
    const LINES: [&str; 16] = [" ", "╵", "╷", "│", "╴", "╯", "╮", "┤", "╶", "╰", "╭", "├", "─", "┴", "┬", "┼"];
    const PLAIN: [&str; 16] = [" ", "|", "|", "|", "-", "'", ".", "+", "-", "`", ",", "+", "-", "+", "+", "+"];
    let table = if pen.glyphs().is_ascii() { PLAIN } else { LINES };
    table.get(usize::from(dirs.0 & 15)).copied().unwrap_or(" ")
}

/// The status that most wants a person, of several steps.
fn worst<'a>(steps: impl Iterator<Item = &'a std::sync::Arc<StepRow>>) -> Option<Status> {
    let rank = |status: &Status| {
        [Status::Running, Status::Failed, Status::Blocked, Status::Stale, Status::Never, Status::Fresh]
            .iter()
            .position(|s| s == status)
    };
    steps.map(|step| step.status).min_by_key(rank)
}

/// Below a short list: what the chosen step needs, and what uses it.
fn neighbours(pen: &mut Pen<'_>, model: &Model, area: Area) {
    let Some(row) = model.chosen_row() else { return };
    let Some(at) = model.run.place(&row.id) else { return };
    let needs: Vec<&Edge> = model.run.needs(at).collect();
    let users: Vec<&Edge> = model.run.users(at).collect();
    let area = Area { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let room = usize::from(area.height);
    let half = (room / 2).saturating_sub(1);
    let up = needs.len().min(half.max(room.saturating_sub(users.len() + 3)));
    let mut y = 0;
    let mut section = |pen: &mut Pen<'_>, title: String, edges: &[&Edge], most: usize, up: bool| {
        pen.rule(area.row(y), &title, Role::Dim);
        y += 1;
        for edge in edges.iter().take(most) {
            let other = model.run.snapshot.steps.get(if up { edge.from } else { edge.to });
            let Some(other) = other else { continue };
            let (sign, role) = bars::standing(pen, model, other.status);
            let names: Vec<&str> = edge.names.iter().map(|name| &**name).collect();
            let width = usize::from(area.width).saturating_sub(2);
            let name = text::cut(other.id.as_str(), width * 3 / 5);
            let rest = width.saturating_sub(text::width(&name) + 3);
            let line = Line::from(vec![
                pen.span(format!("{sign} "), role),
                pen.span(format!("{name} "), if up { Role::Ancestor } else { Role::Descendant }),
                pen.span(format!("{} ", if up { pen.glyphs().right } else { pen.glyphs().left }), Role::Dim),
                pen.cut(&names.join(", "), rest, Role::Dim),
            ]);
            pen.line(area.row(y), &line);
            y += 1;
        }
        y += 1;
    };
    let name = short(&row.id);
    section(pen, format!("{name} needs ({})", needs.len()), &needs, up, true);
    let most = room.saturating_sub(up + 3);
    section(pen, format!("used by ({}), {} in all", users.len(), model.kin.below()), &users, most, false);
}
