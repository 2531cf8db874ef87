//! All that one reading of a patch does, file by file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::index::{Index, TooMuch, Work};
use super::locate::{Located, locate};
use super::text_edit::{Replaced, replace};
use super::whole::{Given, Whole, whole};
use super::{HunkPlace, Placed, Verdict, changed, text_at};
use crate::patch::lines::{Base, Change, rebuild};
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::path::{Refused, resolve};
use crate::patch::read::placeholder;
use crate::patch::read::unified::added_text;
use crate::patch::reading::{Body, FileEdit, Format, Hunk, MadeFor, Named, Operation, Reading, Tag, TextEdit};
use crate::patch::shorten;
use crate::patch::tree::Tree;

/// The files that a reading touches, while it is placed.
pub(super) struct Files<'t> {
    tree: &'t dyn Tree,
    target: Option<&'t str>,
    base: BTreeMap<String, Option<Arc<str>>>,
    now: BTreeMap<String, Option<Arc<str>>>,
    hunks: Vec<HunkPlace>,
    notes: Vec<Note>,
    problems: Vec<Problem>,
    verdict: Verdict,
    reason: Option<Reason>,
    work: Work,
    /// Whole texts given so far.
    written: HashMap<String, String>,
}

/// One file's edit with its path found.
struct Resolved {
    path: String,
    operation: Operation,
    made_for: Option<MadeFor>,
    at: usize,
}

impl<'t> Files<'t> {
    /// Places a reading on a tree.
    pub fn place(reading: Reading, tree: &'t dyn Tree, target: Option<&'t str>) -> Placed {
        let mut files = Self {
            tree,
            target,
            base: BTreeMap::new(),
            now: BTreeMap::new(),
            hunks: Vec::new(),
            notes: reading.notes,
            problems: Vec::new(),
            verdict: Verdict::Applied,
            reason: None,
            work: Work::new(),
            written: HashMap::new(),
        };
        let raw = files.notes.iter().any(|note| note.kind == NoteKind::Raw);
        for problem in reading.problems {
            files.fail(Verdict::Malformed, problem);
        }
        if reading.edits.is_empty() && files.verdict == Verdict::Applied {
            files.fail(Verdict::Malformed, Problem::new(Reason::NoPatch, "there is no patch in it"));
        }
        let sequential = matches!(reading.format, Format::Json | Format::Reweave | Format::Ed);
        if raw && target.is_none() {
            files.fail(Verdict::Malformed, Problem::new(Reason::NoPatch, "there is no patch in it"));
        }
        let edits = if files.verdict == Verdict::Malformed && raw { Vec::new() } else { reading.edits };
        for edit in files.gather(edits, sequential) {
            files.edit(edit, raw);
        }
        let changes = changed(&files.base, &files.now);
        Placed {
            verdict: files.verdict,
            format: Some(reading.format),
            files: if files.verdict == Verdict::Malformed { Vec::new() } else { changes },
            hunks: files.hunks,
            reason: files.reason,
            notes: files.notes,
            problems: files.problems,
            unparsed: Vec::new(),
            claim: reading.claim,
            alternatives: Vec::new(),
        }
    }

    /// Marks the whole as no better than `verdict`, because of `problem`.
    fn fail(&mut self, verdict: Verdict, problem: Problem) {
        // The gravest problem gives the reason; among equals one with a word for it.
        if verdict > self.verdict || (verdict == self.verdict && self.reason.is_none()) {
            self.reason = problem.reason;
        } else if verdict == self.verdict && self.reason == Some(Reason::AlreadyApplied) {
            // Only a patch all of whose failing parts are there already is called so.
            self.reason = self.reason.filter(|reason| problem.reason == Some(*reason));
        }
        self.verdict = self.verdict.max(verdict);
        self.problems.push(problem);
    }

