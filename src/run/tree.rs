//! The run's directory in memory: read whole once, then brought up to date path by path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dir::RunDir;
use super::exclude::{Exclude, is_fixed};
use super::problem::{Problem, ProblemKind, plain};
use super::read::{ReadFault, fault, read_within, resolve};
use super::read_step::{is_step_name, read_step};
use super::stamp::{OtherFiles, Stamp};
use super::step_file::{Frame, Scan, StepFile};
use crate::step::{Kind, StepId};

/// The most that is read of a `return.md`, in bytes.
const RETURN_LIMIT: u64 = 1 << 20;
/// The most entries that are looked at: opening `/` by mistake ends after seconds.
const ENTRY_LIMIT: usize = 500_000;
/// So few files are read faster than threads are started.
const FEW: usize = 64;
/// The most frames within frames.
const DEPTH_LIMIT: usize = 64;
/// What is known of a run's directory.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
    exclude: Exclude,
    /// Every directory that is looked into, by path in the run.
    dirs: BTreeMap<PathBuf, Directory>,
    files: BTreeMap<PathBuf, Found>,
    /// The same steps and modules in the order of the run; more than one where files share an id, by path.
    steps: BTreeMap<StepId, Vec<Arc<StepFile>>>,
    /// Files that are nothing to the run, with what shows that they changed.
    others: BTreeMap<PathBuf, Stamp>,
    problems: BTreeMap<PathBuf, ProblemKind>,
    /// Symbolic links that are followed: what they lead to may change under another path.
    links: BTreeSet<PathBuf>,
    /// How many entries the look that is going on may still see.
    budget: usize,
    /// Files that this look found and did not read yet.
    unread: Vec<(PathBuf, Wanted)>,
    /// Counts the looks; what a look did not see is gone.
    look: u64,
}

#[derive(Debug, Clone)]
struct Directory {
    /// Where it really is: another place than its path says if links lead to it.
    real: PathBuf,
    seen: u64,
}

#[derive(Debug, Clone)]
struct Found {
    what: What,
    stamp: Stamp,
    seen: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Step(Arc<StepFile>),
    Return(Arc<str>),
}

/// What a file is to be read as.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Step,
    Return,
}

impl Wanted {
    fn read(self, root: &Path, path: &Path) -> Result<(What, Stamp), ReadFault> {
        match self {
            Self::Step => read_step(root, path).map(|(file, stamp)| (What::Step(Arc::new(file)), stamp)),
            Self::Return => match read_within(root, path, RETURN_LIMIT) {
                Ok((bytes, at)) => Ok((What::Return(String::from_utf8_lossy(&bytes).into()), Stamp::of(&at))),
                Err(ReadFault::TooLarge(at)) => {
                    Err(ReadFault::Problem(ProblemKind::TooLarge { bytes: at.len(), limit: RETURN_LIMIT }))
                }
                Err(other) => Err(other),
            },
        }
    }
}

impl Tree {
    /// Looks at a run's directory.
    pub fn read(run: &RunDir) -> Self {
        let mut tree = Self {
            root: run.path().to_owned(),
            exclude: run.exclude().clone(),
            dirs: BTreeMap::new(),
            files: BTreeMap::new(),
            steps: BTreeMap::new(),
            others: BTreeMap::new(),
            problems: BTreeMap::new(),
            links: BTreeSet::new(),
            budget: 0,
            unread: Vec::new(),
            look: 0,
        };
        tree.refresh_all();
        tree
    }

    /// Leaves other things out from now on. Takes effect with the next look at everything.
    pub fn set_exclude(&mut self, exclude: Exclude) {
        self.exclude = exclude;
    }

