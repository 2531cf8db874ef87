//! What is certain at a point of a program: names bound on every path, and what bound names may hold.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::bits::BitSet;
use super::super::effects::FunctionId;

/// A name, or another thing that can be certain (see [`super::slots`]).
pub(super) type Slot = u32;

/// What a value may hold, as far as it matters to whoever uses it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Held {
    /// Functions made by the step. Sorted.
    pub functions: Vec<FunctionId>,
    /// Global names whose values it may hold. Sorted.
    pub names: Vec<Slot>,
    /// Global names whose object, or a part of it, it is. Sorted.
    pub aliases: Vec<Slot>,
    /// Global names whose objects it contains: to take an element may be to take one of them. Sorted.
    pub parts: Vec<Slot>,
    /// Parameters of the function being read whose values it may hold.
    pub parameters: u64,
    /// Parameters whose object, or a part of it, it is.
    pub parameter_aliases: u64,
    /// Parameters whose objects it contains.
    pub parameter_parts: u64,
    /// Whether it may hold a function made in the body being read.
    pub own: bool,
}

impl Held {
    /// The value of a global name.
    pub fn name(name: Slot) -> Self {
        Self { names: vec![name], aliases: vec![name], ..Self::default() }
    }

    pub fn function(function: FunctionId) -> Self {
        Self { functions: vec![function], ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
            && self.names.is_empty()
            && self.aliases.is_empty()
            && self.parts.is_empty()
            && self.parameters == 0
            && self.parameter_aliases == 0
            && self.parameter_parts == 0
            && !self.own
    }

    /// Takes in what the other may hold.
    pub fn join(&mut self, other: &Self) {
        join_sorted(&mut self.functions, &other.functions);
        join_sorted(&mut self.names, &other.names);
        join_sorted(&mut self.aliases, &other.aliases);
        join_sorted(&mut self.parts, &other.parts);
        self.parameters |= other.parameters;
        self.parameter_aliases |= other.parameter_aliases;
        self.parameter_parts |= other.parameter_parts;
        self.own |= other.own;
    }

    /// What something made from the value may hold: the same, but it is another object.
    pub fn content(mut self) -> Self {
        self.aliases.clear();
        self.parameter_aliases = 0;
        self
    }

    /// What a container of the value holds.
    pub fn contained(mut self) -> Self {
        join_sorted(&mut self.parts, &self.aliases);
        self.parameter_parts |= self.parameter_aliases;
        self.content()
    }

    /// What an element or an attribute of the value holds.
    pub fn element(mut self) -> Self {
        join_sorted(&mut self.aliases, &self.parts);
        self.parameter_aliases |= self.parameter_parts;
        self
    }
}

fn join_sorted(into: &mut Vec<u32>, from: &[u32]) {
    if into.is_empty() {
        into.extend_from_slice(from);
        return;
    }
    for item in from {
        if let Err(at) = into.binary_search(item) {
            into.insert(at, *item);
        }
    }
}

/// What is certain at a point.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// What has happened on every path to here.
    pub sure: BitSet,
    /// Whether the point can't be reached.
    pub dead: bool,
    /// What global names bound by the step may hold; those that hold nothing are left out.
    pub bound: Rc<HashMap<Slot, Held>>,
}

impl State {
    pub fn is_sure(&self, slot: Slot) -> bool {
        self.dead || self.sure.contains(slot)
    }

    /// Where two paths come together.
    pub fn join(&mut self, other: &Self) {
        if other.dead {
            return;
        }
        if self.dead {
            *self = other.clone();
            return;
        }
        self.sure.meet(&other.sure);
        self.join_bound(other);
    }

    /// Takes in what names may hold elsewhere, leaving what is certain.
    pub fn join_bound(&mut self, other: &Self) {
        if Rc::ptr_eq(&self.bound, &other.bound) || other.bound.is_empty() {
            return;
        }
        if self.bound.is_empty() {
            self.bound = Rc::clone(&other.bound);
            return;
        }
        let bound = Rc::make_mut(&mut self.bound);
        for (name, held) in other.bound.iter() {
            bound.entry(*name).or_default().join(held);
        }
    }
}

/// Joins a path that ends elsewhere (a `break`, a `return`) into where it leads.
pub(super) fn join_into(target: &mut Option<State>, state: &State) {
    match target {
        Some(target) => target.join(state),
        None => *target = Some(state.clone()),
    }
}
