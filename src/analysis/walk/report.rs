//! What a walk noted, by name, with places in the text.

use rustpython_parser::ast::Stmt;

use super::super::effects::{self, CallSite, Function, Returned, Use, Value};
use super::super::{Certainty, Occurrence, Read, StepNames};
use super::Walker;
use super::calls::{Arguments, Call, Callee, Root, Summary};
use super::state::Held;
use crate::step::Name;

impl Walker<'_> {
    /// The 1-based line of a place in the text.
    pub(super) fn line_of(&self, at: usize) -> u32 {
        self.lines.line(at)
    }

    pub(super) fn report(mut self, body: &[Stmt]) -> StepNames {
        let frame = std::mem::take(self.frame());
        let mut names = StepNames {
            opaque: frame.opaque.clone(),
            reads_everything: frame.reads_everything,
            writes_anything: frame.writes_anything,
            imports: std::mem::take(&mut self.imports),
            declared: std::mem::take(&mut self.declared),
            parts_called: std::mem::take(&mut self.parts_called),
            paths: std::mem::take(&mut self.paths),
            unknown_calls: std::mem::take(&mut self.unknown_calls),
            displays_last: matches!(body.last(), Some(Stmt::Expr(_))),
            ..StepNames::default()
        };
        let sure = |slot| !frame.state.dead && frame.state.sure.contains(slot);
        let certainty = |slot| if sure(slot) { Certainty::Certain } else { Certainty::Possible };
        for slot in frame.reads.iter() {
            if let Some(name) = self.name_of(slot) {
                let read = if frame.reads_now.contains(slot) { Read::Now } else { Read::Deferred };
                names.reads.insert(name.clone(), read);
            }
        }
        for slot in frame.writes.iter() {
            if let Some(name) = self.name_of(slot) {
                let changed = self.changed_slots.get(&slot).map_or(Certainty::Possible, |slot| certainty(*slot));
                names.writes.insert(name.clone(), certainty(slot).min(changed));
            }
        }
        for (slot, held) in frame.state.bound.iter() {
            if let Some(name) = self.name_of(*slot)
                && frame.writes.contains(*slot)
            {
                let value = self.value(held);
                if !value.is_empty() {
                    names.values.insert(name.clone(), value);
                }
            }
        }
        for (slot, note) in &frame.uses {
            if let Some(name) = self.name_of(*slot) {
                let bound_before = note.bound.iter().filter_map(|slot| self.name_of(slot).cloned()).collect();
                names.uses.insert(name.clone(), Use { bound_before });
            }
        }
        names.calls = frame.calls.iter().filter_map(|call| self.call_site(call, certainty(call.slot))).collect();
        names.functions = self.functions.iter().map(|function| self.function(function)).collect();
        names.occurrences = self.places();
        names
    }

    fn places(&mut self) -> Vec<Occurrence> {
        let mut noted = std::mem::take(&mut self.occurrences);
        noted.sort_by_key(|noted| (noted.range.start, noted.range.end, noted.kind));
        noted.dedup_by(|a, b| a.range == b.range && a.kind == b.kind && a.name == b.name);
        noted
            .into_iter()
            .filter_map(|noted| {
                let name = self.name_of(noted.name)?.clone();
                // What was parsed has the length of what was given, so this can only fail where the parser
                // itself gives a wrong range.
                self.text.get(noted.range.clone())?;
                let (line, column) = self.lines.position(self.text, noted.range.start);
                Some(Occurrence {
                    name,
                    kind: noted.kind,
                    range: noted.range,
                    line,
                    column,
                    deferred: noted.deferred,
                    own: noted.own,
                })
            })
            .collect()
    }

    fn all_names(&self, slots: &[u32]) -> std::collections::BTreeSet<Name> {
        slots.iter().filter_map(|slot| self.name_of(*slot).cloned()).collect()
    }

    fn value(&self, held: &Held) -> Value {
        Value {
            functions: held.functions.iter().copied().collect(),
            names: self.all_names(&held.names),
            aliases: self.all_names(&held.aliases),
        }
    }

    fn function(&self, summary: &Summary) -> Function {
        let parameters = |mask: u64| (0..64).filter(|place| mask & (1 << place) != 0).collect();
        Function {
            name: summary.name.clone(),
            parameters: summary.parameters.clone(),
            positional: summary.positional,
            defaults: summary
                .defaults
                .iter()
                .filter(|(place, _)| summary.changes.contains_key(place))
                .filter_map(|(place, name)| Some((*place, self.name_of(*name)?.clone())))
                .collect(),
            reads: self.all_names(&summary.reads),
            writes: summary
                .writes
                .iter()
                .filter_map(|write| Some((self.name_of(write.name)?.clone(), write.written)))
                .collect(),
            changes: summary.changes.clone(),
            calls: summary.calls.iter().filter_map(|(call, how)| self.call_site(call, *how)).collect(),
            returns: Returned {
                own: summary.returns.own,
                parameters: parameters(summary.returns.parameters),
                names: self.all_names(&summary.returns.names),
            },
            suspended: summary.suspended,
            swallows: summary.swallows,
            opaque: summary.opaque.clone(),
            methods: summary.methods.clone(),
            is_class: summary.is_class,
        }
    }

    fn call_site(&self, call: &Call, certainty: Certainty) -> Option<CallSite> {
        let callee = match &call.callee {
            Callee::Name(slot) => effects::Callee::Name(self.name_of(*slot)?.clone()),
            Callee::Method(root, method) => effects::Callee::Method(self.root_name(*root)?, method.clone()),
        };
        let Arguments { positional, keywords } = &call.arguments;
        Some(CallSite {
            callee,
            arguments: positional.iter().map(|root| root.and_then(|root| self.root_name(root))).collect(),
            keywords: keywords
                .iter()
                .filter_map(|(keyword, root)| Some((keyword.clone(), self.root_name(*root)?)))
                .collect(),
            certainty,
        })
    }

    fn root_name(&self, root: Root) -> Option<effects::Root> {
        Some(match root {
            Root::Name(slot) => effects::Root::Name(self.name_of(slot)?.clone()),
            Root::Parameter(place) => effects::Root::Parameter(place),
        })
    }
}
