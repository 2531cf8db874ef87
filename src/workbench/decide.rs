//! What is decided about a patch: it is accepted, rejected, taken back or remarked upon.
//!
//! Accepting and taking back are deeds of the store's journal, done whole or not at all, with what the decision was made
//! on beside them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use similar::TextDiff;

use super::book::{Book, failure};
use super::desk::counted;
use super::moment::now;
use super::shelf::{Shelf, step_of, tree};
use super::trial::Kept;
use super::{Failure, Fault, TrialView};
use crate::patch::{self, Act, Later, NotNow, Obstacle, Pin, Reverted, after, moved};
use crate::step::{Author, Digest, FileChange, Patch, PatchId, PatchState, Provenance};
use crate::store::{Change, Decision, Deed, DeedKind, DeedState, Plan};

/// What a decision to accept was made on, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pinned {
    /// The proposal's text.
    pub patch: Digest,
    /// The files that it was placed on.
    pub bases: BTreeMap<String, Option<Digest>>,
    /// What was taken of it.
    pub choice: Digest,
    /// The trial that was seen, if one was.
    pub trial: Option<Digest>,
    /// What stood against it and was overridden.
    pub overridden: Vec<String>,
    /// Whether a person edited it before.
    pub edited: bool,
    /// What of it was left, as a unified diff on top of what was taken.
    pub left: String,
}

/// A wish to accept.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub patch: PatchId,
    /// What is taken; all when empty.
    pub files: Vec<FileChange>,
    pub comment: Option<String>,
    pub anyway: bool,
    pub replay: bool,
}

/// A wish that can be granted: what is taken, of which patch.
#[derive(Debug)]
pub(super) struct Granted {
    pub patch: std::sync::Arc<Patch>,
    pub choice: Vec<FileChange>,
    /// Why it would be refused, had it not been asked for all the same.
    pub against: Vec<String>,
}

/// Looks whether a choice of a patch may be accepted now, what must pass before left aside.
pub(super) fn consider(book: &Book, shelf: &Shelf, wish: &Wish) -> Result<Granted, Failure> {
    let mut granted = considered(book, shelf, wish.patch, &wish.files, Act::Accept)?;
    granted.against = new_faults(book, &granted.choice).iter().map(fault).collect();
    if let (Some(first), false) = (granted.against.first(), wish.anyway) {
        return Err(Failure {
            what: format!("{} is not accepted: {first}", wish.patch),
            hint: Some("--anyway accepts it all the same".to_owned()),
        });
    }
    Ok(granted)
}

/// Looks whether this may happen to a choice of a patch now, and whether its files are what it was placed on.
pub(super) fn considered(
    book: &Book,
    shelf: &Shelf,
    id: PatchId,
    files: &[FileChange],
    act: Act,
) -> Result<Granted, Failure> {
    let patch = shelf.get(id)?;
    after(patch.state, act).map_err(|not| refused(not, &patch))?;
    let choice = choice(&patch, files)?;
    let gone = moved(&choice, &tree(book)?);
    if !gone.is_empty() {
        return Err(Failure {
            what: format!("{} changed since {id} was placed on it", gone.join(", ")),
            hint: Some(format!("look at it as it is now: reweave patch show DIR {}", id.0)),
        });
    }
    Ok(Granted { patch, choice, against: Vec::new() })
}

/// That something must pass before a patch is accepted, and does not.
pub(super) fn gated(id: PatchId, why: &str) -> Failure {
    Failure {
        what: format!("{id} is not accepted: {why}"),
        hint: Some("`[verify]` of reweave.toml asks for it; --anyway accepts it all the same".to_owned()),
    }
}

/// What tells one choice of a patch from another.
pub(super) fn choice_digest(choice: &[FileChange]) -> Digest {
    Digest::of(serde_json::to_vec(choice).unwrap_or_default())
}

