//! The run's directory in memory: read whole once, then brought up to date path by path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::dir::{ReadFault, RunDir, fault, read_within, resolve};
use super::exclude::{Exclude, is_fixed};
use super::header::parse_header;
use super::problem::{Problem, ProblemKind, plain};
use super::source::{Encoding, decode_python, decode_shell};
use super::step_file::{Frame, Scan, StepFile};
use crate::step::{Digest, Kind, StepId};

/// The largest text that is read as a step, in bytes. The longest source in CPython's library is a fortieth of it; what
/// is larger is data.
pub const STEP_LIMIT: u64 = 16 << 20;
/// The most that is read of a `return.md`, in bytes.
const RETURN_LIMIT: u64 = 1 << 20;
/// The most entries that are looked at: opening `/` by mistake ends after seconds.
const ENTRY_LIMIT: usize = 500_000;
/// The most frames within frames.
const DEPTH_LIMIT: usize = 64;
/// A file changed less than this before it was read may change again without another time stamp.
const RACY: Duration = Duration::from_secs(2);

/// What is known of a run's directory.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    exclude: Exclude,
    /// Every directory that is looked into, by path in the run.
    dirs: BTreeMap<PathBuf, Directory>,
    files: BTreeMap<PathBuf, Found>,
    /// Files that are nothing to the run, with what shows that they changed.
    others: BTreeMap<PathBuf, Stamp>,
    problems: BTreeMap<PathBuf, ProblemKind>,
    /// Symbolic links that are followed: what they lead to may change under another path.
    links: BTreeSet<PathBuf>,
    /// How many entries the look that is going on may still see.
    budget: usize,
    /// Counts the looks; what a look did not see is gone.
    look: u64,
}

#[derive(Debug)]
struct Directory {
    /// Where it really is: another place than its path says if links lead to it.
    real: PathBuf,
    seen: u64,
}

#[derive(Debug)]
struct Found {
    what: Arc<What>,
    stamp: Stamp,
    seen: u64,
}

#[derive(Debug, PartialEq)]
enum What {
    Step(Arc<StepFile>),
    Return(Arc<str>),
}

