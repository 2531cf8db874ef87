//! The tools, one entry each: which verb it is, what it takes, what it asks of the workbench.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers;
use crate::step::{Author, PatchId, Provenance, StepId};
use crate::workbench::{Command, Event, Failure, Reach, Summary, Talk, Verb};

/// A tool.
pub(super) struct Tool {
    /// Its verb, by name.
    pub verb: &'static str,
    /// What it takes, as a JSON schema.
    pub schema: fn() -> Value,
    /// Calls it, for the client of this name.
    pub call: fn(&mut Talk, Value, &str) -> Result<Value, Failure>,
}

impl Tool {
    /// The verb; never one that only a person may do.
    pub fn verb(&self) -> Option<&'static Verb> {
        Verb::named(self.verb).filter(|verb| verb.reach != Reach::Decides)
    }

    /// Its name: that of the verb, in one word.
    pub fn name(&self) -> String {
        self.verb.replace(' ', "_")
    }
}

/// All tools.
pub(super) static TOOLS: &[Tool] = &[
    Tool { verb: "status", schema: nothing, call: |talk, _, _| Ok(answers::status(fresh(talk)?)) },
    Tool { verb: "graph", schema: nothing, call: |talk, _, _| Ok(answers::graph(fresh(talk)?)) },
    Tool { verb: "show", schema: one_step, call: show },
    Tool { verb: "state", schema: state_takes, call: state },
    Tool { verb: "context", schema: context_takes, call: context },
    Tool { verb: "diagnose", schema: one_step, call: diagnose },
    Tool { verb: "log", schema: log_takes, call: log },
    Tool { verb: "run", schema: run_takes, call: run },
    Tool { verb: "replay", schema: replay_takes, call: replay },
    Tool { verb: "invalidate", schema: steps_takes, call: invalidate },
    Tool { verb: "stop", schema: nothing, call: |_, _, _| Ok(json!({"asked": true})) },
    Tool { verb: "new", schema: source_takes, call: |talk, given, who| write(talk, given, who, true) },
    Tool { verb: "edit", schema: source_takes, call: |talk, given, who| write(talk, given, who, false) },
    Tool { verb: "patch add", schema: patch_takes, call: patch_add },
    Tool { verb: "patch list", schema: nothing, call: |talk, _, _| Ok(answers::patches(fresh(talk)?)) },
    Tool { verb: "patch show", schema: one_patch, call: patch_show },
    Tool { verb: "patch try", schema: one_patch, call: patch_try },
];

// --- what they take -----------------------------------------------------------------------------------------

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn step() -> Value {
    json!({"type": "string", "description": "A step's id: its path in the run without the ending, like `fit/02_train`"})
}

fn nothing() -> Value {
    object(json!({}), &[])
}

fn one_step() -> Value {
    object(json!({"step": step()}), &["step"])
}

fn state_takes() -> Value {
    let names = json!({"type": "array", "items": {"type": "string"}, "description": "Only these variables"});
    object(json!({"at": step(), "names": names}), &[])
}

fn context_takes() -> Value {
    let budget = json!({"type": "integer", "minimum": 100, "description": "The most tokens that it may have"});
    object(json!({"step": step(), "budget": budget}), &["step"])
}

fn log_takes() -> Value {
    let most =
        json!({"type": "integer", "minimum": 1, "maximum": 500, "description": "The most entries; 50 if not given"});
    object(json!({"step": step(), "most": most}), &[])
}

fn run_takes() -> Value {
    let retry =
        json!({"type": "boolean", "description": "Run failed steps again even if nothing that they used changed"});
    object(json!({"steps": {"type": "array", "items": step()}, "retry_failed": retry}), &[])
}

fn replay_takes() -> Value {
    object(json!({"from": step(), "until": step()}), &[])
}

fn steps_takes() -> Value {
    object(json!({"steps": {"type": "array", "items": step(), "minItems": 1}}), &["steps"])
}

