//! Versions of steps: every text ever seen, and the names that a step went by.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::event::kind;
use super::writer::{Durability, Write};
use super::{Reader, Store, StoreError, blob, provenance};
use crate::run::{Scan, StepFile};
use crate::step::{Digest, Provenance, StepId, Version, VersionNumber};

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
    /// Records that `step` has this text, by `provenance`, and gives the version. A text equal to the step's
    /// present one makes no new version. Returns when it would survive a power cut.
    ///
    /// ```
    /// use reweave::step::{Author, Provenance, VersionNumber};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let step = "01_load".parse().unwrap();
    /// let by = Provenance::new(Author::Person, 1_000);
    /// assert_eq!(store.record_version(&step, b"x = 1\n", &by)?, VersionNumber(1));
    /// assert_eq!(store.record_version(&step, b"x = 1\n", &by)?, VersionNumber(1));
    /// assert_eq!(store.record_version(&step, b"x = 2\n", &by)?, VersionNumber(2));
    /// assert_eq!(store.version_text(&step, VersionNumber(1))?, b"x = 1\n");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_version(
        &self,
        step: &StepId,
        text: &[u8],
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        let (step, text, provenance) = (step.clone(), text.to_vec(), provenance.clone());
        self.submit(Durability::Full, move |write| write.version(&step, Some((&Digest::of(&text), &text)), &provenance))
            .wait()
    }

    /// Records that the file of `step` is gone. Its history stays.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when it never was; or when it could not be committed.
    pub fn record_removed(&self, step: &StepId, provenance: &Provenance) -> Result<VersionNumber, StoreError> {
        let (step, provenance) = (step.clone(), provenance.clone());
        self.submit(Durability::Full, move |write| match line(write.sql, &step)? {
            Some(_) => write.version(&step, None, &provenance),
            None => Err(StoreError::missing(format!("step {step}"))),
        })
        .wait()
    }

    /// Records that a step goes by another id from now on. Its history goes with it, unless another step has
    /// gone by `to` before: then `to` goes on from that one's history, and `from` ends.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no step `from`; [`StoreError::Refused`] when `to` is there.
    pub fn record_rename(&self, from: &StepId, to: &StepId, provenance: &Provenance) -> Result<(), StoreError> {
        let (from, to, provenance) = (from.clone(), to.clone(), provenance.clone());
        self.submit(Durability::Full, move |write| {
            let Some(old) = line(write.sql, &from)?.filter(|old| old.live) else {
                return Err(StoreError::missing(format!("step {from}")));
            };
            match line(write.sql, &to)? {
                _ if from == to => Ok(()),
                Some(new) if new.live => Err(StoreError::Refused { why: format!("there is a step {to} already") }),
                Some(_) => {
                    let source = head_source(write.sql, &old)?;
                    write.version(&from, None, &provenance)?;
                    write.version_of_blob(&to, source, &provenance).map(drop)
                }
                None => write.rename(old.id, &from, &to, &provenance),
            }
        })
        .wait()
    }

    /// Records the whole run as it stands on disk. What changed becomes a version; a step that is gone while its
    /// text turned up under a new id was renamed; other steps that are gone were removed. One transaction, safe
    /// from a power cut; nothing is written when nothing changed. Where steps were numbered anew in a row (a to
    /// b, b to c), each keeps its history.
    ///
    /// `of` says who wrote a file whose text is new; renames and removals are `by`. A file that could not be read
    /// (`StepFile::fault`) keeps the version that it had.
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_scan(
        &self,
        scan: &Scan,
        by: &Provenance,
        of: impl Fn(&StepFile) -> Provenance,
    ) -> Result<Seen, StoreError> {
        let known = heads(self.sql())?;
        let mut present = BTreeMap::new();
        for file in scan.steps.iter().chain(&scan.modules) {
            let head = known.get(&file.id).filter(|head| head.live);
            let text = || file.encoding.encode(&file.source).ok().filter(|bytes| Digest::of(bytes) == file.digest);
            let kept = head.and_then(|head| head.source);
            let text = if file.fault.is_some() || kept == Some(file.digest) { None } else { text() };
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
        if known.values().all(|head| !head.live || present.contains_key(&head.step)) && present.iter().all(same) {
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

impl Reader {
    /// The versions of a step, newest first; empty when there never was such a step.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn versions(&self, step: &StepId) -> Result<Vec<Version>, StoreError> {
        let Some(line) = line(self.sql(), step)? else { return Ok(Vec::new()) };
        read_versions(self.sql_now(), step, "version.line = ? ORDER BY version.number DESC", params![line.id])
    }

    /// The present version of a step; of one that was removed, the removal.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there never was such a step.
    pub fn head(&self, step: &StepId) -> Result<Version, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        self.version_in(step, row.id, VersionNumber(row.head))
    }

    /// One version of a step.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step or version.
    pub fn version(&self, step: &StepId, number: VersionNumber) -> Result<Version, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        self.version_in(step, row.id, number)
    }

    fn version_in(&self, step: &StepId, line: i64, number: VersionNumber) -> Result<Version, StoreError> {
        read_versions(self.sql_now(), step, "version.line = ? AND version.number = ?", params![line, number.0])?
            .pop()
            .ok_or_else(|| StoreError::missing(format!("version {number} of step {step}")))
    }

    /// The text of a version, byte for byte.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step or version, or when it is the step's removal.
    pub fn version_text(&self, step: &StepId, number: VersionNumber) -> Result<Vec<u8>, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        let source: Option<Option<i64>> = self
            .sql_now()
            .prepare_cached("SELECT source FROM version WHERE line = ? AND number = ?")?
            .query_row(params![row.id, number.0], |row| row.get(0))
            .optional()?;
        match source {
            Some(Some(blob)) => self.blob(blob),
            Some(None) => Err(StoreError::missing(format!("text of {step} {number}: it is the step's removal"))),
            None => Err(StoreError::missing(format!("version {number} of step {step}"))),
        }
    }

    /// The present version of every step that is there, in the order of the run.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn heads(&self) -> Result<BTreeMap<StepId, (VersionNumber, Digest)>, StoreError> {
        let heads = heads(self.sql())?;
        Ok(heads
            .into_values()
            .filter(|head| head.live)
            .filter_map(|head| Some((head.step, (head.number, head.source?))))
            .collect())
    }
}

