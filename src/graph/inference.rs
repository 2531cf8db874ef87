//! Steps put together: which step a name comes from, kept up to date as single steps change.
//!
//! An edge is a reaching definition: the last step before that writes the name for certain, and every step
//! since that may write it. Steps are looked at in the order of the run, each once; when one changes, only
//! those that read what it wrote or writes are looked at again, found by name.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::analysis::builtins::is_builtin;
use crate::analysis::{Certainty, StepNames};
use crate::step::{Name, Pairs};

use super::linking::{Functions, Linked, Reach};

/// Where a step stands in the run: only the order of places means something.
pub(super) type Place = u64;

/// The distance left between places, so that a step can be put between two.
const GAP: u64 = 1 << 32;

/// What is known of a step among the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolved {
    /// Names that the step itself looks up and that another step may give it: all but builtins that no step
    /// before has written.
    pub reads: BTreeSet<Name>,
    /// Names that functions of other steps, which it runs, look up while it runs (late binding).
    pub late_reads: BTreeSet<Name>,
    /// Names that it writes, calls of other steps' functions counted.
    pub writes: Pairs<Name, Certainty>,
    /// Whether it may read any name.
    pub reads_everything: bool,
    /// Whether it may write any name.
    pub writes_anything: bool,
    /// What it needs: the place of each step with the names, both sorted. Lists, since they are small and many.
    pub(super) needs: Box<[(Place, Box<[Name]>)]>,
    /// Functions that the names it writes may hold.
    pub(super) reach: BTreeMap<Name, Reach>,
}

impl Resolved {
    /// The names that it needs from a step.
    fn needs_from(&self, from: Place) -> Option<&[Name]> {
        let at = self.needs.binary_search_by_key(&from, |(place, _)| *place).ok()?;
        self.needs.get(at).map(|(_, names)| &**names)
    }
}

/// All steps of a run, by place, with the names between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Inference {
    steps: BTreeMap<Place, Entry>,
    writers: HashMap<Name, BTreeMap<Place, Certainty>>,
    /// Steps that may write any name.
    wild_writers: BTreeSet<Place>,
    readers: HashMap<Name, BTreeSet<Place>>,
    /// Steps that may read any name.
    wild_readers: BTreeSet<Place>,
    pub(super) functions: Functions,
}

#[derive(Debug, Clone)]
struct Entry {
    /// As it was read.
    given: Arc<StepNames>,
    /// What holds of that among the other steps: where a context manager swallows errors, it does less.
    names: Arc<StepNames>,
    /// Held by the looks at it too: in a long run it is large.
    resolved: Arc<Resolved>,
}

impl Inference {
    /// The place after the last.
    pub fn last_place(&self) -> Place {
        self.steps.keys().next_back().map_or(GAP, |last| last.saturating_add(GAP))
    }

    /// A place between two, if there is room.
    pub fn place_between(before: Option<Place>, after: Option<Place>) -> Option<Place> {
        let low = before.unwrap_or(0);
        match after {
            None => low.checked_add(GAP),
            Some(high) => (high.saturating_sub(low) > 1).then(|| low + (high - low) / 2),
        }
    }

    pub fn names(&self, place: Place) -> Option<&Arc<StepNames>> {
        self.steps.get(&place).map(|entry| &entry.names)
    }

    pub fn resolved(&self, place: Place) -> Option<&Resolved> {
        self.steps.get(&place).map(|entry| &*entry.resolved)
    }

