//! The run as the interface knows it: the last snapshot, and who needs whom in it.

use std::sync::Arc;

use foldhash::HashMap;

use crate::step::{Reason, Status, StepId};
use crate::workbench::{Edge, EdgeKind, Snapshot, StepRow};

/// A snapshot with what is worked out of it once, not at every frame.
#[derive(Debug, Clone, Default)]
pub struct RunIndex {
    /// The run as it was last told.
    pub snapshot: Arc<Snapshot>,
    places: HashMap<StepId, u32>,
    /// For each step its edges from what it needs.
    edges_in: Touching,
    /// For each step its edges to what uses it.
    edges_out: Touching,
    /// How many steps have each status, in the order of [`RunIndex::COUNTED`].
    counts: [usize; 6],
    /// The places of the rows that the last snapshot told anew.
    pub changed: Vec<usize>,
    /// Counts up whenever steps or edges are others than before.
    pub structure: u64,
}

/// For each step the edges on one side of it, by place in the snapshot's edges: one list after the other.
#[derive(Debug, Clone, Default)]
struct Touching {
    /// Where the list of each step begins, and where the last one ends.
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Touching {
    /// Sorts edges by the step on a `side` of them. Those that only say which comes first are left out.
    fn of(steps: usize, edges: &[Edge], side: impl Fn(&Edge) -> usize) -> Self {
        let drawn = |edge: &Edge| edge.kind != EdgeKind::Order && edge.from < steps && edge.to < steps;
        let mut starts = vec![0_u32; steps + 1];
        for edge in edges.iter().filter(|edge| drawn(edge)) {
            starts.get_mut(side(edge) + 1).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut list = vec![0; sum as usize];
        for (at, edge) in edges.iter().enumerate().filter(|(_, edge)| drawn(edge)) {
            let Some(slot) = next.get_mut(side(edge)) else { continue };
            if let Some(place) = list.get_mut(*slot as usize) {
                *place = u32::try_from(at).unwrap_or(u32::MAX);
            }
            *slot += 1;
        }
        Self { starts, edges: list }
    }

    /// The edges of the step at a place.
    fn get(&self, step: usize) -> &[u32] {
        let (Some(&from), Some(&to)) = (self.starts.get(step), self.starts.get(step + 1)) else { return &[] };
        self.edges.get(from as usize..to as usize).unwrap_or_default()
    }
}

impl RunIndex {
    /// The statuses, in the order in which they are told.
    pub const COUNTED: [Status; 6] =
        [Status::Running, Status::Failed, Status::Stale, Status::Blocked, Status::Never, Status::Fresh];

    /// Takes a newer snapshot. What hangs on steps and edges alone is kept where those are as they were.
    pub fn take(&mut self, snapshot: Arc<Snapshot>) {
        let same_steps = self.structure > 0
            && self.snapshot.steps.len() == snapshot.steps.len()
            && self.snapshot.steps.iter().zip(&snapshot.steps).all(|(a, b)| Arc::ptr_eq(a, b) || a.id == b.id);
        let edges = (&self.snapshot.edges, &snapshot.edges);
        if !same_steps {
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            self.places = snapshot.steps.iter().enumerate().map(|(at, row)| (row.id.clone(), place(at))).collect();
        }
        if !same_steps || !(Arc::ptr_eq(edges.0, edges.1) || edges.0 == edges.1) {
            self.structure += 1;
            let steps = snapshot.steps.len();
            self.edges_in = Touching::of(steps, &snapshot.edges, |edge| edge.to);
            self.edges_out = Touching::of(steps, &snapshot.edges, |edge| edge.from);
        }
        // Most rows of a large run are those that were told before: they are not even looked at.
        self.changed.clear();
        if !same_steps {
            self.counts = [0; 6];
        }
        let mut count = |status: Status, add: bool| {
            let place = Self::COUNTED.iter().position(|counted| *counted == status);
            if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
                *count = if add { *count + 1 } else { count.saturating_sub(1) };
            }
        };
        for (at, row) in snapshot.steps.iter().enumerate() {
            let old = self.snapshot.steps.get(at).filter(|_| same_steps);
            if old.is_some_and(|old| Arc::ptr_eq(old, row)) {
                continue;
            }
            if let Some(old) = old {
                count(old.status, false);
            }
            count(row.status, true);
            self.changed.push(at);
        }
        self.snapshot = snapshot;
    }

    /// The place of a step in the snapshot.
    pub fn place(&self, step: &StepId) -> Option<usize> {
        self.places.get(step).map(|&at| at as usize)
    }

    /// The row of a step.
    pub fn row(&self, step: &StepId) -> Option<&Arc<StepRow>> {
        self.snapshot.steps.get(self.place(step)?)
    }

    /// The edges by which the step at a place needs others.
    pub fn needs(&self, at: usize) -> impl Iterator<Item = &Edge> + '_ {
        self.edges(self.edges_in.get(at))
    }

