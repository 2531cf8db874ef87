//! Who leaves a name, and who looks at it, by places in the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashMap;

use crate::step::Name;

/// Names with the places of the steps that leave something in them, and of those that look at them; both sorted.
#[derive(Debug, Default)]
pub(super) struct Index(HashMap<Name, Entry>);

#[derive(Debug, Default)]
struct Entry {
    leave: Vec<usize>,
    look: Vec<usize>,
}

impl Index {
    /// Takes in a step that comes after all that were taken in.
    pub fn put<'a>(&mut self, place: usize, leaves: &[Name], looks: impl IntoIterator<Item = &'a Name>) {
        leaves.iter().for_each(|name| insert(&mut self.entry(name).leave, place));
        looks.into_iter().for_each(|name| insert(&mut self.entry(name).look, place));
    }

    /// The last step before a place that leaves something in a name.
    pub fn before(&self, name: &str, place: usize) -> Option<usize> {
        let leave = &self.0.get(name)?.leave;
        leave.get(leave.partition_point(|other| *other < place).checked_sub(1)?).copied()
    }

    /// Who looks at a name.
    pub fn lookers(&self, name: &str) -> impl Iterator<Item = usize> + '_ {
        self.0.get(name).into_iter().flat_map(|entry| entry.look.iter().copied())
    }

    /// The names in which some step leaves something.
    pub fn left(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().filter(|(_, entry)| !entry.leave.is_empty()).map(|(name, _)| name)
    }

    /// Queues who looks at a name after a place, as far as the next step that leaves something in it: that one may look
    /// before it does.
    pub fn queue_lookers(&self, name: &str, place: usize, queue: &mut BTreeSet<usize>) {
        let Some(entry) = self.0.get(name) else { return };
        let end = entry.leave.get(entry.leave.partition_point(|other| *other <= place)).copied();
        let from = entry.look.partition_point(|other| *other <= place);
        let lookers = entry.look.iter().skip(from).copied();
        queue.extend(lookers.take_while(|other| end.is_none_or(|end| *other <= end)));
    }

    /// A step leaves something in other names than before.
    pub fn leaves(&mut self, place: usize, before: &[Name], now: &[Name]) {
        before.iter().for_each(|name| remove(&mut self.entry(name).leave, place));
        now.iter().for_each(|name| insert(&mut self.entry(name).leave, place));
    }

    /// A step looks at other names than before.
    pub fn looks<'a, L>(&mut self, place: usize, before: L, now: L)
    where
        L: IntoIterator<Item = &'a Name, IntoIter: Clone>,
    {
        let (before, now) = (before.into_iter(), now.into_iter());
        if !before.clone().eq(now.clone()) {
            before.for_each(|name| remove(&mut self.entry(name).look, place));
            now.for_each(|name| insert(&mut self.entry(name).look, place));
        }
    }

    fn entry(&mut self, name: &Name) -> &mut Entry {
        self.0.entry(Arc::clone(name)).or_default()
    }
}

fn insert(places: &mut Vec<usize>, place: usize) {
    if let Err(at) = places.binary_search(&place) {
        places.insert(at, place);
    }
}

fn remove(places: &mut Vec<usize>, place: usize) {
    if let Ok(at) = places.binary_search(&place) {
        places.remove(at);
    }
}
