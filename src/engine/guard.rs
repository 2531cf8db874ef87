//! The run's own files, which steps may not change: which they are, and having them again where nothing kept a step from
//! changing them.
//!
//! Where the kernel gives a view of the file system to a run, the files are read-only in it and all that is decided here
//! is which directories may not be moved away from above them. Where it gives none, calls that would change them are
//! refused as they are made (`warden`), and what comes through all the same, since a path can be changed between the
//! question and the call, is put back after the step from what was noted before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::disk::write_whole;
use crate::run::CONFIG_FILE;
use crate::step::Effect;

/// Most bytes of one file, and of all, that are noted. A step's file is text; one that is larger is only told of.
const LARGEST: u64 = 4 << 20;
const IN_ALL: u64 = 128 << 20;
/// Most directories that are gone through in search of one that was moved away.
const SEARCHED: usize = 10_000;
const STORE: &str = ".reweave";
const INBOX: &str = "patches";

/// Which files are the run's own, shared by all who decide on it.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnFiles(Arc<RwLock<Own>>);

#[derive(Debug, Default)]
struct Own {
    dir: PathBuf,
    /// Where that really is, links followed: as the kernel tells paths.
    real: PathBuf,
    /// Steps' files, by their path in it.
    files: BTreeSet<PathBuf>,
    /// A directory in which nothing may be changed: the run's, for what is tried beside it.
    outer: Option<PathBuf>,
}

/// Why a path may not be changed.
pub(super) const OWN: &str = "steps may not change the run's own files";
const OUTER: &str = "what is tried on the side may not change the run";

impl OwnFiles {
    /// Of the run in `dir`, where nothing is known yet.
    pub(super) fn of(dir: &Path) -> Self {
        Self(Arc::new(RwLock::new(Own { dir: dir.to_owned(), real: real(dir), ..Own::default() })))
    }

    /// The same for a run on the side that works in a copy of `outer` under another path.
    pub(super) fn beside(&self, copy: &Path, outer: &Path) -> Self {
        let files = self.0.read().unwrap_or_else(PoisonError::into_inner).files.clone();
        Self(Arc::new(RwLock::new(Own { dir: copy.to_owned(), real: real(copy), files, outer: Some(real(outer)) })))
    }

    /// Has these be the protected paths.
    pub(super) fn set(&self, paths: &[String]) {
        let mut own = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let dir = own.dir.clone();
        own.files =
            paths.iter().filter_map(|path| Path::new(path).strip_prefix(&dir).ok().map(Path::to_owned)).collect();
    }

    /// Why what is at `path` may not be changed, if so. `whole`: with all below it, as by a rename.
    pub(super) fn holds(&self, path: &Path, whole: bool) -> Option<&'static str> {
        let own = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_outer = |outer: &PathBuf| path.starts_with(outer) && !path.starts_with(&own.real);
        if own.outer.as_ref().is_some_and(is_outer) {
            return Some(OUTER);
        }
        if whole && std::iter::once(&own.real).chain(&own.outer).any(|dir| dir.starts_with(path)) {
            return Some(OWN);
        }
        let inner = path.strip_prefix(&own.real).ok()?;
        let first = inner.components().next();
        let named = [STORE, INBOX, CONFIG_FILE].iter().any(|name| first == Some(Component::Normal(name.as_ref())));
        let below = || {
            let after = own.files.range(inner.to_owned()..).next();
            after.is_some_and(|next| next.starts_with(inner))
        };
        (named || own.files.contains(inner) || whole && below()).then_some(OWN)
    }
}

/// A directory as the kernel tells it, links followed.
pub(super) fn real(dir: &Path) -> PathBuf {
    fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())
}

/// What steps are held to: the directories of a run, and its own files in them.
#[derive(Debug, Clone)]
pub(super) struct Grounds {
    /// As the kernel tells them.
    pub(super) dirs: Vec<PathBuf>,
    pub(super) files: OwnFiles,
    pub(super) guard: Guard,
}

/// What the run's own files were before a step changed any: shared with who lets the calls go on that could.
#[derive(Debug, Clone)]
pub(super) struct Guard(Arc<Mutex<Noted>>);

