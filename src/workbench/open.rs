//! Opening a run: here, or in the process that has it open already.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::book::{Book, failure};
use super::calls::StoreCalls;
use super::desk::{Desk, Input, OPENER};
use super::face;
use super::setup::Setup;
use super::{Event, Failure, Handle, Level, Request, Snapshot};
use crate::run::{RunDir, RunError, Tree, UserDirs};

/// How a run is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The interpreter: a path, or a name to look up. What the run's settings say when `None`.
    pub python: Option<PathBuf>,
    /// Limits as `key=value`, stronger than the run's settings.
    pub limits: Vec<String>,
    /// Whether the directory is watched.
    pub watch: bool,
    /// Whether somebody is there to answer what steps ask.
    pub answered: bool,
    /// Whether a directory without steps is opened all the same.
    pub may_be_empty: bool,
    /// Whether a large run may be shown as it was when it was open last, until it is read: its first snapshot then says
    /// that it is being checked ([`super::Snapshot::checking`]).
    pub early: bool,
}

/// Opens the run in `dir`. The first event is a snapshot; notices may come before it.
///
/// A run has one owner: a thread of this process serves it, or, where another process has it open, that one is
/// joined. When an owner that was joined ends, this process takes its place and goes on with what was asked.
///
/// # Errors
/// When `dir` is no directory that can be opened as a run, or its record can't be.
pub fn open(dir: &Path, options: Options) -> Result<(Handle, Receiver<Event>), Failure> {
    let (events, heard) = mpsc::channel();
    let handle = match open_for(dir, &options, &events)? {
        Opened::Here(desk) => {
            let opener = Opener(desk);
            Handle::new(move |request| opener.ask(request))
        }
        #[cfg(unix)]
        Opened::There(stream) => super::remote::join(stream, dir.to_owned(), options, events)?,
    };
    Ok((handle, heard))
}

/// Where a run was opened.
pub(super) enum Opened {
    /// A desk of this process, which tells the events by itself.
    Here(Sender<Input>),
    /// Another process, at the other end of this.
    #[cfg(unix)]
    There(std::os::unix::net::UnixStream),
}

/// Claims the run and serves it, telling `events`; or finds who does.
pub(super) fn open_for(dir: &Path, options: &Options, events: &Sender<Event>) -> Result<Opened, Failure> {
    let dir = RunDir::open(dir).map_err(run_failure)?;
    let setup = Setup::load(&dir, options)?;
    let dir = dir.excluding(setup.config.run.exclude.clone());
    let face = if options.early { face::read(dir.path()).map(Arc::new) } else { None };
    let tree = match &face {
        // It was a run then.
        Some(_) => None,
        None => {
            let tree = Tree::read(&dir);
            if !options.may_be_empty {
                // Before anything is made in a directory that is no run.
                tree.scan().require_steps(&dir).map_err(run_failure)?;
            }
            Some(tree)
        }
    };
    #[cfg(unix)]
    let ownership = match owner::claim(&dir, setup.user.as_ref(), events)? {
        owner::Claimed::There(stream) => return Ok(Opened::There(stream)),
        owner::Claimed::Here(ownership) => ownership,
    };
    let (inputs, queue) = mpsc::channel();
    let _ = inputs.send(Input::Join(OPENER, events.clone()));
    let known = face.clone();
    let (own, options, to) = (inputs.clone(), options.clone(), events.clone());
    let read = move || {
        let tree = tree.unwrap_or_else(|| Tree::read(&dir));
        let desk = lay_out(dir, tree, setup, options, &to, known.as_deref(), (queue, own.clone()))?;
        #[cfg(unix)]
        let door = ownership.map(|ownership| owner::Door::open(ownership, own));
        #[cfg(unix)]
        return Ok::<_, Failure>((desk, door));
        #[cfg(not(unix))]
        return Ok::<_, Failure>((desk, ()));
    };
    let thread = thread::Builder::new().name("workbench".to_owned());
    let events = events.clone();
    let started = match face {
        Some(face) => {
            let _ = events.send(Event::Snapshot(face));
            thread.spawn(move || match read() {
                Ok((desk, door)) => serve(desk, door),
                Err(failure) => {
                    let text = failure.hint.map_or(failure.what.clone(), |hint| format!("{}: {hint}", failure.what));
                    let _ = events.send(Event::Notice { level: Level::Error, text });
                    let _ = events.send(Event::Closed);
                }
            })
        }
        None => {
            let (desk, door) = read()?;
            thread.spawn(move || serve(desk, door))
        }
    };
    started.map_err(|error| Failure {
        what: format!("no thread for the workbench: {error}"),
        hint: Some("close other programs, or raise `ulimit -u`".to_owned()),
    })?;
    Ok(Opened::Here(inputs))
}