/// The last trial of just this choice, the rest of the run being as it is now, and its digest.
pub(super) fn trial_of(book: &Book, granted: &Granted, run: Digest) -> Result<Option<(Digest, TrialView)>, Failure> {
    let wanted = choice_digest(&granted.choice);
    for trial in book.store().trials(granted.patch.id).map_err(|error| book.failure(error))? {
        // A trial of another form says nothing here.
        let Ok(kept) = serde_json::from_slice::<Kept>(&trial.result) else { continue };
        if kept.choice == wanted && kept.run == run {
            return Ok(Some((Digest::of(&trial.result), kept.view)));
        }
    }
    Ok(None)
}

/// What is taken of a patch: all of it, or what was chosen.
pub(super) fn choice(patch: &Patch, files: &[FileChange]) -> Result<Vec<FileChange>, Failure> {
    let chosen = if files.is_empty() { patch.files.clone() } else { files.to_vec() };
    let nothing = |what| Failure { what, hint: Some(format!("reweave patch show DIR {}", patch.id.0)) };
    if let Some(other) = chosen.iter().find(|file| !patch.files.iter().any(|own| own.path == file.path)) {
        return Err(nothing(format!("{} does not change {}", patch.id, other.path)));
    }
    let chosen: Vec<FileChange> = chosen.into_iter().filter(|file| file.base != file.result).collect();
    if chosen.is_empty() {
        return Err(nothing(format!("nothing of {} is taken", patch.id)));
    }
    Ok(chosen)
}

/// Where a choice makes a text that is no Python and was before.
fn new_faults(book: &Book, choice: &[FileChange]) -> Vec<Fault> {
    let back: Vec<FileChange> = choice
        .iter()
        .map(|file| FileChange { path: file.path.clone(), base: None, result: file.base.clone() })
        .collect();
    let before = book.would(&back).faults;
    let mut faults = book.would(choice).faults;
    faults.retain(|fault| !before.iter().any(|old| old.path == fault.path));
    faults
}

fn fault(fault: &Fault) -> String {
    format!("{} would be no Python: line {}: {}", fault.path, fault.line, fault.what)
}

/// Accepts, once everything was considered. `trial` is the one that was seen, `overridden` what stands against it.
pub(super) fn accept(
    book: &Book,
    shelf: &mut Shelf,
    granted: &Granted,
    comment: Option<&str>,
    trial: Option<Digest>,
    overridden: Vec<String>,
) -> Result<String, Failure> {
    let Granted { patch, choice, .. } = granted;
    let pin = Pin::new(patch, choice, trial);
    let left = left(patch, choice);
    let edited = is_edited(patch, choice);
    let pinned = Pinned {
        patch: pin.patch,
        bases: pin.bases,
        choice: pin.choice,
        trial,
        overridden: overridden.clone(),
        edited,
        left: left.clone(),
    };
    let plan = Plan {
        kind: DeedKind::Accept,
        title: format!("accept {}: {}", patch.id, patch.title),
        provenance: Provenance { patch: Some(patch.id), at: now(), ..patch.provenance.clone() },
        decision: Some(Decision { patch: patch.id, from: patch.state, to: PatchState::Accepted }),
        pin: serde_json::to_string(&pinned).ok(),
        changes: changes(choice),
    };
    book.carry_out(&plan)?;
    let mut remarks = Vec::new();
    remarks.extend(edited.then(|| "edited by a person before it was accepted".to_owned()));
    remarks.extend((!left.is_empty() && !edited).then(|| format!("accepted in part; left:\n{left}")));
    remarks.extend(overridden.iter().map(|against| format!("accepted all the same: {against}")));
    remarks.extend(comment.map(str::to_owned));
    // It is accepted by now: a remark that is lost does not make it undone.
    for remark in remarks {
        book.store().comment_patch(patch.id, &remark, now()).map_err(failure)?;
    }
    shelf.reload(book.store(), patch.id)?;
    let part = if left.is_empty() || edited { "" } else { " in part" };
    Ok(format!("accepted {}{part}: {}", patch.id, patch.title))
}