    /// Finds the paths, and puts together what belongs to one file: hunks are all placed on the text as it is.
    fn gather(&mut self, edits: Vec<FileEdit>, sequential: bool) -> Vec<Resolved> {
        let mut all: Vec<Resolved> = Vec::new();
        let mut place_of: BTreeMap<String, usize> = BTreeMap::new();
        let mut last: Option<String> = None;
        for edit in edits {
            let named = match (&edit.path, &last) {
                // A section without a name goes on with the file before it.
                (Named::Nothing, Some(path)) if self.target.is_none() => Named::As(path.clone()),
                (path, _) => path.clone(),
            };
            let path = match self.path(&named, edit.also.as_ref(), edit.at) {
                Ok(path) => path,
                Err(Refused::Malformed(problem)) => {
                    self.fail(Verdict::Malformed, problem);
                    continue;
                }
                Err(Refused::Elsewhere(problem)) => {
                    let path = edit.path.text().unwrap_or_default().to_owned();
                    self.failed_hunk(&path, Verdict::Conflict, edit.at, problem);
                    continue;
                }
            };
            last = Some(path.clone());
            let before = place_of.get(&path).and_then(|at| all.get_mut(*at)).filter(|_| !sequential);
            if let (
                Some(Resolved { operation: Operation::Change { hunks, .. }, .. }),
                Operation::Change { rename: None, hunks: more, .. },
            ) = (before, &edit.operation)
            {
                hunks.extend(more.iter().cloned());
                continue;
            }
            place_of.insert(path.clone(), all.len());
            all.push(Resolved { path, operation: edit.operation, made_for: edit.made_for, at: edit.at });
        }
        all
    }

    /// The path that one of two names means: of the one that is there.
    fn path(&mut self, named: &Named, also: Option<&Named>, at: usize) -> Result<String, Refused> {
        let mut found = resolve(named, self.tree, self.target, at)?;
        if let Some(Ok(other)) = also.map(|also| resolve(also, self.tree, self.target, at))
            && other.0 != found.0
        {
            let names = (self.tree.has(&found.0), self.tree.has(&other.0));
            if names == (true, true) {
                let text = format!("its headers name two files of the run, {} and {}", found.0, other.0);
                return Err(Refused::Elsewhere(Problem::new(Reason::Path, text).hint("name one file in both").at(at)));
            }
            if names == (false, true) {
                found = other;
            }
            let text = format!("the file is {}; the other header has another name", found.0);
            found.1 = Some(Note::new(NoteKind::Path, text));
        }
        if let Some(note) = found.1.filter(|note| !self.notes.contains(note)) {
            self.notes.push(note);
        }
        Ok(found.0)
    }

    /// The text of a file as it is now, after what was done so far.
    fn text(&mut self, path: &str, at: usize) -> Result<Option<Arc<str>>, ()> {
        if let Some(text) = self.now.get(path) {
            return Ok(text.clone());
        }
        match text_at(self.tree, path) {
            Ok(text) => {
                self.base.insert(path.to_owned(), text.clone());
                self.now.insert(path.to_owned(), text.clone());
                Ok(text)
            }
            Err(problem) => {
                self.failed_hunk(path, Verdict::Conflict, at, problem.at(at));
                Err(())
            }
        }
    }

    fn set(&mut self, path: &str, text: Option<String>) {
        if !self.base.contains_key(path) {
            let before = text_at(self.tree, path).unwrap_or_default();
            self.base.insert(path.to_owned(), before);
        }
        self.now.insert(path.to_owned(), text.map(Arc::from));
    }

    fn failed_hunk(&mut self, path: &str, state: Verdict, at: usize, problem: Problem) {
        self.hunks.push(HunkPlace {
            state,
            path: path.to_owned(),
            line: None,
            level: None,
            candidates: Vec::new(),
            problem: Some(problem.clone()),
            patch_line: at,
        });
        self.fail(state, problem);
    }

    fn placed_hunk(&mut self, path: &str, line: usize, at: usize) {
        self.hunks.push(HunkPlace {
            state: Verdict::Applied,
            path: path.to_owned(),
            line: Some(line),
            level: Some(super::Level::Exact),
            candidates: Vec::new(),
            problem: None,
            patch_line: at,
        });
    }

