//! The graph of a run that is kept: steps, what each needs, what each gave, what is stale and why.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use petgraph::Direction;
use petgraph::graph::DiGraph;
use petgraph::stable_graph::{EdgeIndex, NodeIndex, StableDiGraph};
use petgraph::visit::EdgeRef;

use crate::analysis::{Occurrence, OccurrenceKind, StepNames};
use crate::step::{Digest, Execution, Name, Outcome, Reason, StepId, Stream, Variable, Written};

use super::inference::{Inference, Place};
use super::{Edge, EdgeKind, Resolved};

/// A step in the graph.
#[derive(Debug, Clone)]
pub struct StepNode {
    /// Which.
    pub id: StepId,
    /// What it reads and writes, seen alone.
    pub names: Arc<StepNames>,
    /// What it last gave, if that is known.
    pub output: Option<StepOutput>,
    /// Why it is stale; empty for one that is not.
    pub stale: Vec<Reason>,
    place: Place,
}

impl StepNode {
    /// Whether it must be checked.
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }
}

/// What a step gave: names with digests and short forms, never live objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutput {
    /// What it printed.
    pub text: String,
    /// Each name that it wrote, with the digest of its value and a short form of it; `None` for a name that it
    /// deleted.
    pub names: BTreeMap<Name, Option<(Digest, String)>>,
    /// Whether it ended with an error.
    pub failed: bool,
}

impl StepOutput {
    /// What `execution` gave. Short forms come from `variables`, as an interpreter tells them; where it did not, they
    /// are empty. No live object is among them.
    pub fn of(execution: &Execution, variables: &[Variable]) -> Self {
        let short = |name: &Name| {
            let variable = variables.iter().find(|variable| *variable.name == **name);
            variable.map(|variable| variable.repr.clone()).unwrap_or_default()
        };
        let writes = &execution.observation.writes;
        let value = |(name, written): (&Name, &Option<Written>)| {
            (name.clone(), written.as_ref().map(|written| (written.digest, short(name))))
        };
        Self {
            text: execution.output.text(Stream::Stdout),
            names: writes.iter().map(value).collect(),
            failed: execution.outcome == Outcome::Failed,
        }
    }
}

/// What makes one step need another: the weight of an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What sort of need.
    pub kind: EdgeKind,
    /// The names; paths for a file edge.
    pub names: Vec<Name>,
}

/// A step that a replay comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayEntry {
    /// Which.
    pub step: StepId,
    /// Whether it is certain to run. One that is stale only because a step before it is may turn out fresh.
    pub certain: bool,
    /// Why it would run.
    pub why: Vec<Reason>,
}

/// Why the graph can't do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// There is no such step.
    #[error("there is no step {0} in the graph")]
    NoStep(StepId),
    /// A step can only need what comes before it in the run.
    #[error("{to} can't need {from}, which does not come before it")]
    Backwards {
        /// What is needed.
        from: StepId,
        /// What needs it.
        to: StepId,
    },
}

/// The steps of a run, in order, with what each needs.
///
/// Edges of kind [`EdgeKind::Data`] follow from the steps' names and are kept up to date; others are added by
/// [`ExecutionStateGraph::add_edge`]. All lists come in replay order, that is, the order of the run.
///
/// ```
/// use reweave::analysis::{analyze, Options};
/// use reweave::graph::ExecutionStateGraph;
/// use reweave::step::{Reason, StepId};
///
/// let mut graph = ExecutionStateGraph::new();
/// for (id, source) in [("a", "x = 1"), ("b", "y = x"), ("c", "z = 2"), ("d", "print(y)")] {
///     graph.add_step(id.parse()?, analyze(source, &Options::default()));
/// }
/// let d: StepId = "d".parse()?;
/// assert_eq!(graph.ancestors(&d, &[])?.iter().map(StepId::as_str).collect::<Vec<_>>(), ["a", "b"]);
/// let marked = graph.mark_stale(&"a".parse()?, Reason::SourceChanged)?;
/// assert_eq!(marked.iter().map(StepId::as_str).collect::<Vec<_>>(), ["a", "b", "d"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExecutionStateGraph {
    graph: StableDiGraph<StepNode, Need>,
    inference: Inference,
    order: BTreeMap<StepId, NodeIndex>,
    at_place: HashMap<Place, NodeIndex>,
}

impl ExecutionStateGraph {
    /// A graph without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// The graph, for whoever wants to walk it. Its nodes and edges are in no order that means anything.
    pub fn graph(&self) -> &StableDiGraph<StepNode, Need> {
        &self.graph
    }