fn changes(files: &[FileChange]) -> Vec<Change> {
    let bytes = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
    let change = |file: &FileChange| Change {
        path: file.path.clone(),
        step: step_of(&file.path),
        before: bytes(&file.base),
        after: bytes(&file.result),
    };
    files.iter().map(change).collect()
}

/// What a choice leaves of a patch, as a unified diff on top of it.
fn left(patch: &Patch, choice: &[FileChange]) -> String {
    let mut text = String::new();
    for file in &patch.files {
        let taken = choice.iter().find(|taken| taken.path == file.path);
        let now = taken.map_or(&file.base, |taken| &taken.result);
        if *now != file.result {
            let (old, new) = (now.as_deref().unwrap_or_default(), file.result.as_deref().unwrap_or_default());
            let diff = TextDiff::from_lines(old, new);
            let (a, b) = (format!("a/{}", file.path), format!("b/{}", file.path));
            text.push_str(&diff.unified_diff().header(&a, &b).to_string());
        }
    }
    text
}

/// Whether a choice has lines that are neither of the patch's base nor of its result.
fn is_edited(patch: &Patch, choice: &[FileChange]) -> bool {
    choice.iter().any(|taken| {
        let Some(own) = patch.files.iter().find(|own| own.path == taken.path) else { return true };
        let known: std::collections::HashSet<&str> =
            [&own.base, &own.result].into_iter().flatten().flat_map(|text| text.lines()).collect();
        taken.result.iter().flat_map(|text| text.lines()).any(|line| !known.contains(line))
    })
}

/// Turns a patch down, with the reason.
pub(super) fn reject(book: &Book, shelf: &mut Shelf, id: PatchId, reason: Option<&str>) -> Result<String, Failure> {
    let patch = shelf.get(id)?;
    let state = after(patch.state, Act::Reject).map_err(|not| refused(not, &patch))?;
    book.store().set_patch_state(id, state, reason, now()).map_err(failure)?;
    shelf.reload(book.store(), id)?;
    Ok(format!("rejected {id}: {}", patch.title))
}

/// Adds a remark.
pub(super) fn remark(book: &Book, shelf: &mut Shelf, id: PatchId, text: &str) -> Result<String, Failure> {
    shelf.get(id)?;
    book.store().comment_patch(id, text, now()).map_err(failure)?;
    shelf.reload(book.store(), id)?;
    Ok(format!("remarked on {id}"))
}

/// Takes an accepted patch back, later changes staying; refused with the names of those that are in the way.
pub(super) fn revert(book: &Book, shelf: &mut Shelf, id: PatchId) -> Result<String, Failure> {
    let patch = shelf.get(id)?;
    let state = after(patch.state, Act::Revert).map_err(|not| refused(not, &patch))?;
    let deed = accepting(book, id)?;
    let accepted = accepted(book, &deed)?;
    let later = later(book, &deed, &accepted)?;
    let files = match patch::revert(&accepted, &tree(book)?, &later) {
        Reverted::Changes(files) => files,
        Reverted::InTheWay(obstacles) => return Err(in_the_way(id, &obstacles)),
    };
    let changes = changes(&files);
    if changes.is_empty() {
        let why = "nothing of it was left in the files";
        book.store().set_patch_state(id, state, Some(why), now()).map_err(failure)?;
    } else {
        let title = format!("revert {id}: {}", patch.title);
        let plan = Plan {
            kind: DeedKind::Revert,
            provenance: Provenance { reason: Some(title.clone()), ..Provenance::new(Author::Person, now()) },
            title,
            decision: Some(Decision { patch: id, from: patch.state, to: state }),
            pin: None,
            changes,
        };
        book.carry_out(&plan)?;
    }
    shelf.reload(book.store(), id)?;
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    Ok(format!(
        "reverted {id}: {}",
        if paths.is_empty() { "nothing of it was left".to_owned() } else { paths.join(", ") }
    ))
}

