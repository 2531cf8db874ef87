//! `reweave patch show`: a patch as a person reviews it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::moments::{exact, local};
use super::super::{CliError, Context, Palette, Role};
use super::choose::places;
use super::list::role;
use super::{number, open, patch};
use crate::patch::review::{Cell, Folds, Mark, Review, Row, Style};
use crate::patch::weakenings;
use crate::step::{FileChange, Patch, PatchId, plain, plain_line};
use crate::store::{Deed, DeedKind, Reader};
use crate::workbench::{Command, Event, Weight};

/// Show patches: what they change, where they stand, and what accepting them would make stale
///
/// Each hunk has a number (`3.1`), and each line that changes one within it: what --hunk and --lines take.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number; those that wait where none is named
    #[arg(value_name = "ID", value_parser = number)]
    ids: Vec<PatchId>,

    /// Before and after side by side
    #[arg(long, conflicts_with = "result")]
    split: bool,

    /// The text as it would be
    #[arg(long)]
    result: bool,

    /// Whole files, nothing folded
    #[arg(long)]
    whole: bool,

    /// The text as it came in, byte for byte
    #[arg(long, conflicts_with_all = ["split", "result", "whole"])]
    raw: bool,
}

/// All that is shown of a patch.
struct Shown {
    patch: Arc<Patch>,
    weight: Option<Arc<Weight>>,
    deeds: Vec<Deed>,
}

/// Shows.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = open(&args.dir, context)?;
    let mut ids = args.ids.clone();
    if ids.is_empty() {
        ids = session.snapshot().patches.iter().filter(|row| row.state.is_open()).map(|row| row.id).collect();
    }
    let mut all = Vec::new();
    for id in ids {
        let patch = patch(&mut session, id, context)?;
        let reader = Reader::open(&args.dir)?;
        if args.raw {
            context.print_bytes(&reader.patch_text(id)?)?;
            continue;
        }
        let weight = if patch.state.is_open() && !patch.files.is_empty() {
            let weigh = Command::Weigh { patch: id, files: Vec::new() };
            let weight = session.ask_for(weigh, context, |event| match event {
                Event::Weighed { weight, .. } => Some(Arc::clone(weight)),
                _ => None,
            })?;
            Some(weight)
        } else {
            None
        };
        all.push(Shown { patch, weight, deeds: reader.deeds_of(id)? });
    }
    if args.raw {
        return Ok(ExitCode::SUCCESS);
    }
    let documents: Vec<Value> = all.iter().map(Shown::document).collect();
    let style = match (args.split, args.result) {
        (true, _) => Style::Split,
        (_, true) => Style::Result,
        _ => Style::Unified,
    };
    let folds = if args.whole { Folds::all_open() } else { Folds::default() };
    let mut document = documents.first().cloned().unwrap_or_else(|| json!({}));
    if let Some(object) = document.as_object_mut() {
        object.insert("patches".to_owned(), json!(documents));
    }
    context.answer(&document, |palette| {
        let pages: Vec<String> = all.iter().map(|shown| shown.page(style, &folds, palette)).collect();
        if pages.is_empty() { "no patch waits\n".to_owned() } else { pages.join("\n") }
    })
}

impl Shown {
    fn document(&self) -> Value {
        let patch = &*self.patch;
        let by = &patch.provenance;
        let review = Review::new(&patch.files);
        let weight = self.weight.as_deref();
        json!({
            "patch": patch.id,
            "state": patch.state,
            "title": patch.title,
            "author": by.author,
            "model": by.model,
            "call": by.call,
            "reason": by.reason,
            "when": exact(by.at),
            "content": patch.content,
            "problems": patch.problems,
            "files": patch.files.iter().map(file).collect::<Vec<_>>(),
            "hunks": hunks(patch, &review),
            "diff": patch.files.iter().map(diff).collect::<String>(),
            "weakens": weakenings(&review).iter().map(|found| json!({
                "how": found.how, "path": found.path, "line": found.line, "text": found.text,
                "words": found.how.words(),
            })).collect::<Vec<_>>(),
            "stale": weight.map(|weight| &weight.stale),
            "moved": weight.map(|weight| &weight.moved),
            "faults": weight.map(|weight| &weight.faults),
            "tests": weight.map(|weight| &weight.tests),
            "comments": patch.comments.iter()
                .map(|(at, text)| json!({"when": exact(*at), "text": text}))
                .collect::<Vec<_>>(),
            "decisions": self.deeds.iter().map(decision).collect::<Vec<_>>(),
        })
    }