    fn edit(&mut self, edit: Resolved, raw: bool) {
        let Resolved { path, operation, made_for, at } = edit;
        let Ok(text) = self.text(&path, at) else { return };
        let same_text = match (&made_for, &text) {
            (Some(made_for), Some(text)) => {
                let same = is_digest_of(&made_for.digest, text);
                if !same && made_for.required {
                    let problem = Problem::new(Reason::Stale, format!("it was made for another text of {path}"))
                        .hint("read the file again")
                        .at(at);
                    return self.failed_hunk(&path, Verdict::Conflict, at, problem);
                }
                if !same {
                    self.notes.push(Note::new(NoteKind::Drifted, format!("{path} changed since it was made")));
                }
                same
            }
            _ => false,
        };
        match operation {
            Operation::Create { text: new } => self.create(&path, text.as_deref(), new, at),
            Operation::Delete { shown } => self.delete(&path, text.as_deref(), shown.as_deref(), at),
            Operation::Write { text: new, stated, exact } => {
                if !exact && self.written.contains_key(&path) {
                    let same = self.written.get(&path).is_some_and(|before| *before == new);
                    if !same {
                        let problem = Problem::new(Reason::Differs, format!("it gives two whole texts for {path}"))
                            .hint("send one of them");
                        self.failed_hunk(&path, Verdict::Ambiguous, at, problem.at(at));
                    }
                    return;
                }
                self.written.insert(path.clone(), new.clone());
                let given = Given { stated, exact, raw, at };
                match whole(text.as_deref(), &new, &path, given) {
                    Whole::Text(new, notes) => {
                        self.notes.extend(notes);
                        self.placed_hunk(&path, 1, at);
                        self.set(&path, Some(new));
                    }
                    Whole::Fragment(problem) => self.failed_hunk(&path, Verdict::Ambiguous, at, problem),
                    Whole::Malformed(problem) => self.failed_hunk(&path, Verdict::Malformed, at, problem),
                }
            }
            Operation::Change { rename, copy, hunks } => {
                let Some(new) = self.hunks_on(&path, text.as_deref(), &hunks, same_text, at) else { return };
                match rename {
                    None => self.set(&path, Some(new)),
                    Some(to) => {
                        if hunks.is_empty() {
                            self.placed_hunk(&path, 1, at);
                        }
                        self.rename(&path, &to, new, copy, at);
                    }
                }
            }
            Operation::Sequence { edits } => self.sequence(&path, text.as_deref(), &edits, same_text, at),
        }
    }

    fn create(&mut self, path: &str, there: Option<&str>, new: String, at: usize) {
        match there {
            Some(there) => {
                let problem = if there == new {
                    Problem::new(Reason::AlreadyApplied, format!("{path} is there already, with this text"))
                } else {
                    Problem::new(Reason::Exists, format!("{path} is there already"))
                        .hint("change it with a diff, or delete it first")
                };
                self.failed_hunk(path, Verdict::Conflict, at, problem.at(at));
            }
            None => {
                if let Some(line) = placeholder::find(new.lines().map(|line| (line, true)), |_| false) {
                    return self.failed_hunk(path, Verdict::Malformed, at, placeholder_problem(line, at));
                }
                self.placed_hunk(path, 1, at);
                self.set(path, Some(new));
            }
        }
    }

    fn delete(&mut self, path: &str, there: Option<&str>, shown: Option<&[Hunk]>, at: usize) {
        let Some(there) = there else {
            let problem = Problem::new(Reason::AlreadyApplied, format!("{path} is not there")).at(at);
            return self.failed_hunk(path, Verdict::Conflict, at, problem);
        };
        let Some(hunks) = shown else {
            self.placed_hunk(path, 1, at);
            return self.set(path, None);
        };
        let before = self.verdict;
        let rest = self.hunks_on(path, Some(there), hunks, false, at);
        if rest.is_some_and(|rest| rest.is_empty() || rest == "\u{feff}") {
            return self.set(path, None);
        }
        if self.verdict == before {
            let problem =
                Problem::new(Reason::Stale, format!("{path} holds more than the lines that the patch deletes"))
                    .hint("read the file again")
                    .at(at);
            match self.hunks.last_mut().filter(|_| !hunks.is_empty()) {
                Some(hunk) => {
                    hunk.state = Verdict::Conflict;
                    hunk.problem = Some(problem.clone());
                    self.fail(Verdict::Conflict, problem);
                }
                None => self.failed_hunk(path, Verdict::Conflict, at, problem),
            }
        }
    }

