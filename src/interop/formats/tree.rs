//! A tree of recorded calls, laid out as frames and steps.
//!
//! Calls with calls of their own become frames, calls with code become steps, answers of models become notes.
//! A call without code and without calls of its own becomes a step that holds only a comment: it shows where the
//! call stood and what it gave.

use std::collections::{HashMap, HashSet};

use crate::interop::recorder::{Action, Answer, FrameRef, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, NoteKind, Recorded};
use crate::step::{Kind, Millis, StepError, Stream, Tokens};

/// Most bytes of texts that a tree holds.
const MOST_TEXT: usize = 256 << 20;

/// Calls deeper than this stand beside their caller, not in it.
const DEEPEST: usize = 24;

/// One recorded call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The producer's id.
    pub id: String,
    /// The id of the call that made it.
    pub parent: Option<String>,
    /// What was called.
    pub name: String,
    /// What sort of thing was called.
    pub sort: Sort,
    /// Its place in time: nanoseconds, or any other rising number.
    pub order: u64,
    /// When it began.
    pub started: Option<Millis>,
    /// How long it took, in microseconds.
    pub duration_us: Option<u64>,
    /// The code that it ran.
    pub code: Option<(Kind, String)>,
    /// What it was given.
    pub input: String,
    /// What it gave.
    pub output: String,
    /// How it failed.
    pub error: Option<StepError>,
    /// The model that answered.
    pub model: Option<String>,
    /// What that cost.
    pub tokens: Option<Tokens>,
}

/// What sort of thing was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// A function, a tool or an agent.
    #[default]
    Function,
    /// A model.
    Model,
    /// A person.
    Person,
}

/// Calls as they are collected: in a trace, children come before their parents.
#[derive(Debug, Default)]
pub struct Tree {
    calls: Vec<Call>,
    held: usize,
    cut: usize,
}

impl Tree {
    /// Adds a call. Of what is over 256 MB in all, the texts are left out.
    pub fn push(&mut self, mut call: Call) {
        let size = call.input.len() + call.output.len() + call.code.as_ref().map_or(0, |(_, code)| code.len());
        if self.held + size > MOST_TEXT {
            self.cut += 1;
            call.input.clear();
            call.output.clear();
        }
        self.held += size;
        self.calls.push(call);
    }

    /// Lays the calls out, in order of time.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn lay(self, recorder: &mut Recorder<'_>) -> Result<(), ImportError> {
        if self.cut > 0 {
            let what = format!("the trace is over 256 MB; the texts of {} calls are left out", self.cut);
            recorder.warn(None, what);
        }
        let ids: HashSet<&str> = self.calls.iter().map(|call| call.id.as_str()).collect();
        let mut children: HashMap<Option<&str>, Vec<&Call>> = HashMap::new();
        for call in &self.calls {
            // A call whose caller is not in the trace stands at the top.
            let parent = call.parent.as_deref().filter(|parent| ids.contains(parent) && *parent != call.id);
            children.entry(parent).or_default().push(call);
        }
        for calls in children.values_mut() {
            calls.sort_by_key(|call| call.order);
        }
        let mut walk = Walk { children, recorder, seen: HashSet::new(), model: None };
        let roots = walk.children.get(&None).cloned().unwrap_or_default();
        match roots.as_slice() {
            // One call that made all others is the run itself.
            [root] if walk.children.contains_key(&Some(root.id.as_str())) => walk.inside(TOP, root, 0)?,
            roots => {
                for root in roots {
                    walk.call(TOP, root, 0)?;
                }
            }
        }
        let lost = self.calls.len().saturating_sub(walk.seen.len());
        if lost > 0 {
            walk.recorder.warn(None, format!("{lost} calls name each other as callers in a circle; they are left out"));
        }
        Ok(())
    }
}

struct Walk<'a, 'r, 's> {
    children: HashMap<Option<&'a str>, Vec<&'a Call>>,
    recorder: &'r mut Recorder<'s>,
    seen: HashSet<usize>,
    model: Option<String>,
}

impl<'a> Walk<'a, '_, '_> {
    /// Whether each call is met once, however the ids are doubled.
    fn is_new(&mut self, call: &Call) -> bool {
        self.seen.insert(std::ptr::from_ref(call).addr())
    }

    fn call(&mut self, frame: FrameRef, call: &'a Call, depth: usize) -> Result<(), ImportError> {
        let has_calls = self.children.get(&Some(call.id.as_str())).is_some_and(|calls| !calls.is_empty());
        if call.sort == Sort::Function && has_calls && depth < DEEPEST {
            let frame = self.recorder.frame(frame, &call.name);
            return self.inside(frame, call, depth + 1);
        }
        if !self.is_new(call) {
            return Ok(());
        }
        match call.sort {
            Sort::Model => {
                self.model = call.model.clone().or(self.model.take());
                self.recorder.note(frame, NoteKind::Thought, "model", &call.output)?;
            }
            Sort::Person => self.recorder.note(frame, NoteKind::Message, "user", &call.output)?,
            Sort::Function => self.step(frame, call)?,
        }
        for call in self.children.get(&Some(call.id.as_str())).cloned().unwrap_or_default() {
            self.call(frame, call, depth)?;
        }
        Ok(())
    }

