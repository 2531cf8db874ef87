//! From what a patch says to where it goes: every hunk in its only place, or not at all.
//!
//! # Architecture
//!
//! - [`index`]: where a run of lines stands in a text, at each [`Level`] of tolerance.
//! - [`alternatives`]: the ways in which one hunk may be read, the literal one first.
//! - [`locate`]: one hunk to one place, several, or none.
//! - [`changes`]: a hunk at its place to changes of lines; [`text_edit`]: replacements of pieces of text.
//! - [`file`]: all that a patch does to one file; [`whole`]: whole new texts.
//! - [`place`] ties them together for a patch in any format, and [`Placed`] is what comes out.
//!
//! # What is tolerated
//!
//! The levels in order, the first at which anything is found deciding: byte for byte; blanks at line ends, line
//! endings, a byte order mark and the final newline; one uniform shift of indentation by spaces; typographic
//! dashes, quotes and spaces on lines of context. No score places a hunk, and no context is dropped. Where
//! several places fit, a line number decides only if the header's counts are right and it names one of them
//! exactly, and an anchor or heading only if it stands once. Everything else is ambiguous or a conflict.

mod alternatives;
mod changes;
mod file;
mod index;
mod locate;
mod text_edit;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use index::Level;

use self::file::Files;
use super::note::{Note, NoteKind, Problem, Reason};
use super::read::read_text;
use super::reading::{Claim, Format, Operation, Reading};
use super::syntax;
use super::tree::{Found, Tree};
use crate::step::FileChange;

/// How a patch as a whole fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every part of it has its only place.
    Applied,
    /// A part of it fits in more than one place.
    Ambiguous,
    /// A part of it fits nowhere.
    Conflict,
    /// It can't be read, or must not be.
    Malformed,
}

/// How one hunk fares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HunkPlace {
    /// How.
    pub state: Verdict,
    /// The file.
    pub path: String,
    /// 1-based line of the file at which it stands, or that is most like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// How exactly it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// 1-based lines among which a person may choose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<usize>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// 1-based line of the patch.
    pub patch_line: usize,
}

/// What a patch comes to on a tree. Nothing was written.
#[derive(Debug, Clone)]
pub struct Placed {
    /// How it fares as a whole.
    pub verdict: Verdict,
    /// In which format it was.
    pub format: Option<Format>,
    /// What the parts that have a place would change. Only if the verdict is [`Verdict::Applied`] is that all.
    pub files: Vec<FileChange>,
    /// Every hunk, in the order of the patch.
    pub hunks: Vec<HunkPlace>,
    /// Why it was not applied, in a word.
    pub reason: Option<Reason>,
    /// What was made of its letter.
    pub notes: Vec<Note>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// Files whose new text is not Python.
    pub unparsed: Vec<(String, syntax::SyntaxProblem)>,
    /// Who says to have made it.
    pub claim: Claim,
    /// Where the answer says two things: what each would change.
    pub alternatives: Vec<(Format, Vec<FileChange>)>,
}

impl Placed {
    /// The lines among which a person may choose, over all hunks.
    pub fn candidates(&self) -> Vec<usize> {
        self.hunks.iter().flat_map(|hunk| hunk.candidates.iter().copied()).collect()
    }

    /// Asks of every new text whether it is Python.
    pub(super) fn check_syntax(&mut self) {
        self.unparsed.clear();
        if self.verdict != Verdict::Applied {
            return;
        }
        for file in self.files.iter().filter(|file| file.path.ends_with(".py")) {
            if let Some(syntax::Verdict::Fails(problem)) = file.result.as_deref().map(syntax::check) {
                self.unparsed.push((file.path.clone(), problem));
            }
        }
    }

    fn malformed(problem: Problem) -> Self {
        Self {
            verdict: Verdict::Malformed,
            format: None,
            files: Vec::new(),
            hunks: Vec::new(),
            reason: problem.reason,
            notes: Vec::new(),
            problems: vec![problem],
            unparsed: Vec::new(),
            claim: Claim::default(),
            alternatives: Vec::new(),
        }
    }
}

/// Reads `patch` in whatever format it is and finds its place in `tree`. `target` is the file meant where the
/// patch names none.
pub fn place(patch: &str, tree: &dyn Tree, target: Option<&str>) -> Placed {
    if patch.trim().is_empty() {
        return Placed::malformed(Problem::new(Reason::NoPatch, "the patch is empty").hint("send a patch"));
    }
    place_readings(read_text(patch, 1), tree, target)
}

fn no_patch() -> Placed {
    Placed::malformed(
        Problem::new(Reason::NoPatch, "there is no patch in it")
            .hint("send a unified diff, SEARCH/REPLACE blocks, a *** Begin Patch envelope, JSON edits or a whole file"),
    )
}