impl Write<'_> {
    /// Records a version unless it equals the present one. `None` is the step's removal.
    pub(crate) fn version(
        &self,
        step: &StepId,
        source: Option<(&Digest, &[u8])>,
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        let blob = source.map(|(digest, text)| self.blob(digest, text)).transpose()?;
        self.version_of_blob(step, blob, provenance)
    }

    /// The same for a text that is kept already.
    pub(crate) fn version_of_blob(
        &self,
        step: &StepId,
        blob: Option<i64>,
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        let old = line(self.sql, step)?;
        if let Some(old) = &old
            && old.live == blob.is_some()
            && head_source(self.sql, old)? == blob
        {
            return Ok(VersionNumber(old.head));
        }
        let is_new = old.is_none();
        let (line, number) = match old {
            Some(old) => (old.id, old.head.saturating_add(1)),
            None => {
                self.sql
                    .prepare_cached("INSERT INTO line (path, live, head) VALUES (?, 1, 0)")?
                    .execute([step.as_str()])?;
                (self.sql.last_insert_rowid(), 1)
            }
        };
        let seq = self.event(provenance.at, kind::VERSION, Some(line), None, None)?;
        if is_new {
            self.named(line, seq, step)?;
        }
        let mut values = provenance::bind(provenance);
        values.push(Box::new(line));
        values.push(Box::new(number));
        values.push(Box::new(seq));
        values.push(Box::new(blob));
        self.sql
            .prepare_cached(&format!(
                "INSERT INTO version ({}, line, number, seq, source) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                provenance::COLUMNS
            ))?
            .execute(params_from_iter(values))?;
        self.sql.prepare_cached("UPDATE line SET live = ?, head = ? WHERE id = ?")?.execute(params![
            blob.is_some(),
            number,
            line
        ])?;
        Ok(VersionNumber(number))
    }

    fn named(&self, line: i64, seq: i64, step: &StepId) -> Result<(), StoreError> {
        self.sql
            .prepare_cached("INSERT OR REPLACE INTO path (line, since, path) VALUES (?, ?, ?)")?
            .execute(params![line, seq, step.as_str()])?;
        Ok(())
    }

    /// Gives a line another id. The caller knows that no line has it.
    pub(crate) fn rename(
        &self,
        line: i64,
        from: &StepId,
        to: &StepId,
        provenance: &Provenance,
    ) -> Result<(), StoreError> {
        let told = serde_json::to_string(&(from, to, provenance))?;
        let seq = self.event(provenance.at, kind::RENAMED, Some(line), None, Some(&told))?;
        self.named(line, seq, to)?;
        self.sql.prepare_cached("UPDATE line SET path = ? WHERE id = ?")?.execute(params![to.as_str(), line])?;
        Ok(())
    }

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
        for head in heads(self.sql)?.into_values().filter(|head| head.live) {
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
                    let blob = match &source.text {
                        Some(text) => self.blob(&source.digest, text)?,
                        None => blob::blob_id(self.sql, &source.digest)?.ok_or_else(|| StoreError::Refused {
                            why: format!("{step} was changed by another process; look again"),
                        })?,
                    };
                    seen.changed.insert(step.clone());
                    self.version_of_blob(step, Some(blob), source.provenance.as_ref().unwrap_or(by))?
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
        if known.get(step).is_none_or(|head| head.live && head.source != Some(*digest)) {
            homes.entry(*digest).or_default().push(step);
        }
    }
    let mut found = Vec::new();
    for gone in known.values().filter(|head| head.live && !present.contains_key(&head.step)) {
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
        .filter(|head| head.live && present.get(&head.step).is_some_and(|source| Some(source.digest) != head.source))
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

/// A line by its present id.
pub(crate) struct Line {
    pub(crate) id: i64,
    pub(crate) live: bool,
    pub(crate) head: u32,
}

/// The line that goes, or went last, by this id.
pub(crate) fn line(sql: &Connection, step: &StepId) -> Result<Option<Line>, StoreError> {
    Ok(sql
        .prepare_cached("SELECT id, live, head FROM line WHERE path = ?")?
        .query_row([step.as_str()], |row| Ok(Line { id: row.get(0)?, live: row.get(1)?, head: row.get(2)? }))
        .optional()?)
}

/// The blob of a line's newest version.
fn head_source(sql: &Connection, line: &Line) -> Result<Option<i64>, StoreError> {
    Ok(sql
        .prepare_cached("SELECT source FROM version WHERE line = ? AND number = ?")?
        .query_row(params![line.id, line.head], |row| row.get(0))
        .optional()?
        .flatten())
}

struct Head {
    line: i64,
    step: StepId,
    live: bool,
    number: VersionNumber,
    source: Option<Digest>,
}

/// Every line with its newest version.
fn heads(sql: &Connection) -> Result<BTreeMap<StepId, Head>, StoreError> {
    let mut query = sql.prepare_cached(
        "SELECT line.id, line.path, line.live, line.head, blob.digest FROM line
         JOIN version ON version.line = line.id AND version.number = line.head
         LEFT JOIN blob ON blob.id = version.source",
    )?;
    let mut rows = query.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let step: StepId = row.get_ref(1)?.as_str().map_err(|error| StoreError::damaged(error.to_string()))?.parse()?;
        let head = Head {
            line: row.get(0)?,
            step: step.clone(),
            live: row.get(2)?,
            number: VersionNumber(row.get(3)?),
            source: row.get::<_, Option<[u8; 32]>>(4)?.map(Digest::from_bytes),
        };
        found.insert(step, head);
    }
    Ok(found)
}

/// Versions of one step, by a condition on `version`.
pub(crate) fn read_versions(
    sql: &Connection,
    step: &StepId,
    which: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Version>, StoreError> {
    let columns =
        provenance::COLUMNS.split(", ").map(|column| format!("version.{column}")).collect::<Vec<_>>().join(", ");
    let mut query = sql.prepare_cached(&format!(
        "SELECT version.number, blob.digest, {columns} FROM version LEFT JOIN blob ON blob.id = version.source WHERE {which}"
    ))?;
    let mut rows = query.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let source = row.get::<_, Option<[u8; 32]>>(1)?.map(Digest::from_bytes);
        found.push(Version {
            step: step.clone(),
            number: VersionNumber(row.get(0)?),
            deleted: source.is_none(),
            source: source.unwrap_or_else(|| Digest::of(b"")),
            provenance: provenance::read(row, 2)?,
        });
    }
    Ok(found)
}
