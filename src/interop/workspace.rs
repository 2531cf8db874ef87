//! The files that a recorded agent worked on, as far as the recording shows their whole text.

use std::collections::BTreeMap;

use similar::TextDiff;

use super::recorder::{Origin, Recorder};
use super::{ImportError, ImportedFile, ImportedPatch};
use crate::step::{FileChange, PatchState};

/// Most bytes of texts that are held.
const MOST: usize = 64 << 20;

/// What is known of the agent's files while its log is read.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The directories that stand for the run's own, without a slash at the end.
    roots: Vec<String>,
    files: BTreeMap<String, String>,
    held: usize,
    left_out: bool,
}

/// One change to a file, as a log shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change<'a> {
    /// The file, as the log names it.
    pub path: &'a str,
    /// The whole text before, where the log has it.
    pub before: Option<String>,
    /// The whole text after, where the log has it.
    pub after: Option<String>,
    /// Whether the file was new.
    pub created: bool,
    /// Whether it is gone after.
    pub deleted: bool,
    /// What was replaced, and by what, where the log has only that.
    pub replaced: Vec<(String, String, bool)>,
    /// The change as the log writes it.
    pub text: Option<String>,
}

impl Workspace {
    /// Says that `directory` stands for the run's own.
    pub fn root(&mut self, directory: &str) {
        let directory = directory.trim_end_matches('/');
        if !directory.is_empty() && self.roots.len() < 16 && !self.roots.iter().any(|root| root == directory) {
            self.roots.push(directory.to_owned());
        }
    }

    /// The path in the run that a log's path stands for; `None` for one outside.
    pub fn relative(&self, path: &str) -> Option<String> {
        let path = path.replace('\\', "/");
        let inside = self.roots.iter().find_map(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'));
        let relative = match inside {
            Some(inside) => inside,
            None if path.starts_with('/') || path.get(1..2) == Some(":") => return None,
            None => &path,
        };
        let relative = relative.trim_start_matches("./");
        let plain = relative.split('/').all(|part| !part.is_empty() && part != ".." && part != ".");
        plain.then(|| relative.to_owned())
    }

    /// Takes a change and hands it on as a patch that was accepted.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn change(
        &mut self,
        change: Change<'_>,
        origin: &Origin,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), ImportError> {
        let mut problems = Vec::new();
        let relative = self.relative(change.path);
        let known = relative.as_ref().and_then(|path| self.files.get(path)).cloned();
        let before = change.before.or(if change.created { None } else { known });
        let after = match (change.after, &before) {
            _ if change.deleted => None,
            (Some(after), _) => Some(after),
            (None, Some(before)) => replaced(before, &change.replaced),
            (None, None) => None,
        };
        let is_whole = change.deleted || after.is_some();
        if !is_whole {
            problems.push("the log does not show the whole file".to_owned());
        }
        if relative.is_none() {
            problems.push(format!("{:?} is outside the agent's directory", change.path));
        }
        let shown = relative.clone().unwrap_or_else(|| change.path.to_owned());
        let text = change.text.or_else(|| match (&before, &after) {
            (_, Some(after)) => Some(unified(&shown, before.as_deref(), Some(after))),
            (Some(before), None) if change.deleted => Some(unified(&shown, Some(before), None)),
            _ => Some(change.replaced.iter().map(|(old, new, _)| unified(&shown, Some(old), Some(new))).collect()),
        });
        let verb = match (change.deleted, change.created || before.is_none() && is_whole) {
            (true, _) => "delete",
            (_, true) => "create",
            _ => "edit",
        };
        let files = match &relative {
            Some(path) if is_whole && before != after => {
                vec![FileChange { path: path.clone(), base: before, result: after.clone() }]
            }
            _ => Vec::new(),
        };
        recorder.patch(ImportedPatch {
            title: format!("{verb} {shown}"),
            provenance: recorder.provenance(origin),
            text,
            files,
            state: PatchState::Accepted,
            problems,
            comments: Vec::new(),
        })?;
        if let Some(path) = relative {
            // A text that is not known any more must not stand as if it were.
            self.hold(path, after);
        }
        Ok(())
    }

