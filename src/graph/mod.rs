//! How the steps of a run need one another. Nothing here touches a file or a process.
//!
//! # Architecture
//!
//! - [`Edge`], [`EdgeKind`]: that one step needs another, and the names for which it does.
//! - [`infer_edges`]: the edges of a list of steps; [`resolve`]: what each reads and writes among the others.
//! - [`ExecutionStateGraph`]: the graph that is kept: a petgraph of [`StepNode`]s and [`Need`]s, stale marks with
//!   their reasons, what a replay comes to ([`ReplayEntry`]), where a name comes from.
//! - [`render`]: a graph as text, in several [`Format`]s.
//! - `inference`: reaching definitions, kept up to date by name as single steps change; `linking`: what a step
//!   does by running functions of steps before it.

mod edge;
mod inference;
mod linking;
mod render;
mod state;
mod svg;

use std::sync::Arc;

use crate::analysis::StepNames;
use crate::step::StepId;

pub use edge::{Edge, EdgeKind};
pub use inference::Resolved;
pub use render::{Drawn, Format, render};
pub use state::{ExecutionStateGraph, GraphError, Need, ReplayEntry, StepNode, StepOutput};

use inference::Inference;

/// The edges between steps, which are given in the order of the run: for each name that a step reads, the
/// last step before that writes it for certain, and every one since that may write it.
///
/// A function's free names are looked up when it is called, so a step that runs another step's function needs
/// whoever wrote those names last. Such an edge is left out where the way through the function's own step says
/// the same.
///
/// ```
/// use reweave::analysis::{analyze, Options};
/// use reweave::graph::infer_edges;
/// let steps = ["x = 1", "y = x", "print(y)"].map(|source| analyze(source, &Options::default()));
/// let ids = ["a", "b", "c"].map(|id| id.parse().unwrap());
/// let steps: Vec<_> = ids.into_iter().zip(&steps).collect();
/// let edges = infer_edges(&steps);
/// assert_eq!(edges.iter().map(|e| (e.from.as_str(), e.to.as_str())).collect::<Vec<_>>(), [("a", "b"), ("b", "c")]);
/// ```
pub fn infer_edges(steps: &[(StepId, &StepNames)]) -> Vec<Edge> {
    resolve(steps).1
}

/// What each step reads and writes among the others, and the edges, both in the order of the run.
pub fn resolve(steps: &[(StepId, &StepNames)]) -> (Vec<Resolved>, Vec<Edge>) {
    let mut inference = Inference::default();
    let mut places = Vec::with_capacity(steps.len());
    for (_, names) in steps {
        let place = inference.last_place();
        inference.set(place, Arc::new((*names).clone()));
        places.push(place);
    }
    let mut all = Vec::with_capacity(steps.len());
    let mut edges = Vec::new();
    for (place, (to, _)) in places.iter().zip(steps) {
        let resolved = inference.resolved(*place).cloned().unwrap_or_default();
        for (from, names) in &resolved.needs {
            let from = places.binary_search(from).ok().and_then(|at| steps.get(at));
            if let Some((from, _)) = from {
                let names = names.to_vec();
                edges.push(Edge { from: from.clone(), to: to.clone(), names, kind: EdgeKind::Data });
            }
        }
        all.push(resolved);
    }
    (all, edges)
}
