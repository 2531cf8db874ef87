//! The run's state at a place in the order, by digests: what every name and every tracked file holds.
//!
//! Over kept steps the engine moves in this form, without touching a process. Nothing here does I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use imbl::{OrdMap, OrdSet};

use crate::step::{Digest, FileContent, Name, Observation, Pairs, Reason, Written};

/// What a name holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    /// A value whose component has this digest.
    Known(Arc<Written>),
    /// A value that is there, but whose component is known only to a process that holds it. It was last known
    /// as part of this component, before a companion left it; `None` where not even that helps.
    Unknown(Option<Arc<Written>>),
}

/// What stood at a place in the order. Hundreds of checkpoints have one each, and differ by little: copies share what
/// is alike in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    names: OrdMap<Name, Slot>,
    /// When each name of the namespace came to be there: with which step, and as which of those that came with it.
    came: OrdMap<Name, (u32, u32)>,
    /// How many steps there were.
    steps: u32,
    /// The names whose values refer to definitions by their names.
    referring: OrdSet<Name>,
    /// Files that steps made or changed, by path as the record has it.
    pub(super) files: BTreeMap<String, FileContent>,
}

/// Whether a record holds at a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// All that the step used is as it was.
    Fresh,
    /// Something is another.
    Stale(Vec<Reason>),
    /// It hangs on names that only a process can tell.
    Unsure,
}

impl State {
    /// What each name holds.
    pub(super) fn names(&self) -> &OrdMap<Name, Slot> {
        &self.names
    }

    /// Has `name` hold something from now on, or nothing.
    pub(super) fn set(&mut self, name: Name, slot: Option<Slot>) {
        match &slot {
            Some(Slot::Known(written)) if !written.refs.is_empty() => drop(self.referring.insert(Arc::clone(&name))),
            _ => drop(self.referring.remove(&name)),
        }
        match slot {
            Some(slot) => drop(self.names.insert(name, slot)),
            None => {
                self.names.remove(&name);
                self.came.remove(&name);
            }
        }
    }

