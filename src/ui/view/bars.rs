//! The lines at the top and at the foot.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::text;
use crate::step::Status;
use crate::ui::app::action::{Scope, TABLE};
use crate::ui::app::hunt::Matches;
use crate::ui::app::key::Sequence;
use crate::ui::app::keymap::Found;
use crate::ui::app::output::Kind;
use crate::ui::app::overlay::{Prompt, Purpose};
use crate::ui::app::run::{RunIndex, duration, shorts};
use crate::ui::app::search::Search;
use crate::ui::app::{Action, Area, Model, Overlay, Pane, Screen, Target};
use crate::ui::theme::Role;
use crate::workbench::{Level, WatchView};

/// The line at the top: which run, how its steps stand, what goes on.
pub fn header(pen: &mut Pen<'_>, model: &Model, screen: &Screen) {
    let row = screen.header;
    if row.height == 0 {
        return;
    }
    pen.shade(row, pen.style(Role::Bar));
    let right = activity(pen, model, usize::from(row.width) / 2);
    let right_width = right.width();
    pen.line_right(Area { width: row.width.saturating_sub(1), ..row }, &right);
    let room = usize::from(row.width).saturating_sub(right_width + 3);
    let mut line = Line::default();
    let mut add = |spans: Vec<Span<'static>>| {
        let width: usize = spans.iter().map(Span::width).sum();
        if line.width() + width <= room {
            spans.into_iter().for_each(|span| line.push_span(span));
        }
    };
    add(vec![pen.span(" reweave", Role::BarStrong)]);
    let dir = &model.run.snapshot.dir;
    let dir = match model.home.as_ref().and_then(|home| dir.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => dir.display().to_string(),
    };
    let short_dir = text::cut_start(&dir, (room / 3).max(8));
    add(vec![pen.span("  ", Role::Bar), pen.span(short_dir, Role::Bar)]);
    let steps = model.run.snapshot.steps.len();
    if usize::from(row.width) >= 70 {
        add(vec![pen.span(format!("  {steps} step{}", if steps == 1 { "" } else { "s" }), Role::Bar)]);
    }
    if model.run.snapshot.checking {
        add(vec![pen.span(format!("  {} checking them", pen.glyphs().undecided), Role::Running)]);
        pen.line(row, &line);
        return;
    }
    // With words where they fit, else with the signs alone, so that no count is lost.
    let counts = |words: bool| -> Vec<Span<'static>> {
        let mut parts = Vec::new();
        for status in RunIndex::COUNTED {
            let count = model.run.count(status);
            if count > 0 {
                let word = if words { format!(" {status}") } else { String::new() };
                let text = format!("  {} {count}{word}", pen.glyphs().status(status, 0));
                parts.push(pen.span(text, status.into()));
            }
        }
        let patches = model.run.open_patches();
        if patches > 0 {
            let word = match (words, patches) {
                (false, _) => "",
                (true, 1) => " patch",
                (true, _) => " patches",
            };
            parts.push(pen.span(format!("  {} {patches}{word}", pen.glyphs().patch), Role::Patch));
        }
        parts
    };
    let width = |parts: &[Span<'_>]| parts.iter().map(Span::width).sum::<usize>();
    let long = counts(true);
    let short = counts(false);
    let parts = if line.width() + width(&long) <= room { long } else { short };
    if line.width() + width(&parts) > room {
        // Better the counts than our own name, and as much of the directory's as there is room for.
        let left = room.saturating_sub(width(&parts) + 1);
        let dir = if left >= 8 { format!(" {}", text::cut_start(&dir, left)) } else { String::new() };
        line = Line::from(pen.span(dir, Role::BarStrong));
    }
    line.extend(parts);
    pen.line(row, &line);
}

