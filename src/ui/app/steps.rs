//! The list of steps: its rows, what is folded and left out, and where the cursor is.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::filter::Filter;
use super::run::RunIndex;
use crate::step::{Status, StepId};
use crate::ui::layout::{Lanes, reduce};

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// The step at this place of the snapshot.
    Step(u32),
    /// A frame, whose steps follow unless it is folded.
    Frame {
        /// Its path.
        path: Arc<str>,
        /// Place of its first step.
        first: u32,
        /// How many steps it holds, those of frames within counted.
        count: u32,
        /// Whether its steps are hidden.
        folded: bool,
    },
    /// A chain of fresh steps that are hidden.
    Chain {
        /// Place of the first.
        first: u32,
        /// How many.
        count: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Anchor {
    /// The step, or the fold that begins with it.
    Step(StepId),
    Frame(Arc<str>),
}

/// Work for the lanes: done away from the interface's thread when there is much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneJob {
    /// Tells an answer that came too late.
    pub serial: u64,
    /// For each row the rows that it needs.
    pub needs: Vec<Vec<u32>>,
}

impl LaneJob {
    /// Does the work.
    pub fn run(&self) -> Lanes {
        Lanes::of(reduce(&self.needs))
    }
}

/// The shortest chain of fresh steps that is worth a fold.
const CHAIN: usize = 4;
/// A run of this many steps opens with its chains of fresh steps folded.
const LARGE: usize = 60;

/// The list.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Its rows.
    pub rows: Vec<Row>,
    /// For each step of the snapshot the row that shows it, if one does.
    row_of: Vec<Option<u32>>,
    /// The lanes beside the rows, once they are worked out.
    pub lanes: Option<Arc<Lanes>>,
    /// For each row the screen line that it is on, counted from the top of the list.
    lines: Vec<u32>,
    serial: u64,
    /// The row that the cursor is on.
    pub cursor: usize,
    /// The step that the other panels show; none while the cursor is on a fold or a frame.
    pub chosen: Option<StepId>,
    /// What the cursor is on, to find it again when rows come and go.
    anchor: Option<Anchor>,
    /// The first screen line that is seen.
    pub top: usize,
    /// Frames whose steps are hidden.
    pub folded: BTreeSet<Arc<str>>,
    /// Whether chains of fresh steps are folded; `None` until the person or the size of the run decides.
    pub fold_fresh: Option<bool>,
    /// Steps that stay shown although they are fresh, because a person unfolded them.
    shown: BTreeSet<StepId>,
    /// Which steps are listed.
    pub filter: Option<Filter>,
}

impl Steps {
    /// Works the rows out anew and keeps the cursor on the chosen step, or near where it was. Gives the lanes to be
    /// laid out.
    pub fn rebuild(&mut self, run: &RunIndex) -> LaneJob {
        let fold = *self.fold_fresh.get_or_insert(run.snapshot.steps.len() > LARGE);
        self.rows = self.list(run, fold);
        self.row_of = vec![None; run.snapshot.steps.len()];
        for (at, row) in self.rows.iter().enumerate() {
            let (first, count) = match row {
                Row::Step(place) => (*place, 1),
                Row::Chain { first, count } | Row::Frame { first, count, folded: true, .. } => (*first, *count),
                Row::Frame { .. } => continue,
            };
            for place in first..first.saturating_add(count) {
                if let Some(slot) = self.row_of.get_mut(place as usize) {
                    *slot = u32::try_from(at).ok();
                }
            }
        }
        self.lanes = None;
        self.relay();
        self.serial += 1;
        let found = match &self.anchor {
            Some(Anchor::Step(step)) => run.place(step).and_then(|place| self.row_of(place)),
            Some(Anchor::Frame(wanted)) => {
                self.rows.iter().position(|row| matches!(row, Row::Frame { path, .. } if path == wanted))
            }
            None => None,
        };
        self.go(found.unwrap_or(self.cursor), run);
        LaneJob { serial: self.serial, needs: self.needs(run) }
    }

