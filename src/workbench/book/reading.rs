//! Bringing what is known of the steps in line with the directory, and recording the versions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::standing::Changed;
use super::{Book, Changes, Entry, code_in, is_same, told, told_of_made};
use crate::run::{self, StepFile};
use crate::step::{Author, Provenance, StepId, VersionNumber};
use crate::store::StoreError;
use crate::store::query::MadeCode;
use crate::workbench::Failure;
use crate::workbench::code;
use crate::workbench::moment::now;
use crate::workbench::open::run_failure;

impl Book {
    /// Brings the steps in line with what the tree saw last, and records the versions.
    pub(super) fn take_in(&mut self, first: bool) -> Result<Changes, StoreError> {
        if first {
            self.made = self.store.made_code()?;
        }
        let mut scan = self.tree.scan();
        let mut came: BTreeMap<&StepId, Vec<&str>> = BTreeMap::new();
        if !self.made.is_empty() {
            scan.steps.retain(|file| {
                let made = file.path.to_str().and_then(|path| self.made.get_key_value(path));
                let made = made.filter(|(_, made)| !made.only_came || made.content == file.digest);
                if let Some((path, MadeCode { by, only_came: true, .. })) = made {
                    came.entry(by).or_default().push(path);
                }
                made.is_none()
            });
        }
        let came = came.into_iter().filter_map(|(by, paths)| told_of_made(by, &paths));
        self.problems = scan.problems.iter().map(told).chain(came).collect();
        self.nothing = scan.require_steps(&self.dir).err().map(run_failure);
        if !first && self.shows(&scan) {
            return Ok(Changes::default());
        }
        if !first && let Some(places) = self.other_texts(&scan) {
            return self.take_in_texts(&scan, places);
        }
        let entries = self.steps.clone();
        let old: HashMap<&StepId, &Entry> = entries.iter().map(|entry| (&entry.file.id, entry)).collect();
        let same = |file: &Arc<StepFile>| old.get(&file.id).is_some_and(|entry| is_same(&entry.file, file));
        let at = now();
        let seen = self.store.record_scan(
            &scan,
            &Provenance::new(Author::Person, at),
            |file| self.author(file, at),
            |file| fs::read(self.dir.path().join(&file.path)).ok(),
        )?;
        if first {
            self.new_at_opening.clone_from(&seen.changed);
        }
        for (from, to) in &seen.renamed {
            if let Some(record) = self.records.remove(from) {
                self.records.insert(to.clone(), record);
            }
        }
        for id in &seen.removed {
            self.records.remove(id);
        }
        let changed: Vec<&Arc<StepFile>> = scan.steps.iter().filter(|file| !same(file)).collect();
        let present: HashSet<&StepId> = scan.steps.iter().map(|file| &file.id).collect();
        let gone: Vec<StepId> = old.keys().filter(|id| !present.contains(*id)).map(|id| (*id).clone()).collect();
        let affected = self.regraph(&changed, &gone);
        let entry = |file: &Arc<StepFile>| Entry {
            version: seen.present.get(&file.id).copied().unwrap_or(VersionNumber(1)),
            code: match old.get(&file.id) {
                Some(entry) if !affected.contains(&file.id) => Arc::clone(&entry.code),
                _ => Arc::new(code_in(&self.graph, &file.id)),
            },
            file: Arc::clone(file),
        };
        let steps: Vec<Entry> = scan.steps.iter().map(entry).collect();
        let changed = changed.into_iter().map(|file| file.id.clone()).collect();
        self.changed = Changed::All;
        self.steps = steps;
        self.modules = scan.modules;
        Ok(Changes { changed, removed: seen.removed, renamed: seen.renamed })
    }

    /// Whether the steps are those of a look at the directory.
    fn shows(&self, scan: &run::Scan) -> bool {
        scan.steps.len() == self.steps.len()
            && self.steps.iter().zip(&scan.steps).all(|(entry, file)| is_same(&entry.file, file))
    }

    /// The places of the steps that have another text, if that is all that is new.
    fn other_texts(&self, scan: &run::Scan) -> Option<Vec<usize>> {
        let same = |(entry, file): (&Entry, &Arc<StepFile>)| Arc::ptr_eq(&entry.file, file) || entry.file.id == file.id;
        let same_steps = scan.steps.len() == self.steps.len() && self.steps.iter().zip(&scan.steps).all(same);
        let same_modules = scan.modules.len() == self.modules.len()
            && self.modules.iter().zip(&scan.modules).all(|(then, now)| is_same(then, now));
        let differs = |place: &usize| match (self.steps.get(*place), scan.steps.get(*place)) {
            (Some(entry), Some(file)) => !is_same(&entry.file, file),
            _ => false,
        };
        (same_steps && same_modules).then(|| (0..self.steps.len()).filter(differs).collect())
    }

    /// Brings these steps in line with their texts and records the versions: at the cost of these alone, however many
    /// steps there are.
    fn take_in_texts(&mut self, scan: &run::Scan, places: Vec<usize>) -> Result<Changes, StoreError> {
        let changed: Vec<&Arc<StepFile>> = places.iter().filter_map(|place| scan.steps.get(*place)).collect();
        let files: Vec<&StepFile> = changed.iter().map(|file| &***file).collect();
        let at = now();
        let read = |file: &StepFile| fs::read(self.dir.path().join(&file.path)).ok();
        let versions = self.store.record_texts(&files, |file| self.author(file, at), read)?;
        let affected = self.regraph(&changed, &[]);
        for ((place, file), version) in places.into_iter().zip(&changed).zip(versions) {
            if let Some(entry) = self.steps.get_mut(place) {
                entry.file = Arc::clone(file);
                entry.version = version.unwrap_or(entry.version);
            }
            self.touch(&file.id);
        }
        for id in affected {
            self.touch(&id);
            let code = Arc::new(code_in(&self.graph, &id));
            if let Some(entry) = self.place(&id).and_then(|place| self.steps.get_mut(place)) {
                entry.code = code;
            }
        }
        let changed = changed.into_iter().map(|file| file.id.clone()).collect();
        Ok(Changes { changed, ..Changes::default() })
    }

    /// Puts changed texts into the graph and takes out what is gone. Gives the steps of which something else is
    /// known now.
    fn regraph(&mut self, changed: &[&Arc<StepFile>], gone: &[StepId]) -> BTreeSet<StepId> {
        let mut affected = BTreeSet::new();
        for step in gone {
            affected.extend(self.graph.remove_step(step));
        }
        let files: Vec<&StepFile> = changed.iter().map(|file| &***file).collect();
        for (file, names) in changed.iter().zip(code::look_at(&files, &self.python)) {
            affected.extend(self.graph.add_step(file.id.clone(), names));
            affected.insert(file.id.clone());
        }
        affected
    }

    /// Looks at the directory again, at these paths or at everything, and records what is new.
    pub(in crate::workbench) fn look(&mut self, paths: Option<&[PathBuf]>) -> Result<Changes, Failure> {
        match paths {
            Some(paths) => self.tree.refresh_paths(paths),
            None => self.tree.refresh_all(),
        }
        let changes = self.take_in(false).map_err(|error| self.failure(error))?;
        self.watch_lock(&changes)?;
        Ok(changes)
    }
}