    /// The calls that a call made, in its frame.
    fn inside(&mut self, frame: FrameRef, call: &'a Call, depth: usize) -> Result<(), ImportError> {
        if !self.is_new(call) {
            return Ok(());
        }
        self.recorder.note(frame, NoteKind::Message, "input", &call.input)?;
        if call.code.is_some() {
            self.step(frame, call)?;
        }
        for inner in self.children.get(&Some(call.id.as_str())).cloned().unwrap_or_default() {
            self.call(frame, inner, depth)?;
        }
        if let Some(error) = &call.error {
            self.recorder.note(frame, NoteKind::Other, &error.type_name, &error.message)?;
        }
        self.recorder.returned(frame, &call.output)
    }

    fn step(&mut self, frame: FrameRef, call: &Call) -> Result<(), ImportError> {
        let mut recorded = Recorded {
            started: call.started,
            duration_us: call.duration_us,
            error: call.error.clone(),
            ..Recorded::default()
        };
        if !call.output.is_empty() {
            recorded.print(Stream::Stdout, call.output.clone());
        }
        let origin = Origin {
            at: call.started,
            model: call.model.clone().or_else(|| self.model.clone()),
            call: Some(call.id.clone()).filter(|id| !id.is_empty()),
            tokens: call.tokens,
            reason: None,
        };
        let action = match &call.code {
            Some((kind, code)) => Action { kind: *kind, code: code.clone(), origin, ..Action::default() },
            None => {
                self.recorder.note(frame, NoteKind::Tool, &call.name, &call.input)?;
                let title: String = call.name.chars().filter(|c| !c.is_control()).collect();
                Action {
                    code: format!("# {title}: the recording has no source of this call.\n"),
                    name: Some(call.name.clone()),
                    origin,
                    ..Action::default()
                }
            }
        };
        let given = Given { recorded, text: None };
        self.recorder.step(frame, action, Answer::Known(Some(given.into()))).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Imported;

    fn call(id: &str, parent: &str, order: u64) -> Call {
        let parent = (!parent.is_empty()).then(|| parent.to_owned());
        Call {
            id: id.into(),
            parent,
            name: format!("call {id}"),
            order,
            output: format!("out {id}"),
            ..Call::default()
        }
    }

    fn laid(calls: Vec<Call>) -> Imported {
        let mut imported = Imported::default();
        let mut recorder = Recorder::new(&mut imported, "tracer");
        let mut tree = Tree::default();
        calls.into_iter().for_each(|call| tree.push(call));
        tree.lay(&mut recorder).unwrap();
        recorder.finish().unwrap();
        imported
    }

    fn ids(run: &Imported) -> Vec<&str> {
        let mut ids: Vec<_> = run.steps.iter().map(|step| &step.id).collect();
        ids.sort();
        ids.into_iter().map(|id| id.as_str()).collect()
    }

    #[test]
    fn children_may_come_before_their_parents() {
        let mut code = call("c", "b", 3);
        code.code = Some((Kind::Step, "x = 1".to_owned()));
        let mut model = call("m", "a", 1);
        model.sort = Sort::Model;
        model.model = Some("gpt".to_owned());
        let run = laid(vec![code, call("d", "a", 9), model, call("b", "a", 2), call("a", "", 0)]);
        assert_eq!(ids(&run), ["001_call_b/001_x", "002_call_d"]);
        assert_eq!(run.steps[0].provenance.model.as_deref(), Some("gpt"));
        assert!(run.steps[1].text.ends_with("# call d: the recording has no source of this call.\n"));
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().output.text(Stream::Stdout), "out d");
        let returned: Vec<&str> = run.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(returned, ["001_call_b/return.md", "return.md"]);
    }

    #[test]
    fn circles_orphans_and_endless_depth_are_survived() {
        let mut calls =
            vec![call("x", "y", 1), call("y", "x", 2), call("o", "gone", 3), call("s", "s", 4), call("s", "", 5)];
        calls.extend((0..500).map(|depth| call(&format!("d{depth}"), &format!("d{}", depth + 1), 10)));
        let run = laid(calls);
        assert!(run.warnings.iter().any(|warning| warning.what.contains("in a circle")), "{:?}", run.warnings);
        assert!(run.steps.iter().all(|step| step.id.depth() <= DEEPEST));
        assert!(run.steps.len() > 450);
    }
}