    fn rename(&mut self, path: &str, to: &Named, new: String, copy: bool, at: usize) {
        let to = match resolve(to, self.tree, None, at) {
            Ok((to, _)) => to,
            Err(Refused::Malformed(problem)) => return self.failed_hunk(path, Verdict::Malformed, at, problem),
            Err(Refused::Elsewhere(problem)) => return self.failed_hunk(path, Verdict::Conflict, at, problem),
        };
        let free = matches!(self.now.get(&to), Some(None)) || !self.tree.has(&to);
        if to == path || !free {
            let problem = Problem::new(Reason::Exists, format!("{to} is there already")).at(at);
            return self.failed_hunk(path, Verdict::Conflict, at, problem);
        }
        let Ok(None) = self.text(&to, at) else { return };
        if !copy {
            self.set(path, None);
        }
        self.set(&to, Some(new));
    }

    /// Places hunks on a text, and gives the text with those that have a place; nothing if the file is not
    /// there.
    fn hunks_on(
        &mut self,
        path: &str,
        text: Option<&str>,
        hunks: &[Hunk],
        same_text: bool,
        at: usize,
    ) -> Option<String> {
        let Some(text) = text else {
            if !hunks.is_empty() && hunks.iter().all(adds_only) {
                let new = hunks.iter().map(new_text).collect::<String>();
                if let Some(line) = placeholder::find(new.lines().map(|line| (line, true)), |_| false) {
                    self.failed_hunk(path, Verdict::Malformed, at, placeholder_problem(line, at));
                    return None;
                }
                hunks.iter().for_each(|hunk| self.placed_hunk(path, 1, hunk.at));
                return Some(new);
            }
            let problem = Problem::new(Reason::NoFile, format!("{path} is not in the run"));
            let problem = problem.hint("name a file of the run by its path").at(at);
            for hunk in hunks {
                self.hunks.push(HunkPlace {
                    state: Verdict::Conflict,
                    path: path.to_owned(),
                    line: None,
                    level: None,
                    candidates: Vec::new(),
                    problem: Some(problem.clone()),
                    patch_line: hunk.at,
                });
            }
            self.fail(Verdict::Conflict, problem);
            return None;
        };
        let base = Base::new(text);
        let work = std::mem::replace(&mut self.work, Work::new());
        let index = Index::new(&base, &work);
        let mut made: Vec<(usize, Vec<Change>)> = Vec::new();
        let mut drift = 0;
        let (mut last, mut reordered) = (0, false);
        for hunk in hunks {
            let located = match placeholder_in(hunk, &index) {
                Some(line) => Located::Malformed { problem: placeholder_problem(&line, hunk.at) },
                None => locate(&index, hunk, drift, same_text),
            };
            let number = self.hunks.len();
            let mut place = HunkPlace {
                state: Verdict::Applied,
                path: path.to_owned(),
                line: None,
                level: None,
                candidates: Vec::new(),
                problem: None,
                patch_line: hunk.at,
            };
            match located {
                Located::At { at, level, changes, notes } => {
                    place.line = Some(at + 1);
                    place.level = Some(level);
                    if let Some(number) = hunk.number.filter(|n| n.trusted) {
                        drift = isize::try_from(at + 1).unwrap_or(0) - isize::try_from(number.start).unwrap_or(0);
                    }
                    reordered |= at < last;
                    last = at;
                    self.notes.extend(notes.into_iter().map(|mut note| {
                        note.hunk = Some(number + 1);
                        note
                    }));
                    if made.iter().any(|(_, before)| *before == changes) {
                        self.notes.push(Note {
                            kind: NoteKind::DuplicateHunk,
                            text: "it came before and is made once".to_owned(),
                            hunk: Some(number + 1),
                        });
                    } else {
                        made.push((number, changes));
                    }
                }
                Located::Many { candidates, problem } => {
                    place.state = Verdict::Ambiguous;
                    place.candidates = candidates;
                    place.problem = Some(problem);
                }
                Located::Nowhere { problem, closest } => {
                    place.state = Verdict::Conflict;
                    place.line = closest;
                    place.problem = Some(problem);
                }
                Located::Malformed { problem } => {
                    place.state = Verdict::Malformed;
                    place.problem = Some(problem);
                }
            }
            self.hunks.push(place);
        }
        if reordered {
            self.notes.push(Note::new(NoteKind::Reordered, format!("the hunks for {path} are not in order of place")));
        }
        let changes = self.without_overlaps(made);
        let first = self.hunks.len() - hunks.len();
        let failed: Vec<(Verdict, Problem)> = self
            .hunks
            .get(first..)
            .unwrap_or_default()
            .iter()
            .filter_map(|hunk| Some((hunk.state, hunk.problem.clone()?)))
            .collect();
        for (state, problem) in failed {
            self.fail(state, problem);
        }
        let new = rebuild(&base, &changes);
        self.work = work;
        Some(new)
    }

