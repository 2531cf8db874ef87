//! A look at the whole run: which steps have a new text, which go by another id, which are gone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::params;

use super::version::{Head, heads};
use super::writer::{Durability, Write};
use super::{Store, StoreError, blob};
use crate::run::{Scan, StepFile};
use crate::step::{Digest, Provenance, StepId, VersionNumber};

/// What a look at the whole run brought to the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The present version of every step that is there.
    pub present: BTreeMap<StepId, VersionNumber>,
    /// Steps with a text that is new to them.
    pub changed: BTreeSet<StepId>,
    /// Steps that go by another id now: from and to.
    pub renamed: Vec<(StepId, StepId)>,
    /// Steps whose file is gone.
    pub removed: BTreeSet<StepId>,
}

impl Store {
    /// Records the whole run as it stands on disk. What changed becomes a version; a step that is gone while its
    /// text turned up under a new id was renamed; other steps that are gone were removed. One transaction, safe
    /// from a power cut; nothing is written when nothing changed. Where steps were numbered anew in a row (a to
    /// b, b to c), each keeps its history.
    ///
    /// `of` says who wrote a file whose text is new; renames and removals are `by`. `bytes` reads a file that is no
    /// text that could be executed (`StepFile::fault`); one that can't be read keeps the version that it had.
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_scan(
        &self,
        scan: &Scan,
        by: &Provenance,
        of: impl Fn(&StepFile) -> Provenance,
        bytes: impl Fn(&StepFile) -> Option<Vec<u8>>,
    ) -> Result<Seen, StoreError> {
        let known = heads(self.sql())?;
        let mut present = BTreeMap::new();
        for file in scan.steps.iter().chain(&scan.modules) {
            let head = known.get(&file.id).filter(|head| head.source.is_some());
            let kept = head.and_then(|head| head.source);
            let text = match &file.fault {
                _ if kept == Some(file.digest) => None,
                None => file.encoding.encode(&file.source).ok(),
                Some(_) => bytes(file),
            };
            // What was not read has no digest of its bytes.
            let text = text.filter(|text| Digest::of(text) == file.digest);
            let source = match (text, kept) {
                (Some(text), _) => Source { digest: file.digest, text: Some(text), provenance: Some(of(file)) },
                (None, Some(digest)) => Source { digest, text: None, provenance: None },
                // Never read: there is nothing to keep of it yet.
                (None, None) => continue,
            };
            present.insert(file.id.clone(), source);
        }
        self.record_present(&known, present, by)
    }

    /// The same where it is known that nothing changed but the texts of these steps, which are there. Gives for each
    /// its present version; none for one that could not be read and keeps the version that it had.
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_texts(
        &self,
        files: &[&StepFile],
        of: impl Fn(&StepFile) -> Provenance,
        bytes: impl Fn(&StepFile) -> Option<Vec<u8>>,
    ) -> Result<Vec<Option<VersionNumber>>, StoreError> {
        let text = |file: &StepFile| {
            let text = match &file.fault {
                None => file.encoding.encode(&file.source).ok(),
                Some(_) => bytes(file),
            };
            let text = text.filter(|text| Digest::of(text) == file.digest)?;
            Some((file.id.clone(), file.digest, text, of(file)))
        };
        let texts: Vec<_> = files.iter().map(|file| text(file)).collect();
        self.submit(Durability::Full, move |write| {
            let version = |(step, digest, text, by): &(StepId, Digest, Vec<u8>, Provenance)| {
                write.version(step, Some((digest, text)), by)
            };
            texts.iter().map(|text| text.as_ref().map(version).transpose()).collect()
        })
        .wait()
    }

    /// The same from texts, all of them by one.
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_run<'a>(
        &self,
        present: impl IntoIterator<Item = (&'a StepId, &'a [u8])>,
        by: &Provenance,
    ) -> Result<Seen, StoreError> {
        let known = heads(self.sql())?;
        let source = |step: &StepId, text: &[u8]| {
            let digest = Digest::of(text);
            let same = known.get(step).is_some_and(|head| head.source == Some(digest));
            Source { digest, text: (!same).then(|| text.to_vec()), provenance: None }
        };
        let present = present.into_iter().map(|(step, text)| (step.clone(), source(step, text))).collect();
        self.record_present(&known, present, by)
    }

    fn record_present(
        &self,
        known: &BTreeMap<StepId, Head>,
        present: BTreeMap<StepId, Source>,
        by: &Provenance,
    ) -> Result<Seen, StoreError> {
        let same =
            |(step, source): (&StepId, &Source)| known.get(step).is_some_and(|head| head.source == Some(source.digest));
        if known.values().all(|head| head.source.is_none() || present.contains_key(&head.step))
            && present.iter().all(same)
        {
            let present = present.keys().filter_map(|step| Some((step.clone(), known.get(step)?.number))).collect();
            return Ok(Seen { present, ..Seen::default() });
        }
        let by = by.clone();
        self.submit(Durability::Full, move |write| write.run(&present, &by)).wait()
    }
}

