//! `match`: patterns bind as they go, and may bind before they fail.

use rustpython_parser::ast::{self, Expr, Pattern, Ranged};

use super::super::OccurrenceKind;
use super::Walker;
use super::state::Held;

impl Walker<'_> {
    pub(super) fn match_statement(&mut self, s: &ast::StmtMatch) {
        let subject = self.expr(&s.subject);
        self.consume(&subject);
        let subject = subject.element();
        let mut after: Option<super::State> = None;
        for case in &s.cases {
            let before = self.state().clone();
            self.pattern(&case.pattern, &subject);
            self.expr_used(case.guard.as_deref());
            let matched = self.state().clone();
            self.body(&case.body);
            let end = self.state().clone();
            super::state::join_into(&mut after, &end);
            // On to the next case: nothing of this one is certain, but its names may have been bound.
            *self.state() = before;
            self.state().join_bound(&matched);
            if case.guard.is_none() && is_irrefutable(&case.pattern) {
                self.state().dead = true;
            }
        }
        if let Some(after) = after {
            self.state().join(&after);
        }
    }

    fn pattern(&mut self, pattern: &Pattern, subject: &Held) {
        match pattern {
            Pattern::MatchValue(p) => self.expr_used(Some(&p.value)),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(p) => p.patterns.iter().for_each(|p| self.pattern(p, subject)),
            Pattern::MatchMapping(p) => {
                for (key, pattern) in p.keys.iter().zip(&p.patterns) {
                    self.expr_used(Some(key));
                    self.pattern(pattern, subject);
                }
                if let Some(rest) = &p.rest {
                    self.capture(rest, p, &subject.clone().content());
                }
            }
            Pattern::MatchClass(p) => {
                let class: &Expr = &p.cls;
                self.expr_used(Some(class));
                p.patterns.iter().chain(&p.kwd_patterns).for_each(|p| self.pattern(p, subject));
            }
            Pattern::MatchStar(p) => {
                if let Some(name) = &p.name {
                    self.capture(name, p, &subject.clone().content());
                }
            }
            Pattern::MatchAs(p) => {
                if let Some(inner) = &p.pattern {
                    self.pattern(inner, subject);
                }
                if let Some(name) = &p.name {
                    self.capture(name, p, subject);
                }
            }
            Pattern::MatchOr(p) => {
                // Each alternative is tried only if those before it failed.
                let before = self.state().clone();
                let mut after: Option<super::State> = None;
                for alternative in &p.patterns {
                    *self.state() = before.clone();
                    self.pattern(alternative, subject);
                    let end = self.state().clone();
                    super::state::join_into(&mut after, &end);
                }
                if let Some(after) = after {
                    *self.state() = after;
                }
            }
        }
    }

    fn capture(&mut self, name: &str, pattern: &impl Ranged, held: &Held) {
        let range = self.range(pattern).and_then(|within| self.find_last(name, within));
        self.store(name, held.clone(), OccurrenceKind::Bind, range);
    }
}

/// Whether a pattern matches anything.
fn is_irrefutable(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::MatchAs(p) => p.pattern.as_ref().is_none_or(|inner| is_irrefutable(inner)),
        Pattern::MatchOr(p) => p.patterns.iter().any(is_irrefutable),
        _ => false,
    }
}
