//! A patch under review.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::pen::Pen;
use super::text::{self, Painted, Run, Tab};
use super::{bars, highlight, panel};
use crate::step::PatchState;
use crate::ui::app::panes::{WRAPPED, patch_gutter};
use crate::ui::app::patch::{Mode, Row, TrialLine};
use crate::ui::app::review::{self, Choice, File, Review, Tag, Tally, counts, tally};
use crate::ui::app::run::{duration, short, shorts};
use crate::ui::app::{Action, Area, Model, Pane, Target};
use crate::ui::theme::Role;
use crate::workbench::{Covering, Fault, TrialView};

/// From how many columns on a side of the split view has numbers.
const NUMBERED: usize = 30;

/// Draws the panel.
pub fn draw(pen: &mut Pen<'_>, model: &Model, inside: Area) {
    let patches = &model.patches;
    let Some(review) = &patches.review else {
        let lines: &[&str] = match (patches.chosen, model.run.snapshot.patches.is_empty()) {
            (Some(_), _) => &["reading the patch…"],
            (None, true) => &["no patch was proposed yet", "", "what is put into patches/ appears here"],
            (None, false) => &[],
        };
        return panel::empty(pen, inside, lines);
    };
    if review.files.is_empty() {
        let mut lines = vec!["it can't be read as a patch", ""];
        lines.extend(review.patch.problems.iter().map(String::as_str));
        lines.extend(["", "where its file lies it can be mended: it is read again then"]);
        return panel::empty(pen, inside, &lines);
    }
    let foot = crate::ui::app::panes::patch_foot(model, inside);
    let body = Area { height: inside.height - foot, ..inside };
    let mut y = 0;
    let mut at = patches.window.top;
    let mut skip = patches.window.skip;
    while y < body.height {
        let Some(row) = patches.rows.get(at) else { break };
        let rows = lines(pen, model, review, row, at, usize::from(body.width));
        for line in rows.into_iter().skip(skip).take(usize::from(body.height - y)) {
            let area = body.row(y);
            pen.hit(area, Target::Line(Pane::Patch, at));
            let ranged = patches.anchor.is_some_and(|anchor| {
                (anchor.min(patches.window.cursor)..=anchor.max(patches.window.cursor)).contains(&at)
            });
            if let Some(role) = ground(row, review) {
                pen.shade(area, pen.style(role).fg(ratatui::style::Color::Reset));
            }
            pen.line(area, &line);
            if at == patches.window.cursor || ranged {
                let focused = model.focus == Pane::Patch;
                let role = match (at == patches.window.cursor, focused) {
                    (false, _) => Role::Marked,
                    (true, true) => Role::Selected,
                    (true, false) => Role::SelectedUnfocused,
                };
                pen.shade(area, Style { fg: None, ..pen.style(role) });
            }
            y += 1;
        }
        skip = 0;
        at += 1;
    }
    if foot > 0 {
        footer(pen, model, review, Area { y: inside.y + body.height, height: foot, ..inside });
    }
}

/// The ground of a whole row.
fn ground(row: &Row, review: &Review) -> Option<Role> {
    let tag = match row {
        Row::Line(file, line) => review.files.get(*file)?.lines.get(*line)?.tag,
        _ => return None,
    };
    match tag {
        Tag::Same => None,
        Tag::Removed => Some(Role::Removed),
        Tag::Added => Some(Role::Added),
    }
}