/// The deed that accepted a patch and stands.
fn accepting(book: &Book, id: PatchId) -> Result<Deed, Failure> {
    let deeds = book.store().deeds_of(id).map_err(failure)?;
    let standing = |deed: &Deed| deed.kind == DeedKind::Accept && deed.state == DeedState::Done;
    deeds.into_iter().find(standing).ok_or_else(|| Failure {
        what: format!("the store does not hold what {id} wrote"),
        hint: Some("`reweave log DIR STEP` lists the versions; `reweave restore` brings one back".to_owned()),
    })
}

/// What a deed wrote.
fn accepted(book: &Book, deed: &Deed) -> Result<Vec<FileChange>, Failure> {
    let text = |digest: Option<Digest>| -> Result<Option<String>, Failure> {
        let Some(digest) = digest else { return Ok(None) };
        let bytes = book.store().get_blob(&digest).map_err(failure)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    let change = |file: &crate::store::DeedFile| {
        Ok(FileChange { path: file.path.clone(), base: text(file.before)?, result: text(file.after)? })
    };
    deed.files.iter().map(change).collect()
}

/// What happened since to the files that a deed wrote, oldest first.
fn later(book: &Book, deed: &Deed, accepted: &[FileChange]) -> Result<Vec<Later>, Failure> {
    let store = book.store();
    let mut later = Vec::new();
    let deeds = store.deeds_since(deed.id).map_err(failure)?;
    for file in accepted {
        let Some(step) = step_of(&file.path) else {
            // No versions are kept of it: only what reweave did is known.
            for deed in deeds.iter().filter(|deed| deed.state == DeedState::Done) {
                for other in accepted_at(book, deed, &file.path)? {
                    let by = deed.decision.map(|decision| decision.patch);
                    later.push(Later { by, path: file.path.clone(), result: other });
                }
            }
            continue;
        };
        let wrote = file.result.as_deref().map(Digest::of);
        for version in store.versions(&step).map_err(failure)? {
            let source = (!version.deleted).then_some(version.source);
            if version.provenance.patch == deed.provenance.patch && source == wrote {
                break;
            }
            let text = match source {
                None => None,
                Some(digest) => {
                    let bytes = store.get_blob(&digest).map_err(failure)?;
                    Some(String::from_utf8_lossy(&bytes).into_owned())
                }
            };
            later.insert(0, Later { by: version.provenance.patch, path: file.path.clone(), result: text });
        }
    }
    Ok(later)
}

fn accepted_at(book: &Book, deed: &Deed, path: &str) -> Result<Vec<Option<String>>, Failure> {
    let files = accepted(book, deed)?;
    Ok(files.into_iter().filter(|file| file.path == path).map(|file| file.result).collect())
}

fn in_the_way(id: PatchId, obstacles: &[Obstacle]) -> Failure {
    let place = |obstacle: &Obstacle| match obstacle.line {
        Some(line) => format!("{}:{line}", obstacle.path),
        None => obstacle.path.clone(),
    };
    let told = |obstacle: &Obstacle| match obstacle.by {
        Some(patch) => format!("{patch} changed {} since", place(obstacle)),
        None => format!("{} was edited since", place(obstacle)),
    };
    let what: Vec<String> = obstacles.iter().map(told).collect();
    let others: Vec<String> = obstacles.iter().filter_map(|obstacle| obstacle.by).map(|by| by.0.to_string()).collect();
    let hint = if others.is_empty() {
        "change it by hand, or bring an earlier version back: reweave restore".to_owned()
    } else {
        format!("take {} back first: reweave patch revert DIR {}", counted(others.len(), "patch"), others.join(" "))
    };
    Failure { what: format!("{id} can't be taken back: {}", what.join("; ")), hint: Some(hint) }
}

fn refused(not: NotNow, patch: &Patch) -> Failure {
    let hint = match patch.state {
        PatchState::Conflict | PatchState::Ambiguous | PatchState::Malformed => {
            patch.problems.first().map(|problem| format!("{problem}; ask for another patch, or reject it"))
        }
        PatchState::Accepted => Some(format!("reweave patch revert DIR {} takes it back", patch.id.0)),
        _ => None,
    };
    Failure { what: format!("{}: {not}", patch.id), hint }
}