#[derive(Debug, Clone, Default)]
struct Noted {
    dir: PathBuf,
    /// Paths that steps may not write.
    protected: Vec<PathBuf>,
    kept: BTreeMap<PathBuf, Kept>,
    /// Counts how often it was noted.
    turn: u64,
    /// The directories that hold them.
    folders: BTreeMap<PathBuf, (u64, u64)>,
    /// The run's directory, wherever it is moved.
    home: Option<Arc<fs::File>>,
    /// Where other names are for the files of the store, which are too large to be read each time.
    names: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Kept {
    mark: Mark,
    content: Content,
    /// When it was last there.
    turn: u64,
}

#[derive(Debug, Clone)]
enum Content {
    Bytes(Arc<[u8]>),
    /// The same file is at another name.
    Named(PathBuf),
    /// It could not be noted.
    Lost,
}

/// What tells that a file is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    file: (u64, u64),
    size: u64,
    changed: (i64, i64),
    mode: u32,
}

/// What speaks for it that a step made a change, and not a person meanwhile.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Paths that it was seen to change.
    pub(super) named: Vec<PathBuf>,
    /// It could have changed any without being seen.
    pub(super) any: bool,
}

impl Evidence {
    fn tells(&self, path: &Path) -> bool {
        self.any || self.named.iter().any(|named| path.starts_with(named))
    }
}

#[cfg(unix)]
fn mark(meta: &Metadata) -> Mark {
    use std::os::unix::fs::MetadataExt;
    Mark {
        file: (meta.dev(), meta.ino()),
        size: meta.size(),
        changed: (meta.ctime(), meta.ctime_nsec()),
        mode: meta.mode(),
    }
}

#[cfg(not(unix))]
fn mark(meta: &Metadata) -> Mark {
    Mark { file: (0, 0), size: meta.len(), changed: (0, 0), mode: 0 }
}

impl Guard {
    /// For the run in `dir`.
    pub(super) fn new(dir: &Path) -> Self {
        Self(Arc::new(Mutex::new(Noted { dir: dir.to_owned(), ..Noted::default() })))
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of its own for who works beside this one in the same directory.
    pub(super) fn apart(&self) -> Self {
        Self(Arc::new(Mutex::new(self.noted().clone())))
    }

    /// The same for a copy of the run.
    pub(super) fn beside(&self, copy: &Path) -> Self {
        let noted = self.noted();
        let there = |path: &PathBuf| Some(copy.join(path.strip_prefix(&noted.dir).ok()?));
        let protected = noted.protected.iter().filter_map(there).collect();
        Self(Arc::new(Mutex::new(Noted { dir: copy.to_owned(), protected, ..Noted::default() })))
    }

    /// Whether both are one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Has a directory of the engine's own, best on the same disk as the run.
    pub(super) fn name_in(&self, names: PathBuf) {
        self.noted().names = Some(names);
    }

    /// Has these be the protected paths.
    pub(super) fn set(&self, protected: Vec<String>) {
        self.noted().protected = protected.into_iter().map(PathBuf::from).collect();
    }

    /// Notes what is there now: before a step, or before it does what could change it unseen. What has not changed
    /// since is not read again, but looked at, which takes its time where there are many.
    pub(super) fn note(&self) {
        self.noted().note();
    }

    /// After a step: puts back what it changed of them. What a person changed meanwhile stays.
    pub(super) fn put_back(&self, evidence: &Evidence) -> Vec<Effect> {
        self.noted().put_back(evidence)
    }
}

impl Noted {
    fn note(&mut self) {
        self.turn += 1;
        let mut is_other = false;
        let mut all = 0;
        for path in paths(&self.dir, &self.protected) {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let mark = mark(&meta);
            if let Some(known) = self.kept.get_mut(&path).filter(|known| known.mark == mark) {
                known.turn = self.turn;
                continue;
            }
            is_other = true;
            let content = if path.starts_with(self.dir.join(STORE)) {
                self.name(&path)
            } else if meta.is_file() && meta.len() <= LARGEST && all <= IN_ALL {
                all += meta.len();
                fs::read(&path).map_or(Content::Lost, |bytes| Content::Bytes(bytes.into()))
            } else {
                Content::Lost
            };
            self.kept.insert(path, Kept { mark, content, turn: self.turn });
        }
        let turn = self.turn;
        let before = self.kept.len();
        self.kept.retain(|_, kept| kept.turn == turn);
        if is_other || self.kept.len() != before {
            let folders: BTreeSet<&Path> = self.kept.keys().filter_map(|path| path.parent()).collect();
            let found = folders.into_iter().filter(|folder| **folder != *self.dir).filter_map(|folder| {
                let meta = fs::symlink_metadata(folder).ok()?;
                Some((folder.to_owned(), self::mark(&meta).file))
            });
            self.folders = found.collect();
        }
        if self.home.is_none() {
            self.home = fs::File::open(&self.dir).ok().map(Arc::new);
        }
    }

