//! Some of the graph as boxes: the neighbourhood of a step, or what is not fresh.

use super::model::Model;
use super::run::RunIndex;
use crate::step::{Status, StepId};
use crate::ui::layout::{Layers, reduce};

/// More boxes than this are no picture any more.
pub const MOST: usize = 60;
/// More boxes than this are shown only when they are asked for.
const CLEAR: usize = 10;
/// Columns of the longest label.
const LABEL: usize = 22;

/// Which steps are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that so many edges lead to from the centre.
    Near(u8),
    /// Those that are not fresh.
    Unsettled,
}

/// The picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boxes {
    /// Which steps.
    pub scope: Scope,
    /// The step in the centre.
    pub centre: Option<StepId>,
    /// Their places in the run, in its order.
    pub places: Vec<usize>,
    /// How many there would be; more than [`MOST`] are not drawn.
    pub wanted: usize,
    /// The edges among them, by their place in `places`.
    pub edges: Vec<(usize, usize)>,
    /// Where they stand.
    pub layers: Layers,
    /// Rows of a box.
    pub rows: usize,
    structure: u64,
}

impl Boxes {
    /// Lays the picture out; `rows` is how many rows a box has.
    pub fn of(run: &RunIndex, scope: Scope, centre: Option<StepId>, rows: usize) -> Self {
        let mut places = match scope {
            Scope::Near(hops) => near(run, centre.as_ref(), hops),
            Scope::Unsettled => {
                let steps = run.snapshot.steps.iter().enumerate();
                steps.filter(|(_, row)| row.status != Status::Fresh).map(|(at, _)| at).collect()
            }
        };
        let wanted = places.len();
        places.sort_unstable();
        places.truncate(if wanted > MOST { 0 } else { MOST });
        let find = |place: usize| places.binary_search(&place).ok();
        let mut edges: Vec<(usize, usize)> = places
            .iter()
            .enumerate()
            .flat_map(|(to, place)| run.needs(*place).filter_map(move |edge| Some((find(edge.from)?, to))))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        // As beside the list: what other edges tell is not drawn again, but for those of the step that is looked at.
        let mut needs = vec![Vec::new(); places.len()];
        for (from, to) in &edges {
            if let (Some(list), Ok(from)) = (needs.get_mut(*to), u32::try_from(*from)) {
                list.push(from);
            }
        }
        let needs = reduce(&needs);
        let own = centre.as_ref().and_then(|step| find(run.place(step)?));
        edges.retain(|(from, to)| {
            let is_own = own == Some(*from) || own == Some(*to);
            is_own || needs.get(*to).is_some_and(|list| list.iter().any(|need| *need as usize == *from))
        });
        let frame = if rows > 1 { 4 } else { 2 };
        let widths: Vec<usize> = places
            .iter()
            .filter_map(|at| run.snapshot.steps.get(*at))
            .map(|row| crate::ui::view::text::width(row.id.name()).min(LABEL) + 2 + frame)
            .collect();
        let layers = Layers::of(&widths, &edges, rows);
        Self { scope, centre, places, wanted, edges, layers, rows, structure: run.structure }
    }

    /// The place among the boxes of a step.
    pub fn find(&self, run: &RunIndex, step: Option<&StepId>) -> Option<usize> {
        self.places.binary_search(&run.place(step?)?).ok()
    }

    /// The box that is reached from another by going up or down an edge, or along its layer.
    fn beside(&self, from: usize, x: i8, y: i8) -> Option<usize> {
        let here = self.layers.nodes.get(from)?;
        let centre = |at: usize| self.layers.nodes.get(at).map_or(0, |node| node.x + node.width / 2);
        let own = centre(from);
        let nearest = |others: &mut dyn Iterator<Item = usize>| others.min_by_key(|at| centre(*at).abs_diff(own));
        match (x, y) {
            (_, -1) => nearest(&mut self.edges.iter().filter(|(_, to)| *to == from).map(|(need, _)| *need)),
            (_, 1) => nearest(&mut self.edges.iter().filter(|(need, _)| *need == from).map(|(_, to)| *to)),
            _ => {
                let same = self.layers.nodes.iter().filter(|node| node.layer == here.layer && node.node != from);
                let side = same.filter(|node| if x < 0 { node.x < here.x } else { node.x > here.x });
                nearest(&mut side.map(|node| node.node))
            }
        }
    }
}