    /// The edges by which others use the step at a place.
    pub fn users(&self, at: usize) -> impl Iterator<Item = &Edge> + '_ {
        self.edges(self.edges_out.get(at))
    }

    fn edges<'a>(&'a self, list: &'a [u32]) -> impl Iterator<Item = &'a Edge> + 'a {
        list.iter().filter_map(|&at| self.snapshot.edges.get(at as usize))
    }

    /// For every place, whether the step there is reached from `at` by going along what uses it (`down`) or what
    /// it needs; `at` itself is not.
    pub fn reached(&self, at: usize, down: bool) -> Vec<bool> {
        let mut reached = vec![false; self.snapshot.steps.len()];
        let mut todo = vec![at];
        while let Some(here) = todo.pop() {
            let list = if down { self.edges_out.get(here) } else { self.edges_in.get(here) };
            for edge in self.edges(list) {
                let next = if down { edge.to } else { edge.from };
                if let Some(seen) = reached.get_mut(next).filter(|seen| !**seen) {
                    *seen = true;
                    todo.push(next);
                }
            }
        }
        reached
    }

    /// How many steps have a status.
    pub fn count(&self, status: Status) -> usize {
        Self::COUNTED.iter().position(|s| *s == status).and_then(|at| self.counts.get(at).copied()).unwrap_or(0)
    }

    /// How many patches wait for a decision.
    pub fn open_patches(&self) -> usize {
        self.snapshot.patches.iter().filter(|patch| patch.state.is_open()).count()
    }

    /// How many patches that wait for a decision would change a step.
    pub fn patches_of(&self, step: &StepId) -> usize {
        let touches = |path: &String| path.strip_suffix(".py").or(path.strip_suffix(".sh")) == Some(step.as_str());
        self.snapshot.patches.iter().filter(|patch| patch.state.is_open() && patch.files.iter().any(touches)).count()
    }
}

/// The steps that one step needs and those that use it, however far away.
#[derive(Debug, Clone, Default)]
pub struct Kin {
    of: Option<(StepId, u64)>,
    above: Vec<bool>,
    below: Vec<bool>,
}

impl Kin {
    /// Works them out for a step, unless they are known.
    pub fn take(&mut self, step: Option<&StepId>, run: &RunIndex) {
        let of = step.map(|step| (step.clone(), run.structure));
        if self.of == of {
            return;
        }
        let reached = |down| step.and_then(|step| run.place(step)).map(|at| run.reached(at, down)).unwrap_or_default();
        (self.above, self.below, self.of) = (reached(false), reached(true), of);
    }

    /// Whether the step needs the one at this place.
    pub fn needs(&self, place: usize) -> bool {
        self.above.get(place).copied().unwrap_or(false)
    }

    /// Whether the one at this place uses the step.
    pub fn uses(&self, place: usize) -> bool {
        self.below.get(place).copied().unwrap_or(false)
    }

    /// How many steps use it.
    pub fn below(&self) -> usize {
        self.below.iter().filter(|reached| **reached).count()
    }
}

/// The number that a step's name begins with, else its name: how other steps call it in passing.
pub fn short(step: &StepId) -> &str {
    numbered(step.name())
}

fn numbered(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    if end == 0 { name } else { name.get(..end).unwrap_or(name) }
}

/// A step as one in the same frame calls it in passing: `03`. One of another frame is `02/03`, one of none `/03`.
pub fn short_from(step: &StepId, from: &StepId) -> String {
    match step.frame() {
        frame if frame == from.frame() => short(step).to_owned(),
        Some(frame) => format!("{}/{}", numbered(frame.rsplit('/').next().unwrap_or(frame)), short(step)),
        None => format!("/{}", short(step)),
    }
}