    fn page(&self, style: Style, folds: &Folds, palette: Palette) -> String {
        let patch = &*self.patch;
        let by = &patch.provenance;
        let mut page = format!(
            "{}  {}  {}\n",
            palette.paint(Role::Heading, patch.id),
            palette.paint(role(patch.state), patch.state.word()),
            palette.paint(Role::Heading, plain_line(&patch.title)),
        );
        let mut origin = format!("by {}", by.author);
        if let Some(model) = &by.model {
            let _ = write!(origin, " with {model}");
        }
        let _ = write!(origin, ", {}", local(by.at));
        let _ = writeln!(page, "{}", palette.paint(Role::Dim, plain_line(&origin)));
        if let Some(reason) = &by.reason {
            let _ = writeln!(page, "{}", plain(reason));
        }
        for problem in &patch.problems {
            let _ = writeln!(page, "{} {}", palette.paint(Role::Bad, "!"), plain_line(problem));
        }
        let review = Review::new(&patch.files);
        for found in weakenings(&review) {
            let _ = writeln!(page, "{} {}", palette.paint(Role::Warn, "weakens:"), plain_line(&found.to_string()));
        }
        if !review.files.is_empty() {
            page.push('\n');
            body(&mut page, patch, &review, style, folds, palette);
        }
        if let Some(weight) = self.weight.as_deref() {
            page.push('\n');
            page.push_str(&consequence(weight, palette));
        }
        for (at, text) in &patch.comments {
            let _ = writeln!(page, "{} {}", palette.paint(Role::Dim, local(*at)), plain(text));
        }
        page
    }
}

/// What accepting would come to.
fn consequence(weight: &Weight, palette: Palette) -> String {
    let steps: Vec<&str> = weight.stale.iter().map(|step| step.as_str()).collect();
    let mut text = match steps.as_slice() {
        [] => "accepting it makes no step stale\n".to_owned(),
        [step] => format!("accepting it makes 1 step stale: {}\n", plain_line(step)),
        steps => format!("accepting it makes {} steps stale: {}\n", steps.len(), plain_line(&steps.join(" "))),
    };
    for test in &weight.tests {
        let how = if test.direct { "covered by" } else { "made use of in" };
        let what = format!("{how} {}, which reads {}", test.test, test.names.join(", "));
        let _ = writeln!(text, "{}", plain_line(&what));
    }
    for path in &weight.moved {
        let what = format!("{path} is not what it was placed on any more");
        let _ = writeln!(text, "{}", palette.paint(Role::Bad, plain_line(&what)));
    }
    for fault in &weight.faults {
        let what = format!("{} would be no Python: line {}: {}", fault.path, fault.line, fault.what);
        let _ = writeln!(text, "{}", palette.paint(Role::Bad, plain_line(&what)));
    }
    text
}

fn body(page: &mut String, patch: &Patch, review: &Review, style: Style, folds: &Folds, palette: Palette) {
    let order = places(review);
    let mut line = 0;
    for row in review.rows(style, folds) {
        match row {
            Row::File { path, from, what, lines, .. } => {
                let name = match from {
                    Some(from) => format!("{from} → {path}"),
                    None => path,
                };
                let what = if what == "changed" { String::new() } else { format!("  {what}") };
                let name = palette.paint(Role::Name, plain_line(&name)).to_string();
                let _ = writeln!(page, "{name}{what}  +{} −{}", lines.0, lines.1);
            }
            Row::Hunk { file, hunk, old, new, heading, label, .. } => {
                line = 0;
                let number = order.iter().position(|place| *place == (file, hunk)).map_or(0, |place| place + 1);
                let id = palette.paint(Role::Heading, format!("{}.{number}", patch.id.0)).to_string();
                let head = format!("@@ -{},{} +{},{} @@", old.0, old.1, new.0, new.1);
                let heading = heading.map(|heading| format!(" {}", heading.trim())).unwrap_or_default();
                let label = label.map(|label| format!("  ({})", label.word())).unwrap_or_default();
                let tail = format!("{head}{heading}{label}");
                let _ = writeln!(page, "{id}  {}", palette.paint(Role::Dim, plain_line(&tail)));
            }
            Row::Fold { count, .. } => {
                let _ = writeln!(page, "{}", palette.paint(Role::Dim, format!("        ⋯ {count} lines")));
            }
            Row::Line { cell } => {
                let numbered = (cell.mark != Mark::Context && style != Style::Result).then(|| {
                    line += 1;
                    line
                });
                let number = numbered.map(|line| line.to_string()).unwrap_or_default();
                let _ = writeln!(page, "{number:>4}  {}", drawn(&cell, palette));
            }
            Row::Pair { left, right } => {
                let width = 60;
                let text = |cell: &Option<Cell>| cell.as_ref().map(|cell| cut(&plain_line(&cell.text), width));
                let (a, b) = (text(&left).unwrap_or_default(), text(&right).unwrap_or_default());
                let same = left.as_ref().is_some_and(|cell| cell.mark == Mark::Context);
                let (sign, role) = if same { ("│", None) } else { ("┃", Some((Role::Bad, Role::Good))) };
                let (a, b) = (format!("{a:width$}"), b);
                let _ = match role {
                    None => writeln!(page, "      {a} {sign} {}", b.trim_end()),
                    Some((bad, good)) => {
                        writeln!(page, "      {} {sign} {}", palette.paint(bad, a), palette.paint(good, b.trim_end()))
                    }
                };
            }
        }
    }
}