    /// The steps that may have written what a name holds just before `place`, latest first.
    pub fn reaching<'s>(&'s self, name: &str, place: Place) -> impl Iterator<Item = Place> + 's {
        let mut named = self.writers.get(name).map(|writers| writers.range(..place).rev()).into_iter().flatten();
        let mut wild = self.wild_writers.range(..place).rev().copied().peekable();
        let mut next_named = named.next();
        let mut done = false;
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let (at, how) = match (next_named, wild.peek()) {
                (Some((named_at, how)), Some(wild_at)) if *wild_at <= *named_at => {
                    if wild_at == named_at {
                        wild.next();
                    }
                    (*named_at, Some(*how))
                }
                (Some((named_at, how)), None) => (*named_at, Some(*how)),
                (_, Some(wild_at)) => (*wild_at, None),
                (None, None) => return None,
            };
            match how {
                Some(how) => {
                    done = how.is_certain();
                    next_named = named.next();
                }
                None => {
                    wild.next();
                }
            }
            Some(at)
        })
    }

    /// Whether a step before `place` writes the name by name.
    pub fn is_written_before(&self, name: &str, place: Place) -> bool {
        self.writers.get(name).is_some_and(|writers| writers.range(..place).next_back().is_some())
    }

    /// Puts a step in, or other names in its place, and gives the places whose needs changed.
    pub fn set(&mut self, place: Place, names: Arc<StepNames>) -> BTreeSet<Place> {
        match self.steps.get_mut(&place) {
            Some(entry) => {
                entry.given = Arc::clone(&names);
                self.put(place, names);
            }
            None => {
                self.functions.add(place, &names);
                self.steps.insert(place, Entry { given: Arc::clone(&names), names, resolved: Arc::default() });
            }
        }
        self.settle(place)
    }

    /// Puts other names in the place of a step's.
    fn put(&mut self, place: Place, names: Arc<StepNames>) {
        self.functions.add(place, &names);
        let Some(entry) = self.steps.get_mut(&place) else { return };
        let old = std::mem::replace(&mut entry.names, Arc::clone(&names));
        let resolved = Arc::clone(&entry.resolved);
        let kept = |name: &Name| names.reads.contains_key(name) || resolved.late_reads.contains(name);
        self.forget(place, old.reads.keys().filter(|name| !kept(name)));
    }

    /// Takes a step out, and gives the places whose needs changed.
    pub fn remove(&mut self, place: Place) -> BTreeSet<Place> {
        let Some(entry) = self.steps.remove(&place) else { return BTreeSet::new() };
        self.forget(place, entry.names.reads.keys().chain(&entry.resolved.late_reads));
        self.wild_readers.remove(&place);
        let mut queue = BTreeSet::new();
        self.change_writes(place, &entry.resolved, &Resolved::default(), &mut queue);
        self.settle_all(queue)
    }

    fn settle(&mut self, place: Place) -> BTreeSet<Place> {
        self.settle_all(BTreeSet::from([place]))
    }

    /// Looks at steps again, in the order of the run, until nothing changes.
    fn settle_all(&mut self, mut queue: BTreeSet<Place>) -> BTreeSet<Place> {
        let mut changed = BTreeSet::new();
        while let Some(place) = queue.pop_first() {
            let Some(entry) = self.steps.get(&place) else { continue };
            let names = match &entry.given.if_swallowed {
                Some(swallowed) if Linked::new(self, place, &swallowed.names).may_swallow(&swallowed.managers) => {
                    Arc::clone(&swallowed.names)
                }
                _ => Arc::clone(&entry.given),
            };
            if !Arc::ptr_eq(&names, &entry.names) {
                self.put(place, Arc::clone(&names));
            }
            let resolved = Arc::new(self.resolve(place, &names));
            let Some(entry) = self.steps.get_mut(&place) else { continue };
            let old = std::mem::replace(&mut entry.resolved, Arc::clone(&resolved));
            self.remember_reads(place, &names, &old, &resolved);
            if old.needs != resolved.needs {
                changed.insert(place);
            }
            self.change_writes(place, &old, &resolved, &mut queue);
        }
        changed
    }

    /// Keeps the index of writers, and queues who is touched by what changed.
    fn change_writes(&mut self, place: Place, old: &Resolved, new: &Resolved, queue: &mut BTreeSet<Place>) {
        let mut touched: BTreeSet<&Name> = BTreeSet::new();
        for (name, how) in &old.writes {
            if new.writes.get(name) != Some(how) {
                touched.insert(name);
            }
        }
        for (name, how) in &new.writes {
            if old.writes.get(name) != Some(how) {
                touched.insert(name);
            }
        }
        for name in old.reach.keys().chain(new.reach.keys()) {
            if old.reach.get(name) != new.reach.get(name) {
                touched.insert(name);
            }
        }
        let wild = old.writes_anything != new.writes_anything;
        for name in touched {
            // Who may have read it here, whether it was written for certain before or is now.
            self.queue_readers(name, place, queue);
            match new.writes.get(name) {
                Some(how) => {
                    self.writers.entry(Arc::clone(name)).or_default().insert(place, *how);
                }
                None => {
                    if let Some(writers) = self.writers.get_mut(name) {
                        writers.remove(&place);
                        if writers.is_empty() {
                            self.writers.remove(name);
                        }
                    }
                }
            }
        }
        if wild {
            if new.writes_anything {
                self.wild_writers.insert(place);
            } else {
                self.wild_writers.remove(&place);
            }
            queue.extend(self.steps.range((Bound::Excluded(place), Bound::Unbounded)).map(|(place, _)| *place));
        }
    }

    /// Readers after `place`, up to the next step that writes the name for certain, that one included.
    fn queue_readers(&self, name: &Name, place: Place, queue: &mut BTreeSet<Place>) {
        let after = (Bound::Excluded(place), Bound::Unbounded);
        let next = self
            .writers
            .get(name)
            .and_then(|writers| writers.range(after).find(|(_, how)| how.is_certain()).map(|(place, _)| *place));
        let range = (Bound::Excluded(place), next.map_or(Bound::Unbounded, Bound::Included));
        if let Some(readers) = self.readers.get(name) {
            queue.extend(readers.range(range));
        }
        queue.extend(self.wild_readers.range(range));
    }

    fn remember_reads(&mut self, place: Place, names: &StepNames, old: &Resolved, new: &Resolved) {
        for name in names.reads.keys().chain(new.late_reads.difference(&old.late_reads)) {
            match self.readers.get_mut(name) {
                Some(readers) => {
                    readers.insert(place);
                }
                None => {
                    self.readers.insert(Arc::clone(name), BTreeSet::from([place]));
                }
            }
        }
        self.forget(place, old.late_reads.difference(&new.late_reads).filter(|name| !names.reads.contains_key(*name)));
        if new.reads_everything {
            self.wild_readers.insert(place);
        } else {
            self.wild_readers.remove(&place);
        }
    }

    fn forget<'n>(&mut self, place: Place, names: impl Iterator<Item = &'n Name>) {
        for name in names {
            if let Some(readers) = self.readers.get_mut(name) {
                readers.remove(&place);
                if readers.is_empty() {
                    self.readers.remove(name);
                }
            }
        }
    }

    /// What a step reads, writes and needs, given all steps before it.
    fn resolve(&self, place: Place, names: &StepNames) -> Resolved {
        let mut linked = Linked::new(self, place, names);
        linked.link();
        let mut resolved = Resolved {
            reads_everything: names.reads_everything || linked.opaque,
            writes_anything: names.writes_anything || linked.opaque,
            late_reads: linked.late.keys().map(|name| Arc::clone(name)).collect(),
            writes: std::mem::take(&mut linked.writes),
            ..Resolved::default()
        };
        let mut needs: BTreeMap<Place, BTreeSet<Name>> = BTreeMap::new();
        for name in names.reads.keys() {
            if !is_builtin(name) || self.is_written_before(name, place) {
                resolved.reads.insert(Arc::clone(name));
            }
            for from in self.reaching(name, place) {
                needs.entry(from).or_default().insert(Arc::clone(name));
            }
        }
        for (name, late) in &linked.late {
            for from in self.reaching(name, place) {
                // Where the step that defined the function already needs the same writer, the way there is
                // known: only a writer in between makes an edge of its own.
                let known = late.carriers.iter().any(|carrier| *carrier == from || self.needs(*carrier, from, name));
                if !known {
                    needs.entry(from).or_default().insert(Arc::clone(name));
                }
            }
        }
        if resolved.reads_everything {
            for name in self.writers.keys() {
                for from in self.reaching(name, place) {
                    needs.entry(from).or_default().insert(Arc::clone(name));
                }
            }
            for from in self.wild_writers.range(..place) {
                needs.entry(*from).or_default();
            }
        }
        resolved.needs = needs.into_iter().map(|(from, names)| (from, names.into_iter().collect())).collect();
        resolved.reach = linked.reach_of_writes(&resolved.writes);
        resolved
    }

    fn needs(&self, place: Place, from: Place, name: &str) -> bool {
        self.steps.get(&place).is_some_and(|entry| {
            entry.names.reads.contains_key(name)
                && from < place
                && entry.resolved.needs_from(from).is_some_and(|names| names.iter().any(|needed| **needed == *name))
        })
    }
}
