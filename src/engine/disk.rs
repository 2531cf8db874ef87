//! The run's files as steps see them: what stands where, and putting it as it was at a place in the order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::contents::{Contents, FIFO};
use super::state::State;
use super::vault::Vault;
use super::wall;
use crate::run::mode::Node;
use crate::step::FileContent;

const NOTE: &str = "files";

/// What is remembered of a path that some step changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tracked {
    /// What was there before any step touched it.
    origin: FileContent,
    /// What the engine last left there.
    left: FileContent,
    /// Whether it only came while a step had a program running: then it may be anybody's.
    #[serde(default)]
    came: bool,
}

impl Tracked {
    /// What there was before any step changed it: where something else is there by now than what was left, that.
    fn before(&self, now: FileContent) -> FileContent {
        if now == self.left { self.origin.clone() } else { now }
    }
}

/// What there was, at each path that steps changed, before any did: told from outside an engine.
#[derive(Debug, Default)]
pub struct Origins {
    note: Vec<u8>,
    tracked: BTreeMap<String, Tracked>,
}

impl Origins {
    /// Takes what was noted by now.
    pub fn renew(&mut self, vault: &dyn Vault) {
        let note = vault.note(NOTE).unwrap_or_default();
        if note != self.note {
            self.tracked = serde_json::from_slice(&note).unwrap_or_default();
            self.note = note;
        }
    }

    /// What there was at `path`, where there is `now`; `None` for what no step changed.
    pub fn at(&self, path: &str, now: impl FnOnce() -> FileContent) -> Option<FileContent> {
        self.tracked.get(path).map(|tracked| tracked.before(now()))
    }

    /// The paths that steps changed.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.tracked.keys().map(String::as_str)
    }
}

/// The run's directory, as far as steps' files go.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    vault: Arc<dyn Vault>,
    tracked: BTreeMap<String, Tracked>,
    contents: Contents,
    /// The steps' temporary directory, and whether anything in it was looked at.
    temporary: PathBuf,
    looked: bool,
}

impl Disk {
    pub(super) fn open(root: &Path, vault: Arc<dyn Vault>) -> Self {
        let tracked = vault.note(NOTE).and_then(|note| serde_json::from_slice(&note).ok()).unwrap_or_default();
        let temporary = wall::temporary_of(root);
        Self { root: root.to_owned(), vault, tracked, contents: Contents::default(), temporary, looked: false }
    }

    /// Where the files lie.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether what a step found in the temporary directory was looked at.
    pub(super) fn has_looked_into_temporary(&self) -> bool {
        self.looked
    }

    /// The same knowledge for a copy of the directory.
    pub(super) fn beside(&self, root: &Path, vault: Arc<dyn Vault>) -> Self {
        Self {
            root: root.to_owned(),
            vault,
            tracked: self.tracked.clone(),
            contents: Contents::default(),
            temporary: self.temporary.clone(),
            looked: false,
        }
    }

    /// Whether some step made or changed what is at `path`.
    pub(super) fn is_tracked(&self, path: &str) -> bool {
        self.tracked.contains_key(path)
    }

    fn save(&self) {
        if let Ok(note) = serde_json::to_vec(&self.tracked) {
            self.vault.put_note(NOTE, &note);
        }
    }

    fn full(&mut self, path: &str) -> PathBuf {
        let full = self.root.join(path);
        self.looked |= full.starts_with(&self.temporary);
        full
    }

    /// What is at `path` on disk now.
    pub(super) fn now(&mut self, path: &str) -> FileContent {
        let full = self.full(path);
        self.contents.at(&full)
    }

    /// What a step at the place of `state` finds at `path`.
    pub(super) fn at(&mut self, state: &State, path: &str) -> FileContent {
        if let Some(content) = state.files.get(path) {
            return content.clone();
        }
        let now = self.now(path);
        match self.tracked.get(path) {
            Some(tracked) => tracked.before(now),
            None => now,
        }
    }