fn cut(text: &str, width: usize) -> String {
    let mut short: String = text.chars().take(width).collect();
    if short.len() < text.len() {
        short.pop();
        short.push('…');
    }
    short
}

/// A line of a diff, what differs within it marked by a second colour.
fn drawn(cell: &Cell, palette: Palette) -> String {
    let (sign, role, differing) = match cell.mark {
        Mark::Context => return format!(" {}", plain(&cell.text)).trim_end().to_owned(),
        Mark::Removed => ("-", Role::Bad, Role::Gone),
        Mark::Added => ("+", Role::Good, Role::Come),
    };
    let mut text = palette.paint(role, sign).to_string();
    let mut at = 0;
    for span in &cell.spans {
        let (Some(before), Some(differs)) = (cell.text.get(at..span.start), cell.text.get(span.clone())) else {
            continue;
        };
        text.push_str(&palette.paint(role, plain(before)).to_string());
        text.push_str(&palette.paint(differing, plain(differs)).to_string());
        at = span.end;
    }
    text.push_str(&palette.paint(role, plain(cell.text.get(at..).unwrap_or_default())).to_string());
    if cell.no_newline {
        text.push_str(&palette.paint(Role::Dim, "  (no newline at the end)").to_string());
    }
    text
}

fn file(file: &FileChange) -> Value {
    json!({"path": file.path, "base": file.base, "result": file.result})
}

fn diff(file: &FileChange) -> String {
    let name = |there: bool, side: &str| if there { format!("{side}/{}", file.path) } else { "/dev/null".to_owned() };
    similar::TextDiff::from_lines(file.base.as_deref().unwrap_or_default(), file.result.as_deref().unwrap_or_default())
        .unified_diff()
        .header(&name(file.base.is_some(), "a"), &name(file.result.is_some(), "b"))
        .to_string()
}

/// The hunks with the numbers by which they are chosen.
fn hunks(patch: &Patch, review: &Review) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, (file, hunk)) in places(review).into_iter().enumerate() {
        let Some(file) = review.files.get(file) else { continue };
        let Some(hunk) = file.hunks.get(hunk) else { continue };
        let mut lines = Vec::new();
        for run in &hunk.runs {
            lines.extend(run.old.iter().map(|line| json!({"sign": "-", "text": line.text})));
            lines.extend(run.new.iter().map(|line| json!({"sign": "+", "text": line.text})));
        }
        all.push(json!({
            "hunk": format!("{}.{}", patch.id.0, number + 1),
            "path": file.path,
            "line": hunk.start() + 1,
            "label": hunk.label,
            "lines": lines,
        }));
    }
    all
}

/// A decision about a patch and what it was made on.
fn decision(deed: &Deed) -> Value {
    let what = match deed.kind {
        DeedKind::Accept => "accept",
        DeedKind::Revert => "revert",
        DeedKind::Undo(_) => "undo",
        DeedKind::Redo(_) => "redo",
        _ => "other",
    };
    let pin: Value = deed.pin.as_deref().and_then(|pin| serde_json::from_str(pin).ok()).unwrap_or(Value::Null);
    json!({
        "what": what,
        "when": exact(deed.at),
        "state": deed.state,
        "files": deed.files.iter()
            .map(|file| json!({"path": file.path, "before": file.before, "after": file.after}))
            .collect::<Vec<_>>(),
        "made_on": pin,
    })
}
