//! What happened to the chosen step, or to the whole run.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{panel, text};
use crate::step::{Millis, Outcome, Reason};
use crate::ui::app::history::Row;
use crate::ui::app::review::Tag;
use crate::ui::app::run::duration;
use crate::ui::app::{Area, Model, Pane, Target};
use crate::ui::theme::Role;
use crate::workbench::{Happening, PastView, StoryRow};

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let history = &model.history;
    if history.story.is_none() && history.past.is_none() {
        return panel::empty(pen, inside, if model.chosen().is_some() { &["asking…"] } else { &[] });
    }
    if history.rows.is_empty() {
        return panel::empty(pen, inside, &["nothing happened yet"]);
    }
    let window = &history.window;
    for y in 0..inside.height {
        let at = window.top + usize::from(y);
        let Some(row) = history.rows.get(at) else { break };
        let area = inside.row(y);
        pen.hit(area, Target::Line(Pane::History, at));
        if at == window.cursor {
            let focused = model.focus == Pane::History;
            pen.shade(area, pen.style(if focused { Role::Selected } else { Role::SelectedUnfocused }));
        }
        let line = match row {
            Row::Entry(at) => history.entry(*at).map(|entry| self::entry(pen, model, entry, usize::from(area.width))),
            Row::Moment | Row::Then(_) | Row::Later | Row::Values => {
                history.past.as_ref().and_then(|past| then(pen, past, row, usize::from(area.width)))
            }
            Row::Asking => Some(Line::from(pen.span("             asking…", Role::Dim))),
            Row::Diff(line) => {
                let (sign, role) = match line.tag {
                    Tag::Same => (" ", Role::Dim),
                    Tag::Removed => ("-", Role::Removed),
                    Tag::Added => ("+", Role::Added),
                };
                let room = usize::from(area.width).saturating_sub(13);
                Some(Line::from(vec![
                    Span::raw(" ".repeat(11)),
                    pen.span(format!("{sign} "), role),
                    pen.cut(line.content(), room, role),
                ]))
            }
        };
        pen.line(area, &line.unwrap_or_default());
    }
}

fn entry(pen: &Pen<'_>, model: &Model, entry: &StoryRow, width: usize) -> Line<'static> {
    let glyphs = pen.glyphs();
    let step = entry.step.as_ref().filter(|_| model.history.whole).map(|step| format!("{step}  ")).unwrap_or_default();
    let (sign, role, text) = match &entry.what {
        Happening::Version { number, author, model, patch, reason, deleted, replaced } => {
            let what = match (deleted, replaced) {
                (true, _) => "removed",
                (_, None) => "written",
                _ => "changed",
            };
            let by = model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
            let from = patch.map(|patch| format!(", patch {patch}")).unwrap_or_default();
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            (glyphs.changed, Role::Changed, format!("{number} {what} by {author}{by}{from}{why}"))
        }
        Happening::Renamed { from, to } => (glyphs.right, Role::Info, format!("{from} became {to}")),
        Happening::Executed { version, outcome, duration_us, why, error } => {
            // That it had never run till then is what a first run is.
            let told = why.iter().filter(|reason| !matches!(reason, Reason::NeverRun));
            let reasons: Vec<String> = told.take(2).map(ToString::to_string).collect();
            let because = if reasons.is_empty() { String::new() } else { format!("  {}", reasons.join("; ")) };
            let time = duration(*duration_us);
            match outcome {
                Outcome::Done => (glyphs.fresh, Role::Fresh, format!("{version} ran in {time}{because}")),
                Outcome::Failed => {
                    let error = error.as_deref().unwrap_or("it failed");
                    (glyphs.failed, Role::Failed, format!("{version} failed after {time}: {error}"))
                }
                Outcome::Interrupted => (glyphs.blocked, Role::Warning, format!("{version} was stopped after {time}")),
                Outcome::Recorded => (glyphs.fresh, Role::Kept, format!("{version} was recorded elsewhere")),
            }
        }
        Happening::Invalidated => (glyphs.stale, Role::Stale, "marked stale by hand".to_owned()),
        Happening::Patch { patch, title, state, comment } => {
            let what = match (state, comment) {
                (Some(state), Some(comment)) => format!("{}: {comment}", state.word()),
                (Some(state), None) => state.word().to_owned(),
                (None, Some(comment)) => format!("remark: {comment}"),
                (None, None) => String::new(),
            };
            (glyphs.patch, Role::Patch, format!("patch {patch} {what}  {title}"))
        }
        Happening::Note { text } => (glyphs.dot, Role::Dim, text.clone()),
    };
    Line::from(vec![
        pen.span(format!("{} ", text::pad_start(&ago(model.now, entry.at), 8)), Role::Dim),
        pen.span(format!("{sign} "), role),
        pen.cut(&step, width / 3, Role::Strong),
        pen.cut(&text, width.saturating_sub(11 + text::width(&step).min(width / 3)), Role::Text),
    ])
}

/// A row of the run as it was at a moment.
fn then(pen: &Pen<'_>, past: &PastView, row: &Row, width: usize) -> Option<Line<'static>> {
    let glyphs = pen.glyphs();
    let (sign, role, name, text) = match row {
        Row::Moment => {
            let steps = past.steps.len();
            (" ", Role::Dim, String::new(), format!("the run as it was right after {}: {steps} steps", past.moment))
        }
        Row::Then(at) => {
            let step = past.steps.get(*at)?;
            let ran = match &step.execution {
                None => "never run".to_owned(),
                Some((version, outcome)) => {
                    let word = match outcome {
                        Outcome::Done => "ran",
                        Outcome::Failed => "failed",
                        Outcome::Interrupted => "was stopped",
                        Outcome::Recorded => "recorded",
                    };
                    format!("{version} {word}")
                }
            };
            let mut text = format!("{}  {ran}", step.version);
            let renamed = (step.now != step.id).then(|| format!("{} now", step.now));
            let now = match step.present {
                None => Some("gone now".to_owned()),
                Some(now) if step.changed => Some(format!("{now} now")),
                Some(_) => None,
            };
            let output = step.output.then(|| "another output now".to_owned());
            for word in renamed.into_iter().chain(now).chain(output) {
                text.push_str(", ");
                text.push_str(&word);
            }
            let (sign, role) = if step.present.is_none() {
                (glyphs.blocked, Role::Warning)
            } else if step.changed {
                (glyphs.changed, Role::Changed)
            } else {
                (glyphs.fresh, Role::Fresh)
            };
            (sign, role, format!("{}  ", step.id), text)
        }
        Row::Later => {
            let names: Vec<String> = past.later.iter().map(ToString::to_string).collect();
            (" ", Role::Dim, String::new(), format!("not there yet: {}", names.join(", ")))
        }
        Row::Values => (" ", Role::Dim, String::new(), format!("held something else: {}", past.values.join(", "))),
        Row::Entry(_) | Row::Diff(_) | Row::Asking => return None,
    };
    Some(Line::from(vec![
        pen.span(format!("{sign} "), role),
        pen.cut(&name, width / 2, Role::Strong),
        pen.cut(&text, width.saturating_sub(2 + text::width(&name).min(width / 2)), Role::Text),
    ]))
}

/// How long ago, in a word.
pub fn ago(now: Millis, at: Millis) -> String {
    let seconds = now.saturating_sub(at).max(0) / 1000;
    match seconds {
        0..=4 => "now".to_owned(),
        5..=59 => format!("{seconds}s ago"),
        60..=3_599 => format!("{}m ago", seconds / 60),
        3_600..=86_399 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}
