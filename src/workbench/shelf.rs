//! The patches of a run: what came in, where it stands, and how what waits follows the files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::book::{Book, failure};
use super::moment::now;
use super::{Failure, FileProblem, Level, PatchRow};
use crate::patch::review::Review;
use crate::patch::{DirectoryTree, Placed, follow, intake, place_with_history};
use crate::run::{Problem, STEP_LIMIT, show};
use crate::step::{Author, Digest, Patch, PatchId, PatchState, Provenance, StepId};
use crate::store::{Arrival, Store};

/// Most earlier texts of a step among which the one that a patch was made for is looked for.
const EARLIER: usize = 24;

/// The patches, oldest first, as they stand in the store.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    patches: BTreeMap<PatchId, Arc<Patch>>,
    rows: BTreeMap<PatchId, Arc<PatchRow>>,
    /// Texts that came in, by content.
    known: HashSet<Digest>,
    /// The patch whose text lay at a path of the inbox when it was looked at last.
    lying: HashMap<PathBuf, PatchId>,
    problems: Vec<FileProblem>,
}

impl Shelf {
    /// Reads what the store holds.
    pub(super) fn load(&mut self, store: &Store) -> Result<(), Failure> {
        let patches = store.patches().map_err(failure)?;
        self.known = patches.iter().map(|patch| patch.content).collect();
        self.rows = patches.iter().map(|patch| (patch.id, Arc::new(row(patch)))).collect();
        self.patches = patches.into_iter().map(|patch| (patch.id, Arc::new(patch))).collect();
        Ok(())
    }

    /// A patch by its number.
    pub(super) fn get(&self, id: PatchId) -> Result<Arc<Patch>, Failure> {
        self.patches.get(&id).map(Arc::clone).ok_or_else(|| Failure {
            what: format!("there is no patch {id}"),
            hint: Some("`reweave patch list` lists them".to_owned()),
        })
    }

    /// The patches as rows.
    pub(super) fn rows(&self) -> Vec<Arc<PatchRow>> {
        self.rows.values().map(Arc::clone).collect()
    }

    /// What is wrong with files of the inbox.
    pub(super) fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// Reads a patch again after something happened to it.
    pub(super) fn reload(&mut self, store: &Store, id: PatchId) -> Result<(), Failure> {
        let patch = store.patch(id).map_err(failure)?;
        self.known.insert(patch.content);
        self.rows.insert(id, Arc::new(row(&patch)));
        self.patches.insert(id, Arc::new(patch));
        Ok(())
    }

    /// Takes a text in, unless it came before. Says whether it is new.
    pub(super) fn take_in(
        &mut self,
        book: &Book,
        text: &[u8],
        target: Option<&str>,
        from: Provenance,
    ) -> Result<(PatchId, bool), Failure> {
        let placed = place(book, &String::from_utf8_lossy(text), target)?;
        let arrival = book.store().insert_patch(&intake(text, &placed, from)).map_err(failure)?;
        self.reload(book.store(), arrival.id())?;
        Ok((arrival.id(), matches!(arrival, Arrival::New(_))))
    }

    /// Looks at the inbox. A text that took the place of another one there supersedes it, as long as nobody has
    /// decided on that. Gives what is new.
    pub(super) fn look_in(&mut self, book: &Book) -> Result<Vec<Arc<Patch>>, Failure> {
        let (proposals, problems) = book.dir().proposals();
        self.problems = problems.iter().map(told).collect();
        let mut new = Vec::new();
        let mut lying = HashMap::new();
        for proposal in proposals {
            let id = if self.known.contains(&proposal.digest) {
                self.patches.values().find(|patch| patch.content == proposal.digest).map(|patch| patch.id)
            } else {
                let (id, _) = self.take_in(book, &proposal.bytes, None, Provenance::new(Author::Person, now()))?;
                new.extend(self.patches.get(&id).map(Arc::clone));
                Some(id)
            };
            let Some(id) = id else { continue };
            if let Some(before) = self.lying.get(&proposal.path).copied().filter(|before| *before != id) {
                self.supersede(book.store(), before, &format!("{} holds {id} now", show(&proposal.path)))?;
            }
            lying.insert(proposal.path, id);
        }
        self.lying = lying;
        Ok(new)
    }

    fn supersede(&mut self, store: &Store, id: PatchId, why: &str) -> Result<(), Failure> {
        let undecided = |patch: &Arc<Patch>| patch.state.is_open() || patch.state == PatchState::Malformed;
        if self.patches.get(&id).is_some_and(undecided) {
            store.set_patch_state(id, PatchState::Superseded, Some(why), now()).map_err(failure)?;
            self.reload(store, id)?;
        }
        Ok(())
    }