    /// A step.
    pub fn node(&self, step: &StepId) -> Option<&StepNode> {
        self.graph.node_weight(*self.order.get(step)?)
    }

    /// The steps, in replay order.
    pub fn steps(&self) -> impl Iterator<Item = &StepNode> {
        self.order.values().filter_map(|index| self.graph.node_weight(*index))
    }

    /// What a step reads and writes among the others.
    pub fn resolved(&self, step: &StepId) -> Option<&Resolved> {
        self.inference.resolved(self.node(step)?.place)
    }

    /// All edges, by the step that they lead to, then by the one that they come from.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.graph.edge_count());
        for index in self.order.values() {
            let start = edges.len();
            for edge in self.graph.edges_directed(*index, Direction::Incoming) {
                if let (Some(from), Some(to)) = (self.graph.node_weight(edge.source()), self.graph.node_weight(*index))
                {
                    let Need { kind, names } = edge.weight().clone();
                    edges.push(Edge { from: from.id.clone(), to: to.id.clone(), names, kind });
                }
            }
            if let Some(edges) = edges.get_mut(start..) {
                edges.sort();
            }
        }
        edges
    }

    /// What a step needs directly, in no order that means anything: whom, and for what.
    pub fn needs_of(&self, step: &StepId) -> impl Iterator<Item = (&StepId, &Need)> {
        let index = self.order.get(step).copied();
        let edges = index.map(|index| self.graph.edges_directed(index, Direction::Incoming)).into_iter().flatten();
        edges.filter_map(|edge| Some((&self.graph.node_weight(edge.source())?.id, edge.weight())))
    }

    /// Puts a step in its place in the run, or other names in the place of those that it had. Only steps that
    /// read what it wrote or writes are looked at again. Gives the steps whose needs changed.
    pub fn add_step(&mut self, step: StepId, names: StepNames) -> Vec<StepId> {
        let names = Arc::new(names);
        let place = match self.order.get(&step).copied() {
            Some(index) => {
                let Some(node) = self.graph.node_weight_mut(index) else { return Vec::new() };
                node.names = Arc::clone(&names);
                node.place
            }
            None => {
                let place = self.make_place(&step);
                let node =
                    StepNode { id: step.clone(), names: Arc::clone(&names), output: None, stale: Vec::new(), place };
                let index = self.graph.add_node(node);
                self.order.insert(step, index);
                self.at_place.insert(place, index);
                place
            }
        };
        let changed = self.inference.set(place, names);
        self.follow(changed)
    }

    /// Takes a step out, with its edges. Gives the steps whose needs changed.
    pub fn remove_step(&mut self, step: &StepId) -> Vec<StepId> {
        let Some(index) = self.order.remove(step) else { return Vec::new() };
        let Some(node) = self.graph.remove_node(index) else { return Vec::new() };
        self.at_place.remove(&node.place);
        let changed = self.inference.remove(node.place);
        self.follow(changed)
    }

    /// Adds an edge that does not follow from names: declared, by files, or of order alone. Adding it again
    /// replaces its names.
    ///
    /// # Errors
    /// When one of the steps is not there, or `from` does not come before `to`.
    pub fn add_edge(&mut self, from: &StepId, to: &StepId, kind: EdgeKind, names: Vec<Name>) -> Result<(), GraphError> {
        let (start, end) = (self.index(from)?, self.index(to)?);
        if from >= to {
            return Err(GraphError::Backwards { from: from.clone(), to: to.clone() });
        }
        match self.edge(start, end, kind) {
            Some(edge) => {
                if let Some(need) = self.graph.edge_weight_mut(edge) {
                    need.names = names;
                }
            }
            None => {
                self.graph.add_edge(start, end, Need { kind, names });
            }
        }
        Ok(())
    }

    /// Takes out all edges of a kind that lead to a step. Data edges come back as soon as its names are set.
    pub fn remove_edges(&mut self, to: &StepId, kind: EdgeKind) {
        if let Some(index) = self.order.get(to) {
            let edges: Vec<EdgeIndex> = self
                .graph
                .edges_directed(*index, Direction::Incoming)
                .filter(|edge| edge.weight().kind == kind)
                .map(|edge| edge.id())
                .collect();
            edges.into_iter().for_each(|edge| drop(self.graph.remove_edge(edge)));
        }
    }

    /// What a step needs, directly or through others. With `names`, only what it needs these names for is
    /// followed from the step itself.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn ancestors(&self, step: &StepId, names: &[Name]) -> Result<Vec<StepId>, GraphError> {
        let start = self.index(step)?;
        let mut found = BTreeMap::new();
        let mut stack = vec![start];
        while let Some(index) = stack.pop() {
            for edge in self.graph.edges_directed(index, Direction::Incoming) {
                let need = edge.weight();
                let wanted = index != start || names.is_empty() || need.names.iter().any(|name| names.contains(name));
                if need.kind == EdgeKind::Order || !wanted {
                    continue;
                }
                if let Some(node) = self.graph.node_weight(edge.source())
                    && found.insert(node.place, node.id.clone()).is_none()
                {
                    stack.push(edge.source());
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// What needs a step, directly or through others.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn descendants(&self, step: &StepId) -> Result<Vec<StepId>, GraphError> {
        let mut found = BTreeMap::new();
        let mut stack = vec![self.index(step)?];
        while let Some(index) = stack.pop() {
            for edge in self.graph.edges_directed(index, Direction::Outgoing) {
                if edge.weight().kind != EdgeKind::Order
                    && let Some(node) = self.graph.node_weight(edge.target())
                    && found.insert(node.place, node.id.clone()).is_none()
                {
                    stack.push(edge.target());
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// A step and all that needs it, as a graph of its own. Its nodes are in replay order.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn subgraph_from(&self, step: &StepId) -> Result<DiGraph<StepId, Need>, GraphError> {
        let mut steps = vec![step.clone()];
        steps.extend(self.descendants(step)?);
        let mut part = DiGraph::with_capacity(steps.len(), 0);
        let mut inside = HashMap::new();
        for step in steps {
            let index = self.index(&step)?;
            inside.insert(index, part.add_node(step));
        }
        let mut edges = Vec::new();
        for (index, to) in &inside {
            for edge in self.graph.edges_directed(*index, Direction::Incoming) {
                if let Some(from) = inside.get(&edge.source()) {
                    edges.push((*from, *to, edge.weight().clone()));
                }
            }
        }
        edges.sort_by_key(|(from, to, need)| (*from, *to, need.kind));
        for (from, to, need) in edges {
            part.add_edge(from, to, need);
        }
        Ok(part)
    }

    // Where names come from.

    /// The steps that may have written what a name holds just before a step: the last that writes it for
    /// certain, and those since that may.
    pub fn writers_of(&self, step: &StepId, name: &str) -> Vec<StepId> {
        let Some(node) = self.node(step) else { return Vec::new() };
        let mut writers: Vec<StepId> =
            self.inference.reaching(name, node.place).filter_map(|place| self.id_at(place)).collect();
        writers.reverse();
        writers
    }

    /// The steps that need a name from a step, directly.
    pub fn readers_of(&self, step: &StepId, name: &str) -> Vec<StepId> {
        let Some(index) = self.order.get(step) else { return Vec::new() };
        let mut readers = BTreeMap::new();
        for edge in self.graph.edges_directed(*index, Direction::Outgoing) {
            if edge.weight().kind == EdgeKind::Data
                && edge.weight().names.iter().any(|needed| **needed == *name)
                && let Some(node) = self.graph.node_weight(edge.target())
            {
                readers.insert(node.place, node.id.clone());
            }
        }
        readers.into_values().collect()
    }

    /// Where in the run's text a name that a step reads was written: the place to jump to. The last writing
    /// place of each step that may have written it; a step that writes it only through a call has none.
    pub fn definitions_of(&self, step: &StepId, name: &str) -> Vec<(StepId, Occurrence)> {
        let writes = |occurrence: &&Occurrence| {
            *occurrence.name == *name && !matches!(occurrence.kind, OccurrenceKind::Read | OccurrenceKind::Declare)
        };
        self.writers_of(step, name)
            .into_iter()
            .filter_map(|writer| {
                let occurrence = self.node(&writer)?.names.occurrences.iter().rfind(writes)?.clone();
                Some((writer, occurrence))
            })
            .collect()
    }

    // Staleness.

    /// Marks a step stale, and all that needs it. Gives the steps that were not stale before.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn mark_stale(&mut self, step: &StepId, reason: Reason) -> Result<Vec<StepId>, GraphError> {
        let start = self.index(step)?;
        let mut marked = Vec::new();
        let Some(node) = self.graph.node_weight_mut(start) else { return Ok(marked) };
        let was_stale = node.is_stale();
        if !node.stale.contains(&reason) {
            node.stale.push(reason);
        }
        if was_stale {
            return Ok(marked);
        }
        marked.push(step.clone());
        // In the order of the run, so that all of a step's needs are marked before the step is looked at.
        let mut queue = BTreeSet::new();
        self.queue_readers(start, &mut queue);
        while let Some((_, index)) = queue.pop_first() {
            let reasons = self.upstream(index);
            let Some(node) = self.graph.node_weight_mut(index) else { continue };
            let was_stale = node.is_stale();
            for reason in reasons {
                if !node.stale.contains(&reason) {
                    node.stale.push(reason);
                }
            }
            if !was_stale {
                marked.push(node.id.clone());
                self.queue_readers(index, &mut queue);
            }
        }
        Ok(marked)
    }

    fn queue_readers(&self, index: NodeIndex, queue: &mut BTreeSet<(Place, NodeIndex)>) {
        for edge in self.graph.edges_directed(index, Direction::Outgoing) {
            if edge.weight().kind != EdgeKind::Order
                && let Some(node) = self.graph.node_weight(edge.target())
            {
                queue.insert((node.place, edge.target()));
            }
        }
    }

    /// The stale steps that a step needs, as reasons.
    fn upstream(&self, index: NodeIndex) -> Vec<Reason> {
        let mut reasons = BTreeMap::new();
        for edge in self.graph.edges_directed(index, Direction::Incoming) {
            let need = edge.weight();
            if need.kind != EdgeKind::Order
                && let Some(from) = self.graph.node_weight(edge.source()).filter(|node| node.is_stale())
            {
                let names = if need.kind == EdgeKind::Declared { Vec::new() } else { need.names.clone() };
                reasons.insert((from.place, need.kind), Reason::Upstream { step: from.id.clone(), names });
            }
        }
        reasons.into_values().collect()
    }

    /// Puts a changed step in place and marks what it makes stale: the step, all that needs it now, and all
    /// whose needs changed with it. Gives the steps that were not stale before.
    ///
    pub fn change_step(&mut self, step: &StepId, names: StepNames) -> Vec<StepId> {
        let rewired = self.add_step(step.clone(), names);
        let mut marked = self.mark_stale(step, Reason::SourceChanged).unwrap_or_default();
        for other in rewired.iter().filter(|other| *other != step) {
            // One that still needs the step was marked with the names that it needs.
            if !self.node(other).is_some_and(StepNode::is_stale) {
                let reason = Reason::OrderChanged { step: step.clone() };
                marked.extend(self.mark_stale(other, reason).unwrap_or_default());
            }
        }
        marked.sort();
        marked
    }

    /// Keeps what a step gave: it is fresh now. Steps that were stale only because of it, and for names whose
    /// values are what they were, are fresh again too (early cut-off); for others the reason becomes the value.
    /// Gives the steps that are fresh now, this one included.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn record_output(&mut self, step: &StepId, output: StepOutput) -> Result<Vec<StepId>, GraphError> {
        let index = self.index(step)?;
        let Some(node) = self.graph.node_weight_mut(index) else { return Ok(Vec::new()) };
        node.stale.clear();
        let old = node.output.replace(output);
        let place = node.place;
        // Without an earlier output, every name counts as changed.
        let unchanged: Option<BTreeSet<Name>> = old.zip(node.output.as_ref()).map(|(old, new)| {
            let same = |name: &&Name| old.names.get(*name).map(digest) == new.names.get(*name).map(digest);
            old.names.keys().chain(new.names.keys()).filter(same).cloned().collect()
        });
        let mut fresh = vec![step.clone()];
        let mut queue = BTreeSet::from([(place, index)]);
        while let Some((_, from)) = queue.pop_first() {
            let Some(source) = self.graph.node_weight(from).map(|node| node.id.clone()) else { continue };
            let targets: Vec<NodeIndex> = self.graph.neighbors_directed(from, Direction::Outgoing).collect();
            for target in targets {
                let Some(node) = self.graph.node_weight_mut(target).filter(|node| node.is_stale()) else { continue };
                let kept = from != index;
                node.stale.retain_mut(|reason| match reason {
                    Reason::Upstream { step, names } if *step == source => {
                        if kept {
                            return false;
                        }
                        let changed = |name: &Name| unchanged.as_ref().is_none_or(|same| !same.contains(name));
                        let names: Vec<Name> = names.iter().filter(|name| changed(name)).cloned().collect();
                        let any = !names.is_empty();
                        *reason = Reason::ValueChanged { names };
                        any
                    }
                    _ => true,
                });
                if !node.is_stale() {
                    fresh.push(node.id.clone());
                    let place = node.place;
                    queue.insert((place, target));
                }
            }
        }
        fresh.sort();
        fresh.dedup();
        Ok(fresh)
    }

    /// What a replay from a step on would come to: that step for certain, and all that is or may become stale
    /// with it. Nothing is marked.
    ///
    /// # Errors
    /// When the step is not there.
    pub fn replay_from(&self, step: &StepId) -> Result<Vec<ReplayEntry>, GraphError> {
        let mut after = self.clone_marks();
        after.mark_stale(step, Reason::Invalidated)?;
        Ok(after.plan().into_iter().filter(|entry| entry.step >= *step).collect())
    }

    /// The stale steps, as a replay comes to them.
    pub fn plan(&self) -> Vec<ReplayEntry> {
        self.steps()
            .filter(|node| node.is_stale())
            .map(|node| ReplayEntry {
                step: node.id.clone(),
                certain: node.stale.iter().any(|reason| !matches!(reason, Reason::Upstream { .. })),
                why: node.stale.clone(),
            })
            .collect()
    }

    fn clone_marks(&self) -> Self {
        Self { graph: self.graph.clone(), order: self.order.clone(), ..Self::default() }
    }

    // Places and edges.

    fn index(&self, step: &StepId) -> Result<NodeIndex, GraphError> {
        self.order.get(step).copied().ok_or_else(|| GraphError::NoStep(step.clone()))
    }

    fn id_at(&self, place: Place) -> Option<StepId> {
        Some(self.graph.node_weight(*self.at_place.get(&place)?)?.id.clone())
    }

    fn edge(&self, from: NodeIndex, to: NodeIndex, kind: EdgeKind) -> Option<EdgeIndex> {
        self.graph.edges_connecting(from, to).find(|edge| edge.weight().kind == kind).map(|edge| edge.id())
    }

    /// A place between the step's neighbours in the run.
    fn make_place(&mut self, step: &StepId) -> Place {
        let place_of = |index: Option<(&StepId, &NodeIndex)>| {
            index.and_then(|(_, index)| self.graph.node_weight(*index)).map(|node| node.place)
        };
        let before = place_of(self.order.range(..step).next_back());
        let after = place_of(self.order.range(step..).next());
        match Inference::place_between(before, after) {
            Some(place) => place,
            None => {
                // No room between the two: all steps get new places. It takes 32 halvings of one gap.
                self.spread();
                self.make_place(step)
            }
        }
    }

    fn spread(&mut self) {
        let mut inference = Inference::default();
        self.at_place.clear();
        for index in self.order.values() {
            let place = inference.last_place();
            if let Some(node) = self.graph.node_weight_mut(*index) {
                node.place = place;
                self.at_place.insert(place, *index);
                inference.set(place, Arc::clone(&node.names));
            }
        }
        self.inference = inference;
    }

    /// Makes the data edges of steps what the inference says.
    fn follow(&mut self, changed: BTreeSet<Place>) -> Vec<StepId> {
        let mut steps = Vec::with_capacity(changed.len());
        for place in changed {
            let Some(index) = self.at_place.get(&place).copied() else { continue };
            let Some(resolved) = self.inference.resolved(place) else { continue };
            let old: Vec<(EdgeIndex, NodeIndex)> = self
                .graph
                .edges_directed(index, Direction::Incoming)
                .filter(|edge| edge.weight().kind == EdgeKind::Data)
                .map(|edge| (edge.id(), edge.source()))
                .collect();
            let mut wanted: HashMap<NodeIndex, Vec<Name>> = HashMap::with_capacity(resolved.needs.len());
            for (from, names) in &resolved.needs {
                if let Some(from) = self.at_place.get(from) {
                    wanted.insert(*from, names.to_vec());
                }
            }
            for (edge, from) in old {
                match wanted.remove(&from) {
                    Some(names) => {
                        if let Some(need) = self.graph.edge_weight_mut(edge) {
                            need.names = names;
                        }
                    }
                    None => drop(self.graph.remove_edge(edge)),
                }
            }
            for (from, names) in wanted {
                self.graph.add_edge(from, index, Need { kind: EdgeKind::Data, names });
            }
            if let Some(node) = self.graph.node_weight(index) {
                steps.push(node.id.clone());
            }
        }
        steps
    }
}

fn digest(value: &Option<(Digest, String)>) -> Option<Digest> {
    value.as_ref().map(|(digest, _)| *digest)
}
