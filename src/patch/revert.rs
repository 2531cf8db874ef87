//! Taking an accepted patch back, also after later changes, or saying which of them is in the way.

use super::merge::merge;
use super::tree::{Found, Tree};
use crate::step::{FileChange, PatchId};

/// A change that was made to a file after a patch was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later {
    /// The accepted patch that made it; `None` for a person's edit.
    pub by: Option<PatchId>,
    /// The file.
    pub path: String,
    /// Its text afterwards; `None` if it was deleted.
    pub result: Option<String>,
}

/// Why a patch can't be taken back in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The file.
    pub path: String,
    /// 1-based line of the file as it is now at which both changed.
    pub line: Option<usize>,
    /// The accepted patch that is in the way; `None` for a person's edit.
    pub by: Option<PatchId>,
}

/// What taking a patch back comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// These changes to the files as they are now take it back; none where nothing of it is left.
    Changes(Vec<FileChange>),
    /// These are in the way.
    InTheWay(Vec<Obstacle>),
}

/// Takes `accepted` (what was written when the patch was accepted) back from the files of `tree`. `later` is
/// what happened to them since, oldest first.
///
/// Where a file was changed since, the patch's own lines go and the later ones stay, by three-way merge; a later
/// change of the same or neighbouring lines is in the way.
pub fn revert(accepted: &[FileChange], tree: &dyn Tree, later: &[Later]) -> Reverted {
    let mut changes = Vec::new();
    let mut obstacles = Vec::new();
    for file in accepted {
        let now = match tree.get(&file.path) {
            Found::Nothing => None,
            Found::Text(text) => Some(text),
            Found::Unfit(_) => {
                obstacles.push(Obstacle { path: file.path.clone(), line: None, by: None });
                continue;
            }
        };
        let back = match (&file.base, &file.result, now.as_deref()) {
            (base, result, now) if result.as_deref() == now => base.clone(),
            (base, _, now) if base.as_deref() == now => continue,
            (Some(base), Some(result), Some(now)) => {
                let merged = merge(result, now, base);
                match merged.clashes.first() {
                    None => Some(merged.text),
                    Some(clash) => {
                        obstacles.push(Obstacle {
                            path: file.path.clone(),
                            line: Some(clash.ours.start + 1),
                            by: culprit(file, later, |text| {
                                text.is_none_or(|text| !merge(result, text, base).clashes.is_empty())
                            }),
                        });
                        continue;
                    }
                }
            }
            _ => {
                let differs = |text: Option<&str>| text != file.result.as_deref();
                obstacles.push(Obstacle { path: file.path.clone(), line: None, by: culprit(file, later, differs) });
                continue;
            }
        };
        changes.push(FileChange { path: file.path.clone(), base: now.as_deref().map(str::to_owned), result: back });
    }
    if obstacles.is_empty() { Reverted::Changes(changes) } else { Reverted::InTheWay(obstacles) }
}

/// Who made the first of the later texts of a file that is in the way.
fn culprit(file: &FileChange, later: &[Later], in_the_way: impl Fn(Option<&str>) -> bool) -> Option<PatchId> {
    later
        .iter()
        .filter(|change| change.path == file.path)
        .find(|change| in_the_way(change.result.as_deref()))
        .and_then(|change| change.by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::MemoryTree;
    use proptest::prelude::*;

    const BASE: &str = "a\nb\nc\nd\ne\nf\n";

    fn change(base: Option<&str>, result: Option<&str>) -> FileChange {
        FileChange { path: "s.py".into(), base: base.map(Into::into), result: result.map(Into::into) }
    }

    fn later(by: u32, result: Option<&str>) -> Later {
        Later { by: Some(PatchId(by)), path: "s.py".into(), result: result.map(Into::into) }
    }

    #[test]
    fn later_changes_elsewhere_stay() {
        let mine = BASE.replace('b', "B");
        let now = mine.replace('e', "E");
        let back = revert(&[change(Some(BASE), Some(&mine))], &MemoryTree::new([("s.py", now.as_str())]), &[]);
        assert_eq!(back, Reverted::Changes(vec![change(Some(&now), Some(&BASE.replace('e', "E")))]));
    }

    #[test]
    fn the_patch_in_the_way_is_named() {
        let mine = BASE.replace('b', "B");
        let second = mine.replace('e', "E");
        let third = second.replace('B', "BB");
        let fourth = third.replace('f', "F");
        let tree = MemoryTree::new([("s.py", fourth.as_str())]);
        let history = [later(2, Some(&second)), later(3, Some(&third)), later(4, Some(&fourth))];
        let back = revert(&[change(Some(BASE), Some(&mine))], &tree, &history);
        let obstacle = Obstacle { path: "s.py".into(), line: Some(2), by: Some(PatchId(3)) };
        assert_eq!(back, Reverted::InTheWay(vec![obstacle]));
    }

    #[test]
    fn files_that_were_made_or_deleted_come_and_go() {
        let made = [change(None, Some("x\n"))];
        let tree = MemoryTree::new([("s.py", "x\n")]);
        assert_eq!(revert(&made, &tree, &[]), Reverted::Changes(vec![change(Some("x\n"), None)]));
        let tree = MemoryTree::new([("s.py", "y\n")]);
        assert!(
            matches!(revert(&made, &tree, &[later(5, Some("y\n"))]), Reverted::InTheWay(o) if o[0].by == Some(PatchId(5)))
        );
        let deleted = [change(Some("x\n"), None)];
        assert_eq!(revert(&deleted, &MemoryTree::default(), &[]), Reverted::Changes(vec![change(None, Some("x\n"))]));
        // Taken back by hand already.
        assert_eq!(revert(&made, &MemoryTree::default(), &[]), Reverted::Changes(vec![]));
    }

    proptest! {
        #[test]
        fn a_patch_taken_back_at_once_leaves_the_base(base in "([ab]\n){0,8}", result in "([abc]\n){0,8}") {
            prop_assume!(base != result);
            let accepted = [change(Some(&base), Some(&result))];
            let tree = MemoryTree::new([("s.py", result.as_str())]);
            prop_assert_eq!(revert(&accepted, &tree, &[]), Reverted::Changes(vec![change(Some(&result), Some(&base))]));
        }
    }
}
