//! The life of a patch: what may follow what, what a decision is pinned to, and how a waiting patch follows a
//! file that moved under it.

use std::collections::BTreeMap;

use super::merge::merge;
use super::place::{Placed, Verdict};
use super::tree::{Found, Tree};
use crate::step::{Digest, FileChange, Patch, PatchState};

/// What happens to a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It ran on the side.
    Try,
    /// Its choice was written to the steps.
    Accept,
    /// It was turned down.
    Reject,
    /// It was taken back after it was accepted.
    Revert,
    /// What it would make is there by other means.
    Supersede,
    /// Its place was looked for anew, and this came out.
    Place(Verdict),
}

/// Why something can't happen to a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a patch that {} can't be {what}", standing(*state))]
pub struct NotNow {
    /// Where the patch stands.
    pub state: PatchState,
    /// What was to happen, in words.
    pub what: &'static str,
}

/// How a patch stands, in words.
fn standing(state: PatchState) -> String {
    match state {
        PatchState::Conflict => "fits nowhere".to_owned(),
        PatchState::Ambiguous => "fits in more than one place".to_owned(),
        PatchState::Malformed => "could not be read".to_owned(),
        state => format!("is {}", state.word()),
    }
}

/// Where a patch stands after something happened to it.
///
/// A patch that was rejected or reverted may be accepted after all; one that has no place may only be rejected
/// until it finds one.
///
/// # Errors
/// When it can't happen to a patch that stands there.
pub fn after(state: PatchState, act: Act) -> Result<PatchState, NotNow> {
    use PatchState as S;
    let refuse = |what| Err(NotNow { state, what });
    match (act, state) {
        (Act::Try, S::Proposed | S::Tried) => Ok(S::Tried),
        (Act::Try, S::Rejected | S::Reverted) => Ok(state),
        (Act::Try, _) => refuse("tried"),
        (Act::Accept, S::Proposed | S::Tried | S::Rejected | S::Reverted) => Ok(S::Accepted),
        (Act::Accept, _) => refuse("accepted"),
        (Act::Reject, S::Accepted) => refuse("rejected: it can be reverted"),
        (Act::Reject, _) => Ok(S::Rejected),
        (Act::Revert, S::Accepted) => Ok(S::Reverted),
        (Act::Revert, _) => refuse("reverted"),
        (Act::Supersede, _) if state.is_open() => Ok(S::Superseded),
        (Act::Supersede, _) => refuse("superseded"),
        (Act::Place(_), S::Accepted | S::Rejected | S::Reverted) => Ok(state),
        (Act::Place(Verdict::Applied), S::Tried) => Ok(S::Tried),
        (Act::Place(Verdict::Applied), _) => Ok(S::Proposed),
        (Act::Place(Verdict::Ambiguous), _) => Ok(S::Ambiguous),
        (Act::Place(Verdict::Conflict), _) => Ok(S::Conflict),
        (Act::Place(Verdict::Malformed), _) => Ok(S::Malformed),
    }
}

impl From<Verdict> for PatchState {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Applied => Self::Proposed,
            Verdict::Ambiguous => Self::Ambiguous,
            Verdict::Conflict => Self::Conflict,
            Verdict::Malformed => Self::Malformed,
        }
    }
}

/// What a decision was made on. If any of it is another now, the decision is void.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The proposal's text.
    pub patch: Digest,
    /// The files that it was placed on, by path; `None` where none was.
    pub bases: BTreeMap<String, Option<Digest>>,
    /// What was taken of it.
    pub choice: Digest,
    /// The trial that was seen.
    pub trial: Option<Digest>,
}