    /// The changes in order of place; a hunk that claims what an earlier one claims is a conflict.
    fn without_overlaps(&mut self, made: Vec<(usize, Vec<Change>)>) -> Vec<Change> {
        let mut all: Vec<(usize, Change)> = made
            .into_iter()
            .flat_map(|(number, changes)| changes.into_iter().map(move |change| (number, change)))
            .collect();
        // An insertion before a line comes before what replaces the line.
        all.sort_by_key(|(number, change)| (change.old.start, change.old.end, *number));
        let mut refused: HashMap<usize, usize> = HashMap::new();
        let mut end: Option<(usize, Change)> = None;
        for (number, change) in &all {
            if let Some((other, before)) = &end
                && other != number
                && before.clashes(change)
            {
                let (first, second) = (*other.min(number), *other.max(number));
                refused.entry(second).or_insert(first);
            }
            if end.as_ref().is_none_or(|(_, before)| change.old.end >= before.old.end) {
                end = Some((*number, change.clone()));
            }
        }
        for (&number, &other) in &refused {
            if let Some(hunk) = self.hunks.get_mut(number) {
                hunk.state = Verdict::Conflict;
                hunk.problem = Some(
                    Problem::new(Reason::Overlap, format!("it changes the same lines as hunk {}", other + 1))
                        .at(hunk.patch_line),
                );
            }
        }
        all.into_iter().filter(|(number, _)| !refused.contains_key(number)).map(|(_, change)| change).collect()
    }

    fn sequence(&mut self, path: &str, text: Option<&str>, edits: &[TextEdit], same_text: bool, at: usize) {
        let Some(text) = text else {
            let problem = Problem::new(Reason::NoFile, format!("{path} is not in the run"));
            return self.failed_hunk(
                path,
                Verdict::Conflict,
                at,
                problem.hint("name a file of the run by its path").at(at),
            );
        };
        let mut now: std::borrow::Cow<'_, str> = text.into();
        for edit in edits {
            let number = self.hunks.len() + 1;
            let replaced = if let Some(line) = placeholder_in_text(edit, &now) {
                let problem = placeholder_problem(&line, edit.at);
                self.failed_hunk(path, Verdict::Malformed, edit.at, problem);
                continue;
            } else {
                replace(&now, edit, same_text, &self.work)
            };
            match replaced {
                Ok(Replaced::Made { text, line, level, notes }) => {
                    self.placed_hunk(path, line, edit.at);
                    if let Some(hunk) = self.hunks.last_mut() {
                        hunk.level = Some(level);
                    }
                    self.notes.extend(notes.into_iter().map(|mut note| {
                        note.hunk = Some(number);
                        note
                    }));
                    now = text.into();
                }
                Ok(Replaced::NoChange) => {
                    self.placed_hunk(path, 1, edit.at);
                    self.notes.push(Note {
                        kind: NoteKind::NoChange,
                        text: "old and new text are the same".to_owned(),
                        hunk: Some(number),
                    });
                }
                Ok(Replaced::Many { candidates, problem }) => {
                    self.failed_hunk(path, Verdict::Ambiguous, edit.at, problem);
                    if let Some(hunk) = self.hunks.last_mut() {
                        hunk.candidates = candidates;
                    }
                }
                Ok(Replaced::Nowhere { problem, closest }) => {
                    self.failed_hunk(path, Verdict::Conflict, edit.at, problem);
                    if let Some(hunk) = self.hunks.last_mut() {
                        hunk.line = closest;
                    }
                }
                Err(TooMuch) => {
                    let problem = Problem::new(Reason::TooMuch, "looking for its place was given up").at(edit.at);
                    self.failed_hunk(path, Verdict::Conflict, edit.at, problem);
                }
            }
        }
        self.set(path, Some(now.into_owned()));
    }
}