    /// The names of the namespace in the order in which they stand in it.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Name> {
        let mut names: Vec<(&Name, &(u32, u32))> = self.came.iter().collect();
        names.sort_unstable_by_key(|(_, came)| **came);
        names.into_iter().map(|(name, _)| name)
    }

    /// The names that must be put at the end, one after the other, of a namespace that was as `held` and holds the same
    /// names by now, to have them stand in this state's order. New names stand anywhere behind the others.
    pub(super) fn order_from(&self, held: &Self) -> Vec<Name> {
        let (mut new, mut late) = (Vec::new(), true);
        for change in held.came.diff(&self.came) {
            match change {
                DiffItem::Add(name, came) => {
                    late &= came.0 >= held.steps;
                    new.push((*came, name));
                }
                DiffItem::Update { .. } => late = false,
                DiffItem::Remove(..) => {}
            }
        }
        if !late {
            return self.in_order().cloned().collect();
        }
        new.sort_unstable();
        let new: Vec<Name> = new.into_iter().map(|(_, name)| Arc::clone(name)).collect();
        if new.len() > 1 { new } else { Vec::new() }
    }

    /// Has the names stand in the order of `other`, which holds the same.
    pub(super) fn take_order(&mut self, other: &Self) {
        (self.came, self.steps) = (other.came.clone(), other.steps);
    }

    /// The names that a step brings, in order; those first whose place among the others its record does not tell: they
    /// stood there when it was made, and do not now.
    fn newcomers<'a>(&self, seen: &'a Observation) -> Vec<(Option<usize>, &'a Name)> {
        let place = |name: &Name| seen.order.iter().position(|other| other == name);
        let went = |name: &Name| seen.left.contains_key(name) || matches!(seen.reads.get(name), Some(Some(_)));
        let bound = seen.writes.iter().filter(|(_, written)| written.is_some()).map(|(name, _)| name);
        let is_new = |name: &&Name| {
            !name.starts_with('@') && (!self.came.contains_key(*name) || seen.order.contains(name) && went(name))
        };
        let mut new: Vec<_> = bound.filter(is_new).map(|name| (place(name), name)).collect();
        new.sort_unstable();
        new
    }

    /// Takes down the names that a step brought.
    fn bring(&mut self, seen: &Observation) {
        let new = self.newcomers(seen);
        for (nth, (_, name)) in (0..).zip(new) {
            self.came.insert(Arc::clone(name), (self.steps, nth));
        }
        self.steps = self.steps.saturating_add(1);
    }

    fn digest(&self, name: &str) -> Option<Digest> {
        match self.names.get(name) {
            Some(Slot::Known(written)) => Some(written.digest),
            _ => None,
        }
    }

    /// The names of the namespace that are there, hidden state left out.
    pub(super) fn visible_names(&self) -> impl Iterator<Item = &Name> {
        self.names.keys().filter(|name| !name.starts_with('@'))
    }

    /// Whether the process holds threads, children or descriptors that a fork can't take along.
    pub(super) fn is_held(&self) -> bool {
        self.names.contains_key("@held")
    }

    /// For those of `names` that hold code, a digest that tells where it stands.
    pub(super) fn places<'a>(&self, names: impl Iterator<Item = &'a Name>) -> Pairs<Name, Digest> {
        names.filter_map(|name| Some((Arc::clone(name), self.place(name)?))).collect()
    }

    fn place(&self, name: &Name) -> Option<Digest> {
        match self.names.get(name) {
            Some(Slot::Known(written)) => written.placed,
            _ => None,
        }
    }

    /// A digest of all hidden state whose names start with `prefix`.
    pub(super) fn prefix_digest(&self, prefix: &str) -> Digest {
        let parts: Vec<Vec<u8>> = self
            .names
            .range::<_, str>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded))
            .take_while(|(name, _)| name.starts_with(prefix))
            .map(|(name, slot)| {
                let mut part = name.as_bytes().to_vec();
                part.push(0);
                match slot {
                    Slot::Known(written) => part.extend_from_slice(written.digest.as_bytes()),
                    Slot::Unknown(_) => part.push(1),
                }
                part
            })
            .collect();
        Digest::of_parts(parts.iter().map(Vec::as_slice))
    }

    /// Whether what `seen` used of names is as it was. Files are compared by who can look at them.
    pub(super) fn check_names(&self, seen: &Observation) -> Verdict {
        let mut changed = Vec::new();
        let mut ambient = Vec::new();
        let mut unsure = false;
        for (name, digest) in seen.names_used() {
            if matches!(self.names.get(name), Some(Slot::Unknown(_))) {
                unsure = true;
            } else if self.digest(name) != digest {
                if let Some(what) = hidden_in_words(name) {
                    ambient.push(Reason::AmbientChanged { what });
                } else {
                    changed.push(Arc::clone(name));
                }
            }
        }
        for (name, place) in &seen.places {
            if !changed.contains(name) && self.digest(name).is_some() && self.place(name) != Some(*place) {
                let what = hidden_in_words(name).unwrap_or_else(|| name.to_string());
                ambient.push(Reason::AmbientChanged { what: format!("where {what} stands in its file") });
            }
        }
        if let Some(names) = &seen.saw_names {
            let now: BTreeSet<&Name> = self.visible_names().collect();
            let then: BTreeSet<&Name> = names.iter().collect();
            changed.extend(now.symmetric_difference(&then).take(20).map(|name| Arc::clone(name)));
            if seen.saw_order && now == then && !self.in_order().eq(names.iter()) {
                ambient.push(Reason::AmbientChanged { what: ORDER.into() });
            }
        }
        if let [(None, _), _, ..] = self.newcomers(seen).as_slice() {
            ambient.push(Reason::AmbientChanged { what: ORDER.into() });
        }
        for (prefix, digest) in &seen.saw_prefixes {
            if self.prefix_digest(prefix) != *digest {
                ambient.push(Reason::AmbientChanged { what: prefix_in_words(prefix) });
            }
        }
        let mut reasons = Vec::new();
        if !changed.is_empty() {
            reasons.push(Reason::ValueChanged { names: changed });
        }
        ambient.dedup();
        reasons.extend(ambient);
        match (reasons.is_empty(), unsure) {
            (false, _) => Verdict::Stale(reasons),
            (true, true) => Verdict::Unsure,
            (true, false) => Verdict::Fresh,
        }
    }

    /// Moves over a step whose record holds: what it wrote stands, and what lost a companion by it is
    /// worked out where that is known, and marked unknown where not.
    pub(super) fn apply(&mut self, seen: &Observation) {
        let bound: BTreeSet<&Name> = seen.writes.keys().filter(|name| !seen.incidental.contains_key(*name)).collect();
        let rebound: BTreeSet<&Name> = seen.rebound.iter().collect();
        let mut unknown: BTreeSet<Name> = BTreeSet::new();
        // Names that shared something with a name that is bound anew without having been looked at.
        for name in &rebound {
            if let Some(Slot::Known(written)) = self.names.get(*name)
                && seen.left.get(*name) != Some(&written.key())
                && !seen.reads.contains_key(*name)
            {
                unknown.extend(written.members.iter().filter(|member| !bound.contains(member)).cloned());
            }
        }
        // Values that refer to a definition by its name, when another object takes the name.
        let referring = self.referring.iter().filter(|name| !bound.contains(name) && self.refers_to(name, &rebound));
        let referring: Vec<&Name> = referring.collect();
        unknown.extend(referring.iter().map(|name| Arc::clone(name)));
        // Where they hold it by itself from now on, so may what the step made of it.
        let (follows, lost, astray) = self.incidentals(seen, &rebound, &referring);
        unknown.retain(|name| !follows.contains(name));
        unknown.extend(lost.iter().filter(|name| self.names.contains_key(**name)).map(|name| Arc::clone(name)));
        for name in follows {
            if let Some(after) = seen.writes.get(name) {
                self.put(name, after.as_ref());
            }
        }
        for name in unknown {
            let from = match self.names.get(&name) {
                Some(Slot::Known(written)) if !written.refs.iter().any(|r| rebound.contains(r)) => {
                    Some(Arc::clone(written))
                }
                Some(Slot::Known(_)) => None,
                Some(Slot::Unknown(from)) => from.clone(),
                None => continue,
            };
            self.set(name, Some(Slot::Unknown(from)));
        }
        for name in bound {
            let written = seen.writes.get(name).and_then(Option::as_ref);
            let is_lost = |written: &Written| {
                written.members.iter().chain(&written.refs).any(|other| lost.contains(other))
                    || astray && written.placed.is_some()
            };
            if written.is_some_and(is_lost) {
                // It shares something with what is another by now, or holds a definition that has another name.
                self.set(Arc::clone(name), Some(Slot::Unknown(None)));
            } else {
                self.put(name, written);
            }
        }
        self.bring(seen);
        for (path, write) in &seen.files_written {
            self.files.insert(path.clone(), write.after.clone());
        }
    }

    /// Whether the value of `name` holds one of these definitions by its name.
    fn refers_to(&self, name: &Name, definitions: &BTreeSet<&Name>) -> bool {
        matches!(self.names.get(name), Some(Slot::Known(written)) if written.refs.iter().any(|of| definitions.contains(of)))
    }

    /// What becomes of the names that a step changed without having looked at them: those that are as they were, so that
    /// they become what they became then, and those that are not. And whether one of `referring`, which hold a definition
    /// that loses its name, is none of the first: then who holds such a definition shares it with others now than it did
    /// then, or has it from another name.
    fn incidentals<'a>(
        &self,
        seen: &'a Observation,
        rebound: &BTreeSet<&Name>,
        referring: &[&Name],
    ) -> (BTreeSet<&'a Name>, BTreeSet<&'a Name>, bool) {
        let known = |name: &Name| match self.names.get(name) {
            Some(Slot::Known(written)) => Some(written),
            _ => None,
        };
        let lose_their_name = |name: &Name| {
            let refs = known(name).map_or(&[][..], |written| &written.refs);
            refs.iter().filter(|of| rebound.contains(of))
        };
        // One that holds a definition by a name that is bound anew is what it was only if the definition is.
        let as_it_was = |name: &Name, before: &Option<Digest>| {
            let key = |name: &Name| known(name).map(|written| written.key());
            self.names.contains_key(name)
                && key(name) == *before
                && lose_their_name(name).all(|of| seen.left.get(of).copied() == key(of))
        };
        let (mut follows, mut lost) = (BTreeSet::new(), BTreeSet::new());
        for (name, before) in &seen.incidental {
            if as_it_was(name, before) {
                follows.insert(name);
            } else if before.is_some() || self.names.contains_key(name) {
                lost.insert(name);
            }
        }
        loop {
            let strays = referring.iter().filter(|name| !follows.contains(**name));
            let astray: BTreeSet<&Name> = strays.flat_map(|name| lose_their_name(name)).collect();
            let is_gone = |name: &&&Name| {
                let after = seen.writes.get(**name).and_then(Option::as_ref);
                let mut with = after.iter().flat_map(|after| after.members.iter().chain(&after.refs));
                with.any(|other| lost.contains(other)) || lose_their_name(name).any(|of| astray.contains(of))
            };
            let gone: Vec<&Name> = follows.iter().filter(is_gone).copied().collect();
            if gone.is_empty() {
                return (follows, lost, !astray.is_empty());
            }
            lost.extend(&gone);
            follows.retain(|name| !lost.contains(name));
        }
    }

    /// Moves over a step that was executed in the very process that holds this state: what the process says of any
    /// name is so.
    pub(super) fn executed(&mut self, seen: &Observation) {
        for (name, written) in &seen.writes {
            self.put(name, written.as_ref());
        }
        self.bring(seen);
        for (path, write) in &seen.files_written {
            self.files.insert(path.clone(), write.after.clone());
        }
    }

    fn put(&mut self, name: &Name, written: Option<&Written>) {
        self.set(Arc::clone(name), written.map(|written| Slot::Known(Arc::new(written.clone()))));
    }
}