    fn hold(&mut self, path: String, text: Option<String>) {
        if let Some(old) = self.files.remove(&path) {
            self.held -= old.len();
        }
        if let Some(text) = text {
            if self.held + text.len() > MOST {
                self.left_out = true;
                return;
            }
            self.held += text.len();
            self.files.insert(path, text);
        }
    }

    /// Hands on the files as they stood at the end.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self, recorder: &mut Recorder<'_>) -> Result<(), ImportError> {
        if self.left_out {
            recorder.warn(None, "the agent's files are over 64 MiB; some are not laid beside the steps");
        }
        for (path, text) in self.files {
            recorder.file(ImportedFile::work(path, text))?;
        }
        Ok(())
    }
}

/// The text with each replacement done; `None` if one does not fit.
fn replaced(text: &str, replacements: &[(String, String, bool)]) -> Option<String> {
    if replacements.is_empty() {
        return None;
    }
    replacements.iter().try_fold(text.to_owned(), |text, (old, new, all)| {
        if old.is_empty() || !text.contains(old.as_str()) {
            return None;
        }
        Some(if *all { text.replace(old.as_str(), new) } else { text.replacen(old.as_str(), new, 1) })
    })
}

/// A unified diff of one file.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    // A quadratic diff of two large unlike texts would take minutes.
    let deadline = std::time::Duration::from_millis(500);
    let diff =
        TextDiff::configure().timeout(deadline).diff_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let (old, new) = (format!("a/{path}"), format!("b/{path}"));
    let old = if before.is_some() { old.as_str() } else { "/dev/null" };
    let new = if after.is_some() { new.as_str() } else { "/dev/null" };
    diff.unified_diff().header(old, new).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Imported;

    fn changes(work: &[Change<'_>]) -> Imported {
        let mut imported = Imported::default();
        let mut recorder = Recorder::new(&mut imported, "tester");
        let mut workspace = Workspace::default();
        workspace.root("/work/");
        for change in work {
            workspace.change(change.clone(), &Origin::default(), &mut recorder).unwrap();
        }
        workspace.finish(&mut recorder).unwrap();
        recorder.finish().unwrap();
        imported
    }

    fn replace(old: &str, new: &str) -> Vec<(String, String, bool)> {
        vec![(old.to_owned(), new.to_owned(), false)]
    }

    #[test]
    fn edits_are_patches_with_the_whole_text_before_and_after() {
        let run = changes(&[
            Change { path: "/work/a.py", after: Some("x = 1\n".into()), created: true, ..Change::default() },
            Change { path: "/work/a.py", replaced: replace("1", "2"), ..Change::default() },
        ]);
        assert_eq!(run.patches[0].title, "create a.py");
        assert_eq!(
            run.patches[1].files,
            [FileChange { path: "a.py".into(), base: Some("x = 1\n".into()), result: Some("x = 2\n".into()) }]
        );
        assert_eq!(run.patches[1].text.as_deref(), Some("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"));
        assert_eq!(run.files, [ImportedFile::work("a.py", "x = 2\n")]);
    }

    #[test]
    fn what_is_not_shown_whole_or_is_outside_is_said() {
        let run = changes(&[
            Change { path: "b.py", replaced: replace("1", "2"), ..Change::default() },
            Change { path: "/etc/x", after: Some("y".into()), ..Change::default() },
            Change { path: "/work/../x", after: Some("y".into()), ..Change::default() },
        ]);
        assert_eq!(run.patches[0].problems, ["the log does not show the whole file"]);
        assert_eq!(run.patches[1].problems, ["\"/etc/x\" is outside the agent's directory"]);
        assert_eq!(run.files, []);
    }
}
