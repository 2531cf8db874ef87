//! Steps by hand: made, renamed, removed, edited and brought back by a person, through reweave.
//!
//! Each is a deed of the store's journal: done whole or not at all, in the history, and undone by one command.

use std::path::Path;
use std::sync::Arc;

use super::book::Book;
use super::moment::now;
use super::{Command, Event, Failure};
use crate::run::{Encoding, StepFile};
use crate::step::{Author, Digest, Provenance, StepId, VersionNumber};
use crate::store::{Change, DeedKind, Plan};

/// Does what a person asked to be done with a step's file, and says what was done.
///
/// # Errors
/// When it can't be done; then the file is as it was.
pub(super) fn perform(book: &mut Book, command: Command) -> Result<String, Failure> {
    match command {
        Command::NewStep { step, source } => make(book, &step, source, person()),
        Command::Edit { step, source } => edit(book, &step, &source, person()),
        Command::Write { step, source, new: true, from } => make(book, &step, source, *from),
        Command::Write { step, source, new: false, from } => edit(book, &step, &source, *from),
        Command::Restore { step, version } => restore(book, &step, version),
        Command::Rename { step, to } => {
            let (file, old) = present(book, &step)?;
            if book.step(&to).is_some() {
                return Err(exists(&to));
            }
            let ending = file.path.extension().and_then(|ending| ending.to_str()).unwrap_or("py");
            let changes = vec![
                change(shown(&file.path), &step, Some(old.clone()), None),
                change(path_of(&to, ending), &to, None, Some(old)),
            ];
            carry_out(book, DeedKind::Rename, format!("rename {step} to {to}"), changes)?;
            Ok(format!("{step} is {to} now"))
        }
        Command::Delete { step } => {
            let (file, old) = present(book, &step)?;
            let change = change(shown(&file.path), &step, Some(old), None);
            carry_out(book, DeedKind::Delete, format!("delete {step}"), vec![change])?;
            Ok(format!("{step} was removed; `reweave undo` brings it back"))
        }
        Command::Undo => {
            let done = book.undo()?;
            Ok(format!("undone: {}", done.deed.title))
        }
        Command::Redo => {
            let done = book.redo()?;
            Ok(format!("done again: {}", done.deed.title))
        }
        other => Err(Failure { what: format!("this can't be asked here: {other:?}"), hint: None }),
    }
}

fn person() -> Provenance {
    Provenance::new(Author::Person, now())
}

fn make(book: &Book, step: &StepId, source: String, from: Provenance) -> Result<String, Failure> {
    if book.step(step).is_some() {
        return Err(exists(step));
    }
    let path = path_of(step, "py");
    if !book.is_looked_at(&path) {
        return Err(Failure {
            what: format!("{path} would be no step: nothing there is looked at"),
            hint: Some("choose another place".to_owned()),
        });
    }
    let change = change(path, step, None, Some(source.into_bytes()));
    carry_out_for(book, DeedKind::New, format!("new {step}"), vec![change], from)?;
    Ok(format!("{step} was made"))
}

fn edit(book: &Book, step: &StepId, source: &str, from: Provenance) -> Result<String, Failure> {
    let (file, old) = present(book, step)?;
    let new = file.encoding.encode(source).map_err(|error| Failure {
        what: format!("{}: {error}", file.path.display()),
        hint: Some(format!("save the file as {} first", Encoding::UTF8)),
    })?;
    if new == old {
        return Ok(format!("{step} is as it was"));
    }
    let change = change(shown(&file.path), step, Some(old), Some(new));
    carry_out_for(book, DeedKind::Edit, format!("edit {step}"), vec![change], from)?;
    Ok(format!("{step} was changed"))
}

fn restore(book: &Book, step: &StepId, version: VersionNumber) -> Result<String, Failure> {
    let text = book.store().version_text(step, version).map_err(|error| {
        let hint = Some(format!("`reweave log DIR {step}` lists the versions"));
        Failure { hint, ..book.failure(error) }
    })?;
    let title = format!("restore {step} as in {version}");
    let change = match present(book, step) {
        Ok((file, _)) if file.digest == Digest::of(&text) => return Ok(format!("{step} is as in {version} already")),
        Ok((file, old)) => change(shown(&file.path), step, Some(old), Some(text)),
        Err(_) => change(path_for(step, &text), step, None, Some(text)),
    };
    carry_out(book, DeedKind::Restore, title, vec![change])?;
    Ok(format!("{step} is as in {version} again"))
}

/// Where a step that is not there goes. Of a removed one only its texts are known: one that starts a shell was a
/// shell's.
pub(super) fn path_for(step: &StepId, text: &[u8]) -> String {
    path_of(step, if is_shell(text) { "sh" } else { "py" })
}

fn is_shell(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first.starts_with(b"#!") && first.ends_with(b"sh")
}

pub(super) fn carry_out(book: &Book, kind: DeedKind, title: String, changes: Vec<Change>) -> Result<(), Failure> {
    carry_out_for(book, kind, title, changes, person())
}

fn carry_out_for(
    book: &Book,
    kind: DeedKind,
    title: String,
    changes: Vec<Change>,
    from: Provenance,
) -> Result<(), Failure> {
    let provenance = Provenance { reason: Some(title.clone()), at: now(), patch: None, ..from };
    let plan = Plan { kind, title, provenance, decision: None, pin: None, changes };
    book.carry_out(&plan).map(drop)
}

fn change(path: String, step: &StepId, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Change {
    Change { path, step: Some(step.clone()), before, after }
}

/// The file of a step that is there, and its bytes.
fn present(book: &Book, step: &StepId) -> Result<(Arc<StepFile>, Vec<u8>), Failure> {
    let file = Arc::clone(&book.step(step).ok_or_else(|| no_such_step(step))?.file);
    let bytes = book.bytes_of(&file);
    Ok((file, bytes))
}

/// The text of a step, with the text of its last execution where that is another.
pub(super) fn source(book: &Book, step: &StepId) -> Result<Event, Failure> {
    let entry = book.step(step).ok_or_else(|| no_such_step(step))?;
    let executed = match book.held_in_short(step) {
        Some((version, _)) if version != entry.version => {
            let text = book.store().version_text(step, version).ok();
            text.map(|bytes| Arc::from(String::from_utf8_lossy(&bytes)))
        }
        _ => None,
    };
    Ok(Event::Source { step: step.clone(), version: entry.version, text: Arc::clone(&entry.file.source), executed })
}

/// That a step is not there.
pub(super) fn no_such_step(step: &StepId) -> Failure {
    Failure { what: format!("there is no step {step}"), hint: Some("`reweave status` lists the steps".to_owned()) }
}

fn exists(step: &StepId) -> Failure {
    Failure { what: format!("there is a step {step} already"), hint: Some("choose another name".to_owned()) }
}

fn path_of(step: &StepId, ending: &str) -> String {
    format!("{step}.{ending}")
}

/// A step's path is UTF-8, since its id is.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
