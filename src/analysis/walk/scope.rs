//! Which scope a name belongs to, by Python's rules.

use std::collections::HashSet;

use rustpython_parser::ast::{self, Expr, Pattern, Ranged, Stmt};

use super::Walker;
use super::state::Slot;

/// A scope that is open at the place being read.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub kind: ScopeKind,
    /// Names bound in it.
    pub locals: HashSet<Slot>,
    /// Names declared `global` in it.
    pub globals: HashSet<Slot>,
    /// Names declared `nonlocal` in it.
    pub nonlocals: HashSet<Slot>,
    /// For a function: its parameters in order.
    pub parameters: Vec<Slot>,
    /// For the function whose effects are being summed: that a parameter of it can be told by its place.
    pub summed: bool,
    /// For a class: its number, and its name without leading underscores.
    pub class: Option<(u32, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ScopeKind {
    #[default]
    Module,
    Function,
    Class,
    Comprehension,
    /// The scope of `[T]` after a function's or a class's name.
    TypeParameters,
}

/// Where a name is looked up or stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The run's namespace.
    Global,
    /// A local of a function or a comprehension: that scope's place in the stack.
    Local(usize),
    /// The class body being read.
    Class(usize),
}

impl Walker<'_> {
    /// Where a name is looked up.
    pub(super) fn resolve(&self, name: Slot) -> Place {
        let mut class_visible = true;
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            match scope.kind {
                ScopeKind::Module => return Place::Global,
                ScopeKind::Class => {
                    if class_visible {
                        if scope.globals.contains(&name) {
                            return Place::Global;
                        }
                        if !scope.nonlocals.contains(&name) && scope.locals.contains(&name) {
                            return Place::Class(at);
                        }
                    }
                    if !class_visible && name == self.class_cell {
                        return Place::Local(at);
                    }
                    class_visible = false;
                }
                ScopeKind::TypeParameters => {
                    if scope.locals.contains(&name) {
                        return Place::Local(at);
                    }
                }
                ScopeKind::Function | ScopeKind::Comprehension => {
                    if scope.globals.contains(&name) {
                        return Place::Global;
                    }
                    if !scope.nonlocals.contains(&name) && scope.locals.contains(&name) {
                        return Place::Local(at);
                    }
                    class_visible = false;
                }
            }
        }
        Place::Global
    }

    /// Where `:=` stores a name: the nearest scope that is no comprehension.
    pub(super) fn resolve_walrus(&self, name: Slot) -> Place {
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            match scope.kind {
                ScopeKind::Comprehension | ScopeKind::TypeParameters => {}
                ScopeKind::Module => return Place::Global,
                ScopeKind::Class if scope.globals.contains(&name) => return Place::Global,
                ScopeKind::Class => return Place::Class(at),
                ScopeKind::Function if scope.globals.contains(&name) => return Place::Global,
                ScopeKind::Function if scope.nonlocals.contains(&name) => return self.resolve(name),
                ScopeKind::Function => return Place::Local(at),
            }
        }
        Place::Global
    }
}

/// Collects the names that a function's or a class's body binds, without going into inner functions.
pub(super) struct Binder<'w, 's> {
    walker: &'w mut Walker<'s>,
    scope: Scope,
}

impl<'w, 's> Binder<'w, 's> {
    pub fn new(walker: &'w mut Walker<'s>, kind: ScopeKind) -> Self {
        Self { walker, scope: Scope { kind, ..Scope::default() } }
    }

    pub fn parameter(&mut self, name: &str) {
        let slot = self.walker.intern_mangled(name);
        self.scope.locals.insert(slot);
        self.scope.parameters.push(slot);
    }

    fn bind(&mut self, name: &str) {
        let slot = self.walker.intern_mangled(name);
        self.scope.locals.insert(slot);
    }

    pub fn finish(self) -> Scope {
        let mut scope = self.scope;
        // A declared name is no local, wherever the declaration stands.
        scope.locals.retain(|name| !scope.globals.contains(name) && !scope.nonlocals.contains(name));
        scope
    }