const ORDER: &str = "the order of the names";

/// Hidden state in words a person knows; `None` for a plain name.
pub(super) fn hidden_in_words(name: &str) -> Option<String> {
    let hidden = name.strip_prefix('@')?;
    Some(match hidden {
        "random" => "the random generator".into(),
        "numpy:random" => "numpy's random generator".into(),
        "numpy:options" => "numpy's print and error options".into(),
        "inline" => "how figures are shown".into(),
        "cwd" => "the working directory".into(),
        "sys:path" => "the module search path".into(),
        "sys:modules" => "modules that steps put among those imported".into(),
        "sys:argv" => "the arguments of the program".into(),
        "held" => "what steps left open".into(),
        "descriptors" => "open files, by their numbers".into(),
        "recursionlimit" => "the recursion limit".into(),
        "warnings" => "the warnings filters".into(),
        "warnings:shown" => "which warnings were shown".into(),
        "locale" => "the locale".into(),
        "decimal" => "the decimal context".into(),
        name if let Some(flag) = name.strip_prefix("decimal:flags:") => format!("the decimal context's flag {flag}"),
        "umask" => "the file mode mask".into(),
        "gc" => "the garbage collector".into(),
        "switchinterval" => "the threads' switch interval".into(),
        "timezone" => "the time zone".into(),
        "signals" => "signal handlers".into(),
        "nice" => "the process's priority".into(),
        "rlimits" => "the process's limits".into(),
        "socket:timeout" => "the sockets' timeout".into(),
        "csv:dialects" => "csv's dialects".into(),
        "logging" => "how logging is set up".into(),
        "logging:levels" => "the names of logging's levels".into(),
        "trace" => "the trace function".into(),
        "digits" => "how long numbers may be as text".into(),
        "hooks" => "what the interpreter calls by itself".into(),
        "asyncio:loop" => "the event loop that is set".into(),
        "codecs" => "registered encodings".into(),
        "codecs:errors" => "registered handlers of encodings".into(),
        "abc" => "classes registered to stand for others".into(),
        "copyreg" => "how pickle and copy take objects apart".into(),
        "tracemalloc" => "whether memory is traced".into(),
        "faulthandler" => "whether faults are told".into(),
        "calendar" => "calendar's first day of a week".into(),
        "threading:names" | "pool:names" | "process:names" => "how many threads or processes were named".into(),
        "mimetypes" => "the table of MIME types".into(),
        "multiprocessing" => "how processes are started".into(),
        "shutil" => "shutil's archive formats".into(),
        "sqlite3" => "sqlite3's adapters and converters".into(),
        "xml:namespaces" => "registered XML namespaces".into(),
        "pandas:accessors" => "registered accessors of pandas".into(),
        "sklearn" => "scikit-learn's settings".into(),
        "torch" => "torch's defaults".into(),
        "torch:random" => "torch's random generator".into(),
        "matplotlib:registries" => "matplotlib's colour maps and fonts".into(),
        "pandas:options" => "pandas' options".into(),
        "matplotlib:figures" => "the open figures".into(),
        "matplotlib:rc" => "matplotlib's settings".into(),
        other => match other.split_once(':') {
            Some(("env", variable)) => format!("environment variable {variable}"),
            Some(("main", name)) => format!("the run's own {name}"),
            Some(("state", module)) => format!("what module {module} holds"),
            _ => format!("attribute {}", other.trim_start_matches(':').replace(':', ".")),
        },
    })
}

