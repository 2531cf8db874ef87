//! The frames of panels: titles, tabs, and where one is in the whole.

use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::{patch, text};
use crate::step::{Outcome, Status};
use crate::ui::app::boxes::Scope;
use crate::ui::app::screen::Panel;
use crate::ui::app::{Area, Class, Model, Pane, Screen, Target};
use crate::ui::theme::Role;

/// Draws the frame of a panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, panel: &Panel) {
    let focused = model.focus == panel.pane;
    let area = panel.area;
    pen.frame(area, focused, if focused { Role::BorderFocused } else { Role::Border });
    pen.hit(area, Target::Pane(panel.pane));
    let top = Area { x: area.x + 2, width: area.width.saturating_sub(4), ..area.row(0) };
    if panel.tabs.len() > 1 {
        tabs(pen, model, panel, top);
    } else {
        let title = title(pen, model, panel.pane, focused, usize::from(top.width));
        pen.line(top, &title);
    }
    let place = place(model, panel.pane);
    if !place.is_empty() {
        let foot = Area { x: area.x + 2, width: area.width.saturating_sub(4), ..area.row(area.height - 1) };
        let line =
            Line::from(vec![Span::raw(" "), pen.cut(&place, usize::from(foot.width) - 2, Role::Dim), Span::raw(" ")]);
        pen.line_right(foot, &line);
    }
}

fn tabs(pen: &mut Pen<'_>, model: &Model, panel: &Panel, top: Area) {
    let focused = model.focus == panel.pane;
    let long: usize = panel.tabs.iter().map(|tab| tab.title().len() + 3).sum::<usize>() + 2;
    let short = long > usize::from(top.width);
    let mut x = top.x;
    let end = top.x + top.width;
    for (at, tab) in panel.tabs.iter().enumerate() {
        let active = *tab == panel.pane;
        let name = if short && !active { tab.brief() } else { tab.title() };
        let name = if active { format!(" {} {name} ", tab.number()) } else { format!(" {name} ") };
        let role = match (active, focused) {
            (true, true) => Role::TitleFocused,
            (true, false) => Role::TabActive,
            _ => Role::Tab,
        };
        if at > 0 && x < end {
            x += pen.put(x, top.y, end - x, "|", Role::Border);
        }
        let width = pen.put(x, top.y, end.saturating_sub(x), &name, role);
        pen.hit(Area::new(x, top.y, width, 1), Target::Tab(*tab));
        x += width;
    }
    if x + 4 < end {
        let rest = about(model, panel.pane);
        if !rest.is_empty() {
            pen.put(x, top.y, end - x, &format!(" {rest} "), Role::Dim);
        }
    }
}