/// A row as lines of the screen.
fn lines(pen: &Pen<'_>, model: &Model, review: &Review, row: &Row, at: usize, width: usize) -> Vec<Line<'static>> {
    let file = |at: &usize| review.files.get(*at);
    match row {
        Row::File(place) => file(place).map(|file| head(pen, file, width)).into_iter().collect(),
        Row::Hunk(place, hunk) => file(place).map(|file| hunk_head(pen, file, *hunk, width)).into_iter().collect(),
        Row::Line(place, line) => {
            let Some(line) = file(place).and_then(|file| file.lines.get(*line)) else { return Vec::new() };
            let columns = patch_gutter(width);
            let gutter = gutter(pen, line, review, columns);
            body(pen, model, line, width.saturating_sub(columns), at)
                .into_iter()
                .enumerate()
                .map(|(nth, body)| {
                    let mut drawn = if nth == 0 { gutter.clone() } else { continued(pen, columns) };
                    drawn.extend(body.spans);
                    drawn
                })
                .collect()
        }
        Row::Pair(place, old, new) => {
            let Some(file) = file(place) else { return Vec::new() };
            let half = width.saturating_sub(1) / 2;
            let side = |line: Option<usize>, before: bool| -> Line<'static> {
                let Some(line) = line.and_then(|line| file.lines.get(line)) else {
                    return Line::from(pen.span(" ".repeat(half), Role::Dim));
                };
                let role = role_of(line.tag);
                let number = if before { line.old } else { line.new };
                let number = number.map(|n| n.to_string()).unwrap_or_default();
                // Where there is little room the text goes before its number.
                let number = if half < NUMBERED { String::new() } else { text::pad_start(&number, 4) + " " };
                let mut drawn = Line::from(vec![mark(pen, line, review), pen.span(number, Role::LineNumber)]);
                let room = half.saturating_sub(drawn.width());
                drawn.extend(
                    painted(pen, line, &[], |p| vec![p.window(model.patches.window.left, room, None)])
                        .pop()
                        .unwrap_or_default()
                        .spans,
                );
                let left = half.saturating_sub(drawn.width());
                drawn.push_span(Span::raw(" ".repeat(left)));
                if line.tag != Tag::Same {
                    let ground = pen.style(role).bg;
                    for span in &mut drawn.spans {
                        span.style.bg = span.style.bg.or(ground);
                    }
                }
                drawn
            };
            let mut drawn = side(*old, true);
            drawn.push_span(pen.span(pen.glyphs().frame.down, Role::Border));
            drawn.extend(side(*new, false).spans);
            vec![drawn]
        }
        Row::Gap(_, count) => {
            let text = format!("{} {count} lines that stay", pen.glyphs().dot.repeat(3));
            vec![Line::from(pen.span(format!("{}{text}", " ".repeat(patch_gutter(width).min(width / 4))), Role::Dim))]
        }
        Row::Result(place, number, line) => {
            let Some(line) = file(place).and_then(|file| file.lines.get(*line)) else { return Vec::new() };
            let (sign, role) = match line.tag {
                Tag::Same => (" ", Role::Gutter),
                Tag::Added => (pen.glyphs().changed, Role::Added),
                Tag::Removed => (pen.glyphs().changed, Role::Undecided),
            };
            let mut drawn = Line::from(vec![
                pen.span(text::pad_start(&number.to_string(), 5), Role::LineNumber),
                pen.span(sign, role),
                Span::raw(" "),
            ]);
            let room = width.saturating_sub(7);
            let body = painted(pen, line, &[], |p| vec![p.window(model.patches.window.left, room, None)]);
            drawn.extend(body.into_iter().next().unwrap_or_default().spans);
            vec![drawn]
        }
        Row::Trial(line) => trial(pen, model, line, width).into_iter().collect(),
    }
}

fn role_of(tag: Tag) -> Role {
    match tag {
        Tag::Same => Role::Text,
        Tag::Removed => Role::Removed,
        Tag::Added => Role::Added,
    }
}

