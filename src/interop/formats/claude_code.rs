//! Claude Code session logs: JSON Lines, one record a line, `~/.claude/projects/<directory>/<uuid>.jsonl`.
//!
//! A call is a `tool_use` item of an assistant's message; its result is a `tool_result` item of a later user
//! record, whose `toolUseResult` has the parts (`stdout`, `structuredPatch`…) where the call went well and is a
//! mere string where it did not. `Bash` calls become shell steps, file edits become accepted patches with the
//! whole file before and after, sub-agents (`isSidechain`) become frames, everything else stays as notes.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::claude_edit::{edit, is_edit};
use super::records::each_record;
use super::result::{exit_error, tokens, told};
use super::traceback::last_error;
use crate::interop::detect::Sample;
use crate::interop::json::{at, str_at, text_at};
use crate::interop::moment::moment;
use crate::interop::recorder::{Action, Answer, FrameRef, Given, Origin, Recorder, TOP};
use crate::interop::workspace::Workspace;
use crate::interop::{ImportError, Layout, NoteKind, Place, Recorded, Recording, Sink};
use crate::step::{Digest, Kind, Stream};

/// Records that carry no part of the run.
const BOOKKEEPING: [&str; 6] =
    ["file-history-snapshot", "queue-operation", "last-prompt", "progress", "custom-title", "permission-mode"];

/// Whether the records are a Claude Code session.
pub fn is(sample: &Sample) -> bool {
    sample.records.iter().any(|record| {
        (record.get("uuid").is_some() || record.get("parentUuid").is_some() || record.get("leafUuid").is_some())
            && record.get("type").is_some()
    })
}

/// Reads a Claude Code session.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut session = Session {
        recorder: Recorder::new(sink, "claude-code"),
        workspace: Workspace::default(),
        seen: HashSet::new(),
        frames: HashMap::new(),
        prompts: HashMap::new(),
        tasks: HashMap::new(),
        edits: HashMap::new(),
        turns: HashSet::new(),
        said: BTreeMap::new(),
        bookkeeping: BTreeMap::new(),
        repeated: 0,
        rewound: 0,
    };
    let warnings = each_record(recording, layout, &[], &mut |place, record| session.record(&place, &record))?;
    for warning in warnings {
        session.recorder.warn(warning.place, warning.what);
    }
    session.finish()
}

struct Edit {
    name: String,
    input: Value,
    origin: Origin,
}

struct Session<'s> {
    recorder: Recorder<'s>,
    workspace: Workspace,
    /// Records read so far, by a part of their id's digest.
    seen: HashSet<u64>,
    /// The frame that a side chain's record is in, by its id.
    frames: HashMap<String, FrameRef>,
    /// Prompts given to sub-agents, and the calls that gave them.
    prompts: HashMap<Digest, String>,
    /// Calls of sub-agents: their title, where they stand, and their frame once they have one.
    tasks: HashMap<String, (String, FrameRef, Option<FrameRef>)>,
    /// Edits that wait for their result.
    edits: HashMap<String, Edit>,
    /// Records that a person's message followed already.
    turns: HashSet<u64>,
    /// Message ids whose tokens were counted: a message spans several records.
    said: BTreeMap<String, ()>,
    bookkeeping: BTreeMap<String, usize>,
    repeated: usize,
    rewound: usize,
}