    /// Another name for a file of the store.
    fn name(&self, path: &Path) -> Content {
        let Some(names) = &self.names else { return Content::Lost };
        let to = names.join(path.file_name().map_or_else(OsString::new, OsString::from));
        // A name that is left from before stands for another file by now.
        let _ = fs::remove_file(&to);
        if fs::hard_link(path, &to).is_ok() { Content::Named(to) } else { Content::Lost }
    }

    fn put_back(&self, evidence: &Evidence) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !evidence.any && evidence.named.is_empty() {
            return effects;
        }
        if let Some(moved) = self.moved() {
            let done = fs::rename(&moved, &self.dir);
            let what = format!("moved the run to {}", moved.display());
            effects.push(told(what, done.as_ref().map_err(ToString::to_string).err()));
        }
        for (folder, file) in &self.folders {
            let now = fs::symlink_metadata(folder).ok().map(|meta| mark(&meta).file);
            if now != Some(*file)
                && let Some(moved) = self.find(*file)
                && (evidence.tells(folder) || evidence.tells(&moved))
            {
                let done = if now.is_none() {
                    fs::rename(&moved, folder)
                } else {
                    Err(std::io::ErrorKind::AlreadyExists.into())
                };
                let what = format!("moved {} to {}", self.shown(folder), self.shown(&moved));
                effects.push(told(what, done.as_ref().map_err(ToString::to_string).err()));
            }
        }
        for (path, kept) in &self.kept {
            let now = fs::symlink_metadata(path).ok().map(|meta| mark(&meta));
            if now == Some(kept.mark) || !evidence.tells(path) {
                continue;
            }
            let (what, done) = match &kept.content {
                // The workbench writes to it meanwhile: only that it is another file, or gone, tells.
                Content::Named(name) => {
                    if now.is_some_and(|now| now.file == kept.mark.file) {
                        continue;
                    }
                    let beside = path.with_extension("back");
                    let done = fs::hard_link(name, &beside).and_then(|()| fs::rename(&beside, path));
                    (if now.is_none() { "removed" } else { "replaced" }, done)
                }
                Content::Bytes(bytes) => {
                    let same = fs::read(path).is_ok_and(|now| *now == **bytes);
                    if same && now.is_some_and(|now| now.mode == kept.mark.mode) {
                        continue;
                    }
                    let done = if same { Ok(()) } else { restore(path, bytes) };
                    let done = done.and_then(|()| set_mode(path, kept.mark.mode));
                    (if now.is_none() { "removed" } else { "changed" }, done)
                }
                Content::Lost => {
                    // The workbench writes to the store meanwhile.
                    let same = now.is_some_and(|now| now.file == kept.mark.file);
                    if path.starts_with(self.dir.join(STORE)) && same {
                        continue;
                    }
                    ("changed", Err(std::io::Error::other("it could not be noted before")))
                }
            };
            effects
                .push(told(format!("{what} {}", self.shown(path)), done.as_ref().map_err(ToString::to_string).err()));
        }
        for path in paths(&self.dir, &self.protected) {
            let is_new = !self.kept.contains_key(&path) && path.starts_with(self.dir.join(INBOX));
            if is_new && evidence.named.contains(&path) {
                let done = fs::remove_file(&path);
                effects.push(told(
                    format!("made {}", self.shown(&path)),
                    done.as_ref().map_err(ToString::to_string).err(),
                ));
            }
        }
        effects
    }

    /// Where the run's directory is, if it was moved and nothing stands in its place.
    fn moved(&self) -> Option<PathBuf> {
        if fs::symlink_metadata(&self.dir).is_ok() {
            return None;
        }
        #[cfg(unix)]
        {
            use std::os::fd::AsRawFd;
            let now = fs::read_link(format!("/proc/self/fd/{}", self.home.as_ref()?.as_raw_fd())).ok()?;
            now.is_dir().then_some(now)
        }
        #[cfg(not(unix))]
        None
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.dir).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Where in the run a directory is now.
    fn find(&self, file: (u64, u64)) -> Option<PathBuf> {
        let mut todo = vec![self.dir.clone()];
        let mut seen = 0;
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(folder).ok()?.flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                seen += 1;
                if !meta.is_dir() || seen > SEARCHED {
                    continue;
                }
                if mark(&meta).file == file {
                    return Some(entry.path());
                }
                todo.push(entry.path());
            }
        }
        None
    }
}

