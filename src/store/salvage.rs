//! What can still be read of a damaged store: versions and patches are brought over to the new one.
//!
//! Everything else can be made again by running; these can't. What was set aside is only read.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use rusqlite::{Connection, Row};
use zstd::bulk::Decompressor;

use super::blob::{blob_id, read_blob};
use super::open::{beside, connect};
use super::writer::{Durability, Write};
use super::{Arrival, Proposal, Reader, Store, StoreError, mark, provenance, schema};
use crate::step::{Digest, Patch, PatchId, Provenance, StepId};

/// What was brought over from a store that could not be used any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Versions of steps.
    pub versions: usize,
    /// Patches.
    pub patches: usize,
}

/// A version that could be read, with its text; `None` is the step's removal.
struct Found {
    text: Option<(Digest, Vec<u8>)>,
    provenance: Provenance,
}

impl Store {
    /// Brings over what can be read of the damaged store in `file`. Nothing, where its tables can't be told.
    pub(crate) fn salvage(&self, file: &Path) -> Salvaged {
        let found = self.salvage_from(file);
        // Looking at it made files beside it, unless they were there.
        let log = beside(file, "-wal");
        if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
            let _ = fs::remove_file(log);
            let _ = fs::remove_file(beside(file, "-shm"));
        }
        found
    }

    fn salvage_from(&self, file: &Path) -> Salvaged {
        let Ok(sql) = connect(file, false) else { return Salvaged::default() };
        let Ok(schema::Found::Store(number)) = schema::look(&sql) else { return Salvaged::default() };
        let table = Table { marked: number >= schema::MARKS };
        let versions = versions(&sql, table);
        let patches = patches(sql, table);
        let counts = Salvaged { versions: versions.values().map(Vec::len).sum(), patches: patches.len() };
        if counts == Salvaged::default() {
            return counts;
        }
        let kept = self.submit(Durability::Full, move |write| {
            for (step, found) in &versions {
                for version in found {
                    let text = version.text.as_ref().map(|(digest, text)| (digest, text.as_slice()));
                    write.version(step, text, &version.provenance)?;
                }
            }
            patches.iter().try_for_each(|(patch, proposal)| write.patch_again(patch, proposal))
        });
        kept.wait().map_or(Salvaged::default(), |()| counts)
    }
}

/// How the tables of the damaged store are.
#[derive(Clone, Copy)]
struct Table {
    marked: bool,
}

/// Every version that can be read, by the last id of its step, oldest first.
fn versions(sql: &Connection, table: Table) -> BTreeMap<StepId, Vec<Found>> {
    let mut paths: HashMap<i64, StepId> = HashMap::new();
    table.each(sql, "id, path", "line", |row| {
        paths.insert(row.get(0)?, row.get::<_, String>(1)?.parse()?);
        Ok(())
    });
    let mut lines: BTreeMap<i64, BTreeMap<i64, Found>> = BTreeMap::new();
    let Ok(mut unpacker) = Decompressor::new() else { return BTreeMap::new() };
    table.each(sql, &format!("id, line, number, source, {}", provenance::COLUMNS), "version", |row| {
        let source = row.get::<_, Option<[u8; 32]>>(3)?.map(Digest::from_bytes);
        let text = match source {
            None => None,
            Some(digest) => {
                let id = blob_id(sql, &digest)?.ok_or_else(|| StoreError::missing("text"))?;
                Some((digest, read_blob(sql, &mut unpacker, id)?))
            }
        };
        let found = Found { text, provenance: provenance::read(row, 4)? };
        lines.entry(row.get(1)?).or_default().insert(row.get(2)?, found);
        Ok(())
    });
    lines.into_iter().filter_map(|(line, found)| Some((paths.remove(&line)?, found.into_values().collect()))).collect()
}

/// Every patch that can be read, with its text.
fn patches(sql: Connection, table: Table) -> Vec<(Patch, Proposal)> {
    let mut ids = Vec::new();
    table.each(&sql, "id", "patch", |row| {
        ids.push(PatchId(row.get(0)?));
        Ok(())
    });
    ids.sort_unstable();
    let Ok(reader) = Reader::new(sql, None) else { return Vec::new() };
    let read = |id: PatchId| {
        let patch = reader.patch(id).ok()?;
        let proposal = Proposal {
            state: patch.state,
            title: patch.title.clone(),
            provenance: patch.provenance.clone(),
            text: reader.patch_text(id).ok()?,
            files: patch.files.clone(),
            problems: patch.problems.clone(),
        };
        Some((patch, proposal))
    };
    ids.into_iter().filter_map(read).collect()
}

impl Table {
    /// Calls `take` with each row of a table that can be read and is as it was written: from the first on until one
    /// can't be read, then from the last back. A row that `take` can't use is left out.
    fn each(
        self,
        sql: &Connection,
        columns: &str,
        table: &str,
        mut take: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) {
        let sound = if self.marked { mark::sound(table) } else { "true".to_owned() };
        let text = format!("SELECT {columns} FROM {table} WHERE {sound}");
        let mut through = |text: &str| -> rusqlite::Result<()> {
            let mut query = sql.prepare(text)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let _ = take(row);
            }
            Ok(())
        };
        if through(&format!("{text} ORDER BY id")).is_err() {
            // The rows between the two damaged places, if there are two, stay behind.
            let _ = through(&format!("{text} ORDER BY id DESC"));
        }
    }
}

impl Write<'_> {
    /// Keeps a patch under the number that it had.
    fn patch_again(&self, patch: &Patch, proposal: &Proposal) -> Result<(), StoreError> {
        let before = i64::from(patch.id.0) - 1;
        let known = self.sql.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'patch'", [before])?;
        if known == 0 {
            self.sql.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('patch', ?)", [before])?;
        }
        if let Arrival::New(id) = self.patch(proposal)? {
            for (at, comment) in &patch.comments {
                self.patch_change(id, None, Some(comment), *at)?;
            }
        }
        Ok(())
    }
}
