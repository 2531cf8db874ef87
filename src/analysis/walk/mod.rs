//! Walks a syntax tree in order of execution and notes what it does to the run's names.
//!
//! # Architecture
//!
//! - [`Walker`]: the walk, with the scopes that are open and the [`Frame`]s whose effects are summed: the step
//!   itself and, inside it, one function at a time.
//! - [`state::State`]: what is certain at a point; [`state::Held`]: what a value may hold.
//! - [`scope`]: Python's scoping; [`statements`], [`expressions`], [`patterns`], [`definitions`],
//!   [`imports`]: one kind of syntax each; [`calls`]: what running a known function does;
//!   [`mutation`]: which calls change what they are given; [`dynamic`]: `exec`, `eval`, `globals()`.
//! - [`report`]: what was noted, as [`StepNames`](super::StepNames).
//!
//! A name that is certain stays certain to the end of its path, so a loop's body needs no fixed point for
//! what is read; only for functions that are bound late in a loop and called early is it read twice.

mod calls;
mod definitions;
mod dynamic;
mod expressions;
mod imports;
mod mutation;
mod patterns;
mod report;
mod scope;
mod state;
mod statements;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustpython_parser::ast::{self, Ranged, Stmt};
use unicode_normalization::UnicodeNormalization;

use crate::step::Name;

use super::bits::BitSet;
use super::effects::FunctionId;
use super::lines::Lines;
use super::{Import, OccurrenceKind, PythonVersion, StepNames, Swallowed};

use calls::{Call, Summary};
use scope::{Place, Scope, ScopeKind};
use state::{Held, Slot, State};

/// The names in a module's statements. `parsed` is the text that was parsed, and `text` what it was made from:
/// of the same length, and places are looked up in it.
pub(super) fn walk(text: &str, parsed: &str, body: &[Stmt], python: PythonVersion) -> StepNames {
    let mut walker = Walker::new(text, parsed, python);
    walker.module(body);
    let managers: BTreeSet<Name> = walker.managers.iter().filter_map(|slot| walker.name_of(*slot).cloned()).collect();
    let mut names = walker.report(body);
    if !managers.is_empty() {
        let mut walker = Walker::new(text, parsed, python);
        walker.swallowing = true;
        walker.module(body);
        names.if_swallowed = Some(Box::new(Swallowed { managers, names: Arc::new(walker.report(body)) }));
    }
    names
}

/// The walk over one step.
struct Walker<'s> {
    text: &'s str,
    parsed: &'s str,
    lines: Lines,
    python: PythonVersion,
    /// Whether annotations are never evaluated: `from __future__ import annotations`.
    postponed: bool,
    slots: HashMap<Name, Slot>,
    /// The name of each slot; `None` for a slot that stands for something else.
    names: Vec<Option<Name>>,
    /// Slots that stand for a change in place of a name.
    changed_slots: HashMap<Slot, Slot>,
    /// Slots that stand for a name in a class's body.
    class_slots: HashMap<(u32, Slot), Slot>,
    /// The slot of `__class__`, which every method finds in the class around it.
    class_cell: Slot,
    classes: u32,
    scopes: Vec<Scope>,
    frames: Vec<Frame>,
    functions: Vec<Rc<Summary>>,
    /// The function made at a place, since a loop's body may be read twice.
    made_at: HashMap<(u32, u32, bool), FunctionId>,
    /// What class attributes may hold, for each class being read.
    class_held: Vec<Held>,
    occurrences: Vec<Noted>,
    /// See [`super::StepNames::parts_called`].
    parts_called: BTreeSet<String>,
    /// See [`super::StepNames::paths`].
    paths: BTreeSet<String>,
    imports: Vec<Import>,
    declared: BTreeSet<Name>,
    unknown_calls: BTreeSet<String>,
    /// How many loops are being read a second time: places are noted the first time only.
    again: u32,
    /// Work left for following calls; past it, every function counts as run with nothing bound.
    budget: u32,
    /// How many functions are being run within one another.
    nested: u32,
    /// Set where a scan of constant source in `exec` has no places in the text.
    placeless: u32,
    /// Whether context managers that the step got from elsewhere are taken to swallow errors.
    swallowing: bool,
    /// Names from elsewhere whose values may be, or make, context managers.
    managers: BTreeSet<Slot>,
}