impl Pin {
    /// Of a decision to take `choice` of a patch, after having seen `trial`.
    pub fn new(patch: &Patch, choice: &[FileChange], trial: Option<Digest>) -> Self {
        let bases = choice
            .iter()
            .map(|file| (file.path.clone(), file.base.as_deref().map(Digest::of)))
            .collect::<BTreeMap<_, _>>();
        let parts: Vec<&[u8]> = choice
            .iter()
            .flat_map(|file| {
                let gone: &[u8] = if file.result.is_some() { b"+" } else { b"-" };
                [file.path.as_bytes(), gone, file.result.as_deref().unwrap_or_default().as_bytes()]
            })
            .collect();
        Self { patch: patch.content, bases, choice: Digest::of_parts(parts), trial }
    }
}

/// The paths whose file is not what `files` was placed on.
pub fn moved(files: &[FileChange], tree: &dyn Tree) -> Vec<String> {
    files.iter().filter(|file| !is_at(tree, &file.path, file.base.as_deref())).map(|file| file.path.clone()).collect()
}

fn is_at(tree: &dyn Tree, path: &str, text: Option<&str>) -> bool {
    match tree.get(path) {
        Found::Nothing => text.is_none(),
        Found::Text(there) => text == Some(&*there),
        Found::Unfit(_) => false,
    }
}

/// What a waiting patch comes to on files that moved under it.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// Where it stands.
    pub state: PatchState,
    /// What it would change now; as before where it has no place.
    pub files: Vec<FileChange>,
    /// What is wrong with it, in words.
    pub problems: Vec<String>,
}

/// Looks where a waiting patch stands now that files moved. `anew` places its text again.
///
/// The texts that it was placed on are known, so that it follows them by three-way merge; where that clashes,
/// its text is placed anew. Nothing if no file moved.
pub fn follow(patch: &Patch, tree: &dyn Tree, anew: impl FnOnce() -> Placed) -> Option<Followed> {
    if !patch.state.is_open() && patch.state != PatchState::Malformed {
        return None;
    }
    let was_placed = matches!(patch.state, PatchState::Proposed | PatchState::Tried);
    if was_placed {
        if moved(&patch.files, tree).is_empty() {
            return None;
        }
        if patch.files.iter().all(|file| is_at(tree, &file.path, file.result.as_deref())) {
            return Some(Followed { state: PatchState::Superseded, files: patch.files.clone(), problems: Vec::new() });
        }
        if let Some(files) = carried(&patch.files, tree) {
            let state = if files.is_empty() { PatchState::Superseded } else { PatchState::Proposed };
            let files = if files.is_empty() { patch.files.clone() } else { files };
            return Some(Followed { state, files, problems: Vec::new() });
        }
    }
    let placed = anew();
    let state = PatchState::from(placed.verdict);
    let problems: Vec<String> = placed.problems.iter().map(ToString::to_string).collect();
    if !was_placed && state == patch.state && problems == patch.problems {
        return None;
    }
    let files = if placed.verdict == Verdict::Applied { placed.files } else { patch.files.clone() };
    Some(Followed { state, files, problems })
}