    /// The directories that are looked into, by path in the run, the run's own (empty) first.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.dirs.keys().map(PathBuf::as_path)
    }

    /// The run's directory, absolute.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a path in the run is a directory that is looked into.
    pub(super) fn is_directory(&self, path: &Path) -> bool {
        self.dirs.contains_key(path)
    }

    /// Whether a path in the run is a step or another file that is read, or a directory that is looked into.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.is_directory(path)
    }

    /// Where the run's files really lie: the absolute paths of its directories, each once, and of its inbox.
    pub(super) fn places(&self) -> impl Iterator<Item = PathBuf> {
        let inbox = self.root.join(super::PATCHES);
        let inbox = inbox.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(inbox);
        let dirs = self.dirs.values().map(|dir| dir.real.clone());
        std::iter::once(self.root.clone()).chain(dirs).chain(inbox)
    }

    /// Looks at everything again. Files whose size and times are as they were are not read again.
    pub fn refresh_all(&mut self) {
        self.refresh(&[PathBuf::new()], false);
    }

    /// Looks at these paths again, relative to the run: a file is read whatever its times say, a directory with all
    /// that it holds. Paths that lie outside what is looked into are ignored.
    pub fn refresh_paths(&mut self, paths: &[PathBuf]) {
        self.refresh(paths, true);
        let links: Vec<PathBuf> = self.links.iter().cloned().collect();
        if !links.is_empty() {
            self.refresh(&links, false);
        }
    }

    /// The same, where files whose size and times are as they were need not be read.
    pub(super) fn refresh_again(&mut self, paths: &[PathBuf]) {
        self.refresh(paths, false);
    }

    fn refresh(&mut self, paths: &[PathBuf], distrust: bool) {
        self.budget = ENTRY_LIMIT;
        for path in paths {
            // Each is a look of its own: what one path showed may be gone with what the next one shows.
            self.look += 1;
            // Something made within a directory that is not known yet: the whole directory is new.
            let mut at = path.as_path();
            if let (Some(parent), true) = (at.parent(), at.ends_with("pyvenv.cfg")) {
                // It decides on the whole directory that it is in.
                at = parent;
            }
            while let Some(parent) = at.parent()
                && !self.dirs.contains_key(parent)
                && !parent.as_os_str().is_empty()
            {
                at = parent;
            }
            self.visit(at, distrust);
            self.read_wanted();
            self.forget_unseen(at);
        }
    }

    /// Drops what is at or below `path` and was not seen by this look.
    fn forget_unseen(&mut self, path: &Path) {
        let look = self.look;
        let below = |key: &PathBuf| key.starts_with(path);
        let gone: Vec<PathBuf> = self
            .files
            .range(path.to_owned()..)
            .take_while(|(key, _)| below(key))
            .filter(|(_, f)| f.seen != look)
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            self.forget_file(&key);
        }
        let gone: Vec<PathBuf> = self
            .dirs
            .range(path.to_owned()..)
            .take_while(|(key, _)| below(key))
            .filter(|(_, d)| d.seen != look)
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            self.dirs.remove(&key);
        }
    }

    /// Looks at one path, whatever it is, and drops first what was known to be wrong with it or below it.
    fn visit(&mut self, path: &Path, distrust: bool) {
        let wrong: Vec<PathBuf> = self
            .problems
            .range(path.to_owned()..)
            .take_while(|(key, _)| key.starts_with(path))
            .map(|(key, _)| key.clone())
            .collect();
        for key in wrong {
            self.problems.remove(&key);
        }
        let other: Vec<PathBuf> = self
            .others
            .range(path.to_owned()..)
            .take_while(|(key, _)| key.starts_with(path))
            .map(|(key, _)| key.clone())
            .collect();
        for key in other {
            self.others.remove(&key);
        }
        self.links.retain(|link| !link.starts_with(path));
        if path.as_os_str().is_empty() {
            return self.list(path, self.root.clone(), distrust);
        }
        match fs::symlink_metadata(self.root.join(path)) {
            Ok(found) => self.entry(path, &found, distrust),
            Err(error) => {
                if let ReadFault::Problem(kind) = fault(&error) {
                    self.wrong(path, kind);
                }
            }
        }
    }

    fn wrong(&mut self, path: &Path, kind: ProblemKind) {
        self.problems.insert(path.to_owned(), kind);
    }

    /// Takes in one entry of a directory that is looked into.
    fn entry(&mut self, path: &Path, found: &Metadata, distrust: bool) {
        let Some(name) = path.file_name() else { return };
        let depth = path.components().count() - 1;
        let Some(text) = path.to_str() else { return self.unnamed(path, name, found) };
        let name = name.to_string_lossy();
        if self.exclude.excludes(text) {
            return;
        }
        let target = if found.is_symlink() {
            match resolve(&self.root, path) {
                Ok(real) => match fs::symlink_metadata(&real) {
                    Ok(at) => Some((real, at)),
                    Err(_) => return,
                },
                Err(ReadFault::Problem(kind)) => {
                    // A link that looks like no step may lead anywhere: data often lies elsewhere.
                    let matters = is_step_name(&name)
                        || matches!(kind, ProblemKind::LinkOutside { directory: true, .. } | ProblemKind::LinkLoop);
                    if matters && !is_fixed(&name, depth) {
                        self.wrong(path, kind);
                    }
                    return;
                }
                Err(_) => return,
            }
        } else {
            None
        };
        if let Some((real, _)) = &target {
            let inside = real.strip_prefix(&self.root).unwrap_or(real);
            let hidden = inside.iter().enumerate().any(|(depth, part)| is_fixed(&part.to_string_lossy(), depth));
            if hidden {
                return;
            }
            self.links.insert(path.to_owned());
        }
        let found = target.as_ref().map_or(found, |(_, at)| at);
        if found.is_dir() {
            if is_fixed(&name, depth) {
                return;
            }
            let real = match target {
                Some((real, _)) => real,
                None => match path.parent().and_then(|parent| self.dirs.get(parent)) {
                    Some(parent) => parent.real.join(&*name),
                    None => self.root.join(path),
                },
            };
            if depth >= DEPTH_LIMIT {
                return self.wrong(path, ProblemKind::TooDeep { limit: DEPTH_LIMIT });
            }
            let in_loop =
                path.ancestors().skip(1).filter_map(|dir| self.dirs.get(dir)).any(|dir| dir.real.starts_with(&real));
            if in_loop {
                return self.wrong(path, ProblemKind::LinkLoop);
            }
            if real.join("pyvenv.cfg").exists() {
                return;
            }
            self.list(path, real, distrust);
        } else if name == "return.md" && depth > 0 {
            self.want(path, found, distrust, Wanted::Return);
        } else if is_step_name(&name) && !name.starts_with('.') {
            self.want(path, found, distrust, Wanted::Step);
        } else if !name.starts_with('.') && name != super::CONFIG_FILE {
            self.others.insert(path.to_owned(), Stamp::of(found));
        }
    }

    /// An entry whose name is not UTF-8: wrong if it could hold a step.
    fn unnamed(&mut self, path: &Path, name: &OsStr, found: &Metadata) {
        let bytes = name.as_encoded_bytes();
        if !bytes.starts_with(b".") && (found.is_dir() || bytes.ends_with(b".py") || bytes.ends_with(b".sh")) {
            self.wrong(path, ProblemKind::NameNotUtf8);
        }
    }

    fn list(&mut self, path: &Path, real: PathBuf, distrust: bool) {
        let entries = match fs::read_dir(&real) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.as_os_str().is_empty() => return,
            Err(error) => return self.wrong(path, ProblemKind::DirectoryUnreadable(plain(&error))),
        };
        self.dirs.insert(path.to_owned(), Directory { real, seen: self.look });
        for entry in entries {
            if self.budget == 0 {
                return self.wrong(Path::new(""), ProblemKind::TooMany { limit: ENTRY_LIMIT });
            }
            self.budget -= 1;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.wrong(path, ProblemKind::DirectoryUnreadable(plain(&error)));
                    continue;
                }
            };
            // What vanished since it was listed is simply not there.
            if let Ok(found) = entry.metadata() {
                self.entry(&path.join(entry.file_name()), &found, distrust);
            }
        }
    }

    /// Notes a file to be read, unless it is known and its size and times are as they were.
    fn want(&mut self, path: &Path, found: &Metadata, distrust: bool, wanted: Wanted) {
        let look = self.look;
        if let Some(known) = self.files.get_mut(path)
            && !distrust
            && known.stamp.shows_the_same(&Stamp::of(found))
        {
            known.seen = look;
            return;
        }
        self.unread.push((path.to_owned(), wanted));
    }

    /// Reads what was noted, on several threads where it is much.
    fn read_wanted(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        let root = &self.root;
        let read = |part: &[(PathBuf, Wanted)]| -> Vec<_> {
            part.iter().map(|(path, wanted)| wanted.read(root, path)).collect()
        };
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
        let found: Vec<Result<(What, Stamp), ReadFault>> = if unread.len() < FEW || threads == 1 {
            read(&unread)
        } else {
            std::thread::scope(|scope| {
                let parts = unread.chunks(unread.len().div_ceil(threads));
                let started: Vec<_> = parts.map(|part| (part, scope.spawn(|| read(part)))).collect();
                // A part whose thread could not do it is read here.
                started.into_iter().flat_map(|(part, thread)| thread.join().unwrap_or_else(|_| read(part))).collect()
            })
        };
        for ((path, _), found) in unread.iter().zip(found) {
            match found {
                Ok((what, stamp)) => self.keep(path, what, stamp),
                Err(ReadFault::Gone | ReadFault::Directory | ReadFault::TooLarge(_)) => {}
                Err(ReadFault::Problem(kind)) => self.wrong(path, kind),
            }
        }
    }

    fn keep(&mut self, path: &Path, what: What, stamp: Stamp) {
        let look = self.look;
        if let Some(known) = self.files.get_mut(path)
            && known.what == what
        {
            // Whoever holds it sees by the pointer that nothing changed.
            (known.stamp, known.seen) = (stamp, look);
            return;
        }
        self.forget_file(path);
        if let What::Step(file) = &what {
            let same_id = self.steps.entry(file.id.clone()).or_default();
            let at = same_id.partition_point(|other| other.path < file.path);
            same_id.insert(at, Arc::clone(file));
        }
        self.files.insert(path.to_owned(), Found { what, stamp, seen: look });
    }

    fn forget_file(&mut self, path: &Path) {
        let Some(Found { what: What::Step(file), .. }) = self.files.remove(path) else { return };
        if let Some(same_id) = self.steps.get_mut(&file.id) {
            same_id.retain(|other| other.path != path);
            if same_id.is_empty() {
                self.steps.remove(&file.id);
            }
        }
    }

    /// Everything that is known now.
    pub fn scan(&self) -> Scan {
        let mut scan = Scan::default();
        let problem = |path: &Path, kind: &ProblemKind| Problem { path: path.to_owned(), kind: kind.clone() };
        scan.problems = self.problems.iter().map(|(path, kind)| problem(path, kind)).collect();
        let mut frames: BTreeMap<StepId, Option<Arc<str>>> = BTreeMap::new();
        let mut last_frame = None;
        // Paths sort `a.py` before `a.sh`.
        for (file, others) in self.steps.values().filter_map(|same_id| same_id.split_first()) {
            for other in others {
                scan.problems.push(problem(&other.path, &ProblemKind::SameId { kept: file.path.clone() }));
            }
            scan.problems.extend(file.fault.iter().map(|kind| problem(&file.path, kind)));
            let headers = file.header_problems.iter();
            scan.problems.extend(headers.map(|wrong| problem(&file.path, &ProblemKind::Header(wrong.clone()))));
            // Steps of a frame stand together, so most need no look at theirs.
            let mut frame = file.id.frame();
            while frame != last_frame
                && let Some(id) = frame
            {
                if let Ok(id) = id.parse::<StepId>() {
                    frames.entry(id).or_insert(None);
                }
                frame = id.rsplit_once('/').map(|(above, _)| above);
            }
            last_frame = file.id.frame();
            if file.kind == Kind::Module { &mut scan.modules } else { &mut scan.steps }.push(Arc::clone(file));
        }
        for (path, found) in &self.files {
            if let What::Return(text) = &found.what
                && let Some(frame) = path.parent().and_then(Path::to_str).and_then(|frame| frame.parse().ok())
            {
                frames.insert(frame, Some(Arc::clone(text)));
            }
        }
        scan.frames = frames.into_iter().map(|(id, returned)| Frame { id: id.as_str().into(), returned }).collect();
        scan.problems.sort_by(|a, b| a.path.cmp(&b.path));
        scan.others = self.others.len();
        scan.example = self.others.keys().next().cloned();
        scan
    }

    /// The files that are no steps: all, or those at or below `paths`.
    pub(super) fn other_files(&self, paths: &[PathBuf], all: bool) -> OtherFiles {
        if all {
            return OtherFiles(self.others.clone());
        }
        let below = |path: &PathBuf| {
            let path = path.clone();
            self.others.range(path.clone()..).take_while(move |(key, _)| key.starts_with(&path))
        };
        OtherFiles(paths.iter().flat_map(below).map(|(path, stamp)| (path.clone(), *stamp)).collect())
    }
}