/// What is summed: a step, or a function of it.
#[derive(Debug, Default)]
struct Frame {
    state: State,
    reads: BitSet,
    /// Read while the frame's own code runs, not only by a function that it makes.
    reads_now: BitSet,
    writes: BitSet,
    /// Where `return` leads, joined.
    exit: Option<State>,
    loops: Vec<LoopExits>,
    /// Within a `try` or a loop, what names hold is added to, never replaced.
    weak: u32,
    calls: Vec<Call>,
    /// Parameters changed in place, each with the slot that says whether on every path.
    changes: Vec<(usize, Slot)>,
    locals: HashMap<Slot, Held>,
    /// For a function: global names that it binds to values that may hold functions.
    stored: HashMap<Slot, Held>,
    returns: Held,
    opaque: Option<String>,
    reads_everything: bool,
    writes_anything: bool,
    suspended: bool,
    /// How many of the blocks around catch errors.
    caught: u32,
    /// See [`super::effects::Function::swallows`].
    swallows: bool,
    /// For the step: how names that it got from elsewhere are used.
    uses: HashMap<Slot, UseNote>,
}

#[derive(Debug, Default)]
struct LoopExits {
    breaks: Option<State>,
}

#[derive(Debug)]
struct UseNote {
    bound: BitSet,
}

/// A place where a name stands.
#[derive(Debug)]
struct Noted {
    name: Slot,
    kind: OccurrenceKind,
    range: Range<usize>,
    deferred: bool,
    own: bool,
}

/// Following calls costs at most this many visits of a function a step. A step that needs more is rare, and
/// gets an answer that is less precise.
const CALL_BUDGET: u32 = 20_000;

impl<'s> Walker<'s> {
    fn new(text: &'s str, parsed: &'s str, python: PythonVersion) -> Self {
        let mut walker = Self {
            text,
            parsed,
            lines: Lines::new(text),
            python,
            postponed: false,
            slots: HashMap::new(),
            names: Vec::new(),
            changed_slots: HashMap::new(),
            class_slots: HashMap::new(),
            class_cell: 0,
            classes: 0,
            scopes: vec![Scope::default()],
            frames: vec![Frame::default()],
            functions: Vec::new(),
            made_at: HashMap::new(),
            class_held: Vec::new(),
            occurrences: Vec::new(),
            parts_called: BTreeSet::new(),
            paths: BTreeSet::new(),
            imports: Vec::new(),
            declared: BTreeSet::new(),
            unknown_calls: BTreeSet::new(),
            again: 0,
            budget: CALL_BUDGET,
            nested: 0,
            placeless: 0,
            swallowing: false,
            managers: BTreeSet::new(),
        };
        walker.class_cell = walker.intern("__class__");
        walker
    }

    fn module(&mut self, body: &[Stmt]) {
        self.body(body);
        self.end_of_step();
    }

    // Slots.

    fn fresh_slot(&mut self) -> Slot {
        let slot = self.names.len() as Slot;
        self.names.push(None);
        slot
    }

    /// The slot of an identifier as it is written.
    fn intern(&mut self, identifier: &str) -> Slot {
        if let Some(slot) = self.slots.get(identifier) {
            return *slot;
        }
        // CPython compares identifiers after NFKC (language reference 2.3).
        if !identifier.is_ascii() {
            let normal: String = identifier.nfkc().collect();
            if normal != identifier {
                return self.intern(&normal);
            }
        }
        let name: Name = Arc::from(identifier);
        let slot = self.names.len() as Slot;
        self.names.push(Some(Arc::clone(&name)));
        self.slots.insert(name, slot);
        slot
    }

    /// The slot of an identifier, mangled if it is private to the class being read.
    fn intern_mangled(&mut self, identifier: &str) -> Slot {
        if identifier.starts_with("__") && !identifier.ends_with("__") && !identifier.contains('.') {
            let class = self.scopes.iter().rev().find_map(|scope| scope.class.as_ref());
            if let Some((_, class)) = class
                && !class.is_empty()
            {
                let mangled = format!("_{class}{identifier}");
                return self.intern(&mangled);
            }
        }
        self.intern(identifier)
    }