    /// What a step at the place of `state` finds when it lists the directory `path`.
    pub(super) fn listing_at(&mut self, state: &State, path: &str) -> FileContent {
        let full = self.full(path);
        let inside = |tracked: &str| -> Option<String> {
            let full_tracked = self.root.join(tracked);
            (full_tracked.parent() == Some(&*normal(&full)))
                .then(|| full_tracked.file_name().map(|n| n.to_string_lossy().into_owned()))
                .flatten()
        };
        let known: Vec<(String, String)> = self
            .tracked
            .keys()
            .chain(state.files.keys())
            .filter_map(|path| inside(path).map(|name| (path.clone(), name)))
            .collect();
        let but: Vec<(String, FileContent)> =
            known.into_iter().map(|(path, name)| (name, self.at(state, &path))).collect();
        let itself = self.at(state, path);
        Contents::listing(&full, Some(&itself), but)
    }

    /// Keeps what stands at `path` now, so that it can be brought back.
    pub(super) fn keep(&mut self, path: &str) -> FileContent {
        let content = self.now(path);
        if let FileContent::File { digest, .. } = &content
            && self.vault.blob(digest).is_none()
            && let Ok(bytes) = fs::read(self.full(path))
        {
            self.vault.put_blob(&bytes);
        }
        content
    }

    /// Keeps a copy that the worker made of what stood at a path before a step changed it. The copy's name ends with the
    /// permissions.
    pub(super) fn keep_copy(&mut self, copy: Option<&str>) -> FileContent {
        match copy {
            None => FileContent::Absent,
            Some(copy) if copy.starts_with('/') => {
                let read = fs::read(copy);
                // The copy has served.
                let _ = fs::remove_file(copy);
                let mode = copy.rsplit('-').next().and_then(|mode| u32::from_str_radix(mode, 8).ok());
                match read {
                    Ok(bytes) => {
                        let mode = mode.and_then(|mode| Node::File.unusual(mode));
                        FileContent::File { digest: self.vault.put_blob(&bytes), mode }
                    }
                    Err(error) => FileContent::External { mark: error.to_string() },
                }
            }
            Some(word) => match word.split_once(':') {
                Some(("link", target)) => FileContent::Link { target: target.to_owned() },
                Some(("directory", mode)) => {
                    let mode = u32::from_str_radix(mode, 8).ok();
                    FileContent::Present { mode: mode.and_then(|mode| Node::Directory.unusual(mode)) }
                }
                _ => FileContent::External { mark: word.to_owned() },
            },
        }
    }

    /// Remembers that a step changed `path`: what was there before any step did, and what is there now. It only `came` where
    /// nothing tells that the step did it, and not a person meanwhile.
    pub(super) fn changed(&mut self, path: &str, before: &FileContent, after: &FileContent, came: bool) {
        let tracked = Tracked { origin: before.clone(), left: after.clone(), came };
        self.tracked
            .entry(path.to_owned())
            .and_modify(|known| (known.left, known.came) = (after.clone(), came && known.came))
            .or_insert(tracked);
        self.save();
    }

    /// Code that may be a person's: it came while a step had a program running.
    pub(super) fn code_that_came(&self) -> Vec<(String, FileContent)> {
        let is_code = |path: &str| path.ends_with(".py") || path.ends_with(".sh");
        let came = self.tracked.iter().filter(|(path, tracked)| tracked.came && is_code(path));
        came.map(|(path, tracked)| (path.clone(), tracked.left.clone())).collect()
    }

    /// Paths that a person or another program changed since the engine left them, with what is there now.
    ///
    /// What only steps made, and somebody took away, is not among them: they make it again, or it is put back.
    pub(super) fn edited_outside(&mut self) -> BTreeMap<String, FileContent> {
        let known: Vec<(String, Tracked)> =
            self.tracked.iter().map(|(path, tracked)| (path.clone(), tracked.clone())).collect();
        known
            .into_iter()
            .filter_map(|(path, tracked)| {
                let now = self.now(&path);
                let is_gone = now == FileContent::Absent && tracked.origin == FileContent::Absent;
                let can_be_put_back = match &tracked.left {
                    FileContent::File { digest, .. } => is_gone && self.vault.blob(digest).is_some(),
                    FileContent::External { mark } => mark == FIFO,
                    _ => true,
                };
                (now != tracked.left && !(is_gone && can_be_put_back)).then_some((path, now))
            })
            .collect()
    }

