//! A step linked with the functions of steps before it: what it does by running them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::analysis::bits::BitSet;
use crate::analysis::effects::{CallSite, Callee, Function, FunctionId, Root};
use crate::analysis::{Certainty, StepNames};
use crate::step::{Name, Pairs};

use super::inference::{Inference, Place};

/// Functions that a value may hold, by their numbers (see [`Functions`]). Values in a long run may hold thousands.
pub(super) type Reach = BitSet;

/// A number for each function of each step, for good: one that is gone keeps its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Functions {
    numbers: HashMap<(Place, FunctionId), u32>,
    all: Vec<(Place, FunctionId)>,
}

impl Functions {
    /// Gives numbers to the functions of a step.
    pub fn add(&mut self, place: Place, names: &StepNames) {
        for (function, _) in (0..).zip(&names.functions) {
            let Ok(next) = u32::try_from(self.all.len()) else { return };
            if let Entry::Vacant(free) = self.numbers.entry((place, function)) {
                free.insert(next);
                self.all.push((place, function));
            }
        }
    }

    fn get(&self, number: u32) -> Option<(Place, FunctionId)> {
        self.all.get(number as usize).copied()
    }
}

/// Following functions from step to step ends after so many, and the step counts as one that may do
/// anything. No real run came near it.
const LIMIT: usize = 50_000;

/// A name that functions of other steps read.
#[derive(Default)]
pub(super) struct Late {
    /// The steps whose functions read it.
    pub carriers: Vec<Place>,
    /// How many uses had been followed when it was last looked up, that one counted.
    looked_up: usize,
}

/// A step being linked.
pub(super) struct Linked<'i> {
    inference: &'i Inference,
    place: Place,
    names: &'i StepNames,
    /// Names that functions of other steps read while this one runs.
    pub late: HashMap<&'i Name, Late>,
    pub writes: Pairs<Name, Certainty>,
    /// Whether something that it runs may do anything.
    pub opaque: bool,
    steps: usize,
    /// How many uses of names have been followed.
    uses: usize,
}

impl<'i> Linked<'i> {
    pub fn new(inference: &'i Inference, place: Place, names: &'i StepNames) -> Self {
        Self {
            inference,
            place,
            names,
            late: HashMap::new(),
            writes: names.writes.clone(),
            opaque: false,
            steps: 0,
            uses: 0,
        }
    }

    pub fn link(&mut self) {
        let names = self.names;
        // What the step itself has bound hides names from the functions that it runs, so a function is entered once
        // for all uses that hide no less. In straight text what is bound grows, and each is entered once.
        let mut uses: Vec<_> = names.uses.iter().map(|(name, used)| (&used.bound_before, name)).collect();
        uses.sort_by_key(|(bound, _)| bound.len());
        let mut entered: Vec<(&BTreeSet<Name>, Reach)> = Vec::new();
        for (bound, name) in uses {
            let waiting = self.reach(name);
            if waiting.is_empty() {
                continue;
            }
            let mut known = Reach::default();
            entered.iter().filter(|(other, _)| other.is_subset(bound)).for_each(|(_, reach)| known.join(reach));
            self.run(&waiting, bound, &mut known);
            entered.push((bound, known));
        }
        for call in &names.calls {
            self.call(call, Certainty::Certain, &mut Vec::new());
        }
    }

    /// Whether a value of `managers` may be, or make, a context manager that swallows errors.
    pub fn may_swallow(mut self, managers: &BTreeSet<Name>) -> bool {
        let mut all = Reach::default();
        for name in managers {
            let reach = self.reach(name);
            self.run(&reach, &BTreeSet::new(), &mut all);
        }
        let swallower = |(place, id): (Place, FunctionId)| {
            let function = self.function((place, id))?;
            Some(function.makes_swallower(|method| self.function((place, method))))
        };
        self.opaque
            || all.iter().filter_map(|number| self.inference.functions.get(number)).filter_map(swallower).any(|is| is)
    }

    /// Functions that a name may hold just before the step.
    fn reach(&self, name: &str) -> Reach {
        let mut reach = Reach::default();
        self.each_held(name, |held| reach.join(held));
        reach
    }

    fn each_held(&self, name: &str, mut take: impl FnMut(&Reach)) {
        for from in self.inference.reaching(name, self.place) {
            if let Some(held) = self.inference.resolved(from).and_then(|resolved| resolved.reach.get(name)) {
                take(held);
            }
        }
    }

    /// Functions that the names which the step writes may hold at its end.
    pub fn reach_of_writes(&self, writes: &Pairs<Name, Certainty>) -> BTreeMap<Name, Reach> {
        let mut all = BTreeMap::new();
        for name in writes.keys() {
            let mut reach = Reach::default();
            if let Some(value) = self.names.values.get(name) {
                value.functions.iter().filter_map(|function| self.number((self.place, *function))).for_each(|number| {
                    reach.insert(number);
                });
                for held in &value.names {
                    reach.join(&self.reach(held));
                }
            }
            // Changed in place, it holds what it held.
            if self.names.reads.contains_key(name) || !self.names.writes.contains_key(name) {
                reach.join(&self.reach(name));
            }
            if !reach.is_empty() {
                all.insert(Arc::clone(name), reach);
            }
        }
        all
    }