    fn name_of(&self, slot: Slot) -> Option<&Name> {
        self.names.get(slot as usize).and_then(Option::as_ref)
    }

    fn text_of(&self, slot: Slot) -> &str {
        self.name_of(slot).map_or("", |name| name)
    }

    /// The slot that says that a name's value was changed in place on every path.
    fn changed_slot(&mut self, name: Slot) -> Slot {
        if let Some(slot) = self.changed_slots.get(&name) {
            return *slot;
        }
        let slot = self.fresh_slot();
        self.changed_slots.insert(name, slot);
        slot
    }

    fn class_slot(&mut self, scope: usize, name: Slot) -> Slot {
        let class = self.scopes.get(scope).and_then(|scope| scope.class.as_ref()).map_or(0, |(number, _)| *number);
        if let Some(slot) = self.class_slots.get(&(class, name)) {
            return *slot;
        }
        let slot = self.fresh_slot();
        self.class_slots.insert((class, name), slot);
        slot
    }

    // Frames.

    fn frame(&mut self) -> &mut Frame {
        // There is always the step's own frame: `frames` is never emptied.
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn state(&mut self) -> &mut State {
        &mut self.frame().state
    }

    fn is_sure(&self, slot: Slot) -> bool {
        self.frames.last().is_some_and(|frame| frame.state.is_sure(slot))
    }

    fn is_dead(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.state.dead)
    }

    /// Whether the code being read runs when a function is called, not with the step.
    fn in_function(&self) -> bool {
        self.frames.len() > 1
    }

    // Names.

    fn note(&mut self, name: Slot, kind: OccurrenceKind, range: Option<Range<usize>>, own: bool) {
        if self.again > 0 || self.placeless > 0 {
            return;
        }
        if let Some(range) = range {
            let deferred = self.in_function();
            self.occurrences.push(Noted { name, kind, range, deferred, own });
        }
    }

    /// Looks a name up.
    fn load(&mut self, identifier: &str, range: Option<Range<usize>>) -> Held {
        let name = self.intern_mangled(identifier);
        self.load_slot(name, range)
    }

    fn load_slot(&mut self, name: Slot, range: Option<Range<usize>>) -> Held {
        match self.resolve(name) {
            Place::Global => self.load_global(name, range),
            Place::Class(scope) => {
                let slot = self.class_slot(scope, name);
                // What a class's attributes hold is not told apart.
                let mut held = self.class_held.last().cloned().unwrap_or_default();
                if !self.is_sure(slot) {
                    held.join(&self.load_global(name, range));
                }
                held
            }
            Place::Local(scope) => {
                let summed = self.scopes.get(scope).filter(|scope| scope.summed);
                let place = summed.and_then(|scope| scope.parameters.iter().position(|p| *p == name));
                let mut held = self.frame().locals.get(&name).cloned().unwrap_or_default();
                if let Some(place) = place.filter(|place| *place < 64) {
                    held.parameters |= 1 << place;
                    held.parameter_aliases |= 1 << place;
                }
                held
            }
        }
    }

    fn load_global(&mut self, name: Slot, range: Option<Range<usize>>) -> Held {
        let own = self.is_sure(name);
        self.note(name, OccurrenceKind::Read, range, own);
        self.read(name, true);
        if self.in_function() {
            return Held::name(name);
        }
        let mut held = self.state().bound.get(&name).cloned().unwrap_or_default();
        if !own {
            held.join(&Held::name(name));
        }
        held
    }

    /// Notes that a name's value is needed here, unless the frame has certainly bound it.
    fn read(&mut self, name: Slot, now: bool) {
        if !self.is_sure(name) {
            let frame = self.frame();
            frame.reads.insert(name);
            if now {
                frame.reads_now.insert(name);
            }
        }
    }

    /// Binds a name.
    fn store(&mut self, identifier: &str, held: Held, kind: OccurrenceKind, range: Option<Range<usize>>) {
        let name = self.intern_mangled(identifier);
        let place = self.resolve(name);
        self.store_at(place, name, held, kind, range);
    }