fn head(pen: &Pen<'_>, file: &File, width: usize) -> Line<'static> {
    let (added, removed) = counts(&file.lines);
    let what = match (&file.base, &file.result) {
        (None, _) => "  new file",
        (_, None) => "  file removed",
        _ => "",
    };
    Line::from(vec![
        pen.cut(&file.path, width.saturating_sub(24), Role::Strong),
        pen.span(what, Role::Warning),
        pen.span(format!("  +{added}"), Role::Added),
        pen.span(format!(" -{removed}"), Role::Removed),
    ])
}

fn hunk_head(pen: &Pen<'_>, file: &File, hunk: usize, width: usize) -> Line<'static> {
    let Some(hunk) = file.hunks.get(hunk) else { return Line::default() };
    let lines = file.lines.get(hunk.lines.clone()).unwrap_or_default();
    let span = |number: &dyn Fn(&review::Line) -> Option<u32>| {
        let mut numbers = lines.iter().filter_map(number);
        match (numbers.next(), numbers.next_back()) {
            (None, _) => "none".to_owned(),
            (Some(first), None) => first.to_string(),
            (Some(first), Some(last)) => format!("{first}-{last}"),
        }
    };
    let place = if hunk.place.is_empty() { String::new() } else { format!("{}  ", hunk.place) };
    let text = format!("@@ {place}lines {} {} {} @@", span(&|l| l.old), pen.glyphs().right, span(&|l| l.new));
    let (sign, role) = sign(pen, tally(lines));
    Line::from(vec![pen.span(format!(" {sign}  "), role), pen.cut(&text, width.saturating_sub(4), Role::Hunk)])
}

fn sign<'t>(pen: &Pen<'t>, tally: Tally) -> (&'t str, Role) {
    let glyphs = pen.glyphs();
    match tally {
        Tally::Undecided => (glyphs.undecided, Role::Undecided),
        Tally::Taken => (glyphs.accepted, Role::Accepted),
        Tally::Left => (glyphs.rejected, Role::Rejected),
        Tally::Partial => (glyphs.partial, Role::Partial),
    }
}

fn mark(pen: &Pen<'_>, line: &review::Line, review: &Review) -> Span<'static> {
    let text = match (line.tag, line.choice) {
        (Tag::Same, _) => return Span::raw("    "),
        (_, Choice::Taken) => "[x] ",
        (_, Choice::Left) => "[ ] ",
        (_, Choice::Undecided) if review.is_decided() => "[.] ",
        (_, Choice::Undecided) => "    ",
    };
    let role = match line.choice {
        Choice::Taken => Role::Accepted,
        Choice::Left => Role::Rejected,
        Choice::Undecided => Role::Undecided,
    };
    pen.span(text, role)
}

fn gutter(pen: &Pen<'_>, line: &review::Line, review: &Review, columns: usize) -> Line<'static> {
    let number = |number: Option<u32>| text::pad_start(&number.map(|n| n.to_string()).unwrap_or_default(), 4);
    let (sign, role) = match line.tag {
        Tag::Same => (" ", Role::Text),
        Tag::Removed => ("-", Role::Removed),
        Tag::Added => ("+", Role::Added),
    };
    let numbers = if columns < 15 { String::new() } else { format!("{}{} ", number(line.old), number(line.new)) };
    Line::from(vec![mark(pen, line, review), pen.span(numbers, Role::LineNumber), pen.span(sign, role), Span::raw(" ")])
}

fn continued(pen: &Pen<'_>, columns: usize) -> Line<'static> {
    Line::from(pen.span(format!("{}{} ", " ".repeat(columns.saturating_sub(2)), pen.glyphs().wrapped), Role::Dim))
}

/// A line's text in rows, with syntax under what changed under what is searched for.
fn body(pen: &Pen<'_>, model: &Model, line: &review::Line, width: usize, _row: usize) -> Vec<Line<'static>> {
    let found: Vec<Run> = match model.search.as_ref().filter(|search| search.pane == Pane::Patch) {
        Some(search) => {
            search.places(line.content()).into_iter().map(|at| Run::new(at, pen.style(Role::Match))).collect()
        }
        None => Vec::new(),
    };
    let cut = model.patches.cut;
    let mut rows = painted(pen, line, &found, |painted| {
        if cut {
            vec![painted.window(model.patches.window.left, width, None)]
        } else {
            text::wrap_with(painted.line, width, Tab::SOURCE).take(WRAPPED).map(|row| painted.row(&row)).collect()
        }
    });
    if let (Some(remark), Some(last)) = (line.remark(), rows.last_mut()) {
        last.push_span(pen.span(format!("  {} {remark}", pen.glyphs().left), Role::Warning));
    }
    rows
}

fn painted(
    pen: &Pen<'_>,
    line: &review::Line,
    found: &[Run],
    rows: impl Fn(&Painted<'_>) -> Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    let content = line.content();
    let mut highlighter = highlight::Highlighter::new(highlight::Language::Python, content);
    highlighter.show(0..1);
    let syntax = highlighter.line(0).map(|tokens| highlight::runs(tokens, pen.theme())).unwrap_or_default();
    let (base, word) = match line.tag {
        Tag::Same => (Role::Text, Role::Text),
        Tag::Removed => (Role::Removed, Role::RemovedWord),
        Tag::Added => (Role::Added, Role::AddedWord),
    };
    let base = [Run::new(0..content.len(), pen.style(base))];
    let words: Vec<Run> = line.words.iter().map(|range| Run::new(range.clone(), pen.style(word))).collect();
    // Where the theme tells lines apart by their ground, letters keep their own colours.
    let grounded = base.first().is_some_and(|run| run.style.bg.is_some());
    let layers: [&[Run]; 4] = if grounded { [&base, &syntax, &words, found] } else { [&syntax, &base, &words, found] };
    rows(&Painted { line: content, layers: &layers, mark: pen.style(Role::Control), tab: Tab::SOURCE })
}

/// What the choice would come to, whether it is safe, and the hunks.
fn footer(pen: &mut Pen<'_>, model: &Model, review: &Review, area: Area) {
    let width = usize::from(area.width);
    let patches = &model.patches;
    let mut rows = vec![consequence(pen, model, review, width)];
    rows.extend(checks(pen, model, review, width, usize::from(area.height / 2).clamp(1, 3)));
    if area.height > 3 {
        if !patches.covering().is_empty() {
            rows.push(Line::from(pen.cut(&covered(patches.covering()), width, Role::Text)));
        }
        let across = pen.glyphs().frame.across;
        let open = match (review.is_decided(), review.undecided()) {
            (true, open @ 1..) => format!(", {open} undecided lines stay out"),
            _ => String::new(),
        };
        let title = text::cut(&format!("{} hunks{open} ", across.repeat(2)), width);
        let rest = across.repeat(width.saturating_sub(text::width(&title)));
        rows.push(Line::from(pen.span(title + &rest, Role::Border)));
        let room = usize::from(area.height).saturating_sub(rows.len());
        let all: Vec<(usize, usize)> = review.hunks().collect();
        let current = patches.hunk();
        let at = all.iter().position(|hunk| Some(*hunk) == current).unwrap_or(0);
        let top = at.saturating_sub(room / 2).min(all.len().saturating_sub(room));
        for (nth, (file, hunk)) in all.iter().enumerate().skip(top).take(room) {
            let Some(lines) = review.hunk(*file, *hunk) else { continue };
            let (sign, role) = sign(pen, tally(lines));
            let word = match tally(lines) {
                Tally::Undecided => "undecided",
                Tally::Taken => "taken",
                Tally::Left => "left",
                Tally::Partial => "in part",
            };
            let (added, removed) = counts(lines);
            let file = review.files.get(*file);
            let place = file.and_then(|file| file.hunks.get(*hunk)).map_or("", |hunk| hunk.place.as_str());
            let place = if place.is_empty() { file.map_or("", |file| file.path.as_str()) } else { place };
            let pointer = if Some((*file_of(&all, nth), *hunk)) == current { pen.glyphs().pointer } else { " " };
            rows.push(Line::from(vec![
                pen.span(format!("{pointer} {:>2} ", nth + 1), Role::Dim),
                pen.span(format!("{sign} {} ", text::pad(word, 9)), role),
                pen.span(text::pad(place, width.saturating_sub(30).min(32)), Role::Text),
                pen.span(format!(" +{added}"), Role::Added),
                pen.span(format!(" -{removed}"), Role::Removed),
            ]));
        }
    }
    for (y, line) in (0..area.height).zip(rows) {
        pen.line(area.row(y), &line);
    }
}

fn file_of(all: &[(usize, usize)], at: usize) -> &usize {
    all.get(at).map_or(&0, |(file, _)| file)
}

fn consequence(pen: &Pen<'_>, model: &Model, review: &Review, width: usize) -> Line<'static> {
    let (taken, all) = review.taken();
    let state = model.run.snapshot.patches.iter().find(|row| row.id == review.patch.id).map(|row| row.state);
    if state == Some(PatchState::Malformed) {
        return Line::from(pen.cut("It can't be read as a patch.", width, Role::Strong));
    }
    if let Some(state) = state.filter(|state| !state.is_open()) {
        return Line::from(pen.span(format!("It is {}.", state.word()), Role::Strong));
    }
    if taken == 0 {
        let key = model.keys.key(Action::Reject).unwrap_or_default();
        return Line::from(pen.cut(&format!("Nothing of it is taken; {key} rejects it"), width, Role::Strong));
    }
    let head =
        if taken == all { "Accepting the whole ".to_owned() } else { format!("Accepting {taken} of {all} lines ") };
    let rest = match &model.patches.weight {
        Some(weight) if model.patches.weighing == 0 => match weight.stale.len() {
            0 => "makes no step stale".to_owned(),
            count => {
                let names = shorts(&weight.stale);
                let time = match weight.estimate_us {
                    0 => String::new(),
                    us => format!(", about {}", duration(us)),
                };
                let steps = if count == 1 { "step" } else { "steps" };
                format!("makes {count} {steps} stale{time}: {}", names.join(" "))
            }
        },
        _ => "is being weighed…".to_owned(),
    };
    Line::from(pen.cut(&format!("{head}{rest}"), width, Role::Strong))
}

/// Which tests read what the patch writes anew, and which read what is made of that.
fn covered(tests: &[Covering]) -> String {
    let told = |test: &Covering| match test.names.as_slice() {
        [] => short(&test.test).to_owned(),
        names => format!("{} ({})", short(&test.test), names.join(", ")),
    };
    let (direct, through): (Vec<&Covering>, Vec<&Covering>) = tests.iter().partition(|test| test.direct);
    let list = |tests: Vec<&Covering>| tests.into_iter().map(told).collect::<Vec<_>>().join(" ");
    match (direct.is_empty(), through.is_empty()) {
        (false, true) => format!("Covered by {}", list(direct)),
        (true, _) => format!("Covered, by what is made of it, in {}", list(through)),
        (false, false) => format!("Covered by {}; by what is made of it, in {}", list(direct), list(through)),
    }
}

/// Whether it is safe, in as many lines as there is room for.
fn checks(pen: &Pen<'_>, model: &Model, review: &Review, width: usize, rows: usize) -> Vec<Line<'static>> {
    let mut all: Vec<(bool, String)> = Vec::new();
    let state = review.patch.state;
    let placed = !matches!(state, PatchState::Conflict | PatchState::Ambiguous | PatchState::Malformed);
    let why = review.patch.problems.first().map_or(state.word(), String::as_str);
    let mut check = |good: bool, yes: &str, no: String| all.push((good, if good { yes.to_owned() } else { no }));
    check(placed, "applies", format!("does not apply: {}", text::cut(why, 60)));
    if let Some(weight) = model.patches.weight.as_ref().filter(|_| model.patches.weighing == 0) {
        let fault = weight.faults.first();
        let told = |fault: &Fault| format!("line {} is no Python: {}", fault.line, text::cut(&fault.what, 40));
        check(fault.is_none(), "parses", fault.map(told).unwrap_or_default());
        check(weight.moved.is_empty(), "base unchanged", "the file on disk is another than the base".to_owned());
        if let Some(weakened) = weight.weakened.first() {
            check(false, "", text::cut(weakened, 60));
        }
    }
    // What is wrong goes first, so that it is never cut off.
    all.sort_by_key(|(good, _)| *good);
    let mut parts: Vec<Vec<Span<'static>>> = Vec::new();
    for (good, text) in all {
        let (sign, role) =
            if good { (pen.glyphs().accepted, Role::Success) } else { (pen.glyphs().rejected, Role::Error) };
        let text = pen.span(text, if good { Role::Text } else { Role::Error });
        parts.push(vec![text, pen.span(format!(" {sign}"), role)]);
    }
    let mut last = |text: String, role| parts.push(vec![pen.span(text, role)]);
    if let Some(why) = model.patches.trial.as_ref().and_then(|trial| trial.refusal()) {
        last(text::cut(why, 60), Role::Error);
    } else if let Some(trial) = &model.patches.trial {
        let worse = trial.steps.iter().filter(|step| step.test && step.after == crate::step::Status::Failed).count();
        let tests = trial.steps.iter().filter(|step| step.test).count();
        if tests > 0 {
            let (text, role) = match worse {
                0 => (format!("{tests} tests pass"), Role::Success),
                _ => (format!("{worse} of {tests} tests fail"), Role::Error),
            };
            last(text, role);
        }
    } else if model.patches.trying {
        let turning = pen.glyphs().status(crate::step::Status::Running, bars::spin(model));
        last(format!("{turning} running on the side"), Role::Running);
    } else if let Some(key) = model.keys.key(Action::Try).filter(|_| review.patch.state.may_be_tried()) {
        last(format!("{key} tries it on the side"), Role::Dim);
    }
    let mut lines = vec![Line::default()];
    for part in parts {
        let more: usize = part.iter().map(Span::width).sum();
        let full = lines.last().is_some_and(|line| line.width() > 0 && line.width() + 3 + more > width);
        if full && lines.len() < rows {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            if line.width() > 0 {
                line.push_span(Span::raw("   "));
            }
            line.extend(part);
        }
    }
    lines
}

fn trial(pen: &Pen<'_>, model: &Model, line: &TrialLine, width: usize) -> Option<Line<'static>> {
    let trial: &TrialView = model.patches.trial.as_deref()?;
    Some(match line {
        TrialLine::Step(at) => {
            let step = trial.steps.get(*at)?;
            let glyph = |status| pen.glyphs().status(status, 0);
            Line::from(vec![
                pen.span(format!("{} ", glyph(step.before)), step.before.into()),
                pen.span(format!("{} ", pen.glyphs().right), Role::Dim),
                pen.span(format!("{} ", glyph(step.after)), step.after.into()),
                pen.cut(step.id.as_str(), width / 2, Role::Strong),
                pen.span(if step.test { "  test" } else { "" }, Role::Dim),
                pen.span(format!("  {} {} {}", step.before, pen.glyphs().right, step.after), step.after.into()),
            ])
        }
        TrialLine::Gone(text) => Line::from(pen.cut(&format!("    - {text}"), width, Role::Removed)),
        TrialLine::Come(text) => Line::from(pen.cut(&format!("    + {text}"), width, Role::Added)),
        TrialLine::Value(step, at) => {
            let value = trial.steps.get(*step)?.values.get(*at)?;
            let form =
                |form: &Option<String>| form.as_deref().unwrap_or("nothing").lines().collect::<Vec<_>>().join(" ");
            let half = width.saturating_sub(text::width(&value.name) + 9) / 2;
            Line::from(vec![
                pen.span("    ", Role::Text),
                pen.cut(&value.name, width / 3, Role::NameWritten),
                pen.span("  ", Role::Text),
                pen.cut(&form(&value.before), half, Role::Removed),
                pen.span(format!(" {} ", pen.glyphs().right), Role::Dim),
                pen.cut(&form(&value.after), half, Role::Added),
            ])
        }
        TrialLine::Effect(text) => Line::from(pen.cut(&format!("    {text}"), width, Role::Dim)),
        TrialLine::Candidate(text, good) => {
            Line::from(pen.cut(text, width, if *good { Role::Success } else { Role::Error }))
        }
        TrialLine::Remark(text) => Line::from(pen.cut(&format!("! {text}"), width, Role::Warning)),
    })
}

/// What the panel's title says.
pub fn about(model: &Model) -> String {
    let Some(review) = &model.patches.review else {
        return match model.run.open_patches() {
            0 => String::new(),
            n => format!("{n} waiting"),
        };
    };
    let mut parts = vec![format!("{} {}: {}", review.patch.id, review.patch.provenance.author, review.patch.title)];
    if review.is_decided() {
        let (taken, all) = review.taken();
        parts.push(format!("{taken} of {all} lines"));
    }
    parts.push(
        match model.patches.mode {
            Mode::Unified => "",
            Mode::Split => "[split]",
            Mode::Result => "[result]",
            Mode::Trial => "[trial]",
        }
        .to_owned(),
    );
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}
