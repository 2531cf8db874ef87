//! Functions, lambdas, classes, type aliases and annotations.

use std::collections::{BTreeMap, HashSet};

use rustpython_parser::ast::{self, Arg, Expr, Ranged, Stmt, TypeParam};

use super::super::effects::FunctionId;
use super::super::{Certainty, OccurrenceKind};
use super::calls::Root;
use super::calls::{Summary, Write};
use super::scope::{Binder, Scope, ScopeKind};
use super::state::Held;
use super::{Frame, Walker, end_of, plain_scope, start_of};

/// `def` and `async def` alike.
pub(super) struct Def<'a> {
    name: &'a str,
    args: &'a ast::Arguments,
    body: &'a [Stmt],
    decorators: &'a [Expr],
    returns: Option<&'a Expr>,
    type_params: &'a [TypeParam],
    range: ast::text_size::TextRange,
    is_async: bool,
}

impl Ranged for Def<'_> {
    fn range(&self) -> ast::text_size::TextRange {
        self.range
    }
}

impl<'a> From<&'a ast::StmtFunctionDef> for Def<'a> {
    fn from(def: &'a ast::StmtFunctionDef) -> Self {
        Self {
            name: &def.name,
            args: &def.args,
            body: &def.body,
            decorators: &def.decorator_list,
            returns: def.returns.as_deref(),
            type_params: &def.type_params,
            range: def.range,
            is_async: false,
        }
    }
}

impl<'a> From<&'a ast::StmtAsyncFunctionDef> for Def<'a> {
    fn from(def: &'a ast::StmtAsyncFunctionDef) -> Self {
        Self {
            name: &def.name,
            args: &def.args,
            body: &def.body,
            decorators: &def.decorator_list,
            returns: def.returns.as_deref(),
            type_params: &def.type_params,
            range: def.range,
            is_async: true,
        }
    }
}

/// Decorators that give back what they are given, or hold it, and do not call it.
const QUIET_DECORATORS: &[&str] = &[
    "abstractmethod",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "asynccontextmanager",
    "dataclass",
    "final",
    "lru_cache",
    "override",
    "overload",
    "property",
    "singledispatch",
    "staticmethod",
    "total_ordering",
    "wraps",
    "setter",
    "getter",
    "deleter",
    "fixture",
];

