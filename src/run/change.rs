//! What differs between two looks at a run's directory.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::step_file::{Scan, StepFile};
use crate::step::{Digest, StepId};

/// What happened to a run's directory, told once it was quiet.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The whole run as it is now.
    pub scan: Arc<Scan>,
    /// Steps and modules that are new.
    pub added: Vec<StepId>,
    /// Steps and modules whose bytes, kind or ending are others.
    pub changed: Vec<StepId>,
    /// Steps and modules that are gone.
    pub removed: Vec<StepId>,
    /// Steps and modules with another id and the same bytes: from, to. Neither is in `added` or `removed`.
    pub renamed: Vec<(StepId, StepId)>,
    /// Whether frames, or what they returned, differ.
    pub frames: bool,
    /// Whether what is wrong in the run differs.
    pub problems: bool,
    /// Whether something in `patches/` may be new.
    pub inbox: bool,
    /// Whether `reweave.toml` may be another.
    pub config: bool,
    /// Files that are no steps and came, went or were written.
    pub others: Vec<PathBuf>,
    /// How the directory is watched now.
    pub mode: WatchMode,
}

/// How a directory is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// The kernel tells of changes.
    #[default]
    Live,
    /// The directory is looked at again and again, and why.
    Polling(String),
}

impl Change {
    /// Whether anything but the mode is told.
    pub fn is_empty(&self) -> bool {
        let Self { scan: _, added, changed, removed, renamed, frames, problems, inbox, config, others, mode: _ } = self;
        let flags = *frames || *problems || *inbox || *config;
        !flags
            && added.is_empty()
            && changed.is_empty()
            && removed.is_empty()
            && renamed.is_empty()
            && others.is_empty()
    }

    /// What differs from `before` to `after`.
    pub fn between(before: &Scan, after: Arc<Scan>) -> Self {
        let (mut added, mut removed, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        walk(&files(before), &files(&after), |pair| match pair {
            (None, Some(now)) => added.push(now),
            (Some(then), None) => removed.push(then),
            (Some(then), Some(now)) => {
                if (then.digest, then.kind, &then.path, &then.fault) != (now.digest, now.kind, &now.path, &now.fault) {
                    changed.push(now.id.clone());
                }
            }
            (None, None) => {}
        });
        let renamed = renames(&mut removed, &mut added);
        let ids = |files: Vec<&Arc<StepFile>>| files.into_iter().map(|file| file.id.clone()).collect();
        Self {
            added: ids(added),
            changed,
            removed: ids(removed),
            renamed,
            frames: before.frames != after.frames,
            problems: before.problems != after.problems,
            scan: after,
            ..Self::default()
        }
    }
}

/// All files of a scan, in the order of the run.
fn files(scan: &Scan) -> Vec<&Arc<StepFile>> {
    let mut files: Vec<&Arc<StepFile>> = scan.steps.iter().chain(&scan.modules).collect();
    if !scan.modules.is_empty() {
        // Two sorted runs, which this sort finds and merges.
        files.sort_by(|a, b| a.id.cmp(&b.id));
    }
    files
}

/// Goes through two sorted lists side by side and gives what is in one or in both and not the very same.
fn walk<'f>(
    before: &[&'f Arc<StepFile>],
    after: &[&'f Arc<StepFile>],
    mut give: impl FnMut((Option<&'f Arc<StepFile>>, Option<&'f Arc<StepFile>>)),
) {
    let (mut old, mut new) = (before.iter().copied().peekable(), after.iter().copied().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            // The usual case, and it costs no comparison of names.
            (Some(then), Some(now)) if Arc::ptr_eq(then, now) => {
                old.next();
                new.next();
                continue;
            }
            (Some(then), Some(now)) => then.id.cmp(&now.id),
        };
        give(match order {
            Ordering::Less => (old.next(), None),
            Ordering::Equal => (old.next(), new.next()),
            Ordering::Greater => (None, new.next()),
        });
    }
}

/// Pairs what went with what came of the same bytes, in the order of the run, and takes both out of the lists. Empty
/// files are all alike, and say nothing.
fn renames(removed: &mut Vec<&Arc<StepFile>>, added: &mut Vec<&Arc<StepFile>>) -> Vec<(StepId, StepId)> {
    let mut by_digest: BTreeMap<Digest, Vec<StepId>> = BTreeMap::new();
    for file in added.iter().rev().filter(|file| !file.source.is_empty()) {
        by_digest.entry(file.digest).or_default().push(file.id.clone());
    }
    let mut pairs = Vec::new();
    removed.retain(|file| match by_digest.get_mut(&file.digest).and_then(Vec::pop) {
        Some(to) => {
            pairs.push((file.id.clone(), to));
            false
        }
        None => true,
    });
    added.retain(|file| !pairs.iter().any(|(_, to)| *to == file.id));
    pairs
}