/// Changes carried over to the texts that are there now, without those that are there already; nothing where
/// they clash.
pub fn carried(files: &[FileChange], tree: &dyn Tree) -> Option<Vec<FileChange>> {
    let mut all = Vec::new();
    for file in files {
        let now = match tree.get(&file.path) {
            Found::Nothing => None,
            Found::Text(text) => Some(text),
            Found::Unfit(_) => return None,
        };
        let result = match (&file.base, &file.result, &now) {
            (base, result, now) if base.as_deref() == now.as_deref() => result.clone(),
            (_, result, now) if result.as_deref() == now.as_deref() => continue,
            (Some(base), Some(result), Some(now)) => {
                let merged = merge(base, now, result);
                if !merged.clashes.is_empty() {
                    return None;
                }
                Some(merged.text)
            }
            // Made, deleted or moved meanwhile: nothing to merge.
            _ => return None,
        };
        let base = now.as_deref().map(str::to_owned);
        if base != result {
            all.push(FileChange { path: file.path.clone(), base, result });
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{MemoryTree, place};
    use crate::step::{Author, PatchId, Provenance};

    const BASE: &str = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
    const TEXT: &str = "--- a/s.py\n+++ b/s.py\n@@ -1,3 +1,3 @@\n-a = 1\n+a = 10\n b = 2\n c = 3\n";

    fn patch(state: PatchState) -> Patch {
        let placed = place(TEXT, &MemoryTree::new([("s.py", BASE)]), None);
        Patch {
            id: PatchId(1),
            state,
            title: "t".into(),
            provenance: Provenance::new(Author::Agent("x".into()), 0),
            content: Digest::of(TEXT),
            files: placed.files,
            problems: Vec::new(),
            comments: Vec::new(),
        }
    }

    fn followed(now: &str) -> Option<(PatchState, Option<String>)> {
        let tree = MemoryTree::new([("s.py", now)]);
        follow(&patch(PatchState::Tried), &tree, || place(TEXT, &tree, None))
            .map(|followed| (followed.state, followed.files[0].result.clone()))
    }

    #[test]
    fn a_waiting_patch_follows_its_file() {
        assert_eq!(followed(BASE), None);
        let edited = BASE.replace("e = 5", "e = 50");
        assert_eq!(followed(&edited), Some((PatchState::Proposed, Some(edited.replace("a = 1", "a = 10")))));
        // Beside the change: no merge, but the patch's own context holds.
        let above = format!("z = 0\n{BASE}");
        assert_eq!(
            followed(&above),
            Some((PatchState::Proposed, Some(format!("z = 0\n{}", BASE.replace("a = 1", "a = 10")))))
        );
        assert_eq!(followed(&BASE.replace("a = 1", "a = 10")).map(|f| f.0), Some(PatchState::Superseded));
        let more = BASE.replace("a = 1", "a = 10").replace("e = 5", "e = 50");
        assert_eq!(followed(&more).map(|f| f.0), Some(PatchState::Superseded));
        assert_eq!(followed(&BASE.replace("a = 1", "a = 7")).map(|f| f.0), Some(PatchState::Conflict));
    }

    #[test]
    fn a_conflict_that_finds_its_place_is_proposed() {
        let mut waiting = patch(PatchState::Conflict);
        waiting.problems = vec!["it did not fit".into()];
        let tree = MemoryTree::new([("s.py", BASE)]);
        let found = follow(&waiting, &tree, || place(TEXT, &tree, None));
        assert_eq!(found.map(|f| f.state), Some(PatchState::Proposed));
        assert_eq!(follow(&patch(PatchState::Accepted), &tree, || place(TEXT, &tree, None)), None);
    }

    #[test]
    fn what_may_follow_what() {
        use PatchState as S;
        assert_eq!(after(S::Proposed, Act::Try), Ok(S::Tried));
        assert_eq!(after(S::Tried, Act::Accept), Ok(S::Accepted));
        assert_eq!(after(S::Accepted, Act::Revert), Ok(S::Reverted));
        assert_eq!(after(S::Reverted, Act::Accept), Ok(S::Accepted));
        assert_eq!(after(S::Conflict, Act::Reject), Ok(S::Rejected));
        assert_eq!(
            after(S::Conflict, Act::Accept).unwrap_err().to_string(),
            "a patch that fits nowhere can't be accepted"
        );
        assert!(after(S::Accepted, Act::Reject).is_err());
        assert!(after(S::Proposed, Act::Revert).is_err());
    }

    #[test]
    fn a_pin_holds_base_patch_choice_and_trial() {
        let patch = patch(PatchState::Tried);
        let trial = Some(Digest::of("trial"));
        let pin = Pin::new(&patch, &patch.files, trial);
        assert_eq!(pin, Pin::new(&patch, &patch.files, trial));
        assert_ne!(pin, Pin::new(&patch, &patch.files, None));
        let mut less = patch.files.clone();
        less[0].result = Some(BASE.into());
        assert_ne!(pin, Pin::new(&patch, &less, trial));
        assert_eq!(moved(&patch.files, &MemoryTree::new([("s.py", "x")])), ["s.py"]);
    }
}
