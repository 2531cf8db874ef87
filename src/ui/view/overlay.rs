//! What lies over the panels.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::text;
use crate::step;
use crate::ui::app::action::Scope;
use crate::ui::app::overlay::{Choice, HelpRow, Plan, Question};
use crate::ui::app::run::duration;
use crate::ui::app::{Action, Area, Model, Overlay, Target};
use crate::ui::theme::Role;
use crate::workbench::{Level, PlanAction};

/// Draws what is open, the uppermost last.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    for overlay in &model.overlays {
        match overlay {
            Overlay::Help(choice) => help(pen, model, choice),
            Overlay::Palette(choice) => palette(pen, model, choice),
            Overlay::Jump(title, choice, _) => {
                list(pen, model, title, choice, |pen, _, safe, letters, line| {
                    lettered(pen, safe, letters, Role::Text, line);
                });
            }
            Overlay::Confirm(question) => confirm(pen, model, question),
            Overlay::Leave(question) => leave(pen, model, question),
            Overlay::Messages(from) => messages(pen, model, *from),
            Overlay::Plan(plan) => draw_plan(pen, model, plan),
            Overlay::Prompt(_) => {}
        }
    }
}

/// Opens a box in the middle of the screen and gives what is inside.
fn open(pen: &mut Pen<'_>, model: &Model, title: &str, width: u16, height: u16) -> Area {
    let (all_width, all_height) = model.size;
    let width = width.min(all_width.saturating_sub(4)).max(20.min(all_width));
    let height = height.min(all_height.saturating_sub(2)).max(3);
    let area = Area::new((all_width - width) / 2, (all_height.saturating_sub(height)) / 3, width, height);
    pen.clear(area, Role::Popup);
    pen.frame(area, true, Role::BorderPopup);
    let top = Area { x: area.x + 2, width: area.width.saturating_sub(4), ..area.row(0) };
    pen.put(top.x, top.y, top.width, &format!(" {title} "), Role::TitleFocused);
    area.inner()
}

/// A row whose letters that answer to what is typed are marked.
fn lettered(pen: &Pen<'_>, hostile: &str, letters: &[u32], role: Role, line: &mut Line<'static>) {
    for (at, c) in hostile.chars().enumerate() {
        let found = u32::try_from(at).is_ok_and(|at| letters.binary_search(&at).is_ok());
        let mut buffer = [0; 4];
        let safe = text::safe_line(c.encode_utf8(&mut buffer)).into_owned();
        line.push_span(pen.span(safe, if found { Role::Match } else { role }));
    }
}