fn source_takes() -> Value {
    object(json!({"step": step(), "source": {"type": "string", "description": "The whole text"}}), &["step", "source"])
}

fn patch_takes() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    object(
        json!({
            "patch": text("A unified diff, SEARCH/REPLACE blocks, or whole files in fences"),
            "target": text("The file that is meant where the patch names none"),
            "model": text("The model that wrote it"),
            "call": text("Your own id of the call that wrote it"),
        }),
        &["patch"],
    )
}

fn one_patch() -> Value {
    object(json!({"patch": {"type": "integer", "description": "Its number"}}), &["patch"])
}

// --- what they do -------------------------------------------------------------------------------------------

/// The arguments as they should be.
fn read<T: DeserializeOwned>(given: Value) -> Result<T, Failure> {
    serde_json::from_value(given).map_err(|error| Failure { what: format!("the arguments: {error}"), hint: None })
}

/// The run as it is on disk now.
fn fresh(talk: &mut Talk) -> Result<&crate::workbench::Snapshot, Failure> {
    talk.ask(Command::Rescan, |_| {})?;
    Ok(talk.snapshot())
}

#[derive(Deserialize)]
struct OneStep {
    step: Id,
}

/// A step's id as agents write it: the ending is no part of it.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Id(StepId);

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bare = text.strip_suffix(".py").or_else(|| text.strip_suffix(".sh")).unwrap_or(&text);
        bare.strip_prefix("./").unwrap_or(bare).parse().map(Self).map_err(|error| format!("{error}"))
    }
}

fn show(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    let OneStep { step: Id(step) } = read(given)?;
    let (version, text) = talk.ask_for(Command::Source { step: step.clone() }, |event| match event {
        Event::Source { version, text, .. } => Some((*version, Arc::clone(text))),
        _ => None,
    })?;
    let execution = talk.ask_for(Command::Execution { step: step.clone() }, |event| match event {
        Event::Execution { execution, .. } => Some(execution.clone()),
        _ => None,
    })?;
    let output = execution.as_deref().map(answers::execution);
    Ok(json!({"step": step, "version": version, "source": text, "last": output}))
}

fn state(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        at: Option<Id>,
        #[serde(default)]
        names: Vec<String>,
    }
    let Takes { at, names } = read(given)?;
    let command = Command::State { at: at.map(|Id(step)| step), names };
    talk.ask_for(command, |event| match event {
        Event::State { at, variables } => Some(answers::variables(at, variables)),
        _ => None,
    })
}

fn context(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        step: Id,
        budget: Option<usize>,
    }
    let Takes { step: Id(step), budget } = read(given)?;
    talk.ask_for(Command::Context { step, budget }, |event| match event {
        Event::Context { step, context } => {
            Some(json!({"step": step, "tokens": context.tokens, "text": context.text()}))
        }
        _ => None,
    })
}

fn diagnose(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    let OneStep { step: Id(step) } = read(given)?;
    talk.ask_for(Command::Diagnose { step }, |event| match event {
        Event::Diagnosis { diagnosis, .. } => Some(json!(diagnosis)),
        _ => None,
    })
}

fn log(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        step: Option<Id>,
        most: Option<usize>,
    }
    let Takes { step, most } = read(given)?;
    let command = Command::Story { step: step.map(|Id(step)| step) };
    talk.ask_for(command, |event| match event {
        Event::Story { rows, .. } => {
            let rows: Vec<_> = rows.iter().take(most.unwrap_or(50).min(500)).collect();
            Some(json!({"entries": rows}))
        }
        _ => None,
    })
}

fn run(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        #[serde(default)]
        steps: Vec<Id>,
        #[serde(default)]
        retry_failed: bool,
    }
    let Takes { steps, retry_failed } = read(given)?;
    let steps = steps.into_iter().map(|Id(step)| step).collect();
    ran(talk, Command::Run { steps, retry_failed })
}

