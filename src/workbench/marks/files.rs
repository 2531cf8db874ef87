//! Whether a step would find files as its record tells.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::{At, Reasons, Used};
use crate::step::{Execution, FileContent, Name, Reason};

/// A recorded directory as the parent of what is in it is told: the run itself is the parent of a bare name.
pub(in crate::workbench) fn directory(path: &str) -> &Path {
    Path::new(if path == "." { "" } else { path })
}

/// How a file stands for a step that others come before and after.
enum There<'a> {
    /// The step at a place wrote it, and that is not settled.
    Open(usize),
    /// The step at a place left it so.
    Left(usize, &'a FileContent),
    /// A step that is later, or gone, writes it: before, there was this.
    Before(Cow<'a, FileContent>),
    /// No step has to do with it.
    OnDisk,
    /// Records do not tell.
    Untold,
}

impl At<'_, '_> {
    pub(super) fn compare_files(&self, execution: &Execution, reasons: &mut Reasons, used: &mut Used) {
        let mut written: Option<HashMap<PathBuf, Vec<Name>>> = None;
        for (path, content) in &execution.observation.files_read {
            let same = if let FileContent::Directory { .. } = content {
                let written = written.get_or_insert_with(|| self.written_by_directory());
                let inside = written.get(directory(path)).map(Vec::as_slice);
                match self.listing(path, inside.unwrap_or_default(), reasons, used) {
                    Some(same) => same.is_none_or(|there| there == *content),
                    None => continue,
                }
            } else {
                match self.there(path) {
                    There::Open(by) => {
                        used.push((by, Name::from(path.as_str())));
                        reasons.upstream(by, Some(Name::from(path.as_str())));
                        continue;
                    }
                    There::Left(by, now) => {
                        used.push((by, Name::from(path.as_str())));
                        // What the last step left may have been changed from outside since.
                        let is_last = self.writers(path).last() == Some(&by);
                        let untouched = !is_last || self.course.disk.holds(path, now) != Some(false);
                        untouched && content == now
                    }
                    There::Before(then) => *content == *then,
                    There::OnDisk => self.course.disk.holds(path, content) != Some(false),
                    There::Untold => continue,
                }
            };
            if !same {
                reasons.push(Reason::FileChanged { path: path.clone() });
            }
        }
    }

    /// The paths that steps write, by the directories that they are in.
    fn written_by_directory(&self) -> HashMap<PathBuf, Vec<Name>> {
        let written = self.marks.written.iter().filter(|(_, places)| !places.is_empty());
        let paths: BTreeSet<Name> = written.map(|(path, _)| path.clone()).chain(self.course.disk.changed()).collect();
        let mut found: HashMap<PathBuf, Vec<Name>> = HashMap::new();
        for path in paths {
            if let Some(parent) = Path::new(&*path).parent() {
                found.entry(parent.to_owned()).or_default().push(path);
            }
        }
        found
    }

    fn writers(&self, path: &str) -> &BTreeSet<usize> {
        const NOBODY: &BTreeSet<usize> = &BTreeSet::new();
        self.marks.written.get(path).unwrap_or(NOBODY)
    }

    fn there(&self, path: &str) -> There<'_> {
        let held = |place: usize| (self.course.subject)(place).and_then(|subject| subject.held);
        let write = |place: usize| held(place).and_then(|held| held.execution.observation.files_written.get(path));
        match self.marks.files.before(path, self.place) {
            Some(by) if !self.marks.traces.get(by).is_some_and(|trace| trace.holds) => There::Open(by),
            Some(by) => write(by).map_or(There::Untold, |write| There::Left(by, &write.after)),
            None => match (self.course.disk.start(path), self.writers(path).first()) {
                (Some(content), _) => There::Before(Cow::Owned(content)),
                (None, Some(first)) => {
                    write(*first).map_or(There::Untold, |write| There::Before(Cow::Borrowed(&write.before)))
                }
                (None, None) => There::OnDisk,
            },
        }
    }

    /// What a step finds in a directory in which records write `inside`; inner `None` where that can't be told, and outer
    /// where it waits for a step.
    fn listing(
        &self,
        path: &str,
        inside: &[Name],
        reasons: &mut Reasons,
        used: &mut Used,
    ) -> Option<Option<FileContent>> {
        let mut entries: Vec<(String, FileContent)> = Vec::new();
        let mut waits = false;
        for file in inside {
            let content = match self.there(file) {
                There::Open(by) => {
                    used.push((by, file.clone()));
                    reasons.upstream(by, Some(file.clone()));
                    waits = true;
                    continue;
                }
                There::Left(_, content) => content.clone(),
                There::Before(content) => content.into_owned(),
                There::OnDisk | There::Untold => continue,
            };
            let name = Path::new(&**file).file_name().map(|name| name.to_string_lossy().into_owned());
            entries.extend(name.map(|name| (name, content)));
        }
        let itself = match self.there(path) {
            There::Left(_, content) => Some(content.clone()),
            There::Before(content) => Some(content.into_owned()),
            There::Open(_) | There::OnDisk | There::Untold => None,
        };
        (!waits).then(|| self.course.disk.listing(path, itself.as_ref(), entries))
    }
}