    /// Looks where the patches that wait stand now that files may have moved under them. Says whether any stands
    /// otherwise than before.
    pub(super) fn follow(&mut self, book: &Book) -> Result<bool, Failure> {
        let store = book.store();
        let waiting: Vec<Arc<Patch>> = self.patches.values().filter(|patch| patch.state.is_open()).cloned().collect();
        if waiting.is_empty() {
            return Ok(false);
        }
        let tree = tree(book)?;
        let mut any = false;
        for patch in waiting {
            // A patch that named no file was given one: the one that it was placed on.
            let target = match patch.files.as_slice() {
                [file] => Some(file.path.as_str()),
                _ => None,
            };
            let mut wrong = None;
            let anew = || {
                let text = store.patch_text(patch.id).unwrap_or_else(|error| {
                    wrong = Some(error);
                    Vec::new()
                });
                place_with_history(&String::from_utf8_lossy(&text), &tree, target, &|path| earlier(book, path))
            };
            let followed = follow(&patch, &tree, anew);
            if let Some(error) = wrong {
                return Err(failure(error));
            }
            let Some(followed) = followed else { continue };
            if followed.files == patch.files && followed.problems == patch.problems && followed.state == patch.state {
                continue;
            }
            store.place_patch(patch.id, &followed.files, &followed.problems).map_err(failure)?;
            if followed.state != patch.state {
                let done = followed.state == PatchState::Superseded;
                let why = done.then_some("what it would make is there by other means");
                store.set_patch_state(patch.id, followed.state, why, now()).map_err(failure)?;
            }
            self.reload(store, patch.id)?;
            any = true;
        }
        Ok(any)
    }
}

/// The files of the run, to place patches on.
pub(super) fn tree(book: &Book) -> Result<DirectoryTree, Failure> {
    DirectoryTree::open(book.dir().path()).map_err(|error| Failure {
        what: format!("{}: {error}", show(book.dir().path())),
        hint: Some("look whether the run's directory is still there".to_owned()),
    })
}

fn place(book: &Book, text: &str, target: Option<&str>) -> Result<Placed, Failure> {
    Ok(place_with_history(text, &tree(book)?, target, &|path| earlier(book, path)))
}

/// The texts that a step had before its present one, newest first.
fn earlier(book: &Book, path: &str) -> Vec<Arc<str>> {
    let Some(step) = step_of(path) else { return Vec::new() };
    let versions = book.store().versions(&step).unwrap_or_default();
    let texts = versions.iter().filter(|version| !version.deleted).skip(1).take(EARLIER);
    let text = |number| String::from_utf8(book.store().version_text(&step, number).ok()?).ok();
    let texts = texts.filter_map(|version| text(version.number)).filter(|text| text.len() as u64 <= STEP_LIMIT);
    texts.map(Arc::from).collect()
}

/// The step whose file lies at a path, if a step's may.
pub(super) fn step_of(path: &str) -> Option<StepId> {
    crate::run::StepFile::of(Path::new(path), b"").map(|file| file.id)
}

fn row(patch: &Patch) -> PatchRow {
    PatchRow {
        id: patch.id,
        state: patch.state,
        title: patch.title.clone(),
        author: patch.provenance.author.to_string(),
        files: patch.files.iter().map(|file| file.path.clone()).collect(),
        lines: Review::new(&patch.files).counts(),
        stamp: stamp(patch),
    }
}

fn stamp(patch: &Patch) -> Digest {
    let text =
        |text: &Option<String>| text.as_deref().map_or_else(Vec::new, |text| Digest::of(text).as_bytes().to_vec());
    let files = patch.files.iter().flat_map(|f| [f.path.clone().into_bytes(), text(&f.base), text(&f.result)]);
    let problems = patch.problems.iter().map(|problem| problem.clone().into_bytes());
    let state = [patch.state.word().into(), patch.comments.len().to_string().into_bytes()];
    let parts: Vec<Vec<u8>> = state.into_iter().chain(files).chain(problems).collect();
    Digest::of_parts(parts.iter().map(Vec::as_slice))
}

fn told(problem: &Problem) -> FileProblem {
    FileProblem {
        path: show(&problem.path),
        what: problem.kind.to_string(),
        remedy: problem.kind.remedy().to_owned(),
        level: Level::Warning,
    }
}