    /// No step changes this file any more: it is a person's, who left `content` there, and an input like any other.
    pub(super) fn let_go(&mut self, path: &str, content: &FileContent) -> Result<(), String> {
        if self.tracked.remove(path).is_none() {
            return Ok(());
        }
        self.save();
        match content {
            _ if self.now(path) == *content => Ok(()),
            FileContent::Absent => self.remove(path),
            _ => self.write(path, content),
        }
    }

    /// Puts every file that steps changed as it was at the place of `state`. Returns what could not be put.
    pub(super) fn restore(&mut self, state: &State) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wanted: BTreeMap<String, FileContent> =
            self.tracked.iter().map(|(path, tracked)| (path.clone(), tracked.origin.clone())).collect();
        wanted.extend(state.files.iter().map(|(path, content)| (path.clone(), content.clone())));
        let mut dirty = false;
        // What must go goes first, the inner before the outer; then what must come, the outer first.
        for (path, content) in wanted.iter().rev() {
            let now = self.now(path);
            let is_directory = |content: &FileContent| matches!(content, FileContent::Present { .. });
            // A file and a directory can't take each other's place.
            let is_other =
                is_directory(&now) != is_directory(content) && !matches!(content, FileContent::Directory { .. });
            if now != FileContent::Absent && (*content == FileContent::Absent || is_other) {
                dirty = true;
                if let Err(problem) = self.remove(path) {
                    problems.push(problem);
                }
            }
        }
        for (path, content) in &wanted {
            if *content != FileContent::Absent && self.now(path) != *content {
                dirty = true;
                if let Err(problem) = self.write(path, content) {
                    problems.push(problem);
                }
            }
        }
        if dirty {
            for (path, content) in wanted {
                if let Some(tracked) = self.tracked.get_mut(&path) {
                    tracked.left = content;
                }
            }
            self.save();
        }
        problems
    }

    fn remove(&mut self, path: &str) -> Result<(), String> {
        let full = self.full(path);
        let done = if full.is_dir() && !full.is_symlink() { fs::remove_dir(&full) } else { fs::remove_file(&full) };
        done.map_err(|error| format!("{path} could not be taken away: {error}"))
    }

    fn write(&mut self, path: &str, content: &FileContent) -> Result<(), String> {
        let now = self.now(path);
        let full = self.full(path);
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent).map_err(|error| format!("{path} could not be put back: {error}"))?;
        }
        match content {
            FileContent::File { digest, mode } => {
                let put = |error| format!("{path} could not be put back: {error}");
                if matches!(now, FileContent::File { digest: here, .. } if here == *digest) {
                    return Node::File.set(&full, *mode).map_err(put);
                }
                let bytes = self
                    .vault
                    .blob(digest)
                    .ok_or_else(|| format!("{path} could not be put back: its content was not kept"))?;
                write_whole(&full, &bytes).and_then(|()| Node::File.set(&full, *mode)).map_err(put)
            }
            FileContent::Present { mode } => {
                let made = fs::create_dir_all(&full).and_then(|()| Node::Directory.set(&full, *mode));
                made.map_err(|error| format!("{path} could not be made: {error}"))
            }
            FileContent::Directory { .. } => {
                fs::create_dir_all(&full).map_err(|error| format!("{path} could not be made: {error}"))
            }
            FileContent::External { mark } if mark == FIFO => {
                make_fifo(&full).map_err(|error| format!("{path} could not be made: {error}"))
            }
            FileContent::Link { target } => {
                // What stands there now is another link, or nothing.
                let _ = fs::remove_file(&full);
                link(target, &full).map_err(|error| format!("{path} could not be linked: {error}"))
            }
            FileContent::External { .. } | FileContent::Absent => Ok(()),
        }
    }
}

/// Writes beside the file and renames, so that no reader sees half of it. Not synced: the content is kept
/// in the vault as well.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".reweave-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let done = fs::write(&beside, bytes).and_then(|()| {
        if let Ok(meta) = fs::metadata(path) {
            // The mode is kept where there is a file; a failure leaves the default.
            let _ = fs::set_permissions(&beside, meta.permissions());
        }
        fs::rename(&beside, path)
    });
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(unix)]
pub(super) fn make_fifo(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0)?)
}

#[cfg(not(unix))]
pub(super) fn make_fifo(_path: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("named pipes are not put back on this system"))
}

#[cfg(unix)]
fn link(target: &str, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn link(_target: &str, _at: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("links are not put back on this system"))
}

fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}
