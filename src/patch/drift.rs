//! A patch that was made for another text: placed on that text, and carried over by three-way merge.

use std::sync::Arc;

use super::merge::merge;
use super::note::{Note, NoteKind, Problem, Reason};
use super::place::{Placed, Verdict, place};
use super::tree::{Found, MemoryTree, Tree};
use crate::step::FileChange;

/// The texts that a patch was made for, where they are known, over those that are there now.
struct MadeFor<'t> {
    known: &'t dyn Tree,
    now: &'t dyn Tree,
}

impl Tree for MadeFor<'_> {
    fn get(&self, path: &str) -> Found {
        match self.known.get(path) {
            Found::Nothing => self.now.get(path),
            found => found,
        }
    }

    fn root(&self) -> Option<&str> {
        self.now.root()
    }
}

/// Finds the place of a patch in the texts of `made_for`, which it was made for, and carries what it changes
/// over to those of `tree`, which others changed meanwhile. Files that `made_for` does not have are taken from
/// `tree`.
///
/// A patch that has no place in the texts it was made for is placed on those that are there now.
pub fn place_drifted(patch: &str, made_for: &dyn Tree, tree: &dyn Tree, target: Option<&str>) -> Placed {
    let mut placed = place(patch, &MadeFor { known: made_for, now: tree }, target);
    if placed.verdict != Verdict::Applied {
        return place(patch, tree, target);
    }
    let mut files = Vec::with_capacity(placed.files.len());
    for file in std::mem::take(&mut placed.files) {
        let now = match tree.get(&file.path) {
            Found::Nothing => None,
            Found::Text(text) => Some(text),
            Found::Unfit(why) => {
                placed.fail(&file.path, Problem::new(Reason::NoFile, format!("{} {why}", file.path)), None);
                continue;
            }
        };
        if now.as_deref() == file.base.as_deref() {
            files.push(file);
            continue;
        }
        let note = format!("{} changed since the patch was made: both changes were put together", file.path);
        placed.notes.push(Note::new(NoteKind::Drifted, note));
        if now.as_deref() == file.result.as_deref() {
            let problem =
                Problem::new(Reason::AlreadyApplied, format!("{}: what it would make is there already", file.path));
            placed.fail(&file.path, problem, None);
            continue;
        }
        match (&file.base, &file.result, &now) {
            (Some(base), Some(result), Some(now)) => {
                let merged = merge(base, now, result);
                let base = Arc::clone(now).to_string();
                for clash in &merged.clashes {
                    let line = clash.ours.start + 1;
                    let text = format!("line {line} of {} was changed since the patch was made", file.path);
                    let problem = Problem::new(Reason::Stale, text).hint("make the patch for the text as it is now");
                    placed.fail(&file.path, problem, Some((clash.base.clone(), line)));
                }
                files.push(FileChange { path: file.path, base: Some(base), result: Some(merged.text) });
            }
            _ => {
                let text = format!("{} was made, deleted or changed since the patch was made", file.path);
                placed.fail(&file.path, Problem::new(Reason::Stale, text), None);
            }
        }
    }
    placed.files = files;
    placed.check_syntax();
    placed
}

/// Longest patch, in bytes, for which earlier texts are looked at.
const LONGEST: usize = 1 << 20;

/// Most files of a patch for which earlier texts are looked at.
const FILES: usize = 8;

/// Finds the place of a patch in the files of `tree`; where it has none there, in an earlier text of a file, newest
/// first, for which it was then made, and from there by three-way merge. `earlier` gives the texts that a file had.
pub fn place_with_history(
    patch: &str,
    tree: &dyn Tree,
    target: Option<&str>,
    earlier: &dyn Fn(&str) -> Vec<Arc<str>>,
) -> Placed {
    let placed = place(patch, tree, target);
    let may_be_older = placed.verdict == Verdict::Conflict
        && patch.len() <= LONGEST
        && matches!(placed.reason, None | Some(Reason::Stale));
    if !may_be_older {
        return placed;
    }
    let mut paths: Vec<&str> = Vec::new();
    for hunk in placed.hunks.iter().filter(|hunk| hunk.state != Verdict::Applied) {
        if !hunk.path.is_empty() && !paths.contains(&hunk.path.as_str()) {
            paths.push(&hunk.path);
        }
    }
    if paths.is_empty() || paths.len() > FILES {
        return placed;
    }
    let mut known: Vec<(String, Arc<str>)> = Vec::new();
    for path in paths {
        let fits = |text: &Arc<str>| {
            let with = known.iter().cloned().chain([(path.to_owned(), Arc::clone(text))]);
            let made_for = MadeFor { known: &MemoryTree::new(with), now: tree };
            let found = place(patch, &made_for, target);
            found.hunks.iter().filter(|hunk| hunk.path == path).all(|hunk| hunk.state == Verdict::Applied)
                && found.verdict != Verdict::Malformed
        };
        match earlier(path).into_iter().find(fits) {
            Some(text) => known.push((path.to_owned(), text)),
            None => return placed,
        }
    }
    let drifted = place_drifted(patch, &MemoryTree::new(known), tree, target);
    if drifted.verdict == Verdict::Applied { drifted } else { placed }
}