/// What tells that a file is what it was, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(unix)]
    changed: (i64, i64),
    /// Set when the file changed so shortly before it was read that its times prove nothing.
    racy: bool,
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        let modified = found.modified().ok();
        let age = modified.map(|at| at.elapsed());
        Self {
            size: found.len(),
            modified,
            #[cfg(unix)]
            inode: (found.dev(), found.ino()),
            #[cfg(unix)]
            changed: (found.ctime(), found.ctime_nsec()),
            racy: !matches!(age, Some(Ok(age)) if age > RACY),
        }
    }

    fn shows_the_same(&self, now: &Self) -> bool {
        !self.racy && Self { racy: false, ..*self } == Self { racy: false, ..*now }
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
            others: BTreeMap::new(),
            problems: BTreeMap::new(),
            links: BTreeSet::new(),
            budget: 0,
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
        self.look += 1;
        self.budget = ENTRY_LIMIT;
        for path in paths {
            // Something made within a directory that is not known yet: the whole directory is new.
            let mut at = path.as_path();
            while let Some(parent) = at.parent()
                && !self.dirs.contains_key(parent)
                && !parent.as_os_str().is_empty()
            {
                at = parent;
            }
            self.visit(at, distrust);
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
            self.files.remove(&key);
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
            self.file(path, found, distrust, |root, path| match read_within(root, path, RETURN_LIMIT) {
                Ok((bytes, at)) => Ok((What::Return(String::from_utf8_lossy(&bytes).into()), Stamp::of(&at))),
                Err(ReadFault::TooLarge(at)) => {
                    Err(ReadFault::Problem(ProblemKind::TooLarge { bytes: at.len(), limit: RETURN_LIMIT }))
                }
                Err(other) => Err(other),
            });
        } else if is_step_name(&name) && !name.starts_with('.') {
            self.file(path, found, distrust, read_step);
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

    fn file(
        &mut self,
        path: &Path,
        found: &Metadata,
        distrust: bool,
        read: impl FnOnce(&Path, &Path) -> Result<(What, Stamp), ReadFault>,
    ) {
        let look = self.look;
        let now = Stamp::of(found);
        if let Some(known) = self.files.get_mut(path)
            && !distrust
            && known.stamp.shows_the_same(&now)
        {
            known.seen = look;
            return;
        }
        match read(&self.root, path) {
            Ok((what, stamp)) => {
                let what = match self.files.remove(path) {
                    // Whoever holds the old one sees by the pointer that nothing changed.
                    Some(known) if *known.what == what => known.what,
                    _ => Arc::new(what),
                };
                self.files.insert(path.to_owned(), Found { what, stamp, seen: look });
            }
            Err(ReadFault::Gone | ReadFault::Directory | ReadFault::TooLarge(_)) => {}
            Err(ReadFault::Problem(kind)) => self.wrong(path, kind),
        }
    }

    /// Everything that is known now.
    pub fn scan(&self) -> Scan {
        let mut scan = Scan::default();
        let mut problems: Vec<Problem> =
            self.problems.iter().map(|(path, kind)| Problem { path: path.clone(), kind: kind.clone() }).collect();
        let mut by_id: BTreeMap<&StepId, &Arc<StepFile>> = BTreeMap::new();
        let mut frames: BTreeMap<StepId, Option<Arc<str>>> = BTreeMap::new();
        for (path, found) in &self.files {
            match &*found.what {
                What::Return(text) => {
                    if let Some(frame) = path.parent().and_then(Path::to_str).and_then(|frame| frame.parse().ok()) {
                        frames.insert(frame, Some(Arc::clone(text)));
                    }
                }
                What::Step(file) => {
                    // Paths come sorted, so `a.py` is seen before `a.sh`.
                    if let Some(kept) = by_id.get(&file.id) {
                        let kind = ProblemKind::SameId { kept: kept.path.clone() };
                        problems.push(Problem { path: path.clone(), kind });
                    } else {
                        by_id.insert(&file.id, file);
                    }
                }
            }
        }
        for file in by_id.into_values() {
            problems.extend(file.fault.iter().map(|kind| Problem { path: file.path.clone(), kind: kind.clone() }));
            problems.extend(
                file.header_problems
                    .iter()
                    .map(|problem| Problem { path: file.path.clone(), kind: ProblemKind::Header(problem.clone()) }),
            );
            let mut frame = file.id.frame();
            while let Some(id) = frame {
                if let Ok(id) = id.parse::<StepId>() {
                    frames.entry(id).or_insert(None);
                }
                frame = id.rsplit_once('/').map(|(above, _)| above);
            }
            if file.kind == Kind::Module { &mut scan.modules } else { &mut scan.steps }.push(Arc::clone(file));
        }
        scan.frames = frames.into_iter().map(|(id, returned)| Frame { id: id.as_str().into(), returned }).collect();
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        scan.problems = problems;
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

/// Files that are no steps, as they stood.
#[derive(Debug)]
pub(super) struct OtherFiles(BTreeMap<PathBuf, Stamp>);

impl OtherFiles {
    /// The paths that came, went or changed from `self` to `later`, and those of `named` that are in either.
    pub fn since(&self, later: &Self, named: &[PathBuf]) -> Vec<PathBuf> {
        let same = |a: &Stamp, b: &Stamp| Stamp { racy: false, ..*a } == Stamp { racy: false, ..*b };
        let named: BTreeSet<&PathBuf> = named.iter().collect();
        let all: BTreeSet<&PathBuf> = self.0.keys().chain(later.0.keys()).collect();
        let differs = |path: &&PathBuf| match (self.0.get(*path), later.0.get(*path)) {
            (Some(then), Some(now)) => !same(then, now) || named.contains(path),
            _ => true,
        };
        all.into_iter().filter(differs).cloned().collect()
    }
}

/// The run's inbox and its configuration, as they stand.
pub(super) fn own_files(root: &Path) -> OtherFiles {
    let proposals = fs::read_dir(root.join(super::PATCHES)).into_iter().flatten().filter_map(Result::ok);
    let mut found: BTreeMap<PathBuf, Stamp> = proposals
        .filter_map(|entry| Some((Path::new(super::PATCHES).join(entry.file_name()), entry.metadata().ok()?)))
        .map(|(path, at)| (path, Stamp::of(&at)))
        .collect();
    if let Ok(at) = fs::metadata(root.join(super::CONFIG_FILE)) {
        found.insert(super::CONFIG_FILE.into(), Stamp::of(&at));
    }
    OtherFiles(found)
}

/// Whether a file of this name is a step.
pub(super) fn is_step_name(name: &str) -> bool {
    id_of(name).is_some()
}

/// A path in the run without the ending that makes it a step's, and whether that is `.sh`.
fn id_of(path: &str) -> Option<(&str, bool)> {
    let (bare, shell) = match path.strip_suffix(".py") {
        Some(bare) => (bare, false),
        None => (path.strip_suffix(".sh")?, true),
    };
    (!bare.is_empty() && !bare.ends_with('/')).then_some((bare, shell))
}

fn read_step(root: &Path, path: &Path) -> Result<(What, Stamp), ReadFault> {
    let text = path.to_str().ok_or(ReadFault::Problem(ProblemKind::NameNotUtf8))?;
    let (bare, shell) = id_of(text).ok_or(ReadFault::Gone)?;
    let id: StepId =
        bare.parse().map_err(|error: crate::step::InvalidStepId| ReadFault::Problem(ProblemKind::NoId(error.why)))?;
    let by_name = match (shell, id.name().starts_with("test_")) {
        (true, _) => Kind::Shell,
        (false, true) => Kind::Test,
        (false, false) => Kind::Step,
    };
    let mut file = StepFile {
        id,
        path: path.to_owned(),
        kind: by_name,
        header: Default::default(),
        source: Arc::from(""),
        digest: Digest::of(b""),
        encoding: Encoding::UTF8,
        fault: None,
        header_problems: Vec::new(),
    };
    let unread = |found: &Metadata| Digest::of(format!("not read: {:?}", Stamp { racy: false, ..Stamp::of(found) }));
    let stamp = match read_within(root, path, STEP_LIMIT) {
        Ok((bytes, found)) => {
            file.digest = Digest::of(&bytes);
            match if shell { decode_shell(&bytes) } else { decode_python(&bytes) } {
                Ok((source, encoding)) => {
                    (file.source, file.encoding) = (source.into(), encoding);
                }
                Err(error) => {
                    file.source = String::from_utf8_lossy(&bytes).into();
                    file.fault = Some(ProblemKind::NotText(error));
                }
            }
            Stamp::of(&found)
        }
        Err(ReadFault::TooLarge(found)) => {
            file.fault = Some(ProblemKind::TooLarge { bytes: found.len(), limit: STEP_LIMIT });
            file.digest = unread(&found);
            Stamp::of(&found)
        }
        Err(ReadFault::Problem(kind @ ProblemKind::Unreadable(_))) => {
            // It keeps its place in the run: a step that is left out would change what the others see.
            let found = fs::metadata(root.join(path)).map_err(|error| fault(&error))?;
            file.fault = Some(kind);
            file.digest = unread(&found);
            Stamp::of(&found)
        }
        Err(other) => return Err(other),
    };
    let parsed = parse_header(&file.source);
    if parsed.says_kind && !shell {
        file.kind = parsed.header.kind;
    }
    file.header = parsed.header;
    file.header.kind = file.kind;
    file.header_problems = parsed.problems;
    Ok((What::Step(Arc::new(file)), stamp))
}
