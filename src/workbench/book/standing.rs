//! How the run stands, as rows and edges. A look at a large run comes after every step that was executed and every file
//! that was saved, and changes little: what is as it was is not made again, and those who listen hold the same of it.

use std::sync::Arc;

use foldhash::HashMap;

use super::{Book, Entry, Record};
use crate::run::StepFile;
use crate::step::{Execution, StepId, VersionNumber};
use crate::workbench::code::Code;
use crate::workbench::marks::{self, Subject, Verdict};
use crate::workbench::{Edge, StepRow, rows};

/// The run as rows and edges, with what each row was made of.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub rows: Vec<Arc<StepRow>>,
    pub edges: Arc<[Edge]>,
    grounds: Vec<Ground>,
    /// The edges by the step that they lead to.
    needs: Vec<Box<[Edge]>>,
}

/// What a row is made of, but for the verdict.
#[derive(Debug)]
struct Ground {
    file: Arc<StepFile>,
    code: Arc<Code>,
    version: VersionNumber,
    held: Option<Arc<Execution>>,
    recording: bool,
}

impl Ground {
    fn of(entry: &Entry, record: Option<&Record>) -> Self {
        Self {
            file: Arc::clone(&entry.file),
            code: Arc::clone(&entry.code),
            version: entry.version,
            held: record.and_then(|record| record.held.as_ref()).map(|(execution, _)| Arc::clone(execution)),
            recording: record.is_some_and(|record| record.recording),
        }
    }

    /// Whether a row would be made of the very same.
    fn is_of(&self, entry: &Entry, record: Option<&Record>) -> bool {
        let held = record.and_then(|record| record.held.as_ref()).map(|(execution, _)| execution);
        let same_held = match (&self.held, held) {
            (Some(then), Some(now)) => Arc::ptr_eq(then, now),
            (None, None) => true,
            _ => false,
        };
        same_held
            && Arc::ptr_eq(&self.file, &entry.file)
            && Arc::ptr_eq(&self.code, &entry.code)
            && self.version == entry.version
            && self.recording == record.is_some_and(|record| record.recording)
    }
}

impl Book {
    /// Decides anew how every step stands.
    pub(in crate::workbench) fn judge(&mut self) {
        let subjects: Vec<Subject<'_>> = self.steps.iter().map(|entry| self.subject(entry)).collect();
        let verdicts = marks::judge(&subjects, self.on_error, &self.files);
        drop(subjects);
        let before = std::mem::replace(&mut self.verdicts, verdicts);
        let mut standing = std::mem::take(&mut self.standing);
        if standing.shows(&self.steps) && before.len() == self.steps.len() {
            self.renew(&mut standing, &before);
        } else {
            self.draw(&mut standing);
        }
        self.standing = standing;
    }

    /// Makes rows and edges anew where something that they are made of changed.
    fn renew(&self, standing: &mut Standing, before: &[Verdict]) {
        let mut rewired = false;
        for (place, (entry, verdict)) in self.steps.iter().zip(&self.verdicts).enumerate() {
            let record = self.records.get(&entry.file.id);
            let (Some(row), Some(ground), Some(needs), Some(was)) = (
                standing.rows.get_mut(place),
                standing.grounds.get_mut(place),
                standing.needs.get_mut(place),
                before.get(place),
            ) else {
                continue;
            };
            let same = ground.is_of(entry, record);
            if same && was == verdict {
                continue;
            }
            let new = rows::row(entry, verdict, record);
            if **row != new {
                *row = Arc::new(new);
            }
            let file_or_code = !same && !(Arc::ptr_eq(&ground.file, &entry.file) && Arc::ptr_eq(&ground.code, &entry.code));
            if file_or_code || was.used != verdict.used || was.used_files != verdict.used_files {
                let place_of = |step: &StepId| self.place(step);
                let new = rows::needs(place, entry, verdict, self.graph.needs_of(&entry.file.id), place_of);
                if *needs != new {
                    *needs = new;
                    rewired = true;
                }
            }
            if !same {
                *ground = Ground::of(entry, record);
            }
        }
        if rewired {
            standing.join();
        }
    }

    /// Makes all rows and edges; rows that come out as they were stay the same.
    fn draw(&self, standing: &mut Standing) {
        let old: HashMap<&StepId, &Arc<StepRow>> = standing.rows.iter().map(|row| (&row.id, row)).collect();
        let places: HashMap<&StepId, usize> =
            self.steps.iter().enumerate().map(|(place, entry)| (&entry.file.id, place)).collect();
        let (mut rows, mut grounds) = (Vec::with_capacity(self.steps.len()), Vec::with_capacity(self.steps.len()));
        let mut needs = Vec::with_capacity(self.steps.len());
        for (place, (entry, verdict)) in self.steps.iter().zip(&self.verdicts).enumerate() {
            let record = self.records.get(&entry.file.id);
            let row = rows::row(entry, verdict, record);
            rows.push(match old.get(&row.id) {
                Some(same) if ***same == row => Arc::clone(same),
                _ => Arc::new(row),
            });
            grounds.push(Ground::of(entry, record));
            let place_of = |step: &StepId| places.get(step).copied();
            needs.push(rows::needs(place, entry, verdict, self.graph.needs_of(&entry.file.id), place_of));
        }
        *standing = Standing { rows, grounds, needs, edges: Arc::clone(&standing.edges) };
        standing.join();
    }

    /// The place of a step in the run.
    pub(super) fn place(&self, step: &StepId) -> Option<usize> {
        self.steps.binary_search_by(|entry| entry.file.id.cmp(step)).ok()
    }
}

impl Standing {
    /// Whether its rows are of these steps.
    fn shows(&self, steps: &[Entry]) -> bool {
        let same = |(ground, entry): (&Ground, &Entry)| {
            Arc::ptr_eq(&ground.file, &entry.file) || ground.file.id == entry.file.id
        };
        self.grounds.len() == steps.len() && self.grounds.iter().zip(steps).all(same)
    }

    /// Makes the list of all edges, unless it is as it was.
    fn join(&mut self) {
        let mut edges: Vec<&Edge> = self.needs.iter().flatten().collect();
        edges.sort_by_key(|edge| (edge.from, edge.to, edge.kind));
        if edges.len() != self.edges.len() || edges.iter().zip(self.edges.iter()).any(|(new, old)| **new != *old) {
            self.edges = edges.into_iter().cloned().collect();
        }
    }
}
