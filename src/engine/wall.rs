//! What steps are kept behind: from the policy to what a worker is told to put up, and what of it does not stand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::task::Settings;
use crate::run::{Area, Decision, Opening, Policy};

/// How far an area is open, as a worker is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Openness {
    /// Everything is allowed.
    Open,
    /// Some of it is decided at the call.
    Ask,
    /// Nothing is.
    None,
}

/// What a worker is told to put up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WallHead {
    /// Paths that may be read besides those of the system and the interpreter; all when `None`.
    pub read: Option<Vec<String>>,
    /// Paths that may be written, and read; all when `None`.
    pub write: Option<Vec<String>>,
    /// Paths at which nothing is to be found.
    pub hidden: Vec<String>,
    /// Files and directories in what may be written that may not.
    pub protected: Vec<String>,
    pub network: Openness,
    pub process: Openness,
    /// Whether new processes are counted.
    pub count: bool,
    /// Bytes of shared memory by name.
    pub memory: Option<u64>,
}

/// How many directories wait for runs on the side. A wall can't be opened for one that is made later.
pub(super) const SLOTS: usize = 8;

/// The places for a run on the side: its copy of the run, and of the temporary directory.
pub(super) fn slot(base: &Path, number: usize) -> (PathBuf, PathBuf) {
    (base.join(format!("side-{number}")), base.join(format!("side-{number}-tmp")))
}

/// Where copies of files are put before a step changes them.
pub(super) fn spool(base: &Path) -> PathBuf {
    base.join("spool")
}

/// What to put up for the run in `settings.dir`; `None` where the policy allows everything.
pub(super) fn wanted(settings: &Settings, base: &Path, tmp: &Path, steps: Vec<String>) -> Option<WallHead> {
    let policy = &settings.policy;
    if is_open(policy) {
        return None;
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut own = vec![text(&settings.dir), text(base), text(tmp)];
    for number in 0..SLOTS {
        let (copy, tmp) = slot(base, number);
        own.extend([text(&copy), text(&tmp)]);
    }
    let write = match policy.opening(Area::Write) {
        Opening::Everything => None,
        Opening::Only(paths) => Some([own, paths].concat()),
    };
    let read = match policy.opening(Area::Read) {
        Opening::Everything => None,
        Opening::Only(paths) => Some(paths),
    };
    let inside = |path: &str| write.as_ref().is_none_or(|open| open.iter().any(|one| Path::new(path).starts_with(one)));
    let mut protected = steps;
    protected.extend(policy.refused(Area::Write).into_iter().filter(|path| inside(path)));
    Some(WallHead {
        hidden: policy.refused(Area::Read),
        protected,
        network: openness(policy, Area::Network),
        process: openness(policy, Area::Process),
        count: settings.processes.is_some(),
        memory: settings.memory.map(|limit| limit.bytes),
        read,
        write,
    })
}

/// Whether a policy holds nothing back that a wall could.
pub(super) fn is_open(policy: &Policy) -> bool {
    [Area::Read, Area::Write, Area::Process, Area::Network]
        .iter()
        .all(|&area| openness(policy, area) == Openness::Open && policy.refused(area).is_empty())
}

fn openness(policy: &Policy, area: Area) -> Openness {
    let exceptions = !policy.refused(area).is_empty() || policy.asks(area);
    match (policy.default_of(area), policy.opening(area)) {
        (Decision::Allow, _) if !exceptions => Openness::Open,
        (Decision::Deny, Opening::Only(open)) if open.is_empty() => Openness::None,
        _ => Openness::Ask,
    }
}

/// What a worker tells of the wall that it put up: for each part why it does not stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct WallReply {
    pub walls: BTreeMap<String, Option<String>>,
    /// The descriptor at which calls wait for an answer, in the worker.
    #[serde(default)]
    pub listener: Option<i32>,
    /// Paths that could not be hidden.
    #[serde(default)]
    pub unhidden: Vec<String>,
}

impl WallReply {
    /// Whether the run's own files are read-only for steps.
    pub(super) fn is_mounted(&self) -> bool {
        self.walls.get("mounts").is_some_and(Option::is_none)
    }