/// Reads the run and lays it out on a desk.
fn lay_out(
    dir: RunDir,
    tree: Tree,
    setup: Setup,
    options: Options,
    events: &Sender<Event>,
    face: Option<&Snapshot>,
    inputs: (Receiver<Input>, Sender<Input>),
) -> Result<Desk, Failure> {
    let mut book = Book::open(dir, tree, setup.on_error(), setup.parser(), face)?;
    for text in book.notices().chain(setup.notices()) {
        let _ = events.send(Event::Notice { level: Level::Warning, text });
    }
    let calls = book.store().another().and_then(|store| StoreCalls::open(store, setup.key())).map_err(failure)?;
    let calls = Arc::new(calls);
    calls.ask_of(setup.agent(book.dir()));
    setup.look_around(&mut book, &calls);
    book.look_up_answers(Arc::clone(&calls));
    let mut desk = Desk::new(book, setup, calls, options, inputs);
    desk.read_patches()?;
    Ok(desk)
}

/// Serves the run until it is closed. `door` lets others in meanwhile.
fn serve<D>(mut desk: Desk, door: D) {
    desk.watch();
    let clients = desk.work();
    // The run is free before anyone hears that the workbench has ended.
    drop(door);
    for client in clients {
        let _ = client.send(Event::Closed);
    }
}

/// The way of the face that opened the workbench. When its last handle is gone, so is the workbench.
pub(super) struct Opener(pub(super) Sender<Input>);

impl Opener {
    /// Hands a request over, and says whether anyone was there to take it.
    pub(super) fn ask(&self, request: Request) -> bool {
        self.0.send(Input::Ask(OPENER, request)).is_ok()
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        let _ = self.0.send(Input::Leave(OPENER));
    }
}

/// An error of the run's directory as the workbench tells it.
pub(super) fn run_failure(error: RunError) -> Failure {
    Failure { hint: Some(error.hint()), what: error.to_string() }
}

/// The lock of a run, and the door at which others knock.
#[cfg(unix)]
mod owner {
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::mpsc::Sender;
    use std::thread;
    use std::time::Duration;

    use super::{Event, Failure, Input, Level, RunDir, UserDirs};
    use crate::store::{self, Claim, Ownership};
    use crate::workbench::desk::ClientId;
    use crate::workbench::moment::now;
    use crate::workbench::remote;

    /// What came of claiming a run.
    pub(super) enum Claimed {
        /// It is ours; without a lock where there is no place for one.
        Here(Option<Ownership>),
        /// Another process has it.
        There(UnixStream),
    }

    /// How often an owner that does not answer is looked for again: it may be about to end.
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(20);

    /// Claims the run for this process, or finds the one that has it.
    pub(super) fn claim(dir: &RunDir, user: Option<&UserDirs>, events: &Sender<Event>) -> Result<Claimed, Failure> {
        let Some(user) = user else { return Ok(Claimed::Here(None)) };
        let mut tries = 0;
        loop {
            match store::claim(dir.path(), user, now()) {
                Ok(Claim::Ours(ownership)) => return Ok(Claimed::Here(Some(ownership))),
                Ok(Claim::Taken(owner)) => match owner.connect() {
                    Ok(stream) => return Ok(Claimed::There(stream)),
                    Err(error) if tries >= TRIES => {
                        return Err(Failure {
                            what: format!(
                                "process {} on {} has this run open and does not answer: {error}",
                                owner.pid, owner.host
                            ),
                            hint: Some("end it there, then try again".to_owned()),
                        });
                    }
                    Err(_) => {
                        tries += 1;
                        thread::sleep(PAUSE);
                    }
                },
                Err(error) => {
                    let text = format!("{error}: other commands will not see what happens here; {}", error.hint());
                    let _ = events.send(Event::Notice { level: Level::Warning, text });
                    return Ok(Claimed::Here(None));
                }
            }
        }
    }

    /// Lets others in until it is dropped.
    pub(super) struct Door {
        ownership: Ownership,
        closed: Arc<AtomicBool>,
    }

    impl Door {
        /// Opens the door: whoever connects becomes a client of the desk.
        pub(super) fn open(ownership: Ownership, desk: Sender<Input>) -> Self {
            let closed = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&closed);
            if let Ok(listener) = ownership.listener().try_clone() {
                // Without the thread nobody can come in; the lock still holds.
                let _ = thread::Builder::new().name("door".to_owned()).spawn(move || let_in(&listener, &desk, &seen));
            }
            Self { ownership, closed }
        }
    }

    impl Drop for Door {
        fn drop(&mut self) {
            self.closed.store(true, Ordering::SeqCst);
            // Wakes the thread, which then sees that it is closed.
            let _ = UnixStream::connect(&self.ownership.me().socket);
        }
    }

    fn let_in(listener: &UnixListener, desk: &Sender<Input>, closed: &AtomicBool) {
        let next = AtomicU64::new(1);
        for stream in listener.incoming() {
            if closed.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let client = ClientId(next.fetch_add(1, Ordering::Relaxed));
            let desk = desk.clone();
            // One who can't be served sees the line end.
            let _ = thread::Builder::new().name("guest".to_owned()).spawn(move || remote::serve(stream, client, &desk));
        }
    }
}
