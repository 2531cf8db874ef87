//! Watching a run's directory, on a thread of its own.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{ErrorKind, Event, EventKind, RecursiveMode};

use super::change::{Change, WatchMode};
use super::exclude::Exclude;
use super::problem::plain;
use super::quiet::{Quiet, Sign, Waits};
use super::stamp::{OtherFiles, own_files};
use super::step_file::Scan;
use super::tree::Tree;

/// How often a directory is looked at where the kernel does not tell of changes. A look at 10,000 steps takes some
/// tens of milliseconds; a look is never given more than a twentieth of the time.
const POLL: Duration = Duration::from_millis(500);
/// How often it is tried whether the kernel tells by now.
const RETRY: Duration = Duration::from_secs(10);
/// The most events that are taken in before the clock is looked at again.
const BURST: usize = 10_000;

/// Watches a run's directory until it is dropped.
///
/// What is reported are differences between looks at the directory; the kernel's events only say where to look, and
/// when. So an event lost, doubled or misread can make a report late, never wrong.
#[derive(Debug)]
pub struct Watcher {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Event(notify::Result<Event>),
    LookAgain,
    Exclude(Exclude),
    Stop,
}

/// Makes what tells of changes; another one in tests.
type Backend = Box<dyn FnMut(Sender<Message>) -> notify::Result<Box<dyn notify::Watcher + Send>> + Send>;

impl Watcher {
    /// Starts to watch. The first report comes at once: what changed since `tree` was read (often nothing), and the
    /// mode. Later ones come when something changed; `report` is called on the watcher's thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(tree: Tree, report: impl FnMut(Change) + Send + 'static) -> io::Result<Self> {
        let backend: Backend = Box::new(|messages| {
            let watcher = notify::recommended_watcher(move |event| {
                // The thread may have ended just now.
                let _ = messages.send(Message::Event(event));
            })?;
            Ok(Box::new(watcher))
        });
        Self::start_with(tree, backend, POLL, report)
    }

    /// The same where the kernel is not asked, as on some network file systems that tell nothing.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start_polling(tree: Tree, every: Duration, report: impl FnMut(Change) + Send + 'static) -> io::Result<Self> {
        let backend: Backend = Box::new(|_| Err(notify::Error::generic("polling was asked for")));
        Self::start_with(tree, backend, every, report)
    }

    fn start_with(
        tree: Tree,
        backend: Backend,
        poll: Duration,
        report: impl FnMut(Change) + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, inbox) = channel();
        let sender = messages.clone();
        let thread = std::thread::Builder::new().name("watch".into()).spawn(move || {
            let last = Arc::new(tree.scan());
            Watch {
                own: own_files(tree.root()),
                tree,
                last,
                report,
                backend,
                sender,
                poll,
                watcher: None,
                watched: BTreeSet::new(),
                mode: WatchMode::Live,
                told_mode: None,
                quiet: Quiet::new(if cfg!(any(target_os = "linux", target_os = "android")) {
                    Waits::CLOSES_TOLD
                } else {
                    Waits::CLOSES_NOT_TOLD
                }),
            }
            .run(&inbox);
        })?;
        Ok(Self { messages, thread: Some(thread) })
    }

    /// Looks at everything again, whatever the kernel told.
    pub fn look_again(&self) {
        let _ = self.messages.send(Message::LookAgain);
    }

    /// Leaves other things out from now on.
    pub fn set_exclude(&self, exclude: Exclude) {
        let _ = self.messages.send(Message::Exclude(exclude));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            // It ends after the look that it is at; a panic there was reported by its own thread.
            let _ = thread.join();
        }
    }
}

