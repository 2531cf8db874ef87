//! Steps by hand: made, renamed, removed, edited and brought back by a person, through reweave.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::book::{Book, failure};
use super::{Command, Event, Failure};
use crate::run::{Encoding, Expect, StepFile, WriteError};
use crate::step::{Digest, StepId, VersionNumber};

/// Does what a person asked to be done with a step's file, and says what was done.
///
/// # Errors
/// When it can't be done; then the file is as it was.
pub(super) fn perform(book: &mut Book, command: Command) -> Result<String, Failure> {
    match command {
        Command::NewStep { step, source } => make(book, &step, &source),
        Command::Edit { step, source } => {
            let file = file(book, &step)?;
            replace(book, &file, &source)?;
            Ok(format!("{step} was changed"))
        }
        Command::Restore { step, version } => restore(book, &step, version),
        Command::Rename { step, to } => rename(book, &step, &to),
        Command::Delete { step } => {
            let file = file(book, &step)?;
            book.dir().files().remove(&file.path, file.digest).map_err(write_failure)?;
            Ok(format!("{step} was removed; `reweave restore` brings it back"))
        }
        other => Err(Failure { what: format!("this can't be asked here: {other:?}"), hint: None }),
    }
}

fn make(book: &Book, step: &StepId, source: &str) -> Result<String, Failure> {
    if book.step(step).is_some() {
        return Err(exists(step));
    }
    let path = path_of(step, "py");
    book.dir().files().write(&path, source.as_bytes(), Expect::Absent).map_err(write_failure)?;
    Ok(format!("{step} was made"))
}

fn rename(book: &Book, step: &StepId, to: &StepId) -> Result<String, Failure> {
    let file = file(book, step)?;
    if book.step(to).is_some() {
        return Err(exists(to));
    }
    let ending = file.path.extension().and_then(|ending| ending.to_str()).unwrap_or("py");
    book.dir().files().rename(&file.path, &path_of(to, ending), file.digest).map_err(write_failure)?;
    Ok(format!("{step} is {to} now"))
}

fn restore(book: &Book, step: &StepId, version: VersionNumber) -> Result<String, Failure> {
    let text = book.store().version_text(step, version).map_err(|error| {
        let hint = Some(format!("`reweave log DIR {step}` lists the versions"));
        Failure { hint, ..failure(error) }
    })?;
    let files = book.dir().files();
    let written = match book.step(step) {
        Some(entry) if entry.file.digest == Digest::of(&text) => {
            return Ok(format!("{step} is as in {version} already"));
        }
        Some(entry) => files.write(&entry.file.path, &text, Expect::Content(entry.file.digest)),
        None => files.write(&path_of(step, "py"), &text, Expect::Absent),
    };
    written.map_err(write_failure)?;
    Ok(format!("{step} is as in {version} again"))
}

fn replace(book: &Book, file: &StepFile, source: &str) -> Result<(), Failure> {
    let bytes = file.encoding.encode(source).map_err(|error| Failure {
        what: format!("{}: {error}", file.path.display()),
        hint: Some(format!("save the file as {} first", Encoding::UTF8)),
    })?;
    book.dir().files().write(&file.path, &bytes, Expect::Content(file.digest)).map_err(write_failure)?;
    Ok(())
}

/// The text of a step, with the text of its last execution where that is another.
pub(super) fn source(book: &Book, step: &StepId) -> Result<Event, Failure> {
    let entry = book.step(step).ok_or_else(|| no_such_step(step))?;
    let executed = match book.held(step) {
        Some(execution) if execution.version != entry.version => {
            let text = book.store().version_text(step, execution.version).ok();
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

fn file(book: &Book, step: &StepId) -> Result<Arc<StepFile>, Failure> {
    Ok(Arc::clone(&book.step(step).ok_or_else(|| no_such_step(step))?.file))
}

fn path_of(step: &StepId, ending: &str) -> PathBuf {
    let mut path = Path::new(step.as_str()).to_path_buf().into_os_string();
    path.push(".");
    path.push(ending);
    path.into()
}

fn write_failure(error: WriteError) -> Failure {
    Failure { hint: Some(error.hint().to_owned()), what: error.to_string() }
}