fn told(what: String, failed: Option<String>) -> Effect {
    Effect::PutBack { what, failed }
}

/// The files among what is protected: those of the inbox and of the store one by one.
fn paths(dir: &Path, protected: &[PathBuf]) -> Vec<PathBuf> {
    let (inbox, store) = (dir.join(INBOX), dir.join(STORE));
    let mut found: Vec<PathBuf> = protected.iter().filter(|p| **p != inbox && **p != store).cloned().collect();
    let entries = fs::read_dir(inbox).into_iter().flatten().flatten();
    found.extend(entries.map(|entry| entry.path()).take(SEARCHED));
    // What SQLite keeps beside it comes and goes.
    found.push(store.join("store.db"));
    found
}

fn restore(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(path)?;
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    write_whole(path, bytes)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn run() -> (tempfile::TempDir, tempfile::TempDir, Vec<String>) {
        let (dir, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, text) in [
            ("1.py", "kept = 5\n"),
            ("02_frame/1.py", "print(kept)\n"),
            ("patches/a.json", "{}"),
            (".reweave/store.db", "store"),
            ("out.txt", "made"),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let protected = super::super::wall::protected(dir.path(), &|_| false);
        (dir, own, protected)
    }

    fn all() -> Evidence {
        Evidence { any: true, named: Vec::new() }
    }

    #[test]
    fn what_is_the_runs_own_and_what_stands_above_it() {
        let (dir, _, protected) = run();
        let own = OwnFiles::of(dir.path());
        own.set(&protected);
        let holds = |path: &str, whole| own.holds(&dir.path().join(path), whole).is_some();
        for path in ["1.py", "02_frame/1.py", "patches/new", ".reweave", ".reweave/x", "reweave.toml"] {
            assert!(holds(path, false), "{path}");
        }
        for path in ["out.txt", "new.py", "02_frame/new.txt", "02_frame"] {
            assert!(!holds(path, false), "{path}");
        }
        assert!(holds("02_frame", true) && holds("", true) && !holds("02_fram", true) && !holds("out.txt", true));
        assert!(own.holds(dir.path().parent().unwrap(), true).is_some());
        let beside = own.beside(Path::new("/copy"), dir.path());
        assert_eq!(beside.holds(&dir.path().join("out.txt"), false), Some(OUTER));
        assert_eq!(beside.holds(Path::new("/copy/out.txt"), false), None);
        assert_eq!(beside.holds(Path::new("/copy/1.py"), false), Some(OWN));
    }

    #[test]
    fn what_a_step_changed_is_put_back_and_what_a_person_changed_stays() {
        let (dir, own, protected) = run();
        let guard = Guard::new(dir.path());
        guard.name_in(own.path().to_owned());
        guard.set(protected);
        guard.note();
        let at = |path: &str| dir.path().join(path);
        fs::write(at("1.py"), "changed").unwrap();
        assert!(guard.put_back(&Evidence::default()).is_empty());
        assert_eq!(fs::read_to_string(at("1.py")).unwrap(), "changed");
        let seen = Evidence { named: vec![at("1.py"), at("patches/b.json")], any: false };
        fs::write(at("patches/b.json"), "{}").unwrap();
        fs::write(at("patches/by a person"), "{}").unwrap();
        let told: Vec<String> = guard.put_back(&seen).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        changed 1.py, which is put back
        made patches/b.json, which is put back
        ");
        assert_eq!(fs::read_to_string(at("1.py")).unwrap(), "kept = 5\n");
        assert!(at("patches/by a person").exists() && !at("patches/b.json").exists());
        guard.note();
        fs::rename(at("02_frame"), at("away")).unwrap();
        fs::remove_file(at(".reweave/store.db")).unwrap();
        fs::remove_dir_all(at("patches")).unwrap();
        let told: Vec<String> = guard.put_back(&all()).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        moved 02_frame to away, which is put back
        removed .reweave/store.db, which is put back
        removed patches/a.json, which is put back
        removed patches/by a person, which is put back
        ");
        assert_eq!(fs::read_to_string(at("02_frame/1.py")).unwrap(), "print(kept)\n");
        assert_eq!(fs::read_to_string(at(".reweave/store.db")).unwrap(), "store");
        assert_eq!(fs::read_to_string(at("out.txt")).unwrap(), "made");
    }
}