struct Watch<R> {
    tree: Tree,
    last: Arc<Scan>,
    /// The inbox and the configuration at the last look at everything.
    own: OtherFiles,
    report: R,
    backend: Backend,
    sender: Sender<Message>,
    poll: Duration,
    watcher: Option<Box<dyn notify::Watcher + Send>>,
    /// Absolute paths of the directories that the kernel watches.
    watched: BTreeSet<PathBuf>,
    mode: WatchMode,
    told_mode: Option<WatchMode>,
    quiet: Quiet,
}

/// Where to look, as paths in the run.
#[derive(Default)]
struct Look {
    paths: Vec<PathBuf>,
    everything: bool,
    inbox: bool,
    config: bool,
}

impl<R: FnMut(Change)> Watch<R> {
    fn run(mut self, inbox: &Receiver<Message>) {
        self.go_live();
        self.look(&Look { everything: true, inbox: true, config: true, ..Look::default() });
        let mut retry = Instant::now() + RETRY;
        let mut next_poll = Instant::now() + self.poll;
        let mut everything = false;
        loop {
            let polling = self.mode != WatchMode::Live;
            let wake = [self.quiet.wake(), polling.then_some(next_poll)].into_iter().flatten().min();
            let mut message = match wake {
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            // What waits already belongs to the same burst. Bounded, since events may come faster than they are taken.
            for _ in 0..BURST {
                match message {
                    Ok(Message::Event(event)) => everything |= self.take_in(event),
                    Ok(Message::LookAgain) => everything = true,
                    Ok(Message::Exclude(exclude)) => {
                        self.tree.set_exclude(exclude);
                        everything = true;
                    }
                    Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                message = inbox.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            let now = Instant::now();
            if polling && now >= retry {
                retry = now + RETRY;
                self.go_live();
                everything |= self.mode == WatchMode::Live;
            }
            let mut look = sort_out(self.quiet.take(now));
            let due = polling && now >= next_poll;
            look.everything = std::mem::take(&mut everything) || due;
            if look.everything || look.inbox || look.config || !look.paths.is_empty() {
                self.look(&look);
            }
            if due {
                next_poll = Instant::now() + self.poll.max(now.elapsed() * 20);
            }
        }
    }

    /// Asks the kernel to tell of changes, or says why it can't.
    fn go_live(&mut self) {
        self.watched.clear();
        self.watcher = None;
        match (self.backend)(self.sender.clone()) {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                self.mode = WatchMode::Live;
                self.watch_directories();
            }
            Err(error) => self.mode = WatchMode::Polling(why(&error)),
        }
    }

    /// Makes the kernel watch exactly the directories that are looked into. Gives those that it did not watch before.
    fn watch_directories(&mut self) -> Vec<PathBuf> {
        let Some(watcher) = self.watcher.as_mut() else { return Vec::new() };
        let wanted: BTreeSet<PathBuf> = self.tree.places().collect();
        for path in self.watched.difference(&wanted) {
            // It is often gone already.
            let _ = watcher.unwatch(path);
        }
        let mut new = Vec::new();
        for path in wanted.difference(&self.watched) {
            match watcher.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => new.push(path.clone()),
                // Gone since it was listed; what it was in tells of that.
                Err(error) if is_gone(&error) && path != self.tree.root() => {}
                Err(error) => {
                    self.mode = WatchMode::Polling(why(&error));
                    self.watcher = None;
                    self.watched.clear();
                    return Vec::new();
                }
            }
        }
        self.watched.retain(|path| wanted.contains(path));
        self.watched.extend(new.iter().cloned());
        new
    }

    /// Notes what an event says; `true` when everything must be looked at.
    fn take_in(&mut self, event: notify::Result<Event>) -> bool {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                self.mode = WatchMode::Polling(why(&error));
                return true;
            }
        };
        if event.need_rescan() {
            return true;
        }
        let now = Instant::now();
        for (nth, path) in event.paths.iter().enumerate() {
            let Some(sign) = sign(&event.kind, nth, path) else { continue };
            let Ok(inside) = path.strip_prefix(self.tree.root()) else { continue };
            if inside.as_os_str().is_empty() {
                // The run's own directory was moved or removed: what the kernel watches is no longer it.
                if sign == Sign::Gone {
                    self.mode = WatchMode::Polling("the run's directory was moved or removed".to_owned());
                    self.watcher = None;
                    return true;
                }
                continue;
            }
            let hidden = inside.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
            if !hidden {
                self.quiet.note(inside.to_owned(), self.weighed(sign, inside), now);
            }
        }
        false
    }

    /// Only what the run knew can be missed and may come back at once. A name under which a file was written before it was
    /// moved into its place is settled by that.
    fn weighed(&self, sign: Sign, inside: &Path) -> Sign {
        let known = self.tree.holds(inside) || inside.starts_with(super::PATCHES) || inside == super::CONFIG_FILE;
        if sign == Sign::Gone && !known { Sign::Whole } else { sign }
    }

    /// Looks, and reports what is different.
    fn look(&mut self, look: &Look) {
        let before = self.tree.other_files(&look.paths, look.everything);
        if look.everything {
            self.tree.refresh_all();
        } else {
            self.drop_moved(&look.paths);
            self.tree.refresh_paths(&look.paths);
        }
        let mut inbox = look.inbox;
        // What was made in a directory before it was watched is told by nobody: look again once it is.
        loop {
            let new = self.watch_directories();
            if new.is_empty() {
                break;
            }
            let unseen: Vec<PathBuf> =
                new.iter().filter_map(|path| path.strip_prefix(self.tree.root()).ok()).map(Path::to_owned).collect();
            inbox |= unseen.iter().any(|path| path == Path::new(super::PATCHES));
            self.tree.refresh_again(&unseen);
        }
        let after = self.tree.other_files(&look.paths, look.everything);
        let own = look.everything.then(|| own_files(self.tree.root()));
        let own_changed = |path: &str| match (&own, &self.own) {
            (Some(now), then) => then.since(now, &[]).iter().any(|changed| changed.starts_with(path)),
            (None, _) => false,
        };
        let change = Change {
            others: before.since(&after, &look.paths),
            inbox: inbox || own_changed(super::PATCHES),
            config: look.config || own_changed(super::CONFIG_FILE),
            mode: self.mode.clone(),
            ..Change::between(&self.last, Arc::new(self.tree.scan()))
        };
        if let Some(own) = own {
            self.own = own;
        }
        if self.told_mode.as_ref() != Some(&self.mode) || !change.is_empty() {
            self.last = Arc::clone(&change.scan);
            self.told_mode = Some(self.mode.clone());
            (self.report)(change);
        }
    }

    /// Makes the kernel forget directories that an event names: one that was moved keeps its watch under its old name.
    fn drop_moved(&mut self, paths: &[PathBuf]) {
        let Some(watcher) = self.watcher.as_mut() else { return };
        for path in paths.iter().filter(|path| self.tree.is_directory(path)) {
            let moved = self.tree.root().join(path);
            self.watched.retain(|known| {
                let stale = known.starts_with(&moved);
                if stale {
                    let _ = watcher.unwatch(known);
                }
                !stale
            });
        }
    }
}

