//! What running a function does, so that the step that calls it can be charged for it.
//!
//! A function's free names are looked up when it is called (late binding). So each function made by a step
//! has a summary here, values that may hold functions are followed from name to name, and whoever uses such
//! a value reads what the function reads.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::step::Name;

use super::Certainty;

/// Which function of a step: a place in [`super::StepNames::functions`].
pub type FunctionId = u32;

/// A function, a lambda, a generator expression or a class of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name; `<lambda>` for a lambda.
    pub name: String,
    /// Names of its parameters in the order of positional arguments, then keyword-only ones.
    pub parameters: Vec<String>,
    /// How many of them can be given by position.
    pub positional: usize,
    /// Global names whose objects are defaults of parameters (by place) that its body changes.
    pub defaults: BTreeMap<usize, Name>,
    /// Global names that its body looks up before it has bound them.
    pub reads: BTreeSet<Name>,
    /// Global names that its body binds or changes.
    pub writes: BTreeMap<Name, Certainty>,
    /// Parameters (by place) whose value its body changes.
    pub changes: BTreeMap<usize, Certainty>,
    /// Calls that it makes of global names or of methods.
    pub calls: Vec<CallSite>,
    /// What it may return.
    pub returns: Returned,
    /// Whether its body runs only when something is asked of what it returned (generators, coroutines).
    pub suspended: bool,
    /// Whether an error of a `with` may end in it, where it is the `__exit__` of the context manager, or the generator
    /// that makes one.
    pub swallows: bool,
    /// Why it may read and write any name, if so.
    pub opaque: Option<String>,
    /// For a class: its methods by name.
    pub methods: BTreeMap<String, FunctionId>,
    /// Whether it is a class.
    pub is_class: bool,
}

impl Function {
    /// Whether what it makes may swallow the errors of a `with`; `method` gives the methods of a class.
    pub fn makes_swallower<'f>(&self, method: impl Fn(FunctionId) -> Option<&'f Self>) -> bool {
        let exits = ["__exit__", "__aexit__"].iter().filter_map(|name| self.methods.get(*name));
        self.suspended && self.swallows || exits.filter_map(|id| method(*id)).any(|exit| exit.swallows)
    }
}

/// What a call of a function may give back, as far as it matters to whoever uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Returned {
    /// Whether it may hold a function made in the body.
    pub own: bool,
    /// Parameters, by place, whose values it may hold.
    pub parameters: BTreeSet<usize>,
    /// Global names whose values it may hold.
    pub names: BTreeSet<Name>,
}

/// What a value may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Value {
    /// Functions made by the step.
    pub functions: BTreeSet<FunctionId>,
    /// Names got from earlier steps whose values it may hold.
    pub names: BTreeSet<Name>,
    /// Names got from earlier steps whose object, or a part of it, it is: to change one is to change both.
    pub aliases: BTreeSet<Name>,
}

impl Value {
    /// Whether it holds nothing that matters.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.names.is_empty() && self.aliases.is_empty()
    }
}

/// That functions held by a name that the step got from elsewhere may be run by the step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Use {
    /// Names that the step has certainly bound before every use that may run functions held by the value.
    pub bound_before: BTreeSet<Name>,
}

/// A call whose callee is known by name only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallSite {
    /// What is called.
    pub callee: Callee,
    /// For each positional argument, what it is a path into.
    pub arguments: Vec<Option<Root>>,
    /// The same for keyword arguments.
    pub keywords: BTreeMap<String, Root>,
    /// Whether it is called on every path.
    pub certainty: Certainty,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Callee {
    /// `f(…)`
    Name(Name),
    /// `x.m(…)`, where `x` is a path into the root.
    Method(Root, String),
}

/// Whose object an expression is, or is a part of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Root {
    /// A global name.
    Name(Name),
    /// A parameter of the function in question, by place.
    Parameter(usize),
}
