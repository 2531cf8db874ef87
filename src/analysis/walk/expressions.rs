//! Expressions, in order of evaluation. Each gives what its value may hold.

use std::collections::HashSet;

use rustpython_parser::ast::{self, Comprehension, Expr};

use super::super::OccurrenceKind;
use super::scope::ScopeKind;
use super::state::Held;
use super::{Walker, plain_scope, start_of};

impl Walker<'_> {
    /// Evaluates an expression whose value goes on: what is done with it is up to the caller.
    pub(super) fn expr(&mut self, expression: &Expr) -> Held {
        match expression {
            Expr::Name(name) => {
                let range = self.range(name);
                self.load(&name.id, range)
            }
            Expr::Constant(_) => Held::default(),
            Expr::Attribute(attribute) => self.attribute(attribute),
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => {
                if let Some(name) = self.namespace_key(subscript) {
                    return self.load_global(name, None);
                }
                let object = self.expr(&subscript.value);
                self.consume(&object);
                self.expr_used(Some(&subscript.slice));
                object.element()
            }
            Expr::BinOp(e) => {
                if let Some(held) = self.format_with_namespace(e) {
                    return held;
                }
                let mut held = self.expr(&e.left);
                held.join(&self.expr(&e.right));
                self.consume(&held);
                held.content()
            }
            Expr::UnaryOp(e) => {
                let held = self.expr(&e.operand);
                self.consume(&held);
                held.content()
            }
            Expr::BoolOp(e) => self.bool_op(e),
            Expr::Compare(e) => {
                if let Some(name) = self.asked_of_namespace(e) {
                    self.load_global(name, None);
                    return Held::default();
                }
                let held = self.expr(&e.left);
                self.consume(&held);
                let mut rest = e.comparators.iter();
                self.expr_used(rest.next());
                if rest.len() > 0 {
                    self.conditionally(|walker| rest.for_each(|e| walker.expr_used(Some(e))));
                }
                Held::default()
            }
            Expr::IfExp(e) => {
                self.expr_used(Some(&e.test));
                let before = self.state().clone();
                let mut held = self.expr(&e.body);
                let after = std::mem::replace(self.state(), before);
                held.join(&self.expr(&e.orelse));
                self.state().join(&after);
                held
            }
            Expr::NamedExpr(e) => {
                let held = self.expr(&e.value);
                match &*e.target {
                    Expr::Name(target) => {
                        let name = self.intern_mangled(&target.id);
                        let place = self.resolve_walrus(name);
                        let range = self.range(target);
                        self.store_at(place, name, held.clone(), OccurrenceKind::Bind, range);
                    }
                    other => self.expr_used(Some(other)),
                }
                held
            }
            Expr::Lambda(e) => self.lambda(e),
            Expr::Dict(e) => {
                let mut held = Held::default();
                for (key, value) in e.keys.iter().zip(&e.values) {
                    if let Some(key) = key {
                        held.join(&self.expr(key));
                    }
                    held.join(&self.expr(value));
                }
                held.contained()
            }
            Expr::Set(ast::ExprSet { elts, .. })
            | Expr::List(ast::ExprList { elts, .. })
            | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                if self.was_formatted(expression) {
                    elts.iter().for_each(|element| self.expr_used(Some(element)));
                    return Held::default();
                }
                let mut held = Held::default();
                for element in elts {
                    held.join(&self.expr(element));
                }
                held.contained()
            }
            Expr::ListComp(e) => self.comprehension(&[&e.elt], &e.generators),
            Expr::SetComp(e) => self.comprehension(&[&e.elt], &e.generators),
            Expr::DictComp(e) => self.comprehension(&[&e.key, &e.value], &e.generators),
            Expr::GeneratorExp(e) => self.generator(e),
            Expr::Await(e) => {
                let held = self.expr(&e.value);
                self.consume(&held);
                held
            }
            Expr::Yield(e) => {
                let held = e.value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                self.yields(&held)
            }
            Expr::YieldFrom(e) => {
                let held = self.expr(&e.value);
                self.consume(&held);
                self.yields(&held)
            }
            Expr::JoinedStr(e) => {
                e.values.iter().for_each(|value| self.expr_used(Some(value)));
                Held::default()
            }
            Expr::FormattedValue(e) => {
                self.expr_used(Some(&e.value));
                self.expr_used(e.format_spec.as_deref());
                Held::default()
            }
            Expr::Starred(e) => {
                let held = self.expr(&e.value);
                self.consume(&held);
                held.element()
            }
            Expr::Slice(e) => {
                self.expr_used(e.lower.as_deref());
                self.expr_used(e.upper.as_deref());
                self.expr_used(e.step.as_deref());
                Held::default()
            }
        }
    }

    /// Whether a tuple stands where the text has an f-string (see [`super::super::rewrite`]).
    fn was_formatted(&self, e: &Expr) -> bool {
        let at = start_of(e);
        self.parsed.as_bytes().get(at) == Some(&b'(') && self.text.as_bytes().get(at) != Some(&b'(')
    }

    fn yields(&mut self, held: &Held) -> Held {
        let frame = self.frame();
        frame.suspended = true;
        frame.swallows |= frame.caught > 0;
        frame.returns.join(&held.clone().contained());
        Held::default()
    }

    fn bool_op(&mut self, e: &ast::ExprBoolOp) -> Held {
        let mut held = Held::default();
        let mut values = e.values.iter();
        if let Some(first) = values.next() {
            held = self.expr(first);
            self.consume(&held);
        }
        // Each further value is evaluated only if all before it were, so what they bind is certain for one
        // another but not after.
        self.conditionally(|walker| {
            for value in values {
                held.join(&walker.expr(value));
                walker.consume(&held);
            }
        });
        held
    }

    /// Reads code that may not be run.
    pub(super) fn conditionally(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.state().clone();
        read(self);
        self.state().join(&before);
        self.state().dead = before.dead;
    }

    fn comprehension(&mut self, elements: &[&Expr], generators: &[Comprehension]) -> Held {
        let Some((first, rest)) = generators.split_first() else { return Held::default() };
        // The first iterable belongs to the scope outside.
        let mut iterated = self.expr(&first.iter);
        self.consume(&iterated);
        let locals = self.comprehension_locals(generators);
        self.scopes.push(plain_scope(ScopeKind::Comprehension, locals));
        self.frame().weak += 1;
        let mut held = Held::default();
        self.conditionally(|walker| {
            iterated = std::mem::take(&mut iterated).element();
            walker.assign_target(&first.target, &iterated);
            first.ifs.iter().for_each(|test| walker.expr_used(Some(test)));
            for generator in rest {
                let iterated = walker.expr(&generator.iter);
                walker.consume(&iterated);
                walker.assign_target(&generator.target, &iterated.element());
                generator.ifs.iter().for_each(|test| walker.expr_used(Some(test)));
            }
            for element in elements {
                held.join(&walker.expr(element));
            }
        });
        self.frame().weak -= 1;
        self.scopes.pop();
        held.contained()
    }

    /// A generator runs later, bit by bit: as read now as a list would be, and once more by whoever holds it.
    fn generator(&mut self, e: &ast::ExprGeneratorExp) -> Held {
        let mut held = self.comprehension(&[&e.elt], &e.generators);
        if !self.in_function() {
            self.again += 1;
            let function = self.summed(e, |walker| {
                walker.comprehension(&[&e.elt], &e.generators);
                walker.frame().suspended = true;
                "<genexpr>".to_owned()
            });
            self.again -= 1;
            held.join(&Held::function(function));
        }
        held
    }

    fn comprehension_locals(&mut self, generators: &[Comprehension]) -> HashSet<u32> {
        let mut locals = HashSet::new();
        for generator in generators {
            self.target_names(&generator.target, &mut locals);
        }
        locals
    }

    fn target_names(&mut self, target: &Expr, names: &mut HashSet<u32>) {
        match target {
            Expr::Name(name) => {
                names.insert(self.intern_mangled(&name.id));
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                elts.iter().for_each(|target| self.target_names(target, names));
            }
            Expr::Starred(starred) => self.target_names(&starred.value, names),
            _ => {}
        }
    }
}