/// What goes on: what runs and for how long, how the directory is watched, what is switched on.
fn activity(pen: &Pen<'_>, model: &Model, room: usize) -> Line<'static> {
    let snapshot = &model.run.snapshot;
    let mut parts: Vec<Span<'static>> = Vec::new();
    if let Some((step, since)) = &snapshot.running {
        let us = u64::try_from(model.now.saturating_sub(*since)).unwrap_or(0).saturating_mul(1000);
        let done = snapshot.progress.map(|(done, all)| format!("{done}/{all} ")).unwrap_or_default();
        let turn = spin(model);
        let text = format!("{} {done}{step} {}", pen.glyphs().status(Status::Running, turn), duration(us));
        parts.push(pen.cut(&text, room.max(12), Role::Running));
    } else if let Some((done, all)) = snapshot.progress {
        parts.push(pen.span(format!("{done}/{all}"), Role::Running));
    } else if model.closed {
        parts.push(pen.span("closed", Role::Warning));
    }
    if let Some(step) = &model.playhead {
        parts.push(pen.cut(&format!("{} after {step}", pen.glyphs().pointer), room.max(12), Role::BarStrong));
    }
    if let count @ 1.. = snapshot.problems.len() {
        parts.push(pen.span(format!("! {count} problem{}", if count == 1 { "" } else { "s" }), Role::Warning));
    }
    if !snapshot.engine.unguarded.is_empty() {
        parts.push(pen.span("unguarded", Role::Warning));
    }
    if snapshot.replay_on_save {
        parts.push(pen.span("on save", Role::BarStrong));
    }
    if !model.mouse {
        parts.push(pen.span("mouse off", Role::BarStrong));
    }
    parts.push(match &snapshot.watch {
        WatchView::Live => pen.span(format!("{} watching", pen.glyphs().watching), Role::Bar),
        WatchView::Polling(_) => pen.span(format!("{} polling", pen.glyphs().watching), Role::Warning),
        WatchView::Off => pen.span("not watched", Role::Dim),
    });
    let mut line = Line::default();
    for part in parts {
        if line.width() > 0 {
            line.push_span(Span::raw("  "));
        }
        line.push_span(part);
    }
    line
}

/// The sign of a status and the role of it. While the run is being read again nobody knows how a step stands: what was
/// known of it last is not told as if it were so now.
pub fn standing(pen: &Pen<'_>, model: &Model, status: Status) -> (&'static str, Role) {
    if model.run.snapshot.checking {
        return (pen.glyphs().undecided, Role::Dim);
    }
    (pen.glyphs().status(status, spin(model)), status.into())
}

/// Which picture of the running mark is shown now.
pub fn spin(model: &Model) -> usize {
    usize::try_from(model.now.div_euclid(crate::ui::app::model::SPIN)).unwrap_or(0)
}

/// The line for prompts and notices.
pub fn notice(pen: &mut Pen<'_>, model: &Model, row: Area) {
    let row = Area { x: row.x + 1, width: row.width.saturating_sub(2), ..row };
    if let Some(prompt) = prompt(model) {
        let (before, after) = prompt.field.halves();
        let width = usize::from(row.width);
        let label = text::cut(&prompt.label, width / 3);
        let room = width.saturating_sub(text::width(&label) + 3);
        let before = text::cut_start(before, room);
        let rest = room.saturating_sub(text::width(&before));
        let mut line = Line::from(vec![pen.span(format!("{label}: "), Role::Prompt), pen.span(before, Role::Text)]);
        line.push_span(pen.cut(after, rest, Role::Text));
        if let Some(problem) = &prompt.problem {
            let rest = width.saturating_sub(line.width() + 3);
            line.push_span(Span::raw("   "));
            line.push_span(pen.cut(problem, rest, Role::Warning));
        } else if let (Purpose::Search(..), Some(found)) = (&prompt.purpose, model.found) {
            let rest = width.saturating_sub(line.width() + 3);
            line.push_span(Span::raw("   "));
            line.push_span(pen.cut(&format!("line {} of {}", found.nth, found.of), rest, Role::Dim));
        }
        pen.line(row, &line);
        return;
    }
    if !model.typed.is_empty() {
        let typed: Vec<String> = model.typed.iter().map(ToString::to_string).collect();
        let next: Vec<String> = model
            .keys
            .continuations(model.focus, &model.typed)
            .into_iter()
            .filter_map(|(rest, action)| Some(format!("{rest} {}", action.entry()?.name)))
            .collect();
        let line = Line::from(vec![
            pen.span(format!("{} ", typed.join(" ")), Role::Key),
            pen.cut(&next.join("   "), usize::from(row.width), Role::Hint),
        ]);
        pen.line(row, &line);
        return;
    }
    if let Some(question) = model.question() {
        let key = model.keys.key(Action::Answer).unwrap_or_default();
        let text = format!("{} asks: {}", question.step, question.text.trim());
        let line = Line::from(vec![
            pen.span(format!("{key} "), Role::Key),
            pen.cut(&text, usize::from(row.width).saturating_sub(2), Role::Warning),
        ]);
        pen.line(row, &line);
        return;
    }
    if let Some(notice) = model.notices.current(model.now) {
        let (sign, role) = match notice.level {
            Level::Hint => (pen.glyphs().dot, Role::Text),
            Level::Info => (pen.glyphs().accepted, Role::Info),
            Level::Warning => ("!", Role::Warning),
            Level::Error => (pen.glyphs().failed, Role::Error),
        };
        let text = notice.text.replace('\n', " ");
        let line = Line::from(vec![
            pen.span(format!("{sign} "), role),
            pen.cut(&text, usize::from(row.width).saturating_sub(2), role),
        ]);
        pen.line(row, &line);
        return;
    }
    let quiet = quiet(model);
    pen.put(row.x, row.y, row.width, &quiet, Role::Dim);
}

/// What the line says when there is nothing to tell: about the chosen step.
fn quiet(model: &Model) -> String {
    if let Some(search) = &model.search {
        return about_search(model, search);
    }
    if model.focus == Pane::Source
        && let Some(name) = model.source.link.and_then(|_| model.name_under_cursor())
    {
        return about_name(model, &name);
    }
    if model.focus == Pane::Output
        && let Some(what) = what_opens(model)
    {
        return format!("{} {what}", model.keys.key(Action::Open).unwrap_or_default());
    }
    let Some(row) = model.chosen_row() else { return String::new() };
    let mut parts = Vec::new();
    if let Some(error) = &row.syntax_error {
        parts.push(format!("syntax error in line {error}"));
    }
    if row.status == Status::Failed
        && let Some(error) = &row.error
    {
        parts.push(error.clone());
    }
    if !row.reasons.is_empty() && row.status != Status::Never {
        let reasons: Vec<String> = row.reasons.iter().take(3).map(ToString::to_string).collect();
        parts.push(format!("{}: {}", row.status, reasons.join("; ")));
    }
    if let Some(root) = &row.caused_by {
        parts.push(format!("because {root} failed"));
    }
    if !row.unannounced.is_empty() {
        parts.push(format!("not announced by its header: {}", row.unannounced.join(", ")));
    }
    if row.status == Status::Never && !row.reaches.is_empty() {
        parts.push(format!("its text names {}", row.reaches.join("; ")));
    }
    if !row.nondeterministic.is_empty() {
        parts.push(format!("not the same every time: {}", row.nondeterministic.join(", ")));
    }
    if parts.is_empty()
        && let Some(summary) = &row.summary
    {
        parts.push(summary.clone());
    }
    parts.join("  ·  ")
}

/// What the key that opens does on the line of output under the cursor.
fn what_opens(model: &Model) -> Option<String> {
    let document = model.output.shown()?;
    let line = model.output.window.cursor;
    if document.proposal_at(line).is_some() {
        return Some("makes a patch of what is proposed".to_owned());
    }
    match document.line(line).0 {
        Kind::Frame(Some((step, line))) => Some(format!("goes to line {line} of {step}")),
        Kind::Fact(Some(step)) => Some(format!("goes to {step}")),
        _ => None,
    }
}

/// What is searched for, how often it is there, and how to go on.
fn about_search(model: &Model, search: &Search) -> String {
    let key = |action| model.keys.key(action).unwrap_or_default();
    let leave = format!("{} ends the search", key(Action::Cancel));
    let count = match model.found {
        Some(Matches { of: 0, .. }) => {
            return format!("{:?} is not in {}  ·  {leave}", search.text, search.pane.title());
        }
        Some(Matches { nth, of }) => format!("line {nth} of {of} with "),
        None => "search: ".to_owned(),
    };
    let (next, before) = (key(Action::NextMatch), key(Action::PrevMatch));
    format!("{count}{:?}  ·  {next} next  {before} before  {leave}", search.text)
}

/// Where a name comes from and who uses it.
fn about_name(model: &Model, name: &str) -> String {
    let list = |places: &[usize]| {
        let rows = places.iter().filter_map(|at| model.run.snapshot.steps.get(*at));
        shorts(&rows.map(|row| row.id.clone()).collect::<Vec<_>>()).join(" ")
    };
    let Some(found) = model.names.find(name) else { return String::new() };
    let mut parts = Vec::new();
    if !found.from.is_empty() {
        parts.push(format!("from {}", list(&found.from)));
    }
    if !found.to.is_empty() {
        parts.push(format!("used by {}", list(&found.to)));
    }
    format!("{name}: {}", parts.join(", "))
}

fn prompt(model: &Model) -> Option<&Prompt> {
    match model.overlays.last() {
        Some(Overlay::Prompt(prompt)) => Some(prompt),
        _ => None,
    }
}

/// Where the terminal's cursor stands while a line is typed.
pub fn cursor(model: &Model) -> Option<(u16, u16)> {
    let prompt = prompt(model)?;
    let row = model.screen().notice;
    let width = usize::from(row.width.saturating_sub(2));
    let label = text::width(&text::cut(&prompt.label, width / 3)) + 2;
    let before = text::width(prompt.field.halves().0).min(width.saturating_sub(label + 1));
    (row.height > 0).then(|| (row.x + 1 + u16::try_from(label + before).unwrap_or(0), row.y))
}

/// The line of hints: what matters most here and now, as far as it fits; the key to all keys always does.
pub fn hints(pen: &mut Pen<'_>, model: &Model, row: Area) {
    // What is open has its own keys, and tells them.
    if matches!(model.overlays.last(), Some(Overlay::Confirm(_) | Overlay::Leave(_))) {
        return;
    }
    let mut hinted: Vec<_> = TABLE
        .iter()
        .filter(|entry| entry.scope == Scope::Anywhere || entry.scope == Scope::In(model.focus))
        // A key that the panel has for itself is not hinted for what it means elsewhere.
        .filter(|entry| {
            let typed = model.keys.key(entry.action).and_then(|keys| keys.parse::<Sequence>().ok());
            typed.is_some_and(|typed| model.keys.find(model.focus, &typed.0) == Found::Action(entry.action))
        })
        .filter(|entry| entry.action.possible(model).is_ok() && entry.action.concerns(model))
        .filter_map(|entry| Some((entry.hint?, entry.action, model.keys.key(entry.action)?)))
        .collect();
    let own = |action: &Action| action.entry().is_some_and(|entry| entry.scope != Scope::Anywhere);
    hinted.sort_by_key(|((_, rank), action, _)| (*action != Action::Stop && !own(action), *rank));
    let width = |word: &str, key: &str| word.len() + text::width(key) + 3;
    let mut room = usize::from(row.width).saturating_sub(1);
    // From the most important on, what still fits; help first of all.
    let help = hinted.iter().find(|(_, action, _)| *action == Action::Help);
    room = room.saturating_sub(help.map_or(0, |((word, _), _, key)| width(word, key)));
    let mut shown = Vec::new();
    for ((word, _), action, key) in &hinted {
        let fits = width(word, key) <= room;
        if *action == Action::Help {
            shown.push((*word, *action, key));
        } else if fits {
            room -= width(word, key);
            shown.push((*word, *action, key));
        }
    }
    let mut x = row.x + 1;
    let end = row.x + row.width;
    for (word, action, key) in shown {
        let start = x;
        x += pen.put(x, row.y, end.saturating_sub(x), key, Role::Key);
        x += 1;
        x += pen.put(x, row.y, end.saturating_sub(x), word, Role::Hint);
        pen.hit(Area::new(start, row.y, x - start, 1), Target::Hint(action));
        x += 2;
    }
}