    /// What of the policy nothing enforces, in words.
    pub(super) fn missing(&self) -> Vec<String> {
        let says = |part: &str, why: &str| match part {
            "files" => format!("files outside the run are not held back: {why}"),
            "signals" => format!("signals to other processes are not held back: {why}"),
            "calls" => format!("system calls are not filtered, so that the network is not held back: {why}"),
            "asking" => format!("nothing can be asked at the call, so that what would be asked is refused: {why}"),
            "mounts" => {
                let asked = self.walls.get("asking").is_some_and(Option::is_none);
                let instead = if asked { "what would change them is refused at the call, and " } else { "" };
                format!("the steps' files are not read-only for steps; {instead}what changed is put back: {why}")
            }
            "power" => format!("steps run with root's power over the system: {why}"),
            "network" => {
                let refused = self.walls.get("calls").is_some_and(Option::is_none);
                let instead = if refused { "; connections are refused at the call" } else { "" };
                format!("there is no network namespace{instead}: {why}")
            }
            _ => format!("{part}: {why}"),
        };
        let mut missing: Vec<String> =
            self.walls.iter().filter_map(|(part, why)| why.as_deref().map(|why| says(part, why))).collect();
        missing.extend(self.unhidden.iter().map(|path| format!("{path} can be read: it could not be hidden")));
        missing.sort();
        missing.dedup();
        missing
    }
}

/// Files of the run that are the person's and the workbench's, not the steps': what is there of them now. `made` tells
/// whether a step made a file.
pub(super) fn protected(dir: &Path, made: &dyn Fn(&str) -> bool) -> Vec<String> {
    const MOST: usize = 10_000;
    let mut found = Vec::new();
    for name in [".reweave", "patches", crate::run::CONFIG_FILE] {
        found.push(dir.join(name));
    }
    let mut todo = vec![dir.to_owned()];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                let none = name.starts_with('.') || name == "__pycache__" || path == dir.join("patches");
                if !none && !path.join("pyvenv.cfg").exists() {
                    todo.push(path);
                }
            } else if kind.is_file() && (name.ends_with(".py") || name.ends_with(".sh")) {
                let inner = path.strip_prefix(dir).map(|inner| inner.to_string_lossy().into_owned());
                if inner.is_ok_and(|inner| !made(&inner)) {
                    found.push(path);
                }
            }
        }
        if found.len() > MOST {
            break;
        }
    }
    found.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Where the temporary directory of a run is: the same each time.
pub(super) fn temporary_of(dir: &Path) -> PathBuf {
    let name = crate::step::Digest::of(dir.as_os_str().as_encoded_bytes()).to_string();
    let short: String = name.chars().take(12).collect();
    std::env::temp_dir().join(format!("reweave-run-{short}"))
}

/// The temporary directory of a run, for nobody else to look into, and whether it was made just now; `None` where somebody
/// else has put something in its place.
pub(super) fn temporary(dir: &Path) -> Option<(PathBuf, bool)> {
    let path = temporary_of(dir);
    let is_new = std::fs::symlink_metadata(&path).is_err();
    own_directory(&path).then_some((path, is_new))
}

#[cfg(unix)]
fn own_directory(path: &Path) -> bool {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => true,
        Err(_) => std::fs::symlink_metadata(path).is_ok_and(|meta| {
            meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0
        }),
    }
}

#[cfg(not(unix))]
fn own_directory(path: &Path) -> bool {
    std::fs::create_dir_all(path).is_ok()
}

/// Has matplotlib find the user's own settings and list of fonts in the directory that it is given: to make that list
/// takes seconds.
pub(super) fn seed_matplotlib(place: &Path) {
    if std::fs::create_dir_all(place).is_err() {
        return;
    }
    for (from, to) in of_matplotlib(place) {
        if !to.exists() {
            // Without them matplotlib makes its own.
            let _ = std::fs::copy(&from, &to);
        }
    }
}

/// Takes away what is still as it was put there.
pub(super) fn clear_matplotlib(place: &Path) {
    for (from, to) in of_matplotlib(place) {
        if std::fs::read(&from).is_ok_and(|own| std::fs::read(&to).is_ok_and(|copy| own == copy)) {
            let _ = std::fs::remove_file(&to);
        }
    }
    // What is not empty stays: a step may find it again tomorrow.
    let _ = std::fs::remove_dir(place);
}

/// The user's own files of matplotlib, and where each is found in a directory of a run's.
fn of_matplotlib(place: &Path) -> Vec<(PathBuf, PathBuf)> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let configured = std::env::var_os("MPLCONFIGDIR").map(PathBuf::from);
    let config = configured.clone().unwrap_or_else(|| home.join(".config/matplotlib"));
    let cache = configured.unwrap_or_else(|| home.join(".cache/matplotlib"));
    let lists = std::fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
    let lists = lists.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fontlist-"))
            && path.extension().is_some_and(|ending| ending == "json")
    });
    let files = lists.chain([config.join("matplotlibrc")]);
    files.filter_map(|from| Some((from.clone(), place.join(from.file_name()?)))).collect()
}