    pub fn body(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.bind(&def.name);
                self.function_header(&def.args, &def.decorator_list, def.returns.as_deref());
            }
            Stmt::AsyncFunctionDef(def) => {
                self.bind(&def.name);
                self.function_header(&def.args, &def.decorator_list, def.returns.as_deref());
            }
            Stmt::ClassDef(def) => {
                self.bind(&def.name);
                self.all(&def.bases);
                self.all(&def.decorator_list);
                for keyword in &def.keywords {
                    self.expression(&keyword.value);
                }
            }
            Stmt::Return(s) => self.maybe(s.value.as_deref()),
            Stmt::Delete(s) => {
                for target in &s.targets {
                    self.target(target);
                }
            }
            Stmt::Assign(s) => {
                self.expression(&s.value);
                for target in &s.targets {
                    self.target(target);
                }
            }
            Stmt::TypeAlias(s) => self.target(&s.name),
            Stmt::AugAssign(s) => {
                self.target(&s.target);
                self.expression(&s.value);
            }
            Stmt::AnnAssign(s) => {
                // A bare annotation makes a local too, but for one in parentheses: `(x): int`.
                let bare = s.value.is_none() && matches!(&*s.target, Expr::Name(_));
                if !bare || s.range.start() == s.target.range().start() {
                    self.target(&s.target);
                }
                self.expression(&s.annotation);
                self.maybe(s.value.as_deref());
            }
            Stmt::For(s) => {
                self.target(&s.target);
                self.expression(&s.iter);
                self.body(&s.body);
                self.body(&s.orelse);
            }
            Stmt::AsyncFor(s) => {
                self.target(&s.target);
                self.expression(&s.iter);
                self.body(&s.body);
                self.body(&s.orelse);
            }
            Stmt::While(s) => {
                self.expression(&s.test);
                self.body(&s.body);
                self.body(&s.orelse);
            }
            Stmt::If(s) => {
                self.expression(&s.test);
                self.body(&s.body);
                self.body(&s.orelse);
            }
            Stmt::With(s) => self.with(&s.items, &s.body),
            Stmt::AsyncWith(s) => self.with(&s.items, &s.body),
            Stmt::Match(s) => {
                self.expression(&s.subject);
                for case in &s.cases {
                    self.pattern(&case.pattern);
                    self.maybe(case.guard.as_deref());
                    self.body(&case.body);
                }
            }
            Stmt::Raise(s) => {
                self.maybe(s.exc.as_deref());
                self.maybe(s.cause.as_deref());
            }
            Stmt::Try(s) => self.tries(&s.body, &s.handlers, &s.orelse, &s.finalbody),
            Stmt::TryStar(s) => self.tries(&s.body, &s.handlers, &s.orelse, &s.finalbody),
            Stmt::Assert(s) => {
                self.expression(&s.test);
                self.maybe(s.msg.as_deref());
            }
            Stmt::Import(s) => {
                for alias in &s.names {
                    match &alias.asname {
                        Some(name) => self.bind(name),
                        None => self.bind(alias.name.split('.').next().unwrap_or_default()),
                    }
                }
            }
            Stmt::ImportFrom(s) => {
                for alias in &s.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    if name.as_str() != "*" {
                        self.bind(name);
                    }
                }
            }
            Stmt::Global(s) => {
                for name in &s.names {
                    let slot = self.walker.intern_mangled(name);
                    self.scope.globals.insert(slot);
                }
            }
            Stmt::Nonlocal(s) => {
                for name in &s.names {
                    let slot = self.walker.intern_mangled(name);
                    self.scope.nonlocals.insert(slot);
                }
            }
            Stmt::Expr(s) => self.expression(&s.value),
            Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => {}
        }
    }

    fn function_header(&mut self, args: &ast::Arguments, decorators: &[Expr], returns: Option<&Expr>) {
        self.all(decorators);
        for arg in args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs) {
            self.maybe(arg.default.as_deref());
            self.maybe(arg.def.annotation.as_deref());
        }
        for arg in args.vararg.iter().chain(&args.kwarg) {
            self.maybe(arg.annotation.as_deref());
        }
        self.maybe(returns);
    }

    fn with(&mut self, items: &[ast::WithItem], body: &[Stmt]) {
        for item in items {
            self.expression(&item.context_expr);
            if let Some(target) = &item.optional_vars {
                self.target(target);
            }
        }
        self.body(body);
    }

    fn tries(&mut self, body: &[Stmt], handlers: &[ast::ExceptHandler], orelse: &[Stmt], finalbody: &[Stmt]) {
        self.body(body);
        for ast::ExceptHandler::ExceptHandler(handler) in handlers {
            self.maybe(handler.type_.as_deref());
            if let Some(name) = &handler.name {
                self.bind(name);
            }
            self.body(&handler.body);
        }
        self.body(orelse);
        self.body(finalbody);
    }

    fn target(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) => self.bind(&name.id),
            Expr::Tuple(t) => t.elts.iter().for_each(|e| self.target(e)),
            Expr::List(t) => t.elts.iter().for_each(|e| self.target(e)),
            Expr::Starred(s) => self.target(&s.value),
            other => self.expression(other),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::MatchValue(p) => self.expression(&p.value),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(p) => p.patterns.iter().for_each(|p| self.pattern(p)),
            Pattern::MatchMapping(p) => {
                p.patterns.iter().for_each(|p| self.pattern(p));
                if let Some(rest) = &p.rest {
                    self.bind(rest);
                }
            }
            Pattern::MatchClass(p) => {
                p.patterns.iter().chain(&p.kwd_patterns).for_each(|p| self.pattern(p));
            }
            Pattern::MatchStar(p) => {
                if let Some(name) = &p.name {
                    self.bind(name);
                }
            }
            Pattern::MatchAs(p) => {
                if let Some(inner) = &p.pattern {
                    self.pattern(inner);
                }
                if let Some(name) = &p.name {
                    self.bind(name);
                }
            }
            Pattern::MatchOr(p) => p.patterns.iter().for_each(|p| self.pattern(p)),
        }
    }

    fn all(&mut self, expressions: &[Expr]) {
        for expression in expressions {
            self.expression(expression);
        }
    }

    fn maybe(&mut self, expression: Option<&Expr>) {
        if let Some(expression) = expression {
            self.expression(expression);
        }
    }

    fn comprehension(&mut self, elements: &[&Expr], generators: &[ast::Comprehension]) {
        for element in elements {
            self.expression(element);
        }
        for generator in generators {
            self.expression(&generator.iter);
            self.all(&generator.ifs);
        }
    }

    /// Only `:=` binds in an expression. It binds here from within comprehensions, not from within lambdas.
    pub fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::NamedExpr(e) => {
                self.target(&e.target);
                self.expression(&e.value);
            }
            Expr::BoolOp(e) => self.all(&e.values),
            Expr::BinOp(e) => {
                self.expression(&e.left);
                self.expression(&e.right);
            }
            Expr::UnaryOp(e) => self.expression(&e.operand),
            Expr::Lambda(e) => {
                for arg in e.args.posonlyargs.iter().chain(&e.args.args).chain(&e.args.kwonlyargs) {
                    self.maybe(arg.default.as_deref());
                }
            }
            Expr::IfExp(e) => {
                self.expression(&e.test);
                self.expression(&e.body);
                self.expression(&e.orelse);
            }
            Expr::Dict(e) => {
                e.keys.iter().flatten().for_each(|key| self.expression(key));
                self.all(&e.values);
            }
            Expr::Set(e) => self.all(&e.elts),
            Expr::ListComp(e) => self.comprehension(&[&e.elt], &e.generators),
            Expr::SetComp(e) => self.comprehension(&[&e.elt], &e.generators),
            Expr::DictComp(e) => self.comprehension(&[&e.key, &e.value], &e.generators),
            Expr::GeneratorExp(e) => self.comprehension(&[&e.elt], &e.generators),
            Expr::Await(e) => self.expression(&e.value),
            Expr::Yield(e) => self.maybe(e.value.as_deref()),
            Expr::YieldFrom(e) => self.expression(&e.value),
            Expr::Compare(e) => {
                self.expression(&e.left);
                self.all(&e.comparators);
            }
            Expr::Call(e) => {
                self.expression(&e.func);
                self.all(&e.args);
                e.keywords.iter().for_each(|keyword| self.expression(&keyword.value));
            }
            Expr::FormattedValue(e) => {
                self.expression(&e.value);
                self.maybe(e.format_spec.as_deref());
            }
            Expr::JoinedStr(e) => self.all(&e.values),
            Expr::Constant(_) | Expr::Name(_) => {}
            Expr::Attribute(e) => self.expression(&e.value),
            Expr::Subscript(e) => {
                self.expression(&e.value);
                self.expression(&e.slice);
            }
            Expr::Starred(e) => self.expression(&e.value),
            Expr::List(e) => self.all(&e.elts),
            Expr::Tuple(e) => self.all(&e.elts),
            Expr::Slice(e) => {
                self.maybe(e.lower.as_deref());
                self.maybe(e.upper.as_deref());
                self.maybe(e.step.as_deref());
            }
        }
    }
}