fn prefix_in_words(prefix: &str) -> String {
    match prefix {
        "@env:" => "the environment".into(),
        "@:" => "what steps replaced in libraries or among the builtins".into(),
        other => format!("module {}", other.trim_start_matches('@').trim_end_matches('.')),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str, members: &[&str]) -> Written {
        Written {
            placed: None,
            digest: Digest::of(text),
            members: members.iter().map(|&m| m.into()).collect(),
            refs: Vec::new(),
            uncarryable: None,
        }
    }

    fn seen(reads: &[(&str, Option<&str>)], writes: &[(&str, Option<Written>)]) -> Observation {
        Observation {
            reads: reads.iter().map(|&(n, d)| (n.into(), d.map(Digest::of))).collect(),
            writes: writes.iter().map(|(n, w)| ((*n).into(), w.clone())).collect(),
            ..Observation::default()
        }
    }

    #[test]
    fn a_record_holds_while_what_it_read_is_equal() {
        let mut state = State::default();
        state.apply(&seen(&[], &[("x", Some(written("1", &["x"])))]));
        assert_eq!(state.check_names(&seen(&[("x", Some("1"))], &[])), Verdict::Fresh);
        assert_eq!(
            state.check_names(&seen(&[("x", Some("2"))], &[])),
            Verdict::Stale(vec![Reason::ValueChanged { names: vec!["x".into()] }])
        );
        assert!(matches!(state.check_names(&seen(&[("y", Some("2"))], &[])), Verdict::Stale(_)));
        assert_eq!(state.check_names(&seen(&[("y", None)], &[])), Verdict::Fresh);
    }

    #[test]
    fn what_loses_a_companion_is_unknown_unless_that_was_recorded() {
        // a and b share a list; the step binds a anew and never looked at it.
        let shared = written("ab", &["a", "b"]);
        let mut state = State::default();
        state.apply(&seen(&[], &[("a", Some(shared.clone())), ("b", Some(shared.clone()))]));
        let mut step = seen(&[], &[("a", Some(written("5", &["a"])))]);
        step.rebound = vec!["a".into()];
        let mut elsewhere = state.clone();
        elsewhere.apply(&step);
        assert!(matches!(elsewhere.names.get("b"), Some(Slot::Unknown(Some(_)))));
        assert_eq!(elsewhere.check_names(&seen(&[("b", Some("ab"))], &[])), Verdict::Unsure);
        step.left.insert("a".into(), shared.digest);
        step.incidental.insert("b".into(), Some(shared.digest));
        step.writes.insert("b".into(), Some(written("b", &["b"])));
        state.apply(&step);
        assert_eq!(state.check_names(&seen(&[("b", Some("b"))], &[])), Verdict::Fresh);
    }

    #[test]
    fn what_followed_from_a_companion_that_is_another_now_is_unknown() {
        let shared = written("ab", &["a", "b"]);
        let mut state = State::default();
        state.apply(&seen(&[], &[("a", Some(shared.clone())), ("b", Some(shared.clone()))]));
        // The step changed both, by a companion of theirs that it used.
        let after = Some(written("ab2", &["a", "b"]));
        let mut step = seen(&[], &[("a", after.clone()), ("b", after)]);
        step.incidental.extend([("a".into(), Some(shared.digest)), ("b".into(), Some(shared.digest))]);
        let mut elsewhere = state.clone();
        elsewhere.apply(&step);
        assert_eq!(elsewhere.check_names(&seen(&[("a", Some("ab2"))], &[])), Verdict::Fresh);
        state.set("b".into(), Some(Slot::Unknown(None)));
        state.apply(&step);
        assert_eq!(state.check_names(&seen(&[("a", Some("ab2"))], &[])), Verdict::Unsure);
    }

    #[test]
    fn a_name_that_came_or_went_is_seen_by_who_looked_at_all() {
        let mut state = State::default();
        state.apply(&seen(&[], &[("x", Some(written("1", &["x"])))]));
        let mut looked = seen(&[], &[]);
        looked.saw_names = Some(vec!["x".into()]);
        assert_eq!(state.check_names(&looked), Verdict::Fresh);
        state.apply(&seen(&[], &[("@env:A", Some(written("1", &["@env:A"])))]));
        assert_eq!(state.check_names(&looked), Verdict::Fresh);
        state.apply(&seen(&[], &[("y", Some(written("1", &["y"])))]));
        assert!(matches!(state.check_names(&looked), Verdict::Stale(_)));
    }

    /// What happens to names in a step: bound, or taken away first if `true`, or taken away for good.
    type Doing = (u8, Option<bool>);

    /// Does to a namespace what a step does, and tells what the worker would tell of it.
    fn step(space: &mut Vec<Name>, doings: &[Doing]) -> Observation {
        let before = space.clone();
        let mut seen = Observation::default();
        for (name, doing) in doings {
            let name: Name = format!("n{name}").into();
            if *doing != Some(false) {
                space.retain(|other| *other != name);
            }
            if doing.is_some() && !space.contains(&name) {
                space.push(Arc::clone(&name));
            }
            let there = space.contains(&name);
            seen.writes.insert(Arc::clone(&name), there.then(|| written("v", &[&name])));
            if before.contains(&name) {
                seen.left.insert(name, Digest::of("v"));
            }
        }
        // What was there before stands as it stood, until the first that came.
        let places = space.iter().map(|name| before.iter().position(|other| other == name));
        let stay = places.scan(None, |last, place| {
            let stays = place.is_some() && place > *last;
            *last = place;
            stays.then_some(())
        });
        seen.order = space.get(stay.count()..).unwrap_or_default().to_vec();
        if seen.order.len() == 1 && seen.order.iter().all(|name| !before.contains(name)) {
            seen.order.clear();
        }
        seen
    }

    proptest! {
        #[test]
        fn names_stand_in_the_order_in_which_they_came(
            one in prop::collection::vec(prop::collection::vec((0..8_u8, prop::option::of(any::<bool>())), 0..5), 0..6),
            other in prop::collection::vec(prop::collection::vec((0..8_u8, prop::option::of(any::<bool>())), 0..5), 0..6),
        ) {
            let run = |steps: &[Vec<Doing>]| {
                let (mut state, mut space) = (State::default(), Vec::new());
                for doings in steps {
                    state.apply(&step(&mut space, doings));
                }
                (state, space)
            };
            let ((held, mut there), (target, wanted)) = (run(&one), run(&other));
            prop_assert!(target.in_order().eq(wanted.iter()));
            // One is made of the other: names are taken away, those that are missing come somehow, and some are put last.
            there.retain(|name| wanted.contains(name));
            let missing: Vec<Name> = target.came.keys().filter(|name| !there.contains(name)).cloned().collect();
            there.extend(missing);
            for name in target.order_from(&held) {
                there.retain(|other| *other != name);
                there.push(name);
            }
            prop_assert_eq!(there, wanted);
        }
    }
}