fn placeholder_problem(line: &str, at: usize) -> Problem {
    Problem::new(Reason::Placeholder, format!("`{}` stands for code that is not shown", shorten(line.trim(), 60)))
        .hint("write the code out")
        .at(at)
}

/// The first added line of a hunk that stands for code left out.
fn placeholder_in(hunk: &Hunk, index: &Index<'_, '_>) -> Option<String> {
    let known = |line: &str| index.lines_like(line, false).is_ok_and(|lines| !lines.is_empty());
    match &hunk.body {
        Body::Diff(lines) => {
            // Where the header's counts are right, a program wrote the diff: a lone `...` is then Python.
            let counted = hunk.number.is_some_and(|number| number.trusted);
            let new = lines.iter().filter(|line| line.tag.is_new()).map(|line| {
                (line.text.as_str(), line.tag == Tag::New && !(counted && placeholder::is_elision(&line.text)))
            });
            placeholder::find(new, known).map(str::to_owned)
        }
        Body::Block { search, replace } => {
            let gaps = |lines: &[String]| lines.iter().filter(|line| placeholder::is_elision(line)).count();
            let paired = gaps(search) == gaps(replace);
            let searched: HashSet<&String> = search.iter().collect();
            let new = replace
                .iter()
                .map(|line| (line.as_str(), !(searched.contains(line) || (paired && placeholder::is_elision(line)))));
            placeholder::find(new, known).map(str::to_owned)
        }
    }
}

fn placeholder_in_text(edit: &TextEdit, now: &str) -> Option<String> {
    use crate::patch::reading::TextChange;
    let (old, new) = match &edit.what {
        TextChange::Replace { old, new, .. } => (old.as_str(), new),
        TextChange::Lines { new, .. } => ("", new),
    };
    let known = |line: &str| old.contains(line) || now.lines().any(|own| own.trim() == line);
    // A piece of a line is not judged: what stands before it is not known.
    let whole = new.lines().map(|line| (line, placeholder::is_placeholder(line)));
    placeholder::find(whole, known).map(str::to_owned)
}

fn adds_only(hunk: &Hunk) -> bool {
    match &hunk.body {
        Body::Diff(lines) => lines.iter().all(|line| line.tag == Tag::New),
        Body::Block { search, .. } => search.is_empty(),
    }
}

fn new_text(hunk: &Hunk) -> String {
    match &hunk.body {
        Body::Diff(_) => added_text(std::slice::from_ref(hunk)),
        Body::Block { replace, .. } => replace.iter().map(|line| format!("{line}\n")).collect(),
    }
}

/// Whether `digest` is SHA-256 or BLAKE3 of `text`, in hexadecimal.
fn is_digest_of(digest: &str, text: &str) -> bool {
    use sha2::{Digest as _, Sha256};
    let digest = digest.strip_prefix("sha256:").or_else(|| digest.strip_prefix("blake3:")).unwrap_or(digest);
    let sha: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    sha == digest || crate::step::Digest::of(text).to_string() == digest
}