fn place_readings(readings: Vec<Reading>, tree: &dyn Tree, target: Option<&str>) -> Placed {
    let alone = readings.len() == 1;
    let mut dropped = 0;
    let mut fragment = None;
    let mut placed: Vec<Placed> = Vec::new();
    for reading in readings {
        let guessed = is_guess(&reading);
        let problems = !reading.problems.is_empty();
        let one = Files::place(reading, tree, target);
        // A fence beside a patch, or one of several, is an example unless it is most of the file.
        let unlike = one.reason == Some(Reason::Fragment) || one.reason == Some(Reason::NoFile);
        if guessed && !alone && unlike && !problems {
            dropped += 1;
            fragment.get_or_insert(one);
        } else {
            placed.push(one);
        }
    }
    let mut whole = match (placed.len(), fragment) {
        (0, Some(fragment)) => fragment,
        (0, None) => return no_patch(),
        _ => join(placed),
    };
    if dropped > 0 && whole.verdict == Verdict::Applied {
        whole
            .notes
            .push(Note::new(NoteKind::Example, format!("{dropped} other pieces of code were taken as examples")));
    }
    finish(whole)
}

/// Whether nothing but a fence, or not even that, says that a text is meant as a file.
fn is_guess(reading: &Reading) -> bool {
    reading.edits.iter().all(|edit| matches!(edit.operation, Operation::Write { stated: false, .. }))
}

/// Joins what several formats say: parts of one patch if they are about different files, the same thing twice
/// if they come to the same, and otherwise two things between which a person must choose.
fn join(mut all: Vec<Placed>) -> Placed {
    let mut whole = if all.is_empty() { no_patch() } else { all.remove(0) };
    for other in all {
        let paths =
            |placed: &Placed| placed.hunks.iter().map(|h| h.path.clone()).collect::<std::collections::BTreeSet<_>>();
        let apart = paths(&whole).is_disjoint(&paths(&other));
        let same = !apart
            && whole.verdict == Verdict::Applied
            && other.verdict == Verdict::Applied
            && whole.files == other.files;
        if same {
            let text = "the same change stands in it in several forms";
            if !whole.notes.iter().any(|note| note.kind == NoteKind::SeveralFormats) {
                whole.notes.push(Note::new(NoteKind::SeveralFormats, text));
            }
            continue;
        }
        if !apart && whole.verdict == Verdict::Applied && other.verdict == Verdict::Applied {
            if whole.alternatives.is_empty()
                && let Some(format) = whole.format
            {
                whole.alternatives.push((format, whole.files.clone()));
            }
            whole.alternatives.extend(other.format.map(|format| (format, other.files.clone())));
            whole.verdict = Verdict::Ambiguous;
            whole.reason = Some(Reason::Differs);
            whole.problems.push(
                Problem::new(Reason::Differs, "it says two different things about one file")
                    .hint("send one of them, or choose"),
            );
            continue;
        }
        let shift = whole.hunks.len();
        whole.verdict = whole.verdict.max(other.verdict);
        whole.reason = whole.reason.or(other.reason);
        whole.hunks.extend(other.hunks);
        for file in other.files {
            if !whole.files.iter().any(|there| there.path == file.path) {
                whole.files.push(file);
            }
        }
        whole.problems.extend(other.problems);
        whole.notes.extend(other.notes.into_iter().map(|mut note| {
            note.hunk = note.hunk.map(|hunk| hunk + shift);
            note
        }));
        if whole.claim == Claim::default() {
            whole.claim = other.claim;
        }
    }
    whole
}

/// The last checks, over the whole.
fn finish(mut whole: Placed) -> Placed {
    if whole.verdict == Verdict::Applied && whole.files.is_empty() {
        whole.verdict = Verdict::Malformed;
        whole.reason = Some(Reason::NoOp);
        whole.problems.push(Problem::new(Reason::NoOp, "it changes nothing"));
    }
    whole.check_syntax();
    whole
}

/// What is at a path, as a text or a reason why not.
fn text_at(tree: &dyn Tree, path: &str) -> Result<Option<Arc<str>>, Problem> {
    match tree.get(path) {
        Found::Nothing => Ok(None),
        Found::Text(text) => Ok(Some(text)),
        Found::Unfit(why) => Err(Problem::new(Reason::NoFile, format!("{path} {why}"))),
    }
}

/// The texts of the files that changed, by path.
fn changed(base: &BTreeMap<String, Option<Arc<str>>>, now: &BTreeMap<String, Option<Arc<str>>>) -> Vec<FileChange> {
    now.iter()
        .filter(|(path, text)| base.get(*path).is_none_or(|before| before != *text))
        .map(|(path, text)| FileChange {
            path: path.clone(),
            base: base.get(path).and_then(|text| text.as_deref().map(str::to_owned)),
            result: text.as_deref().map(str::to_owned),
        })
        .collect()
}