impl Placed {
    /// Marks the hunk that stands in `place` (lines of the text that it was made for, and the 1-based line
    /// now), or the file's last, as a conflict.
    fn fail(&mut self, path: &str, problem: Problem, place: Option<(std::ops::Range<usize>, usize)>) {
        self.verdict = self.verdict.max(Verdict::Conflict);
        self.reason = self.reason.or(problem.reason);
        let line = place.as_ref().map(|(_, line)| *line);
        // The last hunk that begins no later than the clash ends.
        let end = place.map_or(usize::MAX, |(base, _)| base.end + 1);
        let hunk = self.hunks.iter_mut().rev().find(|hunk| hunk.path == path && hunk.line.is_none_or(|at| at <= end));
        if let Some(hunk) = hunk {
            hunk.state = Verdict::Conflict;
            hunk.line = line.or(hunk.line);
            hunk.problem = Some(problem.clone());
        }
        self.problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::MemoryTree;

    const BASE: &str = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n";
    const PATCH: &str = "--- a/s.py\n+++ b/s.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 20\n c = 3\n";

    fn drifted(now: &str) -> Placed {
        place_drifted(PATCH, &MemoryTree::new([("s.py", BASE)]), &MemoryTree::new([("s.py", now)]), None)
    }

    #[test]
    fn both_changes_are_put_together() {
        let now = BASE.replace("f = 6", "f = 60");
        let placed = drifted(&now);
        assert_eq!(placed.verdict, Verdict::Applied);
        assert_eq!(placed.files[0].result.as_deref(), Some(now.replace("b = 2\n", "b = 20\n").as_str()));
        assert_eq!(placed.files[0].base.as_deref(), Some(now.as_str()));
        // Its context is gone, but what it replaces is not: the base says where.
        let now = BASE.replace("d = 4\n", "").replace("a = 1", "z = 0\na = 1");
        assert_eq!(drifted(&now).verdict, Verdict::Applied);
    }

    #[test]
    fn an_earlier_text_says_where_a_patch_goes_that_has_no_place_now() {
        let old: Arc<str> = BASE.into();
        let earlier = |path: &str| if path == "s.py" { vec!["other\n".into(), Arc::clone(&old)] } else { Vec::new() };
        let patch = "--- a/s.py\n+++ b/s.py\n@@ -1,4 +1,4 @@\n a = 1\n b = 2\n c = 3\n-d = 4\n+d = 40\n";
        let on = |now: &str| place_with_history(patch, &MemoryTree::new([("s.py", now)]), None, &earlier);
        let now = BASE.replace("a = 1\nb", "a = 1\n# why\n# so\nb");
        let placed = on(&now);
        assert_eq!(placed.verdict, Verdict::Applied, "{:?}", placed.problems);
        assert!(placed.notes.iter().any(|note| note.kind == NoteKind::Drifted), "{:?}", placed.notes);
        assert_eq!(placed.files[0].result.as_deref(), Some(now.replace("d = 4\n", "d = 40\n").as_str()));
        assert_eq!(on(&now.replace("d = 4", "d = 5")).verdict, Verdict::Conflict, "both changed the same line");
    }

    #[test]
    fn a_clash_names_the_line() {
        let placed = drifted(&BASE.replace("b = 2", "b = 3"));
        assert_eq!((placed.verdict, placed.reason), (Verdict::Conflict, Some(Reason::Stale)));
        assert_eq!(placed.hunks[0].line, Some(2));
        let placed = drifted(&BASE.replace("b = 2", "b = 20"));
        assert_eq!(placed.reason, Some(Reason::AlreadyApplied));
    }
}