impl Walker<'_> {
    // Functions.

    pub(super) fn function_def(&mut self, def: &Def<'_>) {
        let decorators: Vec<Held> = def.decorators.iter().map(|decorator| self.expr(decorator)).collect();
        let mut held = self.defaults(def.args);
        let has_params = self.open_type_params(def.type_params, None);
        self.annotations(def.args, def.returns);
        let is_async = def.is_async;
        let made = self.closure(
            def,
            def.args,
            |walker| {
                walker.body(def.body);
                if is_async {
                    walker.frame().suspended = true;
                }
                def.name.to_owned()
            },
            def.body,
            None,
        );
        if has_params {
            self.scopes.pop();
        }
        held.join(&made);
        self.decorate(def.decorators, &decorators, &mut held);
        let from = def.decorators.last().map_or(start_of(def), end_of);
        let range = self.header_name(def.name, from, def.range().end().to_usize());
        self.store(def.name, held, OccurrenceKind::Define, range);
    }

    /// The name after `def` or `class`.
    fn header_name(&self, name: &str, from: usize, to: usize) -> Option<std::ops::Range<usize>> {
        let keyword = self.find("def", from..to);
        let keyword = match self.find("class", from..to) {
            Some(class) if keyword.as_ref().is_none_or(|def| class.start < def.start) => Some(class),
            _ => keyword,
        };
        self.find(name, keyword.map_or(from, |keyword| keyword.end)..to)
    }

    fn decorate(&mut self, decorators: &[Expr], values: &[Held], held: &mut Held) {
        for (decorator, value) in decorators.iter().zip(values).rev() {
            self.consume(value);
            if !is_quiet(decorator) {
                let made = held.clone();
                self.consume(&made);
            }
            held.join(&value.clone().content());
        }
    }

    pub(super) fn lambda(&mut self, e: &ast::ExprLambda) -> Held {
        let mut held = self.defaults(&e.args);
        let body = &e.body;
        let made = self.closure(
            e,
            &e.args,
            |walker| {
                let held = walker.expr(body);
                walker.frame().returns.join(&held);
                "<lambda>".to_owned()
            },
            &[],
            Some(body),
        );
        held.join(&made);
        held
    }

    /// Evaluates defaults, in order.
    fn defaults(&mut self, args: &ast::Arguments) -> Held {
        let mut held = Held::default();
        for arg in args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs) {
            if let Some(default) = &arg.default {
                held.join(&self.expr(default));
            }
        }
        held.content()
    }

    /// Reads a body that runs when it is called. At the step's own level its effects are summed; within a
    /// function they are added to that function's, as something that may happen.
    fn closure(
        &mut self,
        node: &impl Ranged,
        args: &ast::Arguments,
        read: impl FnOnce(&mut Self) -> String,
        body: &[Stmt],
        expression: Option<&Expr>,
    ) -> Held {
        let mut binder = Binder::new(self, ScopeKind::Function);
        let positional = args.posonlyargs.len() + args.args.len();
        for arg in args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs) {
            binder.parameter(&arg.def.arg);
        }
        for arg in args.vararg.iter().chain(&args.kwarg) {
            binder.parameter(&arg.arg);
        }
        binder.body(body);
        if let Some(expression) = expression {
            binder.expression(expression);
        }
        let mut scope = binder.finish();
        if self.in_function() {
            self.inner(scope, read);
            return Held { own: true, ..Held::default() };
        }
        scope.summed = true;
        let parameters: Vec<String> =
            scope.parameters.iter().map(|parameter| self.text_of(*parameter).to_owned()).collect();
        let id = self.summed(node, |walker| {
            walker.scopes.push(scope);
            let name = read(walker);
            walker.scopes.pop();
            name
        });
        let each = args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs).enumerate();
        let defaults: Vec<(usize, &Expr)> =
            each.filter_map(|(place, arg)| Some((place, arg.default.as_deref()?))).collect();
        let defaults = defaults
            .into_iter()
            .filter_map(|(place, default)| match self.root(default) {
                Some(Root::Name(name)) => Some((place, name)),
                _ => None,
            })
            .collect();
        if let Some(summary) = self.functions.get_mut(id as usize).and_then(std::rc::Rc::get_mut) {
            summary.parameters = parameters;
            summary.positional = positional;
            summary.defaults = defaults;
        }
        Held::function(id)
    }

    /// Reads a function within a function: it may be called, or not.
    fn inner(&mut self, scope: Scope, read: impl FnOnce(&mut Self) -> String) {
        let before = self.state().clone();
        let frame = self.frame();
        let exit = frame.exit.take();
        let loops = std::mem::take(&mut frame.loops);
        let suspended = frame.suspended;
        let (caught, swallows) = (std::mem::take(&mut frame.caught), frame.swallows);
        let returns = frame.returns.clone();
        self.scopes.push(scope);
        read(self);
        self.scopes.pop();
        let frame = self.frame();
        frame.exit = exit;
        frame.loops = loops;
        frame.suspended = suspended;
        (frame.caught, frame.swallows) = (caught, swallows);
        frame.returns = returns;
        frame.state = before;
    }

    /// Reads code into a frame of its own and keeps the sum of its effects.
    pub(super) fn summed(&mut self, node: &impl Ranged, read: impl FnOnce(&mut Self) -> String) -> FunctionId {
        let key = (node.range().start().into(), node.range().end().into(), self.placeless > 0);
        if let Some(id) = self.made_at.get(&key) {
            return *id;
        }
        let dead = self.is_dead();
        self.frames.push(Frame::default());
        // What is made by code that never runs does nothing.
        self.state().dead = dead;
        let name = read(self);
        let Some(mut frame) = self.frames.pop() else { return 0 };
        if let Some(exit) = frame.exit.take() {
            frame.state.join(&exit);
        }
        let id = self.functions.len() as FunctionId;
        let summary = self.summarise(name, frame);
        self.functions.push(std::rc::Rc::new(summary));
        self.made_at.insert(key, id);
        id
    }

    fn summarise(&mut self, name: String, frame: Frame) -> Summary {
        let state = &frame.state;
        // A body that never ends of itself is certain of nothing.
        let sure = |slot| !state.dead && state.sure.contains(slot);
        let certainty = |slot| if sure(slot) { Certainty::Certain } else { Certainty::Possible };
        let mut writes = Vec::new();
        for written in frame.writes.iter() {
            let bound = certainty(written);
            let changed = self.changed_slots.get(&written).map_or(Certainty::Possible, |slot| certainty(*slot));
            writes.push(Write {
                name: written,
                bound,
                written: bound.min(changed),
                held: frame.stored.get(&written).cloned().unwrap_or_default(),
            });
        }
        let mut changes: BTreeMap<usize, Certainty> = BTreeMap::new();
        for (parameter, slot) in &frame.changes {
            let how = changes.entry(*parameter).or_insert(Certainty::Possible);
            *how = (*how).min(certainty(*slot));
        }
        let calls = frame.calls.iter().map(|call| (call.clone(), certainty(call.slot))).collect();
        Summary {
            name,
            parameters: Vec::new(),
            positional: 0,
            defaults: BTreeMap::new(),
            reads: frame.reads.iter().collect(),
            writes,
            changes,
            calls,
            returns: frame.returns,
            suspended: frame.suspended,
            swallows: frame.swallows,
            opaque: frame.opaque,
            reads_everything: frame.reads_everything,
            writes_anything: frame.writes_anything,
            methods: BTreeMap::new(),
            is_class: false,
        }
    }

    // Classes.

    pub(super) fn class_def(&mut self, def: &ast::StmtClassDef) {
        let decorators: Vec<Held> = def.decorator_list.iter().map(|decorator| self.expr(decorator)).collect();
        let has_params = self.open_type_params(&def.type_params, Some(&def.name));
        let mut held = Held::default();
        for base in &def.bases {
            held.join(&self.expr(base));
        }
        for keyword in &def.keywords {
            held.join(&self.expr(&keyword.value));
        }
        // `__init_subclass__`, `__prepare__` and the metaclass run.
        self.consume(&held);
        self.classes += 1;
        let class = Some((self.classes, def.name.trim_start_matches('_').to_owned()));
        // Open first, so that what is private is mangled in what the class binds too.
        self.scopes.push(Scope { kind: ScopeKind::Class, class: class.clone(), ..Scope::default() });
        let mut binder = Binder::new(self, ScopeKind::Class);
        binder.body(&def.body);
        let scope = binder.finish();
        self.scopes.pop();
        self.scopes.push(Scope { class, ..scope });
        self.class_held.push(Held::default());
        let first = self.functions.len();
        self.body(&def.body);
        let attributes = self.class_held.pop().unwrap_or_default();
        self.scopes.pop();
        if has_params {
            self.scopes.pop();
        }
        if self.in_function() {
            held.own |= attributes.own;
        } else {
            held.join(&self.class_summary(def, first, &attributes));
        }
        held.join(&attributes);
        held = held.content();
        self.decorate(&def.decorator_list, &decorators, &mut held);
        let from = def.decorator_list.last().map_or(start_of(def), end_of);
        let range = self.header_name(&def.name, from, def.range().end().to_usize());
        self.store(&def.name, held, OccurrenceKind::Define, range);
    }

    /// A class as something that can be called: its methods may run whenever it or an instance is used.
    fn class_summary(&mut self, def: &ast::StmtClassDef, first: usize, attributes: &Held) -> Held {
        let key = (def.range().start().into(), def.range().end().into(), self.placeless > 0);
        if let Some(id) = self.made_at.get(&key) {
            return Held::function(*id);
        }
        let mut methods = BTreeMap::new();
        for id in first..self.functions.len() {
            if let Some(function) = self.functions.get(id)
                && attributes.functions.contains(&(id as FunctionId))
            {
                methods.insert(function.name.clone(), id as FunctionId);
            }
        }
        let id = self.functions.len() as FunctionId;
        let name = def.name.as_str().to_owned();
        self.functions.push(std::rc::Rc::new(Summary { name, methods, is_class: true, ..Summary::default() }));
        self.made_at.insert(key, id);
        Held::function(id)
    }

    // Type parameters and annotations.

    /// Opens the scope of `[T: bound = default]`; gives whether there is one.
    fn open_type_params(&mut self, params: &[TypeParam], class: Option<&str>) -> bool {
        if params.is_empty() {
            return false;
        }
        let mut locals = HashSet::new();
        for param in params {
            let (TypeParam::TypeVar(ast::TypeParamTypeVar { name, .. })
            | TypeParam::ParamSpec(ast::TypeParamParamSpec { name, .. })
            | TypeParam::TypeVarTuple(ast::TypeParamTypeVarTuple { name, .. })) = param;
            locals.insert(self.intern_mangled(name));
            // The class's own body looks for it by its private name.
            if let Some(class) = class.map(|class| class.trim_start_matches('_')).filter(|class| !class.is_empty())
                && name.starts_with("__")
                && !name.ends_with("__")
            {
                locals.insert(self.intern(&format!("_{class}{name}")));
            }
        }
        self.scopes.push(plain_scope(ScopeKind::TypeParameters, locals));
        for param in params {
            if let TypeParam::TypeVar(ast::TypeParamTypeVar { bound: Some(bound), .. }) = param {
                self.lazy(bound);
            }
        }
        true
    }

    pub(super) fn type_alias(&mut self, s: &ast::StmtTypeAlias) {
        let has_params = self.open_type_params(&s.type_params, None);
        let held = self.lazy(&s.value);
        if has_params {
            self.scopes.pop();
        }
        self.assign_target(&s.name, &held);
    }

    /// An expression that is evaluated when its value is first asked for.
    fn lazy(&mut self, e: &Expr) -> Held {
        if matches!(e, Expr::Constant(_)) {
            return Held::default();
        }
        let scope = Scope { kind: ScopeKind::TypeParameters, ..Scope::default() };
        let read = |walker: &mut Self| {
            walker.scopes.push(scope);
            walker.expr_used(Some(e));
            walker.scopes.pop();
            "<lazy>".to_owned()
        };
        if self.in_function() {
            self.inner(Scope { kind: ScopeKind::TypeParameters, ..Scope::default() }, read);
            return Held { own: true, ..Held::default() };
        }
        let id = self.summed(e, read);
        Held::function(id)
    }

    fn annotations(&mut self, args: &ast::Arguments, returns: Option<&Expr>) {
        let mut each: Vec<&Expr> = Vec::new();
        let annotation = |arg: &'_ Arg| arg.annotation.is_some();
        for arg in args.posonlyargs.iter().chain(&args.args) {
            each.extend(arg.def.annotation.as_deref());
        }
        for arg in args.vararg.iter().filter(|arg| annotation(arg)) {
            each.extend(arg.annotation.as_deref());
        }
        for arg in &args.kwonlyargs {
            each.extend(arg.def.annotation.as_deref());
        }
        for arg in args.kwarg.iter().filter(|arg| annotation(arg)) {
            each.extend(arg.annotation.as_deref());
        }
        each.extend(returns);
        for annotation in each {
            self.annotation(annotation);
        }
    }

    /// Whether annotations of variables are evaluated where the walk stands: not for locals of a function.
    pub(super) fn annotations_of_variables_count(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.kind != ScopeKind::Function)
    }

    pub(super) fn annotation(&mut self, annotation: &Expr) {
        if self.postponed {
            return;
        }
        if self.python.lazy_annotations() {
            self.lazy(annotation);
        } else {
            self.expr_used(Some(annotation));
        }
    }

    /// At the step's end, every function that it made may be called by whoever comes later.
    pub(super) fn end_of_step(&mut self) {
        if self.is_dead() {
            // It always fails before its end. What it did before then is not told apart.
            let state = self.state();
            state.dead = false;
            state.sure = super::BitSet::default();
        }
        let functions = self.functions.clone();
        for function in &functions {
            for name in &function.reads {
                self.read(*name, false);
            }
        }
    }
}

fn is_quiet(decorator: &Expr) -> bool {
    match decorator {
        Expr::Name(name) => QUIET_DECORATORS.contains(&name.id.as_str()),
        Expr::Attribute(attribute) => QUIET_DECORATORS.contains(&attribute.attr.as_str()),
        Expr::Call(call) => is_quiet(&call.func),
        _ => false,
    }
}
