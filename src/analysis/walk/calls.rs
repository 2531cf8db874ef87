//! Calls: what running a known function does to the names of the step that calls it.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustpython_parser::ast::{self, Expr};

use super::super::builtins;
use super::super::effects::FunctionId;
use super::super::outward;
use super::super::{Certainty, OccurrenceKind};
use super::scope::Place;
use super::state::{Held, Slot};
use super::{Entered, UseNote, Walker};

/// Functions that call one another are followed so deep.
const NESTED_CALLS: u32 = 500;

/// What running a function does. See [`super::super::effects::Function`], which is made from it.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub name: String,
    pub parameters: Vec<String>,
    pub positional: usize,
    /// Global names whose objects are defaults of parameters, by place.
    pub defaults: BTreeMap<usize, Slot>,
    pub reads: Vec<Slot>,
    pub writes: Vec<Write>,
    pub changes: BTreeMap<usize, Certainty>,
    pub calls: Vec<(Call, Certainty)>,
    pub returns: Held,
    pub suspended: bool,
    pub swallows: bool,
    pub opaque: Option<String>,
    pub reads_everything: bool,
    pub writes_anything: bool,
    pub methods: BTreeMap<String, FunctionId>,
    pub is_class: bool,
}

/// A global name that a function writes.
#[derive(Debug)]
pub(super) struct Write {
    pub name: Slot,
    /// Whether it is bound on every path.
    pub bound: Certainty,
    /// Whether it is bound or changed on every path.
    pub written: Certainty,
    /// What is bound, in the function's own terms.
    pub held: Held,
}

/// A call whose callee is told by name.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub callee: Callee,
    pub arguments: Arguments,
    /// What says whether it is made on every path.
    pub slot: Slot,
}

#[derive(Debug, Clone)]
pub(super) enum Callee {
    Name(Slot),
    Method(Root, String),
}

/// Whose object an expression is, or is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    Name(Slot),
    Parameter(usize),
}

/// What arguments are paths into.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    pub positional: Vec<Option<Root>>,
    pub keywords: Vec<(String, Root)>,
}

impl Arguments {
    /// What a parameter of `function` gets.
    fn of(&self, function: &Summary, parameter: usize) -> Option<Root> {
        let name = function.parameters.get(parameter)?;
        if let Some((_, root)) = self.keywords.iter().find(|(keyword, _)| keyword == name) {
            return Some(*root);
        }
        if parameter < function.positional { self.positional.get(parameter).copied().flatten() } else { None }
    }

    /// The same with what a method is called on in front.
    fn with_receiver(&self, receiver: Option<Root>) -> Self {
        let mut positional = vec![receiver];
        positional.extend(self.positional.iter().copied());
        Self { positional, keywords: self.keywords.clone() }
    }

    /// The arguments of a call made in a function, in terms of the function's own.
    fn within(&self, outer: &Arguments, function: &Summary) -> Self {
        let map = |root: Root| match root {
            Root::Name(name) => Some(Root::Name(name)),
            Root::Parameter(parameter) => outer.of(function, parameter),
        };
        Self {
            positional: self.positional.iter().map(|root| root.and_then(map)).collect(),
            keywords: self.keywords.iter().filter_map(|(name, root)| Some((name.clone(), map(*root)?))).collect(),
        }
    }
}