fn title(pen: &Pen<'_>, model: &Model, pane: Pane, focused: bool, width: usize) -> Line<'static> {
    let role = if focused { Role::TitleFocused } else { Role::Title };
    let head = format!(" {} {} ", pane.number(), pane.title());
    let left = width.saturating_sub(head.len());
    let mut line = Line::from(pen.span(head, role));
    let rest = about(model, pane);
    if !rest.is_empty() && left > 3 {
        line.push_span(Span::raw(" "));
        line.push_span(pen.cut(&rest, left - 2, Role::Dim));
        line.push_span(Span::raw(" "));
    }
    line
}

/// What a title says beyond the panel's name.
fn about(model: &Model, pane: Pane) -> String {
    match pane {
        Pane::Steps if model.boxes.is_some() => match model.boxes.as_ref().map(|boxes| boxes.scope) {
            Some(Scope::Near(1)) => "[within 1 edge]".to_owned(),
            Some(Scope::Near(hops)) => format!("[within {hops} edges]"),
            _ => "[not fresh]".to_owned(),
        },
        Pane::Steps => match &model.steps.filter {
            Some(filter) => format!("[only {}]", filter.text()),
            None if model.follow => "[following]".to_owned(),
            None => String::new(),
        },
        Pane::Source => match model.chosen_row() {
            Some(row) => {
                let agent = row.agent.as_ref().map(|agent| format!("  by {agent}")).unwrap_or_default();
                format!("{}  {}  {}{agent}", row.id, row.kind, row.version)
            }
            None => String::new(),
        },
        Pane::Output => match model.output.shown() {
            Some(document) if document.live && document.gone() > 0 => {
                format!("running; the first {} lines are not shown", document.gone())
            }
            Some(document) if document.live => "running".to_owned(),
            _ => String::new(),
        },
        Pane::State => match &model.state.at {
            Some(at) => match &model.state.other {
                Some((other, _)) => format!("after {at}, compared with {other}"),
                // The values are those of its last execution.
                None => match model.run.row(at).map(|row| row.status) {
                    Some(status @ (Status::Stale | Status::Failed | Status::Blocked)) => {
                        format!("after {at}, {status} now")
                    }
                    _ => format!("after {at}"),
                },
            },
            None => String::new(),
        },
        Pane::Patch => patch::about(model),
        Pane::History if model.history.whole => "of the run".to_owned(),
        Pane::History | Pane::Context => model.chosen().map(|step| format!("of {step}")).unwrap_or_default(),
    }
}

/// Where one is in the whole, for the foot of a panel.
fn place(model: &Model, pane: Pane) -> String {
    let of = |window: &crate::ui::app::Window, len: usize| match (len, window.left) {
        (0, _) => String::new(),
        (_, 0) => format!("{}/{len}", window.cursor + 1),
        // What is left of the window is out of sight: a line must not be taken for one that begins here.
        (_, left) => format!("from column {}  {}/{len}", left + 1, window.cursor + 1),
    };
    match pane {
        Pane::Steps => {
            let all = model.run.snapshot.steps.len();
            match model.chosen().and_then(|step| model.run.place(step)) {
                Some(at) => format!("{}/{all}", at + 1),
                None => format!("{all}"),
            }
        }
        Pane::Source => of(&model.source.window, model.source.lines.len()),
        Pane::Output => {
            let lines = of(&model.output.window, model.output.shown().map_or(0, |document| document.len()));
            [whose(model), &lines].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
        }
        Pane::State => of(&model.state.window, model.state.rows.len()),
        Pane::Patch => {
            let hunk = model.patches.progress().map(|(at, all)| format!("hunk {at}/{all}  ")).unwrap_or_default();
            format!("{hunk}{}", of(&model.patches.window, model.patches.rows.len()))
        }
        Pane::History => of(&model.history.window, model.history.rows.len()),
        Pane::Context => of(&model.context.window, model.context.rows.len()),
    }
}

/// Whose output is shown. It must never be in doubt, at no size of the screen: a recording's, or that of a run made here.
fn whose(model: &Model) -> &'static str {
    let execution = model.output.shown().and_then(|document| document.execution.as_ref());
    match execution {
        Some(execution) if execution.outcome == Outcome::Recorded => "RECORDED",
        Some(_) if model.chosen_row().is_some_and(|row| row.recording) => "RE-RUN",
        _ => "",
    }
}

/// Notes the borders that can be dragged.
pub fn borders(pen: &mut Pen<'_>, screen: &Screen) {
    if let ([list, other, ..], Class::Wide | Class::Normal) = (screen.panels.as_slice(), screen.class) {
        let edge = |area: Area, x: u16| Area::new(x, area.y, 1, area.height);
        pen.hit(edge(list.area, list.area.x + list.area.width - 1), Target::Divider);
        pen.hit(edge(list.area, other.area.x), Target::Divider);
    }
    if let [_, above, _] = screen.panels.as_slice() {
        let area = above.area;
        let ledge = Area { x: area.x + 1, width: area.width.saturating_sub(2), ..area.row(area.height - 1) };
        pen.hit(ledge, Target::Ledge);
    }
}

/// A remark in the middle of a panel that has nothing to show.
pub fn empty(pen: &mut Pen<'_>, inside: Area, lines: &[&str]) {
    for (at, line) in lines.iter().enumerate() {
        let at = u16::try_from(at + 1).unwrap_or(0);
        let row = inside.row(at);
        let safe = text::cut(line, usize::from(row.width.saturating_sub(2)));
        pen.line(Area { x: row.x + 1, ..row }, &Line::from(pen.span(safe, Role::Dim)));
    }
}
