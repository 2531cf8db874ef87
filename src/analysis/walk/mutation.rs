//! Calls that change what they are called on or given, as far as their names tell.
//!
//! The type of a value is not known, so a method's name decides. A name that only ever changes its object is
//! taken as a change for certain (with a read, so that what went before is still needed); one that changes
//! some objects and not others as a possible change. What neither says is left to observation.

use rustpython_parser::ast::{self, Constant, Expr};

use super::super::Certainty;
use super::Walker;
use super::state::Held;

/// Methods of built-in and standard library types, and of the common data libraries, that change their
/// object.
const CHANGES: &[&str] = &[
    // list, dict, set, deque, bytearray, array, Counter, OrderedDict, memoryview
    "add",
    "append",
    "appendleft",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "extendleft",
    "insert",
    "intersection_update",
    "move_to_end",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "reverse",
    "rotate",
    "setdefault",
    "sort",
    "subtract",
    "symmetric_difference_update",
    "update",
    // the protocol by name
    "__setitem__",
    "__delitem__",
    "__setattr__",
    "__delattr__",
    "__iadd__",
    "__isub__",
    "__imul__",
    "__ior__",
    "__iand__",
    "__ixor__",
    "__next__",
    "__setstate__",
    // files, queues, writers
    "write",
    "writelines",
    "writerow",
    "writerows",
    "writeheader",
    "truncate",
    "put",
    "put_nowait",
    // numpy and pandas
    "fill",
    "itemset",
    "setflags",
    "partition",
    "setfield",
    // torch: a trailing underscore is dealt with apart
    "zero_grad",
    "load_state_dict",
    "backward",
    "register_buffer",
    "register_parameter",
    "add_module",
    // scikit-learn and its like
    "fit",
    "fit_transform",
    "fit_predict",
    "fit_resample",
    "partial_fit",
    "set_params",
    // ElementTree, argparse, logging, sqlite3
    "add_argument",
    "addHandler",
    "removeHandler",
    "setLevel",
    "setFormatter",
    "executemany",
    "executescript",
    "commit",
    "rollback",
];

/// Methods that change some objects and leave others alone.
const MAY_CHANGE: &[&str] = &[
    "close",
    "execute",
    "flush",
    "get_nowait",
    "read",
    "readinto",
    "readline",
    "readlines",
    "release",
    "acquire",
    "seek",
    "seed",
    "send",
    "set",
    "shuffle",
    "start",
    "step",
    "stop",
    "throw",
    "resize",
    "train",
    "eval",
    "compile",
    "register",
    "subscribe",
    "unregister",
    "push",
    "enqueue",
    "dequeue",
    "increment",
    "reset",
    "add_edge",
    "add_edges_from",
    "add_node",
    "add_nodes_from",
    "remove_node",
    "remove_edge",
];

/// Methods of figures and axes, where the receiver looks like one.
const DRAWS: &[&str] = &[
    "annotate",
    "axhline",
    "axvline",
    "bar",
    "barh",
    "boxplot",
    "contour",
    "errorbar",
    "fill_between",
    "grid",
    "hist",
    "imshow",
    "legend",
    "pie",
    "plot",
    "scatter",
    "step",
    "suptitle",
    "text",
    "tick_params",
    "tight_layout",
    "violinplot",
    "cla",
    "clf",
    "invert_xaxis",
    "invert_yaxis",
];

/// Functions that change an argument: the last part of the path, the place of the argument.
const CHANGES_ARGUMENT: &[(&str, usize)] = &[
    ("setattr", 0),
    ("delattr", 0),
    ("next", 0),
    ("anext", 0),
    ("heappush", 0),
    ("heappop", 0),
    ("heapify", 0),
    ("heapreplace", 0),
    ("heappushpop", 0),
    ("insort", 0),
    ("insort_left", 0),
    ("insort_right", 0),
    ("setitem", 0),
    ("delitem", 0),
    ("iadd", 0),
    ("iconcat", 0),
    ("copyto", 0),
    ("fill_diagonal", 0),
    ("place", 0),
    ("putmask", 0),
    ("put_along_axis", 0),
    ("copyfileobj", 1),
    ("__setattr__", 0),
];

/// The same, where a path's first part must be one of these for the function to be the one meant.
const CHANGES_ARGUMENT_OF: &[(&str, &str, usize)] =
    &[("random", "shuffle", 0), ("json", "dump", 1), ("pickle", "dump", 1), ("np", "put", 0), ("numpy", "put", 0)];

/// Types whose methods may be called as functions: `list.append(l, 1)`.
const TYPES: &[&str] = &["list", "dict", "set", "bytearray", "object", "deque", "OrderedDict", "Counter"];

