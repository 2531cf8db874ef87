//! How the run stands, as marks, rows and edges. A look at a large run comes after every step that was executed and every
//! file that was saved, and changes little: what is as it was is not looked at and not made again, and those who listen
//! hold the same of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use super::{Book, Entry};
use crate::step::StepId;
use crate::workbench::marks::{Course, Marks};
use crate::workbench::{Edge, Snapshot, StepRow, rows};

/// The run as marks, rows and edges.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub marks: Marks,
    pub rows: Vec<Arc<StepRow>>,
    pub edges: Arc<[Edge]>,
    /// The edges by the step that they lead to.
    needs: Vec<Box<[Edge]>>,
}

/// The steps of which something is another than when the run was looked at last.
#[derive(Debug, Default)]
pub(super) enum Changed {
    /// There may be others, at other places.
    #[default]
    All,
    /// Those at these places.
    Places(BTreeSet<usize>),
}

impl Book {
    /// A step's text, record or mark is another than before.
    pub(super) fn touch(&mut self, step: &StepId) {
        match (self.place(step), &mut self.changed) {
            (Some(place), Changed::Places(places)) => drop(places.insert(place)),
            (None, changed) => *changed = Changed::All,
            (Some(_), Changed::All) => {}
        }
    }

    /// Decides anew how every step stands. Says whether any row or edge is another than before.
    pub(in crate::workbench) fn judge(&mut self) -> bool {
        self.files.renew();
        let mut standing = std::mem::take(&mut self.standing);
        let changed = std::mem::replace(&mut self.changed, Changed::Places(BTreeSet::new()));
        let course = Course {
            len: self.steps.len(),
            subject: &|place| self.steps.get(place).map(|entry| self.subject(entry)),
            place: &|step| self.place(step),
            on_error: self.on_error,
            disk: &self.files,
        };
        let any = match changed {
            Changed::Places(places) if standing.rows.len() == self.steps.len() => {
                let other = standing.marks.renew(&course, &places);
                self.renew(&mut standing, places.union(&other).copied())
            }
            _ => {
                standing.marks.judge(&course);
                self.draw(&mut standing)
            }
        };
        self.standing = standing;
        any
    }

    /// Makes the rows at these places anew, and the edges that lead to them.
    fn renew(&self, standing: &mut Standing, places: impl Iterator<Item = usize>) -> bool {
        let (mut any, mut rewired) = (false, false);
        for place in places {
            let (Some(entry), Some(verdict)) = (self.steps.get(place), standing.marks.verdicts().get(place)) else {
                continue;
            };
            let row = rows::row(entry, verdict, self.records.get(&entry.file.id));
            let inferred = self.graph.needs_of(&entry.file.id);
            let needs = rows::needs(place, entry, verdict, inferred, |step| self.place(step));
            if let Some(slot) = standing.rows.get_mut(place).filter(|slot| ***slot != row) {
                *slot = Arc::new(row);
                any = true;
            }
            if let Some(slot) = standing.needs.get_mut(place).filter(|slot| **slot != needs) {
                *slot = needs;
                rewired = true;
            }
        }
        if rewired {
            any |= standing.join();
        }
        any
    }

    /// Makes all rows and edges; rows that come out as they were stay the same.
    fn draw(&self, standing: &mut Standing) -> bool {
        let old: HashMap<&StepId, &Arc<StepRow>> = standing.rows.iter().map(|row| (&row.id, row)).collect();
        let places: HashMap<&StepId, usize> =
            self.steps.iter().enumerate().map(|(place, entry)| (&entry.file.id, place)).collect();
        let mut rows = Vec::with_capacity(self.steps.len());
        let mut needs = Vec::with_capacity(self.steps.len());
        for (place, (entry, verdict)) in self.steps.iter().zip(standing.marks.verdicts()).enumerate() {
            let row = rows::row(entry, verdict, self.records.get(&entry.file.id));
            rows.push(match old.get(&row.id) {
                Some(same) if ***same == row => Arc::clone(same),
                _ => Arc::new(row),
            });
            let place_of = |step: &StepId| places.get(step).copied();
            needs.push(rows::needs(place, entry, verdict, self.graph.needs_of(&entry.file.id), place_of));
        }
        let same = rows.len() == standing.rows.len() && rows.iter().zip(&standing.rows).all(|(a, b)| Arc::ptr_eq(a, b));
        (standing.rows, standing.needs) = (rows, needs);
        standing.join() || !same
    }

    /// The place of a step in the run.
    pub(super) fn place(&self, step: &StepId) -> Option<usize> {
        self.steps.binary_search_by(|entry: &Entry| entry.file.id.cmp(step)).ok()
    }
}

impl Standing {
    /// What is to be told by and by of a run that was told to stand like this.
    pub fn like(face: &Snapshot) -> Self {
        Self { rows: face.steps.clone(), edges: Arc::clone(&face.edges), ..Self::default() }
    }

    /// Makes the list of all edges, unless it is as it was; says whether it is another.
    fn join(&mut self) -> bool {
        let mut edges: Vec<&Edge> = self.needs.iter().flatten().collect();
        edges.sort_by_key(|edge| (edge.from, edge.to, edge.kind));
        let differ =
            edges.len() != self.edges.len() || edges.iter().zip(self.edges.iter()).any(|(new, old)| **new != *old);
        if differ {
            self.edges = edges.into_iter().cloned().collect();
        }
        differ
    }
}