/// Sorts the paths of a burst by what they are to the run.
fn sort_out(paths: Vec<PathBuf>) -> Look {
    let mut look = Look::default();
    for path in paths {
        if path.starts_with(super::PATCHES) {
            look.inbox = true;
        } else if path == Path::new(super::CONFIG_FILE) {
            look.config = true;
        } else {
            look.paths.push(path);
        }
    }
    look
}

/// What an event says of its `nth` path; `None` for what changes nothing, such as our own reading.
fn sign(kind: &EventKind, nth: usize, path: &Path) -> Option<Sign> {
    let closes_told = cfg!(any(target_os = "linux", target_os = "android"));
    let there = || if path.symlink_metadata().is_ok() { Sign::Whole } else { Sign::Gone };
    Some(match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Sign::Whole,
        EventKind::Access(_) => return None,
        EventKind::Remove(_) => Sign::Gone,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) => Sign::Gone,
        EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Sign::Whole,
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
            if nth == 0 {
                Sign::Gone
            } else {
                Sign::Whole
            }
        }
        EventKind::Modify(ModifyKind::Name(_)) => there(),
        EventKind::Modify(ModifyKind::Metadata(_)) => Sign::Touched,
        // A directory or a link is made whole, and nobody closes it.
        EventKind::Create(_) if !closes_told || path.symlink_metadata().is_ok_and(|found| !found.is_file()) => {
            Sign::Whole
        }
        EventKind::Create(_) | EventKind::Modify(_) if closes_told => Sign::Open,
        _ => there(),
    })
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Why the kernel does not tell, in words for people, with what to do.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the limit on watched directories is reached (raise fs.inotify.max_user_watches)".to_owned()
        }
        ErrorKind::Io(found) if is_too_many(found) => {
            "the limit on watchers is reached (raise fs.inotify.max_user_instances)".to_owned()
        }
        ErrorKind::Io(found) => plain(found),
        ErrorKind::PathNotFound => "the run's directory is gone".to_owned(),
        _ => error.to_string(),
    }
}