    fn function(&self, (place, function): (Place, FunctionId)) -> Option<&'i Function> {
        self.inference.names(place)?.functions.get(function as usize)
    }

    fn number(&self, id: (Place, FunctionId)) -> Option<u32> {
        self.inference.functions.numbers.get(&id).copied()
    }

    /// Functions may be run, with arguments that are not known, and whatever they reach, but for those that are
    /// `known`, which it adds to. No recursion: functions can call one another from step to step, as many as there are.
    fn run(&mut self, first: &Reach, bound: &BTreeSet<Name>, known: &mut Reach) {
        let mut waiting = Vec::new();
        self.uses += 1;
        known.take_in(first, |number| waiting.push(number));
        while let Some(number) = waiting.pop() {
            self.steps += 1;
            if self.steps > LIMIT {
                self.opaque = true;
                return;
            }
            let Some(id) = self.inference.functions.get(number) else { continue };
            let Some(function) = self.function(id) else { continue };
            self.opaque |= function.opaque.is_some();
            for name in function.reads.iter().filter(|name| !bound.contains(*name)) {
                let late = self.late.entry(name).or_default();
                if late.carriers.last() != Some(&id.0) {
                    late.carriers.push(id.0);
                }
                // What a name may hold is the same for all that read it.
                if std::mem::replace(&mut late.looked_up, self.uses) != self.uses {
                    self.each_held(name, |held| known.take_in(held, |number| waiting.push(number)));
                }
            }
            for name in function.writes.keys().chain(function.defaults.values()) {
                self.write(name, Certainty::Possible);
            }
            for method in function.methods.values() {
                if let Some(number) = self.number((id.0, *method))
                    && !known.contains(number)
                {
                    known.insert(number);
                    waiting.push(number);
                }
            }
        }
    }

    fn write(&mut self, name: &Name, how: Certainty) {
        let known = self.writes.get(name).copied();
        self.writes.insert(Arc::clone(name), known.map_or(how, |known| known.min(how)));
    }

    /// A call whose callee is known by name: its arguments tell what it changes.
    fn call(&mut self, call: &CallSite, how: Certainty, stack: &mut Vec<(Place, FunctionId)>) {
        self.steps += 1;
        if self.steps > LIMIT {
            self.opaque = true;
            return;
        }
        let how = how.and(call.certainty);
        let (name, method) = match &call.callee {
            Callee::Name(name) => (name, None),
            Callee::Method(Root::Name(name), method) => (name, Some(method)),
            Callee::Method(Root::Parameter(_), _) => return,
        };
        let reach = self.reach(name);
        let only_one = reach.iter().nth(1).is_none();
        let how = if only_one { how } else { Certainty::Possible };
        let functions = &self.inference.functions;
        for id in reach.iter().filter_map(|number| functions.get(number)) {
            let Some(function) = self.function(id) else { continue };
            match method {
                None if function.is_class => {
                    if let Some(init) = function.methods.get("__init__") {
                        self.enter((id.0, *init), &with_receiver(call, None), how, stack);
                    }
                }
                None => self.enter(id, call, how, stack),
                Some(method) => {
                    if let Some(method) = function.methods.get(method) {
                        let receiver = Some(Root::Name(Arc::clone(name)));
                        self.enter((id.0, *method), &with_receiver(call, receiver), how, stack);
                    }
                }
            }
        }
    }

    /// Runs a function with known arguments.
    fn enter(
        &mut self,
        id: (Place, FunctionId),
        call: &CallSite,
        how: Certainty,
        stack: &mut Vec<(Place, FunctionId)>,
    ) {
        if stack.contains(&id) || stack.len() > 32 {
            return;
        }
        let Some(function) = self.function(id) else { return };
        let how = if function.suspended { Certainty::Possible } else { how };
        for (name, certainty) in &function.writes {
            self.write(name, how.and(*certainty));
        }
        for (parameter, certainty) in &function.changes {
            if let Some(Root::Name(name)) = argument(call, function, *parameter) {
                self.write(&name, how.and(*certainty));
            } else if call.arguments.len() <= *parameter
                && let Some(name) = function.defaults.get(parameter)
            {
                self.write(name, Certainty::Possible);
            }
        }
        stack.push(id);
        for inner in &function.calls {
            let inner = within(inner, call, function);
            // Names of the function's own step are looked up in the run, like any.
            self.call(&inner, how, stack);
        }
        stack.pop();
    }
}

/// What a parameter gets from a call.
fn argument(call: &CallSite, function: &Function, parameter: usize) -> Option<Root> {
    let name = function.parameters.get(parameter)?;
    if let Some(root) = call.keywords.get(name) {
        return Some(root.clone());
    }
    if parameter < function.positional { call.arguments.get(parameter).cloned().flatten() } else { None }
}

fn with_receiver(call: &CallSite, receiver: Option<Root>) -> CallSite {
    let mut call = call.clone();
    call.arguments.insert(0, receiver);
    call
}

/// A call made in a function, in terms of the arguments that the function was given.
fn within(inner: &CallSite, outer: &CallSite, function: &Function) -> CallSite {
    let map = |root: &Root| match root {
        Root::Name(name) => Some(Root::Name(Arc::clone(name))),
        Root::Parameter(parameter) => argument(outer, function, *parameter),
    };
    let callee = match &inner.callee {
        Callee::Method(root, method) => match map(root) {
            Some(root) => Callee::Method(root, method.clone()),
            None => inner.callee.clone(),
        },
        Callee::Name(_) => inner.callee.clone(),
    };
    CallSite {
        callee,
        arguments: inner.arguments.iter().map(|root| root.as_ref().and_then(map)).collect(),
        keywords: inner.keywords.iter().filter_map(|(keyword, root)| Some((keyword.clone(), map(root)?))).collect(),
        certainty: inner.certainty,
    }
}