/// The step whose failure keeps this one from running.
pub fn cause(row: &StepRow) -> Option<&StepId> {
    let blocking = row.reasons.iter().find_map(|reason| match reason {
        Reason::BlockedBy { step, .. } => Some(step),
        _ => None,
    });
    row.caused_by.as_ref().or(blocking)
}

/// Steps as they are called in passing; with their frame where two would be called the same.
pub fn shorts(steps: &[StepId]) -> Vec<String> {
    let alike = |step: &StepId| steps.iter().filter(|other| short(other) == short(step)).count() > 1;
    let frame = |step: &StepId| step.frame().map(|frame| format!("{}/", frame.rsplit('/').next().unwrap_or(frame)));
    let name = |step: &StepId| {
        let frame = if alike(step) { frame(step) } else { None };
        frame.unwrap_or_default() + short(step)
    };
    // What is too long to be read need not be told apart.
    steps.iter().take(50).map(name).collect()
}

/// Why a step is not fresh, in the few words that fit beside its name; `left` is the sign for "because of".
pub fn brief(row: &StepRow, left: &str) -> String {
    let because = || match row.reasons.first() {
        Some(Reason::SourceChanged) => "edited".to_owned(),
        Some(Reason::Upstream { step, .. }) => format!("{left} {}", short_from(step, &row.id)),
        Some(Reason::BlockedBy { step, .. }) => format!("{left} {}", short_from(step, &row.id)),
        Some(Reason::Stopped { at }) => format!("at {}", short_from(at, &row.id)),
        Some(Reason::Invalidated) => "by hand".to_owned(),
        Some(Reason::NeverRun) | None => String::new(),
        Some(reason) => reason.to_string(),
    };
    let text = match row.status {
        Status::Fresh if row.recorded => "recorded".to_owned(),
        Status::Fresh if row.recording => {
            format!("re-run {}", row.duration_us.map(duration).unwrap_or_default())
        }
        Status::Fresh => row.duration_us.map(duration).unwrap_or_default(),
        Status::Never if row.recorded => "recorded".to_owned(),
        Status::Never => "never run".to_owned(),
        Status::Running => "running".to_owned(),
        Status::Failed => row.error.clone().unwrap_or_else(|| "failed".to_owned()),
        Status::Stale => format!("stale {}", because()),
        Status::Blocked => format!("blocked {}", because()),
    };
    text.trim_end().to_owned()
}

/// A length of time for people: `3ms`, `1.4s`, `12m05s`.
pub fn duration(us: u64) -> String {
    let tenths = (us + 50_000) / 100_000;
    let seconds = (us + 500_000) / 1_000_000;
    match us {
        0..=999 => format!("{us}µs"),
        1_000..=99_499 => format!("{}ms", (us + 500) / 1_000),
        99_500..=59_949_999 => format!("{}.{}s", tenths / 10, tenths % 10),
        59_950_000..=3_599_499_999 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_told_in_one_word() {
        for (us, text) in [
            (0, "0µs"),
            (999, "999µs"),
            (2_600, "3ms"),
            (99_400, "99ms"),
            (99_600, "0.1s"),
            (1_449_000, "1.4s"),
            (59_949_000, "59.9s"),
            (60_000_000, "1m00s"),
            (725_400_000, "12m05s"),
            (3_600_000_000, "1h00m"),
        ] {
            assert_eq!(duration(us), text);
        }
    }

    #[test]
    fn steps_of_one_number_are_told_apart_by_their_frames() {
        let ids = ["04_features/02_comfort", "08_report/02_comfort", "08_report/03_summary", "x/test_a", "02_b"];
        let ids = ids.map(|id| id.parse().unwrap());
        assert_eq!(shorts(&ids), ["04_features/02", "08_report/02", "03", "test_a", "02"]);
    }

    #[test]
    fn a_step_is_called_by_its_number() {
        for (id, name) in [("04_clean", "04"), ("a/12", "12"), ("load", "load"), ("x/load2", "load2")] {
            assert_eq!(short(&id.parse().unwrap()), name);
        }
        for (id, from, name) in [
            ("a/01_load", "a/02_use", "01"),
            ("b/04_a/01_load", "a/02_use", "04/01"),
            ("01_load", "a/02_use", "/01"),
            ("01_load", "02_use", "01"),
        ] {
            assert_eq!(short_from(&id.parse().unwrap(), &from.parse().unwrap()), name);
        }
    }
}