/// A list to choose from under a line that is typed.
fn list<T>(
    pen: &mut Pen<'_>,
    model: &Model,
    title: &str,
    choice: &Choice<T>,
    row: impl Fn(&Pen<'_>, &T, &str, &[u32], &mut Line<'static>),
) {
    let inside = open(pen, model, title, 76, model.size.1 * 2 / 3);
    typed(pen, choice, inside.row(0));
    let body = Area { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
    let height = usize::from(body.height);
    let top = choice.cursor.saturating_sub(height.saturating_sub(1));
    for y in 0..body.height {
        let at = top + usize::from(y);
        let Some((item, label, letters)) = choice.row(at) else { break };
        let area = body.row(y);
        pen.hit(area, Target::Choice(at));
        if at == choice.cursor {
            pen.shade(area, pen.style(Role::Selected));
        }
        let mut line = Line::from(Span::raw(" "));
        row(pen, item, label, letters, &mut line);
        pen.line(area, &line);
    }
    if choice.found.is_empty() {
        pen.put(body.x + 1, body.y, body.width, "nothing answers to that", Role::Dim);
    }
}

fn typed<T>(pen: &mut Pen<'_>, choice: &Choice<T>, row: Area) {
    let (before, after) = choice.field.halves();
    let width = usize::from(row.width);
    let count = format!("{} ", choice.found.len());
    let mut line = Line::from(vec![
        pen.span(format!(" {} ", pen.glyphs().pointer), Role::Prompt),
        pen.span(text::cut_start(before, width / 2), Role::Text),
    ]);
    let next = after.chars().next().unwrap_or(' ').to_string();
    line.push_span(pen.cut(&next, 2, Role::Cursor));
    line.push_span(pen.cut(after.get(next.len()..).unwrap_or_default(), width / 4, Role::Text));
    pen.line(row, &line);
    pen.line_right(row, &Line::from(pen.span(count, Role::Dim)));
}

fn palette(pen: &mut Pen<'_>, model: &Model, choice: &Choice<Action>) {
    list(pen, model, "Commands", choice, |pen, action, label, letters, line| {
        let possible = action.possible(model).is_ok();
        let keys = model.keys.keys(*action).join(" ");
        line.push_span(pen.span(text::pad(&keys, 11), Role::Key));
        lettered(pen, label, letters, if possible { Role::Text } else { Role::Dim }, line);
    });
}

fn help(pen: &mut Pen<'_>, model: &Model, choice: &Choice<HelpRow>) {
    list(pen, model, "Keys", choice, |pen, row, label, letters, line| match row {
        HelpRow::Heading(title) => line.push_span(pen.span(*title, Role::Title)),
        HelpRow::Action(action) if letters.is_empty() => {
            let keys = model.keys.keys(*action).join(" ");
            line.push_span(pen.span(format!(" {}", text::pad(&keys, 14)), Role::Key));
            let doc = action.entry().map_or("", |entry| entry.doc);
            let role = if action.possible(model).is_ok() { Role::Text } else { Role::Dim };
            line.push_span(pen.span(doc, role));
            if let Some(Scope::In(pane)) = action.entry().map(|entry| entry.scope) {
                line.push_span(pen.span(format!("  in {} {}", pane.number(), pane.title()), Role::Dim));
            }
        }
        HelpRow::Action(_) => lettered(pen, label, letters, Role::Text, line),
    });
}

fn confirm(pen: &mut Pen<'_>, model: &Model, question: &Question) {
    let choices = [(" y ", "yes   "), ("n esc ", "no")];
    ask(pen, model, "Sure?", &question.text, &question.details, &choices);
}

/// A running step asks for leave.
fn leave(pen: &mut Pen<'_>, model: &Model, question: &step::Question) {
    let details = ["It waits until you answer; other keys leave it waiting.".to_owned()];
    let choices = [(" y ", "yes   "), ("n ", "no   "), ("a ", "always   "), ("e ", "every step   "), ("esc ", "later")];
    ask(pen, model, question.step.as_str(), &question.text, &details, &choices);
}

fn ask(pen: &mut Pen<'_>, model: &Model, title: &str, question: &str, details: &[String], choices: &[(&str, &str)]) {
    let width = 60.min(model.size.0.saturating_sub(6));
    let room = usize::from(width.saturating_sub(4));
    let mut lines: Vec<(String, Role)> = vec![(String::new(), Role::Text)];
    let wrapped = |text: &str| text::wrap(text, room).map(|row| row.text).collect::<Vec<_>>();
    lines.extend(wrapped(question).into_iter().map(|line| (line, Role::Strong)));
    lines.push((String::new(), Role::Text));
    for detail in details {
        lines.extend(wrapped(detail).into_iter().map(|line| (line, Role::Text)));
    }
    lines.push((String::new(), Role::Text));
    let height = u16::try_from(lines.len() + 3).unwrap_or(u16::MAX);
    let inside = open(pen, model, title, width, height);
    for (at, (line, role)) in lines.iter().enumerate() {
        let row = inside.row(u16::try_from(at).unwrap_or(u16::MAX));
        pen.put(row.x + 1, row.y, row.width.saturating_sub(2) * row.height, line, *role);
    }
    let foot = inside.row(inside.height.saturating_sub(1));
    let mut line = Line::default();
    for (key, word) in choices {
        line.push_span(pen.span((*key).to_owned(), Role::Key));
        line.push_span(pen.span((*word).to_owned(), Role::Hint));
    }
    pen.line(foot, &line);
}

fn messages(pen: &mut Pen<'_>, model: &Model, from: usize) {
    let inside = open(pen, model, "Messages, newest first", 100, model.size.1 * 2 / 3);
    let all: Vec<_> = model.notices.all().collect();
    let top = from.min(all.len().saturating_sub(usize::from(inside.height)));
    let mut y = 0;
    for notice in all.into_iter().skip(top) {
        let role = match notice.level {
            Level::Hint | Level::Info => Role::Text,
            Level::Warning => Role::Warning,
            Level::Error => Role::Error,
        };
        let ago = u64::try_from(model.now.saturating_sub(notice.at)).unwrap_or(0) / 1000;
        let when = if ago == 0 { "now".to_owned() } else { duration(ago.saturating_mul(1_000_000)) };
        let room = usize::from(inside.width).saturating_sub(9);
        let rows = notice.text.lines().flat_map(|line| text::wrap(line, room)).take(20);
        for (nth, told) in rows.enumerate() {
            if y == inside.height {
                return;
            }
            let row = inside.row(y);
            let when = if nth == 0 { when.as_str() } else { "" };
            let line = Line::from(vec![
                pen.span(format!("{} ", text::pad_start(when, 7)), Role::Dim),
                pen.span(told.text, role),
            ]);
            pen.line(row, &line);
            y += 1;
        }
    }
    if y == 0 {
        pen.put(inside.x + 1, inside.y, inside.width, "nothing was told yet", Role::Dim);
    }
}

fn draw_plan(pen: &mut Pen<'_>, model: &Model, plan: &Plan) {
    let inside = open(pen, model, "What a run would do", 90, model.size.1 * 2 / 3);
    let Some(rows) = &plan.rows else {
        pen.put(inside.x + 1, inside.y, inside.width, "asking…", Role::Dim);
        return;
    };
    let runs = rows.iter().filter(|row| row.action == PlanAction::Run);
    let (count, time) =
        runs.fold((0usize, 0u64), |(n, us), row| (n + 1, us.saturating_add(row.estimate_us.unwrap_or(0))));
    let unsure = rows.iter().any(|row| row.action == PlanAction::Run && !row.certain);
    let most = if unsure { "at most " } else { "" };
    let head = format!("{most}{count} of {} steps run, about {}", rows.len(), duration(time));
    pen.put(inside.x + 1, inside.y, inside.width.saturating_sub(2), &head, Role::Strong);
    let body = Area { y: inside.y + 2, height: inside.height.saturating_sub(4), ..inside };
    let shown: Vec<_> = rows.iter().filter(|row| row.action != PlanAction::Keep).collect();
    let top = plan.top.min(shown.len().saturating_sub(usize::from(body.height)));
    for (y, row) in (0..body.height).zip(shown.iter().skip(top)) {
        let area = body.row(y);
        let role = match row.action {
            PlanAction::Run => Role::Stale,
            PlanAction::Carry | PlanAction::Keep => Role::Kept,
            PlanAction::Blocked => Role::Blocked,
        };
        let word = if row.certain { row.action.word().to_owned() } else { format!("{}?", row.action.word()) };
        let why: Vec<String> = row.why.iter().take(2).map(ToString::to_string).collect();
        let time = row.estimate_us.filter(|us| *us > 0).map(duration).unwrap_or_default();
        let width = usize::from(area.width);
        let line = Line::from(vec![
            pen.span(format!(" {}", text::pad(&word, 9)), role),
            pen.span(text::pad(row.id.as_str(), width / 3), Role::Text),
            Span::raw(" "),
            pen.span(text::pad_start(&time, 7), Role::Dim),
            Span::raw("  "),
            pen.cut(&why.join("; "), width.saturating_sub(width / 3 + 21), Role::Dim),
        ]);
        pen.line(area, &line);
    }
    if shown.is_empty() {
        pen.put(body.x + 1, body.y, body.width, "everything is up to date", Role::Text);
    }
    let line = Line::from(vec![
        pen.span(" enter ", Role::Key),
        pen.span("run it   ", Role::Hint),
        pen.span("esc ", Role::Key),
        pen.span("leave it", Role::Hint),
    ]);
    pen.line(inside.row(inside.height.saturating_sub(1)), &line);
}