fn is_too_many(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error());
    #[cfg(not(unix))]
    return {
        let _ = error;
        false
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::run::RunDir;

    /// Watches as many directories as a system with a low limit would.
    struct Limited(usize);

    impl notify::Watcher for Limited {
        fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
            Ok(Self(0))
        }
        fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| notify::Error::new(ErrorKind::MaxFilesWatch))?;
            Ok(())
        }
        fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
            Ok(())
        }
        fn kind() -> notify::WatcherKind {
            notify::WatcherKind::NullWatcher
        }
    }

    #[test]
    fn past_the_limit_the_directory_is_looked_at_again_and_again() {
        let dir = tempfile::tempdir().unwrap();
        for frame in ["a", "b", "c"] {
            fs::create_dir(dir.path().join(frame)).unwrap();
            fs::write(dir.path().join(frame).join("1.py"), "x = 1").unwrap();
        }
        let run = RunDir::open(dir.path()).unwrap();
        let (tell, told) = channel();
        let backend: Backend = Box::new(|_| Ok(Box::new(Limited(2))));
        let watcher = Watcher::start_with(Tree::read(&run), backend, Duration::from_millis(5), move |change| {
            let _ = tell.send(change);
        })
        .unwrap();
        let next = || told.recv_timeout(Duration::from_secs(20)).unwrap();
        let WatchMode::Polling(why) = next().mode else { panic!("it can't be live") };
        assert_eq!(why, "the limit on watched directories is reached (raise fs.inotify.max_user_watches)");
        fs::write(dir.path().join("b/1.py"), "x = 2").unwrap();
        let change = next();
        assert_eq!((change.changed.len(), change.scan.steps.len()), (1, 3));
        fs::create_dir(dir.path().join("patches")).unwrap();
        fs::write(dir.path().join("patches/1.diff"), "").unwrap();
        assert!(next().inbox);
        fs::write(dir.path().join("reweave.toml"), "seed = 1").unwrap();
        let mut seen = (false, false);
        fs::write(dir.path().join("data.csv"), "1").unwrap();
        while seen != (true, true) {
            let change = next();
            seen.0 |= change.config;
            seen.1 |= change.others == [PathBuf::from("data.csv")];
        }
        drop(watcher);
        assert!(told.try_recv().is_err() || told.recv().is_err(), "nothing is told any more");
    }

    #[test]
    fn a_dropped_watcher_ends_its_thread() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let (tell, told) = channel();
        drop(Watcher::start(Tree::read(&run), move |change| drop(tell.send(change))).unwrap());
        assert!(told.iter().count() <= 1, "the sender is gone with the thread");
    }
}