/// The places that at most `hops` edges lead to from a step.
fn near(run: &RunIndex, centre: Option<&StepId>, hops: u8) -> Vec<usize> {
    let Some(centre) = centre.and_then(|step| run.place(step)) else { return Vec::new() };
    let mut found = vec![centre];
    let mut edge = vec![centre];
    for _ in 0..hops {
        let next: Vec<usize> = edge
            .iter()
            .flat_map(|at| run.needs(*at).map(|edge| edge.from).chain(run.users(*at).map(|edge| edge.to)))
            .collect();
        edge.clear();
        for at in next {
            if !found.contains(&at) {
                found.push(at);
                edge.push(at);
            }
        }
        if found.len() > MOST {
            break;
        }
    }
    found
}

impl Model {
    /// How many rows a box has: three where there is room, one elsewhere.
    fn box_rows(&self) -> usize {
        if self.size.1 >= 30 { 3 } else { 1 }
    }

    /// Shows boxes, or lanes again.
    pub fn toggle_boxes(&mut self) {
        self.boxes = match self.boxes.take() {
            Some(_) => None,
            None => {
                let near = |hops| Boxes::of(&self.run, Scope::Near(hops), self.chosen().cloned(), self.box_rows());
                let far = near(2);
                // A picture of many boxes is for who asks for it.
                Some(if far.wanted > CLEAR { near(1) } else { far })
            }
        };
    }

    /// Shows other boxes.
    pub fn scope_boxes(&mut self, change: impl Fn(Scope) -> Scope) {
        if let Some(boxes) = &self.boxes {
            let scope = change(boxes.scope);
            let centre = self.chosen().cloned().or(boxes.centre.clone());
            self.boxes = Some(Boxes::of(&self.run, scope, centre, self.box_rows()));
        }
    }

    /// Goes from box to box; gives the step to go to.
    pub fn box_beside(&self, x: i8, y: i8) -> Option<StepId> {
        let boxes = self.boxes.as_ref()?;
        let Some(from) = boxes.find(&self.run, self.chosen()) else {
            let first = boxes.places.first()?;
            return self.run.snapshot.steps.get(*first).map(|row| row.id.clone());
        };
        let place = boxes.beside(from, x, y).and_then(|at| boxes.places.get(at)).copied().or_else(|| {
            // An edge that leads out of the picture leads on all the same.
            let here = *boxes.places.get(from)?;
            match y {
                -1 => self.run.needs(here).map(|edge| edge.from).max(),
                1 => self.run.users(here).map(|edge| edge.to).min(),
                _ => None,
            }
        })?;
        self.run.snapshot.steps.get(place).map(|row| row.id.clone())
    }

    /// Keeps the picture in step with the run.
    pub(super) fn settle_boxes(&mut self) {
        let rows = self.box_rows();
        let stale = self.boxes.as_ref().is_some_and(|boxes| {
            let unsettled = boxes.scope == Scope::Unsettled
                && boxes.wanted != self.run.snapshot.steps.iter().filter(|row| row.status != Status::Fresh).count();
            boxes.structure != self.run.structure || boxes.rows != rows || unsettled
        });
        // One who leaves the neighbourhood by another way takes the picture along.
        let outside = self.boxes.as_ref().is_some_and(|boxes| {
            matches!(boxes.scope, Scope::Near(_))
                && self.chosen().is_some()
                && boxes.wanted <= MOST
                && boxes.find(&self.run, self.chosen()).is_none()
        });
        if outside {
            self.scope_boxes(|scope| scope);
        } else if stale && let Some(boxes) = self.boxes.take() {
            self.boxes = Some(Boxes::of(&self.run, boxes.scope, boxes.centre, rows));
        }
    }
}