    /// Takes lanes that were laid out, unless the rows are others by now; says whether it did.
    pub fn laid(&mut self, serial: u64, lanes: Arc<Lanes>) -> bool {
        if serial != self.serial {
            return false;
        }
        let line = self.line(self.cursor).saturating_sub(self.top);
        self.lanes = Some(lanes);
        self.relay();
        self.top = self.line(self.cursor).saturating_sub(line);
        true
    }

    /// Whether a step that is hidden for being fresh is so no more.
    pub fn hides_trouble(&self, run: &RunIndex) -> bool {
        run.changed.iter().any(|&place| {
            let hidden = self.row_of(place).is_some_and(|row| matches!(self.rows.get(row), Some(Row::Chain { .. })));
            hidden && run.snapshot.steps.get(place).is_some_and(|step| step.status != Status::Fresh)
        })
    }

    fn list(&self, run: &RunIndex, fold: bool) -> Vec<Row> {
        let steps = &run.snapshot.steps;
        let mut rows = Vec::with_capacity(steps.len());
        let mut frames: Vec<&str> = Vec::new();
        let mut at = 0;
        'steps: while let Some(step) = steps.get(at) {
            if let Some(filter) = &self.filter {
                if filter.takes(step) {
                    rows.push(Row::Step(place(at)));
                }
                at += 1;
                continue;
            }
            let frame = step.id.frame().unwrap_or_default();
            while let Some(open) = frames.pop() {
                if within(frame, open) {
                    frames.push(open);
                    break;
                }
            }
            let depth = if frame.is_empty() { 0 } else { frame.split('/').count() };
            while frames.len() < depth {
                let end = frame.match_indices('/').nth(frames.len()).map_or(frame.len(), |(end, _)| end);
                let path = frame.get(..end).unwrap_or(frame);
                let count = steps.iter().skip(at).take_while(|s| s.id.frame().is_some_and(|f| within(f, path))).count();
                let folded = self.folded.contains(path);
                rows.push(Row::Frame { path: path.into(), first: place(at), count: place(count), folded });
                if folded {
                    at += count.max(1);
                    continue 'steps;
                }
                frames.push(path);
            }
            let chain = steps
                .iter()
                .skip(at)
                .take_while(|s| {
                    s.status == Status::Fresh
                        && s.id.frame().unwrap_or_default() == frame
                        && !self.shown.contains(&s.id)
                        && self.chosen.as_ref() != Some(&s.id)
                })
                .count();
            if fold && chain >= CHAIN {
                rows.push(Row::Chain { first: place(at), count: place(chain) });
                at += chain;
            } else {
                rows.extend((at..at + chain.max(1)).map(|at| Row::Step(place(at))));
                at += chain.max(1);
            }
        }
        rows
    }

    fn needs(&self, run: &RunIndex) -> Vec<Vec<u32>> {
        let mut needs = vec![Vec::new(); self.rows.len()];
        for edge in run.snapshot.edges.iter() {
            if edge.kind == crate::workbench::EdgeKind::Order {
                continue;
            }
            if let (Some(from), Some(to)) = (self.row_of(edge.from), self.row_of(edge.to))
                && from < to
                && let Some(list) = needs.get_mut(to)
            {
                list.push(place(from));
            }
        }
        needs
    }

    fn relay(&mut self) {
        let mut line = 0;
        self.lines = (0..self.rows.len())
            .map(|at| {
                let link =
                    self.lanes.as_ref().and_then(|lanes| lanes.rows.get(at)).is_some_and(|row| row.link.is_some());
                line += u32::from(link);
                line += 1;
                line - 1
            })
            .collect();
    }

    /// The row that shows a step, by the step's place.
    pub fn row_of(&self, place: usize) -> Option<usize> {
        self.row_of.get(place).copied().flatten().map(|row| row as usize)
    }

    /// The screen line of a row.
    pub fn line(&self, row: usize) -> usize {
        self.lines.get(row).map_or(0, |&line| line as usize)
    }

    /// How many screen lines the list has.
    pub fn height(&self) -> usize {
        self.lines.last().map_or(0, |&line| line as usize + 1)
    }

    /// The first row whose own line is at or below a screen line.
    pub fn row_at(&self, line: usize) -> usize {
        self.lines.partition_point(|&at| (at as usize) < line)
    }

    /// Puts the cursor on a row.
    pub fn go(&mut self, row: usize, run: &RunIndex) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
        let step = |place: u32| run.snapshot.steps.get(place as usize).map(|step| step.id.clone());
        self.chosen = None;
        self.anchor = match self.rows.get(self.cursor) {
            Some(Row::Step(place)) => {
                self.chosen = step(*place);
                self.chosen.clone().map(Anchor::Step)
            }
            Some(Row::Chain { first, .. }) => step(*first).map(Anchor::Step),
            Some(Row::Frame { path, .. }) => Some(Anchor::Frame(path.clone())),
            None => None,
        };
    }

    /// Chooses a step, unfolding what hides it; says whether the rows must be worked out anew.
    pub fn choose(&mut self, step: &StepId, run: &RunIndex) -> bool {
        let Some(place) = run.place(step) else { return false };
        self.chosen = Some(step.clone());
        self.anchor = Some(Anchor::Step(step.clone()));
        match self.row_of(place).and_then(|row| self.rows.get(row).map(|kind| (row, kind))) {
            Some((row, Row::Step(_))) => {
                self.cursor = row;
                false
            }
            Some((_, Row::Chain { first, count })) => {
                self.show(*first, *count, run);
                true
            }
            Some((_, Row::Frame { .. })) => {
                self.folded.retain(|path| !step.frame().is_some_and(|frame| within(frame, path)));
                true
            }
            None => {
                self.filter = None;
                true
            }
        }
    }

    fn show(&mut self, first: u32, count: u32, run: &RunIndex) {
        let steps = run.snapshot.steps.iter().skip(first as usize).take(count as usize);
        self.shown.extend(steps.map(|step| step.id.clone()));
    }

    /// Folds or unfolds what the cursor is on (with `only`, does just the one); says whether anything changed.
    pub fn fold(&mut self, only: Option<bool>, run: &RunIndex) -> bool {
        match self.rows.get(self.cursor).cloned() {
            Some(Row::Frame { path, folded, .. }) => {
                if only == Some(folded) {
                    return false;
                }
                if folded {
                    self.folded.remove(&path);
                } else {
                    self.folded.insert(path);
                }
                true
            }
            Some(Row::Chain { first, count }) if only != Some(true) => {
                self.show(first, count, run);
                true
            }
            Some(Row::Step(place)) if only != Some(false) => {
                let frame: Option<Arc<str>> =
                    run.snapshot.steps.get(place as usize).and_then(|step| step.id.frame().map(Arc::from));
                match frame {
                    Some(frame) if self.filter.is_none() => {
                        self.anchor = Some(Anchor::Frame(frame.clone()));
                        self.folded.insert(frame)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Folds all chains of fresh steps, or shows all steps.
    pub fn fold_fresh(&mut self) {
        self.fold_fresh = Some(!self.fold_fresh.unwrap_or(false) || !self.shown.is_empty());
        self.shown.clear();
    }

    /// How deep in frames a row stands.
    pub fn depth(&self, row: &Row, run: &RunIndex) -> usize {
        match row {
            Row::Frame { path, .. } => path.matches('/').count(),
            _ if self.filter.is_some() => 0,
            Row::Step(at) | Row::Chain { first: at, .. } => {
                run.snapshot.steps.get(*at as usize).map_or(0, |step| step.id.depth())
            }
        }
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Whether a frame is `outer` or lies in it.
fn within(frame: &str, outer: &str) -> bool {
    frame.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
