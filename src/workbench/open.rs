//! Opening a run.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::book::Book;
use super::desk::{Desk, Input, OPENER};
use super::setup::Setup;
use super::{Event, Failure, Handle, Level};
use crate::run::{RunDir, RunError, Tree};

/// How a run is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The interpreter: a path, or a name to look up. What the run's settings say when `None`.
    pub python: Option<PathBuf>,
    /// Limits as `key=value`, stronger than the run's settings.
    pub limits: Vec<String>,
    /// Whether the directory is watched.
    pub watch: bool,
    /// Whether a directory without steps is opened all the same.
    pub may_be_empty: bool,
}

/// Opens the run in `dir`: a thread of its own begins to serve it. The first event is a snapshot.
///
/// # Errors
/// When `dir` is no directory that can be opened as a run, or its record can't be.
pub fn open(dir: &Path, options: Options) -> Result<(Handle, Receiver<Event>), Failure> {
    let dir = RunDir::open(dir).map_err(run_failure)?;
    let setup = Setup::load(&dir, &options)?;
    let dir = dir.excluding(setup.config.run.exclude.clone());
    let tree = Tree::read(&dir);
    if !options.may_be_empty {
        // Before anything is made in a directory that is no run.
        tree.scan().require_steps(&dir).map_err(run_failure)?;
    }
    let book = Book::open(dir, tree, setup.on_error(), setup.parser())?;
    let notices: Vec<String> = book.notices().chain(setup.notices()).collect();
    let (inputs, queue) = mpsc::channel();
    let (events, heard) = mpsc::channel();
    for text in notices {
        let _ = events.send(Event::Notice { level: Level::Warning, text });
    }
    let _ = inputs.send(Input::Join(OPENER, events));
    let watch = options.watch;
    let mut desk = Desk::new(book, setup, options, queue, inputs.clone());
    let serve = move || {
        if watch {
            desk.watch();
        }
        desk.work();
    };
    thread::Builder::new().name("workbench".to_owned()).spawn(serve).map_err(|error| Failure {
        what: format!("no thread for the workbench: {error}"),
        hint: Some("close other programs, or raise `ulimit -u`".to_owned()),
    })?;
    let opener = Opener(inputs);
    let handle = Handle::new(move |request| opener.0.send(Input::Ask(OPENER, request)).is_ok());
    Ok((handle, heard))
}

/// The way of the face that opened the workbench. When its last handle is gone, so is the workbench.
struct Opener(mpsc::Sender<Input>);

impl Drop for Opener {
    fn drop(&mut self) {
        let _ = self.0.send(Input::Leave(OPENER));
    }
}

pub(super) fn run_failure(error: RunError) -> Failure {
    Failure { hint: Some(error.hint()), what: error.to_string() }
}