fn replay(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        from: Option<Id>,
        until: Option<Id>,
    }
    let Takes { from, until } = read(given)?;
    ran(talk, Command::Replay { from: from.map(|Id(step)| step), until: until.map(|Id(step)| step) })
}

/// Has steps run, and tells what became of each.
fn ran(talk: &mut Talk, command: Command) -> Result<Value, Failure> {
    let mut steps = Value::Null;
    let Summary { ran, kept, rebuilt, failed, text } = talk.ask(command, |event| {
        if let Event::Ran { steps: all, .. } = event {
            steps = answers::ran(all);
        }
    })?;
    Ok(json!({"steps": steps, "ran": ran, "kept": kept, "rebuilt": rebuilt, "failed": failed, "text": text}))
}

fn invalidate(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        steps: Vec<Id>,
    }
    let Takes { steps } = read(given)?;
    let steps = steps.into_iter().map(|Id(step)| step).collect();
    said(talk, Command::Invalidate { steps })
}

fn said(talk: &mut Talk, command: Command) -> Result<Value, Failure> {
    Ok(json!({"text": talk.ask(command, |_| {})?.text}))
}

fn write(talk: &mut Talk, given: Value, who: &str, new: bool) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        step: Id,
        source: String,
    }
    let Takes { step: Id(step), source } = read(given)?;
    said(talk, Command::Write { step, source, new, from: by(who) })
}

fn by(who: &str) -> Box<Provenance> {
    // The desk says when.
    Box::new(Provenance::new(Author::Agent(who.chars().take(100).collect()), 0))
}

fn patch_add(talk: &mut Talk, given: Value, who: &str) -> Result<Value, Failure> {
    #[derive(Deserialize)]
    struct Takes {
        patch: String,
        target: Option<String>,
        model: Option<String>,
        call: Option<String>,
    }
    let Takes { patch, target, model, call } = read(given)?;
    let from = Some(Box::new(Provenance { model, call, ..*by(who) }));
    talk.ask_for(Command::AddPatch { text: patch.into_bytes(), target, from }, |event| match event {
        Event::Patch(patch) => Some(answers::patch(patch)),
        _ => None,
    })
}

#[derive(Deserialize)]
struct OnePatch {
    patch: u32,
}

fn patch_show(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    let OnePatch { patch } = read(given)?;
    talk.ask_for(Command::Patch { patch: PatchId(patch) }, |event| match event {
        Event::Patch(found) if found.id == PatchId(patch) => Some(answers::whole_patch(found)),
        _ => None,
    })
}

fn patch_try(talk: &mut Talk, given: Value, _: &str) -> Result<Value, Failure> {
    let OnePatch { patch } = read(given)?;
    talk.ask_for(Command::Try { patch: PatchId(patch), files: Vec::new() }, |event| match event {
        Event::Tried { patch: tried, trial } if *tried == PatchId(patch) => Some(answers::trial(trial)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::VERBS;

    #[test]
    fn every_verb_is_a_tool_but_those_that_only_a_person_does() {
        let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.verb().unwrap().name).collect();
        let verbs: Vec<&str> = VERBS.iter().filter(|verb| verb.reach != Reach::Decides).map(|verb| verb.name).collect();
        assert_eq!(tools, verbs);
    }

    #[test]
    fn every_argument_that_must_be_given_is_told() {
        for tool in TOOLS {
            let schema = (tool.schema)();
            for name in schema["required"].as_array().unwrap() {
                assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{}: {name}", tool.verb);
            }
        }
    }

    #[test]
    fn an_id_is_read_with_and_without_its_ending() {
        let id = |text: &str| Id::try_from(text.to_owned()).map(|Id(step)| step.to_string());
        assert_eq!(id("./fit/02_train.py").unwrap(), "fit/02_train");
        assert!(id("../evil").is_err());
    }
}