impl Walker<'_> {
    pub(super) fn call(&mut self, e: &ast::ExprCall) -> Held {
        if let Some(held) = self.dynamic_call(e) {
            return held;
        }
        let mut receiver = Held::default();
        let callee = match &*e.func {
            Expr::Attribute(attribute) => {
                receiver = self.expr(&attribute.value);
                self.consume(&receiver);
                self.watch_attribute(&attribute.attr);
                receiver.clone().element()
            }
            other => self.expr(other),
        };
        let values: Vec<Held> = e.args.iter().map(|argument| self.expr(argument)).collect();
        let named: Vec<Held> = e.keywords.iter().map(|keyword| self.expr(&keyword.value)).collect();
        for held in values.iter().chain(&named) {
            self.consume(held);
        }
        let arguments = self.arguments(e);
        self.note_path(e);
        self.known_changes(e, &receiver, &values, &named);
        self.changes_by_arguments(&arguments, &values);
        let mut held = match &*e.func {
            Expr::Name(name) => self.call_name(name, &callee, &arguments, &values, &named),
            Expr::Attribute(attribute) => {
                self.call_method(attribute, &receiver, &arguments);
                let mut held = self.made_from(&callee, &values, &named);
                if is_view(&attribute.attr) {
                    held.join(&receiver.clone().element());
                }
                held
            }
            _ => {
                self.consume(&callee);
                self.made_from(&callee, &values, &named)
            }
        };
        held.join(&self.passed_through(e, &values));
        self.note_unknown(e, &callee);
        held
    }

    /// What the result of an unknown call may hold: whatever went in.
    fn made_from(&mut self, callee: &Held, values: &[Held], named: &[Held]) -> Held {
        let mut held = callee.clone();
        for value in values.iter().chain(named) {
            held.join(value);
        }
        held.content()
    }

    fn arguments(&mut self, e: &ast::ExprCall) -> Arguments {
        let known = e.args.iter().position(|argument| matches!(argument, Expr::Starred(_))).unwrap_or(e.args.len());
        let mut arguments = Arguments::default();
        for argument in e.args.iter().take(known) {
            let root = self.root(argument);
            arguments.positional.push(root);
        }
        for keyword in &e.keywords {
            if let Some(name) = &keyword.arg
                && let Some(root) = self.root(&keyword.value)
            {
                arguments.keywords.push((name.as_str().to_owned(), root));
            }
        }
        arguments
    }

    fn call_name(
        &mut self,
        name: &ast::ExprName,
        callee: &Held,
        arguments: &Arguments,
        values: &[Held],
        named: &[Held],
    ) -> Held {
        let slot = self.intern_mangled(&name.id);
        let global = self.resolve(slot) == Place::Global;
        if self.in_function() {
            if global {
                self.record_call(Callee::Name(slot), arguments.clone());
            }
            if builtins::holds_nothing(&name.id) && global {
                return Held::default();
            }
            return self.made_from(callee, values, named);
        }
        if callee.functions.is_empty() && builtins::holds_nothing(&name.id) && !self.is_sure(slot) {
            return Held::default();
        }
        let single = callee.functions.len() + callee.names.len() == 1;
        let certainty = if single { Certainty::Certain } else { Certainty::Possible };
        let mut held = Held::default();
        for function in &callee.functions {
            self.run(*function, arguments, certainty, &mut Entered::new());
            held.join(&self.returned(*function, values, named));
        }
        for name in &callee.names {
            self.note_use(*name);
            self.record_call(Callee::Name(*name), arguments.clone());
        }
        if callee.functions.is_empty() {
            held = self.made_from(callee, values, named);
        } else if !callee.names.is_empty() {
            held.join(&self.made_from(callee, values, named));
        }
        held
    }

    fn call_method(&mut self, attribute: &ast::ExprAttribute, receiver: &Held, arguments: &Arguments) {
        let root = self.root(&attribute.value);
        if self.in_function() {
            if let Some(root) = root {
                self.record_call(Callee::Method(root, attribute.attr.as_str().to_owned()), arguments.clone());
            }
            return;
        }
        for function in &receiver.functions {
            let method = self.functions.get(*function as usize).and_then(|f| f.methods.get(attribute.attr.as_str()));
            if let Some(method) = method.copied() {
                let arguments = arguments.with_receiver(root);
                let single = receiver.functions.len() + receiver.names.len() == 1;
                let certainty = if single { Certainty::Certain } else { Certainty::Possible };
                self.run(method, &arguments, certainty, &mut Entered::new());
            }
        }
        if let Some(root) = root
            && !receiver.names.is_empty()
        {
            self.record_call(Callee::Method(root, attribute.attr.as_str().to_owned()), arguments.clone());
        }
    }

    fn record_call(&mut self, callee: Callee, arguments: Arguments) {
        if self.is_dead() {
            return;
        }
        let slot = self.fresh_slot();
        let frame = self.frame();
        frame.state.sure.insert(slot);
        frame.calls.push(Call { callee, arguments, slot });
    }

    /// Uses a value: whatever function it holds may run now.
    pub(super) fn consume(&mut self, held: &Held) {
        if self.in_function() || self.is_dead() {
            // Who calls the function finds out what its names hold then.
            return;
        }
        for name in &held.names {
            self.note_use(*name);
        }
        if !held.functions.is_empty() {
            let mut entered = Entered::new();
            for function in &held.functions {
                self.run(*function, &Arguments::default(), Certainty::Possible, &mut entered);
            }
        }
    }

    fn note_use(&mut self, name: Slot) {
        if self.in_function() || self.is_dead() {
            return;
        }
        let frame = self.frame();
        let sure = &frame.state.sure;
        match frame.uses.get_mut(&name) {
            Some(note) => note.bound.meet(sure),
            None => {
                frame.uses.insert(name, UseNote { bound: sure.clone() });
            }
        }
    }

    /// Does to the step's names what running a function of it does.
    fn run(&mut self, function: FunctionId, arguments: &Arguments, how: Certainty, entered: &mut Entered) {
        if self.is_dead() || !entered.insert(function) {
            return;
        }
        if self.budget == 0 || self.nested >= NESTED_CALLS {
            self.run_any();
            return;
        }
        self.nested += 1;
        self.run_known(function, arguments, how, entered);
        self.nested -= 1;
    }

    /// Too much to follow: any of the step's functions may have run.
    fn run_any(&mut self) {
        let functions = std::mem::take(&mut self.functions);
        for function in &functions {
            for name in &function.reads {
                if !self.is_sure(*name) {
                    self.note_use(*name);
                }
                self.read(*name, true);
            }
            let frame = self.frame();
            for write in &function.writes {
                frame.writes.insert(write.name);
            }
            if frame.opaque.is_none() {
                frame.opaque.clone_from(&function.opaque);
            }
            frame.reads_everything |= function.reads_everything;
            frame.writes_anything |= function.writes_anything;
        }
        self.functions = functions;
    }

    fn run_known(&mut self, function: FunctionId, arguments: &Arguments, how: Certainty, entered: &mut Entered) {
        self.budget -= 1;
        let Some(summary) = self.functions.get(function as usize).map(Rc::clone) else { return };
        let how = if summary.suspended { Certainty::Possible } else { how };
        let frame = self.frame();
        if frame.opaque.is_none() {
            frame.opaque.clone_from(&summary.opaque);
        }
        frame.reads_everything |= summary.reads_everything;
        frame.writes_anything |= summary.writes_anything;
        for name in &summary.reads {
            self.read(*name, true);
            self.run_held_by(*name, entered);
        }
        for (call, certainty) in &summary.calls {
            let inner = call.arguments.within(arguments, &summary);
            self.run_call(&call.callee, &inner, arguments, &summary, how.and(*certainty), entered);
        }
        if summary.is_class {
            self.construct(&summary, arguments, how, entered);
        }
        for write in &summary.writes {
            let held = self.outside(&write.held, function, arguments, &summary);
            if how.and(write.bound).is_certain() {
                self.write_global(write.name, held);
                continue;
            }
            self.frame().writes.insert(write.name);
            if how.and(write.written).is_certain() {
                let slot = self.changed_slot(write.name);
                self.state().sure.insert(slot);
            }
            if !held.is_empty() {
                Rc::make_mut(&mut self.state().bound).entry(write.name).or_default().join(&held);
            }
        }
        for (parameter, certainty) in &summary.changes {
            if let Some(root) = arguments.of(&summary, *parameter) {
                self.change_root(root, how.and(*certainty), None);
            } else if let Some(default) = summary.defaults.get(parameter)
                && arguments.positional.len() <= *parameter
            {
                self.change_root(Root::Name(*default), Certainty::Possible, None);
            }
        }
    }

    /// What a function stores in a global name, in the caller's terms.
    fn outside(&mut self, held: &Held, function: FunctionId, arguments: &Arguments, summary: &Summary) -> Held {
        let mut outside = Held::default();
        if held.own {
            outside.join(&Held::function(function));
        }
        let given = (0..64).filter(|place| held.parameters & (1 << place) != 0);
        let given = given.filter_map(|place| match arguments.of(summary, place) {
            Some(Root::Name(name)) => Some(name),
            _ => None,
        });
        for name in held.names.iter().copied().chain(given) {
            if let Some(bound) = self.state().bound.get(&name) {
                outside.join(&bound.clone());
            }
            if !self.is_sure(name) {
                outside.join(&Held::name(name).content());
            }
        }
        outside
    }

    /// A name that a function reads may hold functions in turn.
    fn run_held_by(&mut self, name: Slot, entered: &mut Entered) {
        let Some(held) = self.state().bound.get(&name).cloned() else {
            self.note_use(name);
            return;
        };
        if !self.is_sure(name) {
            self.note_use(name);
        }
        for name in &held.names {
            self.note_use(*name);
        }
        for function in &held.functions {
            self.run(*function, &Arguments::default(), Certainty::Possible, entered);
        }
    }

    /// A call made in a function that is being run.
    fn run_call(
        &mut self,
        callee: &Callee,
        arguments: &Arguments,
        outer: &Arguments,
        function: &Summary,
        how: Certainty,
        entered: &mut Entered,
    ) {
        let (name, method) = match callee {
            Callee::Name(name) => (*name, None),
            Callee::Method(Root::Name(name), method) => (*name, Some((Root::Name(*name), method))),
            Callee::Method(Root::Parameter(parameter), method) => match outer.of(function, *parameter) {
                Some(Root::Name(name)) => (name, Some((Root::Name(name), method))),
                _ => return,
            },
        };
        let held = self.state().bound.get(&name).cloned().unwrap_or_default();
        let external = !self.is_sure(name) || !held.names.is_empty();
        let single = held.functions.len() + usize::from(external) == 1;
        let how = if single { how } else { Certainty::Possible };
        for id in &held.functions {
            match method {
                None => {
                    // It was entered as something that may run; now its arguments are known.
                    entered.remove(id);
                    self.run(*id, arguments, how, entered);
                }
                Some((receiver, method)) => {
                    let found = self.functions.get(*id as usize).and_then(|f| f.methods.get(method)).copied();
                    if let Some(found) = found {
                        entered.remove(&found);
                        self.run(found, &arguments.with_receiver(Some(receiver)), how, entered);
                    }
                }
            }
        }
        if external && self.budget > 0 {
            let callee = match method {
                None => Callee::Name(name),
                Some((receiver, method)) => Callee::Method(receiver, method.clone()),
            };
            self.record_call(callee, arguments.clone());
            if !how.is_certain() {
                // What was recorded is certain only if this is.
                if let Some(slot) = self.frame().calls.last().map(|call| call.slot) {
                    self.state().sure.remove(slot);
                }
            }
        }
    }

    /// Calling a class runs `__init__`; using it or an instance may run any method.
    fn construct(&mut self, class: &Summary, arguments: &Arguments, how: Certainty, entered: &mut Entered) {
        for (name, method) in &class.methods {
            let (arguments, how) = match name.as_str() {
                "__init__" | "__new__" => (arguments.with_receiver(None), how),
                _ => (Arguments::default(), Certainty::Possible),
            };
            self.run(*method, &arguments, how, entered);
        }
    }

    /// What a call of a known function may give back.
    fn returned(&mut self, function: FunctionId, values: &[Held], named: &[Held]) -> Held {
        let Some(summary) = self.functions.get(function as usize).map(Rc::clone) else { return Held::default() };
        let mut held = Held::default();
        let returns = &summary.returns;
        if returns.own || summary.is_class || summary.suspended {
            held.join(&Held::function(function));
        }
        let all = returns.own || summary.is_class || summary.suspended || !named.is_empty();
        for (place, value) in values.iter().enumerate() {
            if all || place >= 64 || returns.parameters & (1 << place) != 0 {
                let value = value.clone();
                let same = place < 64 && returns.parameter_aliases & (1 << place) != 0;
                held.join(&if same { value } else { value.content() });
            }
        }
        if all {
            for value in named {
                held.join(&value.clone().content());
            }
        }
        for name in &returns.names {
            if let Some(bound) = self.state().bound.get(name).cloned() {
                held.join(&bound);
            }
            if !self.is_sure(*name) {
                let mut name_held = Held::name(*name);
                if !returns.aliases.contains(name) {
                    name_held = name_held.content();
                }
                held.join(&name_held);
            }
        }
        held
    }

    /// A function that changes its arguments, handed to unknown code, may be given the other arguments.
    fn changes_by_arguments(&mut self, arguments: &Arguments, values: &[Held]) {
        let changing = values.iter().flat_map(|held| &held.functions).any(|function| {
            self.functions.get(*function as usize).is_some_and(|function| !function.changes.is_empty())
        });
        if changing {
            for root in arguments.positional.iter().flatten() {
                self.change_root(*root, Certainty::Possible, None);
            }
        }
    }

    /// Whose object an expression is, or is a part of.
    pub(super) fn root(&mut self, e: &Expr) -> Option<Root> {
        match e {
            Expr::Name(name) => {
                let slot = self.intern_mangled(&name.id);
                match self.resolve(slot) {
                    Place::Global => Some(Root::Name(slot)),
                    Place::Local(scope) => {
                        let scope = self.scopes.get(scope).filter(|scope| scope.summed)?;
                        scope.parameters.iter().position(|parameter| *parameter == slot).map(Root::Parameter)
                    }
                    Place::Class(scope) => {
                        let bound = self.class_slot(scope, slot);
                        (!self.is_sure(bound)).then_some(Root::Name(slot))
                    }
                }
            }
            Expr::Attribute(e) => self.root(&e.value),
            Expr::Subscript(e) => match self.namespace_key(e) {
                Some(name) => Some(Root::Name(name)),
                None => self.root(&e.value),
            },
            Expr::Starred(e) => self.root(&e.value),
            Expr::Await(e) => self.root(&e.value),
            Expr::NamedExpr(e) => self.root(&e.target),
            Expr::Call(e) => match &*e.func {
                Expr::Attribute(attribute) if is_view(&attribute.attr) => self.root(&attribute.value),
                Expr::Name(name) if matches!(name.id.as_str(), "getattr" | "vars" | "iter" | "reversed") => {
                    self.root(e.args.first()?)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Where in the text the name at the root of a path stands.
    fn root_range(e: &Expr) -> Option<&ast::ExprName> {
        match e {
            Expr::Name(name) => Some(name),
            Expr::Attribute(e) => Self::root_range(&e.value),
            Expr::Subscript(e) => Self::root_range(&e.value),
            Expr::Starred(e) => Self::root_range(&e.value),
            Expr::Call(e) => match &*e.func {
                Expr::Attribute(attribute) => Self::root_range(&attribute.value),
                _ => Self::root_range(e.args.first()?),
            },
            _ => None,
        }
    }

    /// Changes in place what an expression evaluated to; `stored` is what is put into it.
    pub(super) fn change(&mut self, e: &Expr, object: &Held, stored: &Held) {
        self.change_how(e, object, stored, Certainty::Certain);
    }

    pub(super) fn change_how(&mut self, e: &Expr, object: &Held, stored: &Held, how: Certainty) {
        if let Some(root) = self.root(e) {
            let range = Self::root_range(e).and_then(|name| self.range(name));
            self.change_root(root, how, range);
            if let Root::Name(name) = root
                && !stored.is_empty()
                && !self.in_function()
                && !self.is_dead()
            {
                let held = stored.clone().contained();
                let known = self.is_sure(name);
                let bound = Rc::make_mut(&mut self.state().bound).entry(name).or_default();
                bound.join(&held);
                if !known {
                    bound.join(&Held::name(name));
                }
            }
        }
        self.change_aliases(object);
    }

    /// Changes in place whatever object the value is.
    pub(super) fn change_aliases(&mut self, object: &Held) {
        for name in &object.aliases {
            self.change_root(Root::Name(*name), Certainty::Possible, None);
        }
        for parameter in 0..64 {
            if object.parameter_aliases & (1 << parameter) != 0 {
                self.change_root(Root::Parameter(parameter), Certainty::Possible, None);
            }
        }
    }

    pub(super) fn change_root(&mut self, root: Root, how: Certainty, range: Option<std::ops::Range<usize>>) {
        if self.is_dead() {
            return;
        }
        match root {
            Root::Name(name) => {
                let own = self.is_sure(name);
                self.note(name, OccurrenceKind::Mutate, range, own);
                self.read(name, true);
                self.frame().writes.insert(name);
                if how.is_certain() {
                    let slot = self.changed_slot(name);
                    self.state().sure.insert(slot);
                }
                if !self.in_function() {
                    let aliases = self.state().bound.get(&name).map(|held| held.aliases.clone()).unwrap_or_default();
                    for alias in aliases.into_iter().filter(|alias| *alias != name) {
                        self.read(alias, true);
                        self.frame().writes.insert(alias);
                    }
                }
            }
            Root::Parameter(parameter) => {
                if self.in_function() {
                    let slot = self.fresh_slot();
                    let frame = self.frame();
                    if how.is_certain() {
                        frame.state.sure.insert(slot);
                    }
                    frame.changes.push((parameter, slot));
                }
            }
        }
    }

    /// Whether a context manager may swallow errors, so that the body may end early without the step failing.
    pub(super) fn may_swallow(&mut self, manager: &Expr, held: &Held) -> bool {
        let name = match manager {
            Expr::Call(call) => match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            },
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        if matches!(name, "suppress" | "raises" | "assertRaises" | "assertRaisesRegex" | "ExitStack") {
            return true;
        }
        // What an earlier step gave it is not known here: both ways are read, and who puts steps together chooses.
        let from_elsewhere = held.names.iter().filter(|name| !builtins::is_builtin(self.text_of(**name)));
        let from_elsewhere: Vec<Slot> = from_elsewhere.copied().collect();
        if !from_elsewhere.is_empty() {
            self.managers.extend(from_elsewhere);
            if self.swallowing {
                return true;
            }
        }
        let swallows = |id: &FunctionId| self.functions.get(*id as usize).is_some_and(|function| function.swallows);
        held.functions.iter().filter_map(|id| self.functions.get(*id as usize)).any(|function| {
            let exits = ["__exit__", "__aexit__"].iter().filter_map(|name| function.methods.get(*name));
            function.suspended && function.swallows || exits.into_iter().any(swallows)
        })
    }

    /// Notes what is called, and a path out of the run that is given to what opens files.
    fn note_path(&mut self, e: &ast::ExprCall) {
        let name = match &*e.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        if self.parts_called.len() < 1000
            && matches!(&*e.func, Expr::Attribute(_))
            && let Some(path) = dotted(&e.func)
        {
            self.parts_called.insert(path);
        }
        let opens = matches!(
            name,
            "open"
                | "Path"
                | "listdir"
                | "scandir"
                | "walk"
                | "load"
                | "save"
                | "connect"
                | "chdir"
                | "remove"
                | "rmtree"
                | "copy"
        ) || ["read_", "to_", "load", "save", "copy"].iter().any(|start| name.starts_with(start));
        if !opens || self.paths.len() >= 100 {
            return;
        }
        for argument in &e.args {
            if let Expr::Constant(constant) = argument
                && let ast::Constant::Str(path) = &constant.value
                && outward::leads_out(path)
            {
                self.paths.insert(path.chars().take(200).collect());
            }
        }
    }

    fn note_unknown(&mut self, e: &ast::ExprCall, callee: &Held) {
        if self.again > 0 || self.placeless > 0 || !callee.functions.is_empty() || self.unknown_calls.len() >= 1000 {
            return;
        }
        let Some(path) = dotted(&e.func) else { return };
        let first = path.split('.').next().unwrap_or(&path);
        let known = match &*e.func {
            Expr::Name(name) => builtins::is_builtin(&name.id),
            _ => self.mutator(&path).is_some(),
        };
        let slot = self.intern_mangled(first);
        if !known && self.resolve(slot) == Place::Global {
            self.unknown_calls.insert(path);
        }
    }
}

/// Methods that give a view or a part of what they are called on, rather than something new.
fn is_view(method: &str) -> bool {
    matches!(
        method,
        "setdefault"
            | "get"
            | "values"
            | "items"
            | "keys"
            | "__getitem__"
            | "__iter__"
            | "__enter__"
            | "ravel"
            | "reshape"
            | "view"
            | "transpose"
            | "swapaxes"
            | "squeeze"
            | "parameters"
            | "children"
            | "modules"
    )
}

/// `a.b.c` as written, for paths of names only.
fn dotted(e: &Expr) -> Option<String> {
    match e {
        Expr::Name(name) => Some(name.id.as_str().to_owned()),
        Expr::Attribute(attribute) => {
            let mut path = dotted(&attribute.value)?;
            if path.len() > 200 {
                return None;
            }
            path.push('.');
            path.push_str(&attribute.attr);
            Some(path)
        }
        _ => None,
    }
}