impl Walker<'_> {
    /// Whether a path's last part is a method that changes its object.
    pub(super) fn mutator(&self, path: &str) -> Option<Certainty> {
        let (receiver, method) = path.rsplit_once('.')?;
        changes(method, Some(receiver))
    }

    /// Changes what a call is known to change.
    pub(super) fn known_changes(&mut self, e: &ast::ExprCall, receiver: &Held, values: &[Held], named: &[Held]) {
        let mut stored = Held::default();
        for value in values.iter().chain(named) {
            stored.join(value);
        }
        let name = match &*e.func {
            Expr::Attribute(attribute) => {
                let base = match &*attribute.value {
                    Expr::Name(name) => Some(name.id.as_str()),
                    _ => None,
                };
                let method = attribute.attr.as_str();
                if let (Some(base), Some(first)) = (base, e.args.first())
                    && TYPES.contains(&base)
                {
                    if let Some(how) = changes(method, None) {
                        let held = values.first().cloned().unwrap_or_default();
                        self.change_how(first, &held, &stored, how);
                    }
                    return;
                }
                let by_module = CHANGES_ARGUMENT_OF
                    .iter()
                    .find(|(module, function, _)| base == Some(*module) && *function == method);
                if let Some((_, _, place)) = by_module {
                    self.change_argument(e, values, *place);
                    return;
                }
                if let Some(how) = changes(method, base) {
                    self.change_how(&attribute.value, receiver, &stored, how);
                } else if let Some(how) = in_place(e) {
                    self.change_how(&attribute.value, receiver, &stored, how);
                }
                method
            }
            Expr::Name(name) => name.id.as_str(),
            _ => return,
        };
        if let Some((_, place)) = CHANGES_ARGUMENT.iter().find(|(function, _)| *function == name) {
            self.change_argument(e, values, *place);
        } else if ends_in_one_underscore(name) && matches!(&*e.func, Expr::Attribute(a) if is_init(&a.value)) {
            self.change_argument(e, values, 0);
        }
        for (keyword, held) in e.keywords.iter().zip(named) {
            let target = keyword.arg.as_deref();
            let prints = target == Some("file") && name == "print";
            if (target == Some("out") || prints) && !matches!(keyword.value, Expr::Constant(_)) {
                self.change(&keyword.value, held, &Held::default());
            }
        }
    }

    fn change_argument(&mut self, e: &ast::ExprCall, values: &[Held], place: usize) {
        if let (Some(argument), Some(held)) = (e.args.get(place), values.get(place)) {
            let mut stored = Held::default();
            for value in values.iter().skip(place + 1) {
                stored.join(value);
            }
            self.change(argument, held, &stored);
        }
    }

    /// What the result of a built-in call is made of, where it hands on what it was given.
    pub(super) fn passed_through(&mut self, e: &ast::ExprCall, values: &[Held]) -> Held {
        let Expr::Name(name) = &*e.func else { return Held::default() };
        let mut held = Held::default();
        match name.id.as_str() {
            "iter" | "enumerate" | "zip" | "reversed" | "list" | "tuple" | "sorted" | "filter" | "next" | "min"
            | "max" | "getattr" | "vars" => {
                for value in values {
                    // The elements are the same objects, the container is another.
                    let elements = value.clone().element();
                    held.parts = elements.aliases;
                    held.parameter_parts |= elements.parameter_aliases;
                }
                if matches!(name.id.as_str(), "next" | "min" | "max" | "getattr" | "vars") {
                    held = held.element();
                }
            }
            _ => {}
        }
        held
    }
}

fn ends_in_one_underscore(name: &str) -> bool {
    name.len() > 1 && name.ends_with('_') && !name.ends_with("__")
}

/// `init.xavier_(w)`, `nn.init.zeros_(w)`
fn is_init(module: &Expr) -> bool {
    match module {
        Expr::Name(name) => name.id.as_str() == "init",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "init",
        _ => false,
    }
}

fn changes(method: &str, receiver: Option<&str>) -> Option<Certainty> {
    if CHANGES.contains(&method) || ends_in_one_underscore(method) {
        return Some(Certainty::Certain);
    }
    if MAY_CHANGE.contains(&method) {
        return Some(Certainty::Possible);
    }
    let draws = receiver.is_some_and(|receiver| {
        let name = receiver.rsplit('.').next().unwrap_or(receiver);
        name.starts_with("ax") || name.starts_with("fig")
    });
    (draws && (DRAWS.contains(&method) || method.starts_with("set_") || method.starts_with("add_")))
        .then_some(Certainty::Certain)
}

/// Whether a call says `inplace=`.
fn in_place(e: &ast::ExprCall) -> Option<Certainty> {
    let keyword = e.keywords.iter().find(|keyword| keyword.arg.as_deref() == Some("inplace"))?;
    match &keyword.value {
        Expr::Constant(constant) => match constant.value {
            Constant::Bool(false) | Constant::None => None,
            _ => Some(Certainty::Certain),
        },
        _ => Some(Certainty::Possible),
    }
}
