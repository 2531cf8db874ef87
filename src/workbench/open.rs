//! Opening a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::book::Book;
use super::desk::{Desk, Input, OPENER};
use super::vault::StoreVault;
use super::{Event, Failure, Handle, Level};
use crate::engine::{MemoryVault, Settings, Vault};
use crate::run::{CONFIG_FILE, Config, PATCHES, RunDir, RunError, STORE_DIR, Tree, UserDirs, choose_interpreter};
use crate::store::Key;

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
    let user = UserDirs::from_env();
    let config = Config::load(&dir, user.as_ref(), flags(&options)?);
    if let Some(problem) = config.errors().next() {
        return Err(Failure { what: problem.to_string(), hint: Some("see the settings with: reweave config".into()) });
    }
    let dir = dir.excluding(config.run.exclude.clone());
    let on_error = config.on_error;
    let python = choose_interpreter(&dir, &config, user.as_ref());
    let tree = Tree::read(&dir);
    if !options.may_be_empty {
        // Before anything is made in a directory that is no run.
        tree.scan().require_steps(&dir).map_err(run_failure)?;
    }
    let book = Book::open(dir, tree, on_error)?;
    let mut notices: Vec<String> = book.notices().collect();
    notices.extend(config.problems.iter().map(ToString::to_string));
    if let Ok(interpreter) = &python
        && let Some(passed) = &interpreter.passed_over
    {
        let environment = crate::run::show(&passed.environment);
        notices.push(format!("{environment} is not used until it is approved: reweave config --approve"));
    }
    // A run can be looked at where nothing can be run: the name is said again when something is to be run.
    let python = python.map_or_else(|_| PathBuf::from("python3"), |interpreter| interpreter.path);
    let settings = settings(&book, &config, python, user.as_ref());
    let (inputs, queue) = mpsc::channel();
    let (events, heard) = mpsc::channel();
    for text in notices {
        let _ = events.send(Event::Notice { level: Level::Warning, text });
    }
    let _ = inputs.send(Input::Join(OPENER, events));
    let mut desk = Desk::new(book, settings, on_error, queue, inputs.clone());
    let serve = move || {
        if options.watch {
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

/// Settings as flags: names of settings and values.
fn flags(options: &Options) -> Result<Vec<(String, String)>, Failure> {
    let mut flags = Vec::new();
    if let Some(python) = &options.python {
        flags.push(("python".to_owned(), python.to_string_lossy().into_owned()));
    }
    for limit in &options.limits {
        let (name, value) = limit.split_once('=').ok_or_else(|| Failure {
            what: format!("{limit:?} is no limit"),
            hint: Some("write NAME=VALUE, as in --limit timeout=30s".to_owned()),
        })?;
        flags.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(flags)
}

fn settings(book: &Book, config: &Config, python: PathBuf, user: Option<&UserDirs>) -> Settings {
    let ignore = [STORE_DIR, PATCHES, CONFIG_FILE].iter().map(PathBuf::from).collect();
    let vault: Arc<dyn Vault> = vault(book, &python, user).unwrap_or_else(|| Arc::new(MemoryVault::default()));
    Settings {
        dir: book.dir().path().to_owned(),
        python,
        seed: config.seed,
        timeout: config.limits.timeout,
        output_limit: config.limits.output.map_or(64 << 20, |size| size.of(1 << 30)),
        checkpoint_memory: config.checkpoint_memory.map(|size| size.of(memory())),
        ignore,
        vault,
    }
}

/// The machine's memory in bytes; a guess where the system does not tell.
fn memory() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").ok();
    let kib = told.and_then(|text| {
        text.lines().find_map(|l| l.strip_prefix("MemTotal:")?.trim().split(' ').next()?.parse::<u64>().ok())
    });
    kib.map_or(4 << 30, |kib| kib << 10)
}

/// The vault on the run's store; none where the user has no key or the store can't be written.
fn vault(book: &Book, python: &Path, user: Option<&UserDirs>) -> Option<Arc<dyn Vault>> {
    let key = Key::of_user(user?).ok()?;
    let store = book.store().another().ok()?;
    let interpreter = python.to_string_lossy().into_owned();
    Some(Arc::new(StoreVault::new(store, key, interpreter, book.dir().path().join(STORE_DIR))))
}

pub(super) fn run_failure(error: RunError) -> Failure {
    Failure { hint: Some(error.hint()), what: error.to_string() }
}