    fn store_at(&mut self, place: Place, name: Slot, held: Held, kind: OccurrenceKind, range: Option<Range<usize>>) {
        match place {
            Place::Global => {
                self.note(name, kind, range, true);
                self.write_global(name, held);
            }
            Place::Class(scope) => {
                let slot = self.class_slot(scope, name);
                self.state().sure.insert(slot);
                if let Some(class) = self.class_held.last_mut() {
                    class.join(&held);
                }
            }
            Place::Local(_) => {
                if !held.is_empty() {
                    self.frame().locals.entry(name).or_default().join(&held);
                }
            }
        }
    }

    fn write_global(&mut self, name: Slot, held: Held) {
        if self.is_dead() {
            return;
        }
        let in_function = self.in_function();
        let frame = self.frame();
        frame.writes.insert(name);
        let was_sure = frame.state.sure.contains(name);
        frame.state.sure.insert(name);
        if in_function {
            if !held.is_empty() {
                frame.stored.entry(name).or_default().join(&held);
            }
            return;
        }
        let weak = frame.weak > 0;
        let known = frame.state.bound.contains_key(&name);
        if weak {
            let mut held = held;
            if !was_sure && !known {
                // The value from elsewhere may still be there.
                held.join(&Held::name(name));
            }
            if !held.is_empty() {
                Rc::make_mut(&mut frame.state.bound).entry(name).or_default().join(&held);
            }
        } else if held.is_empty() {
            if known {
                Rc::make_mut(&mut frame.state.bound).remove(&name);
            }
        } else {
            Rc::make_mut(&mut frame.state.bound).insert(name, held);
        }
    }

    /// Unbinds a name: it must be there, and is gone.
    fn delete(&mut self, identifier: &str, range: Option<Range<usize>>) {
        let name = self.intern_mangled(identifier);
        match self.resolve(name) {
            Place::Global => {
                let own = self.is_sure(name);
                self.note(name, OccurrenceKind::Delete, range, own);
                self.read(name, true);
                self.write_global(name, Held::default());
            }
            Place::Class(scope) => {
                let slot = self.class_slot(scope, name);
                self.state().sure.remove(slot);
            }
            Place::Local(_) => {}
        }
    }

    // Places in the text.

    fn range(&self, node: &impl Ranged) -> Option<Range<usize>> {
        let range = node.range();
        Some(range.start().to_usize()..range.end().to_usize())
    }

    /// The first place of an identifier in a part of the text.
    fn find(&self, identifier: &str, within: Range<usize>) -> Option<Range<usize>> {
        identifiers(self.text, within).find(|range| self.is_identifier(identifier, range))
    }

    /// The last place of an identifier in a part of the text.
    fn find_last(&self, identifier: &str, within: Range<usize>) -> Option<Range<usize>> {
        identifiers(self.text, within).filter(|range| self.is_identifier(identifier, range)).last()
    }

    fn is_identifier(&self, identifier: &str, range: &Range<usize>) -> bool {
        self.text
            .get(range.clone())
            .is_some_and(|word| word == identifier || (!word.is_ascii() && word.nfkc().eq(identifier.nfkc())))
    }
}

/// The places of words in a part of the text. Comments and strings are not told apart: whoever asks knows
/// that the word is there.
fn identifiers(text: &str, within: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let part = text.get(within.clone()).unwrap_or_default();
    let base = within.start;
    let mut chars = part.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, first) = chars.next()?;
            if !is_word(first) {
                continue;
            }
            let mut end = start + first.len_utf8();
            while let Some((at, c)) = chars.next_if(|(_, c)| is_word(*c)) {
                end = at + c.len_utf8();
            }
            return Some(base + start..base + end);
        }
    })
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace())
}

fn end_of(expression: &ast::Expr) -> usize {
    expression.range().end().to_usize()
}

fn start_of(expression: &impl Ranged) -> usize {
    expression.range().start().to_usize()
}

/// Functions that a call has entered, so that recursion ends.
type Entered = HashSet<FunctionId>;

/// The scope of a comprehension or of type parameters.
fn plain_scope(kind: ScopeKind, locals: HashSet<Slot>) -> Scope {
    Scope { kind, locals, ..Scope::default() }
}
