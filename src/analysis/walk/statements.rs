//! Statements, in order of execution.

use rustpython_parser::ast::{self, Constant, Expr, Ranged, Stmt};

use super::super::OccurrenceKind;
use super::scope::Place;
use super::state::{Held, State, join_into};
use super::{LoopExits, Walker, end_of, start_of};

impl Walker<'_> {
    pub(super) fn body(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(def) => self.function_def(&super::definitions::Def::from(def)),
            Stmt::AsyncFunctionDef(def) => self.function_def(&super::definitions::Def::from(def)),
            Stmt::ClassDef(def) => self.class_def(def),
            Stmt::Return(s) => {
                let held = s.value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                let frame = self.frame();
                frame.swallows |= s.value.as_deref().is_some_and(|value| truth(value) != Some(false));
                frame.returns.join(&held);
                let state = frame.state.clone();
                join_into(&mut frame.exit, &state);
                frame.state.dead = true;
            }
            Stmt::Delete(s) => s.targets.iter().for_each(|target| self.delete_target(target)),
            Stmt::Assign(s) => {
                let held = self.expr(&s.value);
                s.targets.iter().for_each(|target| self.assign_target(target, &held));
            }
            Stmt::TypeAlias(s) => self.type_alias(s),
            Stmt::AugAssign(s) => self.augmented(s),
            Stmt::AnnAssign(s) => self.annotated(s),
            Stmt::For(s) => self.for_loop(&s.target, &s.iter, &s.body, &s.orelse),
            Stmt::AsyncFor(s) => self.for_loop(&s.target, &s.iter, &s.body, &s.orelse),
            Stmt::While(s) => self.while_loop(s),
            Stmt::If(s) => self.branch(s),
            Stmt::With(s) => self.with(&s.items, &s.body),
            Stmt::AsyncWith(s) => self.with(&s.items, &s.body),
            Stmt::Match(s) => self.match_statement(s),
            Stmt::Raise(s) => {
                self.expr_used(s.exc.as_deref());
                self.expr_used(s.cause.as_deref());
                self.state().dead = true;
            }
            Stmt::Try(s) => self.tries(&s.body, &s.handlers, &s.orelse, &s.finalbody),
            Stmt::TryStar(s) => self.tries(&s.body, &s.handlers, &s.orelse, &s.finalbody),
            Stmt::Assert(s) => {
                self.expr_used(Some(&s.test));
                if let Some(message) = &s.msg {
                    // Evaluated only on the way to the error.
                    let before = self.state().clone();
                    self.expr_used(Some(message));
                    *self.state() = before;
                }
            }
            Stmt::Import(s) => self.import(s),
            Stmt::ImportFrom(s) => self.import_from(s),
            Stmt::Global(s) => self.declare_global(s),
            Stmt::Nonlocal(_) | Stmt::Pass(_) => {}
            Stmt::Expr(s) => {
                let held = self.expr(&s.value);
                // A shown value has its `__repr__` called.
                self.consume(&held);
            }
            Stmt::Break(_) => {
                let frame = self.frame();
                let state = frame.state.clone();
                if let Some(exits) = frame.loops.last_mut() {
                    join_into(&mut exits.breaks, &state);
                }
                frame.state.dead = true;
            }
            // The loop's head is certain of no more than what was certain before the loop.
            Stmt::Continue(_) => self.state().dead = true,
        }
    }

    /// Evaluates an expression whose value is used at once.
    pub(super) fn expr_used(&mut self, expression: Option<&Expr>) {
        if let Some(expression) = expression {
            let held = self.expr(expression);
            self.consume(&held);
        }
    }

    fn declare_global(&mut self, s: &ast::StmtGlobal) {
        let within = start_of(s)..s.range().end().to_usize();
        let mut from = within.start;
        for identifier in &s.names {
            let name = self.intern_mangled(identifier);
            let range = self.find(identifier, from..within.end);
            if let Some(range) = &range {
                from = range.end;
            }
            self.note(name, OccurrenceKind::Declare, range, false);
            if let Some(name) = self.name_of(name).cloned() {
                self.declared.insert(name);
            }
        }
    }

    // Assignment.

    /// Stores into a target, left to right.
    pub(super) fn assign_target(&mut self, target: &Expr, held: &Held) {
        match target {
            Expr::Name(name) => {
                let range = self.range(name);
                self.store(&name.id, held.clone(), OccurrenceKind::Bind, range);
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                // Unpacking runs the value's `__iter__`.
                self.consume(held);
                let part = held.clone().element();
                elts.iter().for_each(|target| self.assign_target(target, &part));
            }
            Expr::Starred(starred) => self.assign_target(&starred.value, held),
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                self.consume(&object);
                self.store_attribute(attribute, held);
                self.change(&attribute.value, &object, held);
            }
            Expr::Subscript(subscript) => {
                if let Some(name) = self.namespace_key(subscript) {
                    self.write_global(name, held.clone());
                    return;
                }
                let object = self.expr(&subscript.value);
                self.consume(&object);
                self.expr_used(Some(&subscript.slice));
                self.change(&subscript.value, &object, held);
            }
            // No target at all: CPython refuses it, and says so when the step is compiled.
            other => self.expr_used(Some(other)),
        }
    }

    fn delete_target(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) => {
                let range = self.range(name);
                self.delete(&name.id, range);
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                elts.iter().for_each(|target| self.delete_target(target));
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                self.consume(&object);
                self.change(&attribute.value, &object, &Held::default());
            }
            Expr::Subscript(subscript) => {
                if let Some(name) = self.namespace_key(subscript) {
                    self.read(name, true);
                    self.write_global(name, Held::default());
                    return;
                }
                let object = self.expr(&subscript.value);
                self.consume(&object);
                self.expr_used(Some(&subscript.slice));
                self.change(&subscript.value, &object, &Held::default());
            }
            other => self.expr_used(Some(other)),
        }
    }

    fn augmented(&mut self, s: &ast::StmtAugAssign) {
        match &*s.target {
            Expr::Name(name) => {
                let range = self.range(name);
                let old = self.load(&name.id, range.clone());
                self.consume(&old);
                let held = self.expr(&s.value);
                self.consume(&held);
                // `+=` changes a list in place, whatever other names it has; a number it does not. Which of
                // them it is can be seen only if a container is added.
                if is_display(&s.value) {
                    self.change_aliases(&old);
                }
                let mut both = old;
                both.join(&held);
                self.store(&name.id, both, OccurrenceKind::Bind, range);
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                self.consume(&object);
                let held = self.expr(&s.value);
                self.consume(&held);
                self.store_attribute(attribute, &held);
                self.change(&attribute.value, &object, &held);
            }
            Expr::Subscript(subscript) => {
                if let Some(name) = self.namespace_key(subscript) {
                    let mut held = self.load_global(name, None);
                    held.join(&self.expr(&s.value));
                    self.consume(&held);
                    self.write_global(name, held);
                    return;
                }
                let object = self.expr(&subscript.value);
                self.consume(&object);
                self.expr_used(Some(&subscript.slice));
                let held = self.expr(&s.value);
                self.consume(&held);
                self.change(&subscript.value, &object, &held);
            }
            other => {
                self.expr_used(Some(other));
                self.expr_used(Some(&s.value));
            }
        }
    }

    fn annotated(&mut self, s: &ast::StmtAnnAssign) {
        if let Some(value) = &s.value {
            let held = self.expr(value);
            self.assign_target(&s.target, &held);
        } else {
            // Nothing is bound; but `a[i]: int` evaluates `a` and `i`.
            match &*s.target {
                Expr::Attribute(attribute) => self.expr_used(Some(&attribute.value)),
                Expr::Subscript(subscript) => {
                    self.expr_used(Some(&subscript.value));
                    self.expr_used(Some(&subscript.slice));
                }
                _ => {}
            }
        }
        if self.annotations_of_variables_count() {
            self.annotation(&s.annotation);
        }
    }

    // Branches and loops.

    fn branch(&mut self, s: &ast::StmtIf) {
        self.expr_used(Some(&s.test));
        match truth(&s.test) {
            Some(true) => {
                self.body(&s.body);
                self.unreachable(&s.orelse);
            }
            Some(false) => {
                self.unreachable(&s.body);
                self.body(&s.orelse);
            }
            None => {
                let before = self.state().clone();
                self.body(&s.body);
                let after = std::mem::replace(self.state(), before);
                self.body(&s.orelse);
                self.state().join(&after);
            }
        }
    }

    /// Reads code that never runs, for the places of its names.
    fn unreachable(&mut self, body: &[Stmt]) {
        if body.is_empty() {
            return;
        }
        let before = self.state().clone();
        self.state().dead = true;
        self.body(body);
        *self.state() = before;
    }

    fn while_loop(&mut self, s: &ast::StmtWhile) {
        let constant = truth(&s.test);
        if constant == Some(false) {
            self.unreachable(&s.body);
            self.body(&s.orelse);
            return;
        }
        let breaks = self.looped(|walker| {
            walker.expr_used(Some(&s.test));
            let after_test = walker.state().clone();
            walker.body(&s.body);
            after_test
        });
        if constant == Some(true) {
            self.unreachable(&s.orelse);
            self.state().dead = true;
        } else {
            self.body(&s.orelse);
        }
        if let Some(breaks) = breaks {
            self.state().join(&breaks);
        }
    }

    fn for_loop(&mut self, target: &Expr, iter: &Expr, body: &[Stmt], orelse: &[Stmt]) {
        let held = self.expr(iter);
        self.consume(&held);
        let element = held.element();
        let breaks = self.looped(|walker| {
            let before = walker.state().clone();
            walker.assign_target(target, &element);
            walker.body(body);
            before
        });
        self.body(orelse);
        if let Some(breaks) = breaks {
            self.state().join(&breaks);
        }
    }

    /// Reads a loop. `body` reads one turn and gives the state in which the loop may be left at its head;
    /// what is given back is the state of all `break`s.
    fn looped(&mut self, mut body: impl FnMut(&mut Self) -> State) -> Option<State> {
        let head = self.state().clone();
        self.frame().loops.push(LoopExits::default());
        self.frame().weak += 1;
        let mut leave = body(self);
        let end = self.state().clone();
        if !self.in_function() && self.again < 2 && *end.bound != *head.bound {
            // A function bound late in the loop may be called early in the next turn.
            *self.state() = head;
            self.state().join_bound(&end);
            self.again += 1;
            leave.join_bound(&body(self));
            self.again -= 1;
            let again = self.state().clone();
            leave.join_bound(&again);
        }
        leave.join_bound(&end);
        if !end.dead {
            // Only a class's own names can be less certain after a turn: they may be deleted again.
            leave.sure.meet(&end.sure);
        }
        self.frame().weak -= 1;
        *self.state() = leave;
        self.frame().loops.pop().and_then(|exits| exits.breaks)
    }

    // With, try.

    fn with(&mut self, items: &[ast::WithItem], body: &[Stmt]) {
        let mut swallows = false;
        for item in items {
            let held = self.expr(&item.context_expr);
            self.consume(&held);
            swallows |= self.may_swallow(&item.context_expr, &held);
            if let Some(target) = &item.optional_vars {
                self.assign_target(target, &held);
            }
        }
        if swallows {
            let before = self.state().clone();
            self.caught(body);
            self.state().join_bound(&before);
            let (sure, dead) = (before.sure, before.dead);
            self.state().sure = sure;
            self.state().dead = dead;
        } else {
            self.body(body);
        }
    }

    /// Reads what may end anywhere, without the error going further.
    fn caught(&mut self, body: &[Stmt]) {
        self.frame().weak += 1;
        self.frame().caught += 1;
        self.body(body);
        self.frame().caught -= 1;
        self.frame().weak -= 1;
    }

    fn tries(&mut self, body: &[Stmt], handlers: &[ast::ExceptHandler], orelse: &[Stmt], finalbody: &[Stmt]) {
        let before = self.state().clone();
        let ends = |stmt: &Stmt| matches!(stmt, Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_));
        if handlers.is_empty() && !finalbody.iter().any(ends) {
            self.frame().weak += 1;
            self.body(body);
            self.frame().weak -= 1;
        } else {
            self.caught(body);
        }
        // An error may come before anything in the body is done.
        let mut failed = self.state().clone();
        if failed.dead {
            failed.sure = before.sure.clone();
        } else {
            failed.sure.meet(&before.sure);
        }
        failed.dead = before.dead;
        failed.join_bound(&before);
        self.body(orelse);
        let mut normal = self.state().clone();
        let mut thrown = failed.clone();
        for ast::ExceptHandler::ExceptHandler(handler) in handlers {
            *self.state() = failed.clone();
            self.handler(handler);
            // The next handler's type is evaluated only if this one did not match.
            let after = self.state().clone();
            thrown.join_bound(&after);
            normal.join(&after);
        }
        thrown.join_bound(&normal);
        if finalbody.is_empty() {
            *self.state() = normal;
            return;
        }
        // Whatever happened, it runs: in the worst case after nothing else.
        *self.state() = thrown;
        self.body(finalbody);
        let last = self.state().clone();
        if !normal.dead {
            normal.sure.join(&last.sure);
        }
        normal.dead |= last.dead;
        normal.bound = last.bound;
        *self.state() = normal;
    }

    fn handler(&mut self, handler: &ast::ExceptHandlerExceptHandler) {
        let mut from = handler.range().start().to_usize();
        if let Some(kind) = &handler.type_ {
            self.expr_used(Some(kind));
            from = end_of(kind);
        }
        let Some(identifier) = &handler.name else {
            self.body(&handler.body);
            return;
        };
        let to = handler.body.first().map_or(handler.range().end().to_usize(), |s| s.range().start().to_usize());
        let range = self.find(identifier, from..to);
        self.store(identifier, Held::default(), OccurrenceKind::Bind, range);
        self.body(&handler.body);
        // It is unbound again, on whatever way the handler ends.
        let name = self.intern_mangled(identifier);
        match self.resolve(name) {
            Place::Class(scope) => {
                let slot = self.class_slot(scope, name);
                self.state().sure.remove(slot);
            }
            Place::Global => self.write_global(name, Held::default()),
            Place::Local(_) => {}
        }
    }
}

/// Whether a test is constant. CPython leaves such branches out of the code.
fn truth(test: &Expr) -> Option<bool> {
    match test {
        Expr::Constant(constant) => match &constant.value {
            Constant::None => Some(false),
            Constant::Bool(value) => Some(*value),
            Constant::Str(text) => Some(!text.is_empty()),
            Constant::Bytes(bytes) => Some(!bytes.is_empty()),
            Constant::Int(value) => Some(value.bits() != 0),
            Constant::Ellipsis => Some(true),
            _ => None,
        },
        Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, operand, .. }) => truth(operand).map(|value| !value),
        _ => None,
    }
}

fn is_display(value: &Expr) -> bool {
    matches!(
        value,
        Expr::List(_) | Expr::Set(_) | Expr::Dict(_) | Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_)
    )
}