impl Session<'_> {
    fn record(&mut self, place: &Place, record: &Value) -> Result<(), ImportError> {
        let uuid = str_at(record, &["uuid"]);
        if uuid.is_some_and(|uuid| !self.seen.insert(mark(uuid))) {
            self.repeated += 1;
            return Ok(());
        }
        if let Some(cwd) = str_at(record, &["cwd"]) {
            self.workspace.root(cwd);
        }
        let kind = str_at(record, &["type"]).unwrap_or_default();
        match kind {
            "assistant" => {
                let frame = self.frame_of(record)?;
                self.assistant(frame, record)
            }
            "user" => {
                let frame = self.frame_of(record)?;
                self.user(frame, record)
            }
            "system" => {
                let text = text_at(record, &["content"]).unwrap_or_default();
                self.recorder.note(TOP, NoteKind::Message, "system", &text)
            }
            "summary" => {
                let text = text_at(record, &["summary"]).unwrap_or_default();
                self.recorder.note(TOP, NoteKind::Other, "summary", &text)
            }
            _ if BOOKKEEPING.contains(&kind) => {
                *self.bookkeeping.entry(kind.to_owned()).or_default() += 1;
                Ok(())
            }
            _ => {
                self.recorder
                    .warn(Some(place.clone()), format!("a record of the unknown type {kind:?}; kept as a note"));
                self.recorder.note(
                    TOP,
                    NoteKind::Other,
                    if kind.is_empty() { "record" } else { kind },
                    &record.to_string(),
                )
            }
        }
    }

    /// Where a record's steps go: the run, or the frame of the sub-agent that it belongs to.
    fn frame_of(&mut self, record: &Value) -> Result<FrameRef, ImportError> {
        if !at(record, &["isSidechain"]).as_bool().unwrap_or_default() {
            return Ok(TOP);
        }
        let parent = str_at(record, &["parentUuid"]).and_then(|parent| self.frames.get(parent)).copied();
        let agent = str_at(record, &["agentId"]).map(|id| format!("agent {id}"));
        let named = agent.as_ref().and_then(|agent| self.frames.get(agent)).copied();
        let frame = match parent.or(named) {
            Some(frame) => frame,
            None => {
                let prompt = content_text(at(record, &["message", "content"]));
                let call = self.prompts.get(&Digest::of(prompt.trim())).cloned();
                match call.and_then(|call| self.tasks.get_mut(&call)) {
                    Some((title, parent, frame)) => {
                        let made = self.recorder.frame(*parent, title);
                        *frame = Some(made);
                        made
                    }
                    None => self.recorder.frame(TOP, "sub agent"),
                }
            }
        };
        for id in str_at(record, &["uuid"]).map(str::to_owned).into_iter().chain(agent) {
            self.frames.insert(id, frame);
        }
        Ok(frame)
    }

    fn assistant(&mut self, frame: FrameRef, record: &Value) -> Result<(), ImportError> {
        let message = at(record, &["message"]);
        let at_ = moment(at(record, &["timestamp"]));
        let id = str_at(message, &["id"]).unwrap_or_default();
        let counted = self.said.contains_key(id);
        let mut usage = if counted { None } else { tokens(at(message, &["usage"])) };
        if let Value::String(text) = at(message, &["content"]) {
            return self.recorder.note(frame, NoteKind::Thought, "assistant", text);
        }
        for item in at(message, &["content"]).as_array().into_iter().flatten() {
            match str_at(item, &["type"]) {
                Some("text") => {
                    let text = str_at(item, &["text"]).unwrap_or_default();
                    self.recorder.note(frame, NoteKind::Thought, "assistant", text)?;
                }
                Some("thinking") => {
                    let text = str_at(item, &["thinking"]).unwrap_or_default();
                    self.recorder.note(frame, NoteKind::Thought, "assistant", text)?;
                }
                Some("redacted_thinking") => {}
                Some("tool_use" | "server_tool_use") => {
                    let origin = Origin {
                        at: at_,
                        model: str_at(message, &["model"]).map(str::to_owned),
                        call: str_at(item, &["id"]).map(str::to_owned),
                        tokens: usage.take(),
                        reason: None,
                    };
                    if !id.is_empty() && self.said.len() < 1 << 20 {
                        self.said.insert(id.to_owned(), ());
                    }
                    self.call(frame, item, origin)?;
                }
                other => {
                    self.recorder.note(frame, NoteKind::Other, other.unwrap_or("content"), &item.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, frame: FrameRef, item: &Value, origin: Origin) -> Result<(), ImportError> {
        let name = str_at(item, &["name"]).unwrap_or("tool");
        let input = at(item, &["input"]);
        let call = origin.call.clone().unwrap_or_default();
        let answer = if call.is_empty() { Answer::Known(None) } else { Answer::Awaited(&call) };
        if name == "Bash"
            && let Some(command) = str_at(input, &["command"])
        {
            let reason = str_at(input, &["description"]).map(str::to_owned);
            let action = Action { kind: Kind::Shell, code: command.to_owned(), origin, ..Action::default() };
            if let Some(reason) = reason {
                self.recorder.note(frame, NoteKind::Thought, "assistant", &reason)?;
            }
            return self.recorder.step(frame, action, answer).map(drop);
        }
        // The Jupyter tool of an editor runs Python in the notebook's kernel.
        if name.ends_with("executeCode")
            && let Some(code) = str_at(input, &["code"])
        {
            let action = Action { kind: Kind::Step, code: code.to_owned(), origin, ..Action::default() };
            return self.recorder.step(frame, action, answer).map(drop);
        }
        if let Some(prompt) = str_at(input, &["prompt"]).filter(|_| matches!(name, "Task" | "Agent")) {
            let title = str_at(input, &["description"]).unwrap_or("sub agent").to_owned();
            self.prompts.insert(Digest::of(prompt.trim()), call.clone());
            self.tasks.insert(call.clone(), (title, frame, None));
        }
        self.recorder.tool(frame, name, &told(input), answer)?;
        if is_edit(name) && !call.is_empty() && self.edits.len() < 4096 {
            self.edits.insert(call, Edit { name: name.to_owned(), input: input.clone(), origin });
        }
        Ok(())
    }

    fn user(&mut self, frame: FrameRef, record: &Value) -> Result<(), ImportError> {
        let content = at(record, &["message", "content"]);
        let by = if at(record, &["isMeta"]).as_bool().unwrap_or_default() { "system" } else { "user" };
        let items = match content {
            Value::Array(items) => items.as_slice(),
            _ => &[],
        };
        let is_answer = items.iter().any(|item| str_at(item, &["type"]) == Some("tool_result"));
        if !is_answer
            && by == "user"
            && frame == TOP
            && let Some(parent) = str_at(record, &["parentUuid"])
            && !self.turns.insert(mark(parent))
        {
            self.rewound += 1;
        }
        if let Value::String(text) = content {
            return self.recorder.note(frame, NoteKind::Message, by, text);
        }
        for item in items {
            match str_at(item, &["type"]) {
                Some("tool_result") => self.result(item, at(record, &["toolUseResult"]))?,
                Some("text") => {
                    let text = str_at(item, &["text"]).unwrap_or_default();
                    self.recorder.note(frame, NoteKind::Message, by, text)?;
                }
                Some("image") => {
                    let kind = str_at(item, &["source", "media_type"]).unwrap_or("image");
                    self.recorder.note(frame, NoteKind::Message, by, &format!("[a picture, {kind}]"))?;
                }
                other => {
                    self.recorder.note(frame, NoteKind::Other, other.unwrap_or("content"), &item.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn result(&mut self, item: &Value, parts: &Value) -> Result<(), ImportError> {
        let call = str_at(item, &["tool_use_id"]).unwrap_or_default();
        let text = content_text(at(item, &["content"]));
        let failed = at(item, &["is_error"]).as_bool().unwrap_or_default();
        if let Some(edit_) = self.edits.remove(call)
            && !failed
            && let Some(change) = edit(&edit_.name, &edit_.input, parts)
        {
            self.workspace.change(change, &edit_.origin, &mut self.recorder)?;
        }
        if let Some((_, _, Some(frame))) = self.tasks.remove(call) {
            self.recorder.returned(frame, &text)?;
        }
        let recorded = recorded(&text, failed, parts);
        self.recorder.settle(call, Given { recorded, text: Some(text) })
    }

    fn finish(mut self) -> Result<(), ImportError> {
        let left_out: Vec<String> = self.bookkeeping.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if !left_out.is_empty() {
            let what = format!("records of Claude Code's own bookkeeping are left out: {}", left_out.join(", "));
            self.recorder.warn(None, what);
        }
        if self.repeated > 0 {
            let what = match self.repeated {
                1 => "one record stands in the log twice; the first is taken".to_owned(),
                many => format!("{many} records stand in the log twice; the first of each is taken"),
            };
            self.recorder.warn(None, what);
        }
        if self.rewound > 0 {
            let times = if self.rewound == 1 { "once".to_owned() } else { format!("{} times", self.rewound) };
            let what = format!(
                "the conversation was taken up again from an earlier point {times}; the steps of every branch are kept, \
                 in the order of the log"
            );
            self.recorder.warn(None, what);
        }
        self.workspace.finish(&mut self.recorder)?;
        self.recorder.finish()
    }
}

/// What a call gave. The parts tell output from errors; without them there is one text.
fn recorded(text: &str, failed: bool, parts: &Value) -> Recorded {
    let mut recorded = Recorded::default();
    let (out, err) = (str_at(parts, &["stdout"]), str_at(parts, &["stderr"]));
    if out.is_some() || err.is_some() {
        for (stream, text) in [(Stream::Stdout, out), (Stream::Stderr, err)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                recorded.print(stream, text.to_owned());
            }
        }
    } else if !text.is_empty() {
        recorded.print(if failed { Stream::Stderr } else { Stream::Stdout }, text.to_owned());
    }
    if failed {
        let status = text.strip_prefix("Exit code ").and_then(|rest| rest.lines().next()?.trim().parse().ok());
        recorded.error = exit_error(status.unwrap_or(1)).map(|mut error| {
            if status.is_none() {
                error.type_name = "ToolError".to_owned();
                error.message = text.lines().next().unwrap_or_default().to_owned();
            }
            last_error(text).unwrap_or(error)
        });
    }
    let millis = ["durationMs", "totalDurationMs"].iter().find_map(|key| at(parts, &[key]).as_u64());
    recorded.duration_us = millis.and_then(|millis| millis.checked_mul(1000));
    recorded
}

/// The text of a content that is a string or a list of items.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .filter_map(|item| match str_at(item, &["type"]) {
                    Some("image") => Some("[a picture]".to_owned()),
                    _ => str_at(item, &["text"]).map(str::to_owned),
                })
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// Enough of an id's digest to tell ids apart without keeping them.
fn mark(id: &str) -> u64 {
    let digest = Digest::of(id);
    digest.as_bytes().iter().take(8).fold(0, |mark, byte| mark << 8 | u64::from(*byte))
}