/// The text of a step as it stands on disk. The text itself only where it may be new.
struct Source {
    digest: Digest,
    text: Option<Vec<u8>>,
    provenance: Option<Provenance>,
}

impl Write<'_> {
    /// Records a whole run.
    fn run(&self, present: &BTreeMap<StepId, Source>, by: &Provenance) -> Result<Seen, StoreError> {
        let mut seen = Seen::default();
        let known = heads(self.sql)?;
        let renames = renames(present, &known);
        // In a row of renames an id is left by one line and taken by another, so all leave first.
        for (from, _) in &renames {
            if let Some(head) = known.get(from) {
                self.sql
                    .prepare_cached("UPDATE line SET path = ? WHERE id = ?")?
                    .execute(params![format!("\0{}", head.line), head.line])?;
            }
        }
        for (from, to) in renames {
            if let Some(head) = known.get(&from) {
                self.rename(head.line, &from, &to, by)?;
                seen.renamed.push((from, to));
            }
        }
        for head in heads(self.sql)?.into_values().filter(|head| head.source.is_some()) {
            if !present.contains_key(&head.step) {
                self.version(&head.step, None, by)?;
                seen.removed.insert(head.step);
            }
        }
        let known = heads(self.sql)?;
        for (step, source) in present {
            let number = match known.get(step) {
                Some(head) if head.source == Some(source.digest) => head.number,
                _ => {
                    match &source.text {
                        Some(text) => drop(self.blob(&source.digest, text)?),
                        None if blob::blob_id(self.sql, &source.digest)?.is_some() => {}
                        None => {
                            let why = format!("{step} was changed by another process; look again");
                            return Err(StoreError::Refused { why });
                        }
                    }
                    seen.changed.insert(step.clone());
                    self.version_of_blob(step, Some(source.digest), source.provenance.as_ref().unwrap_or(by))?
                }
            };
            seen.present.insert(step.clone(), number);
        }
        Ok(seen)
    }
}

/// Which steps go by which new id.
///
/// A step whose file is gone moved to where its text stands now, if no step had that text there before; whoever
/// had that place moved on too, and so forth, or the row is none. Where a step was put in between, nothing is
/// gone: there a row of at least two that ends at a new id counts, since one alone is more likely a copy kept
/// before an edit.
fn renames(present: &BTreeMap<StepId, Source>, known: &BTreeMap<StepId, Head>) -> Vec<(StepId, StepId)> {
    // Ids whose text is not what their line had: where a line may have gone to.
    let mut homes: HashMap<Digest, Vec<&StepId>> = HashMap::new();
    for (step, Source { digest, .. }) in present.iter().rev() {
        if known.get(step).is_none_or(|head| head.source.is_some_and(|source| source != *digest)) {
            homes.entry(*digest).or_default().push(step);
        }
    }
    let mut found = Vec::new();
    for gone in known.values().filter(|head| head.source.is_some() && !present.contains_key(&head.step)) {
        let mut row = Vec::new();
        let mut next = Some(gone);
        while let Some(head) = next.take() {
            let Some(to) = head.source.and_then(|source| homes.get_mut(&source)).and_then(Vec::pop) else {
                // The last one's text is nowhere: it was overwritten, so its id was never left, and the row is none.
                row.clear();
                break;
            };
            row.push((head.step.clone(), to.clone()));
            next = known.get(to);
        }
        found.append(&mut row);
    }
    let mut moved: BTreeSet<StepId> = found.iter().map(|(from, _)| from.clone()).collect();
    let taken: BTreeSet<StepId> = found.iter().map(|(_, to)| to.clone()).collect();
    let displaced: HashMap<Digest, &Head> = known
        .values()
        .filter(|head| {
            head.source.is_some() && present.get(&head.step).is_some_and(|source| Some(source.digest) != head.source)
        })
        .filter_map(|head| Some((head.source?, head)))
        .collect();
    for end in present.keys().filter(|step| !known.contains_key(*step) && !taken.contains(*step)) {
        let mut row = Vec::new();
        let mut to = end;
        while let Some(head) =
            present.get(to).and_then(|source| displaced.get(&source.digest)).filter(|head| head.step != *to)
            && !taken.contains(&head.step)
            && moved.insert(head.step.clone())
        {
            row.push((head.step.clone(), to.clone()));
            to = &head.step;
        }
        if row.len() > 1 {
            found.append(&mut row);
        }
    }
    found
}
