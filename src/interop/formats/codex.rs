//! Codex rollout logs: JSON Lines, `~/.codex/sessions/…/rollout-<time>-<uuid>.jsonl`.
//!
//! Before about September 2025 each line is an item by itself; since then items stand in an envelope
//! `{timestamp, type, payload}`, and messages appear twice: as a `response_item` and as an `event_msg`. Calls of
//! the shell become shell steps, `apply_patch` (a call of its own or a here-document in a shell command) becomes
//! an accepted patch, everything else stays as notes.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::apply_patch;
use super::codex_output::{command, given};
use super::records::each_record;
use super::result::{tokens, told};
use crate::interop::detect::Sample;
use crate::interop::json::{at, embedded, str_at, text_at};
use crate::interop::moment::moment;
use crate::interop::recorder::{Action, Answer, Given, Origin, Recorder, TOP};
use crate::interop::workspace::Workspace;
use crate::interop::{ImportError, Layout, NoteKind, Place, Recording, Sink};
use crate::step::{Digest, Kind, Millis};

/// Whether the records are a Codex rollout.
pub fn is(sample: &Sample) -> bool {
    let enveloped = |record: &Value| {
        record.get("payload").is_some()
            && matches!(
                str_at(record, &["type"]),
                Some("session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted")
            )
    };
    let bare = |record: &Value| {
        str_at(record, &["record_type"]) == Some("state")
            || record.get("call_id").is_some()
                && matches!(str_at(record, &["type"]), Some("function_call" | "function_call_output"))
                && record.get("extra").is_none()
            || record.get("instructions").is_some() && record.get("id").is_some() && record.get("timestamp").is_some()
    };
    sample.records.iter().any(|record| enveloped(record) || bare(record))
}

/// Reads a Codex rollout.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut rollout = Rollout {
        recorder: Recorder::new(sink, "codex"),
        workspace: Workspace::default(),
        model: None,
        starts: 0,
        copied: 0,
        heard: HashMap::new(),
        patches: HashMap::new(),
        bookkeeping: BTreeMap::new(),
    };
    let warnings = each_record(recording, layout, &[], &mut |place, record| rollout.record(&place, &record))?;
    for warning in warnings {
        rollout.recorder.warn(warning.place, warning.what);
    }
    rollout.finish()
}

struct Rollout<'s> {
    recorder: Recorder<'s>,
    workspace: Workspace,
    model: Option<String>,
    /// Ordinal of the first record that is this log's own: a sub-agent's log begins with its parent's.
    starts: u64,
    copied: usize,
    /// How often a text came as an item and as an event: the second of a pair is left out.
    heard: HashMap<Digest, [u32; 2]>,
    /// Patches that wait for the result of their call.
    patches: HashMap<String, (String, Origin)>,
    bookkeeping: BTreeMap<String, usize>,
}

/// Through which of its two doors a message came.
#[derive(Clone, Copy)]
enum Door {
    Item,
    Event,
}

impl Rollout<'_> {
    fn record(&mut self, place: &Place, record: &Value) -> Result<(), ImportError> {
        if at(record, &["ordinal"]).as_u64().is_some_and(|ordinal| ordinal < self.starts) {
            self.copied += 1;
            return Ok(());
        }
        let when = moment(at(record, &["timestamp"]));
        let payload = at(record, &["payload"]);
        if payload.is_null() {
            return self.bare(place, record, when);
        }
        match str_at(record, &["type"]).unwrap_or_default() {
            "session_meta" => self.meta(payload),
            "turn_context" => {
                if let Some(cwd) = str_at(payload, &["cwd"]) {
                    self.workspace.root(cwd);
                }
                self.model = str_at(payload, &["model"]).map(str::to_owned).or(self.model.take());
                Ok(())
            }
            "response_item" => self.item(place, payload, when),
            "event_msg" => self.event(payload),
            // The history that replaces what was said was said already.
            "compacted" => {
                let text = text_at(payload, &["message"]).unwrap_or_default();
                self.recorder.note(TOP, NoteKind::Other, "compacted", &text)
            }
            other => self.unknown(place, other, payload),
        }
    }

    fn bare(&mut self, place: &Place, record: &Value, when: Option<Millis>) -> Result<(), ImportError> {
        if record.get("record_type").is_some() {
            *self.bookkeeping.entry("state".to_owned()).or_default() += 1;
            return Ok(());
        }
        if record.get("type").is_none() && record.get("id").is_some() {
            return self.meta(record);
        }
        self.item(place, record, when)
    }

    fn meta(&mut self, meta: &Value) -> Result<(), ImportError> {
        if let Some(cwd) = str_at(meta, &["cwd"]) {
            self.workspace.root(cwd);
        }
        if let Some(start) = at(meta, &["subagent_history_start_ordinal"]).as_u64() {
            self.starts = start;
        }
        let instructions = text_at(meta, &["instructions"]).or_else(|| text_at(meta, &["base_instructions", "text"]));
        self.recorder.note(TOP, NoteKind::Message, "system", &instructions.unwrap_or_default())
    }

    fn item(&mut self, place: &Place, item: &Value, when: Option<Millis>) -> Result<(), ImportError> {
        match str_at(item, &["type"]).unwrap_or_default() {
            "message" => {
                let role = str_at(item, &["role"]).unwrap_or("assistant");
                self.said(Door::Item, role, &pieces(at(item, &["content"])))
            }
            "reasoning" => {
                let summary = [pieces(at(item, &["summary"])), pieces(at(item, &["content"]))].join("\n");
                self.said(Door::Item, "assistant", summary.trim())
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => self.call(item, when),
            "function_call_output" | "custom_tool_call_output" => self.output(item),
            "web_search_call" => {
                let action = at(item, &["action"]);
                self.recorder.tool(TOP, "web_search", &told(action), Answer::Known(None))
            }
            kind @ ("ghost_snapshot" | "compaction" | "compaction_summary") => {
                *self.bookkeeping.entry(kind.to_owned()).or_default() += 1;
                Ok(())
            }
            other => self.unknown(place, other, item),
        }
    }

    fn unknown(&mut self, place: &Place, kind: &str, value: &Value) -> Result<(), ImportError> {
        self.recorder.warn(Some(place.clone()), format!("a record of the unknown type {kind:?}; kept as a note"));
        self.recorder.note(TOP, NoteKind::Other, if kind.is_empty() { "record" } else { kind }, &value.to_string())
    }

    fn said(&mut self, door: Door, role: &str, text: &str) -> Result<(), ImportError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.heard.len() < 1 << 18 {
            let [items, events] = self.heard.entry(Digest::of(text.trim())).or_default();
            let (mine, other) = match door {
                Door::Item => (items, events),
                Door::Event => (events, items),
            };
            *mine += 1;
            if *mine <= *other {
                return Ok(());
            }
        }
        let kind = if role == "assistant" { NoteKind::Thought } else { NoteKind::Message };
        self.recorder.note(TOP, kind, role, text)
    }

    fn event(&mut self, event: &Value) -> Result<(), ImportError> {
        let kind = str_at(event, &["type"]).unwrap_or_default();
        let text = text_at(event, &["message"]).or_else(|| text_at(event, &["text"])).unwrap_or_default();
        match kind {
            "user_message" => self.said(Door::Event, "user", &text),
            "agent_message" | "agent_reasoning" => self.said(Door::Event, "assistant", &text),
            "token_count" => {
                let usage = at(event, &["info", "last_token_usage"]);
                if let Some(tokens) = tokens(usage) {
                    self.recorder.cost(TOP, tokens);
                }
                Ok(())
            }
            "turn_aborted" | "error" | "stream_error" => {
                let why = str_at(event, &["reason"]).unwrap_or(&text).to_owned();
                self.recorder.note(TOP, NoteKind::Other, kind, &why)
            }
            _ => {
                *self.bookkeeping.entry(kind.to_owned()).or_default() += 1;
                Ok(())
            }
        }
    }

    fn call(&mut self, item: &Value, when: Option<Millis>) -> Result<(), ImportError> {
        let call = str_at(item, &["call_id"]).or(str_at(item, &["id"])).unwrap_or_default().to_owned();
        let origin = Origin {
            at: when,
            model: self.model.clone(),
            call: (!call.is_empty()).then(|| call.clone()),
            ..Origin::default()
        };
        let answer = || if call.is_empty() { Answer::Known(None) } else { Answer::Awaited(&call) };
        let name = str_at(item, &["name"]).unwrap_or("shell");
        let input = [at(item, &["arguments"]), at(item, &["input"]), at(item, &["action"])]
            .into_iter()
            .find(|value| !value.is_null())
            .map(embedded)
            .unwrap_or_default();
        let command = command(name, &input);
        let patch = match &command {
            Some(command) => apply_patch::in_command(command),
            None if name == "apply_patch" => {
                input.as_str().or(str_at(&input, &["input"])).or(str_at(&input, &["patch"])).map(str::to_owned)
            }
            None => None,
        };
        if let Some(patch) = patch {
            self.recorder.tool(TOP, "apply_patch", &patch, answer())?;
            if call.is_empty() {
                return self.patched(&patch, &origin);
            }
            self.patches.insert(call, (patch, origin));
            return Ok(());
        }
        if let Some(code) = str_at(&input, &["code"]).filter(|_| name == "python") {
            let action = Action { code: code.to_owned(), origin, ..Action::default() };
            return self.recorder.step(TOP, action, answer()).map(drop);
        }
        match command {
            Some(code) => {
                if let Some(reason) = str_at(&input, &["justification"]) {
                    self.recorder.note(TOP, NoteKind::Thought, "assistant", reason)?;
                }
                let action = Action { kind: Kind::Shell, code, origin, ..Action::default() };
                self.recorder.step(TOP, action, answer()).map(drop)
            }
            None => self.recorder.tool(TOP, name, &told(&input), answer()),
        }
    }

    fn output(&mut self, item: &Value) -> Result<(), ImportError> {
        let call = str_at(item, &["call_id"]).unwrap_or_default();
        let given: Given = given(at(item, &["output"]));
        if let Some((patch, origin)) = self.patches.remove(call)
            && given.recorded.error.is_none()
        {
            self.patched(&patch, &origin)?;
        }
        self.recorder.settle(call, given)
    }

    fn patched(&mut self, patch: &str, origin: &Origin) -> Result<(), ImportError> {
        for change in apply_patch::changes(patch) {
            self.workspace.change(change, origin, &mut self.recorder)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), ImportError> {
        if !self.bookkeeping.is_empty() {
            let kinds: Vec<String> = self.bookkeeping.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let what = format!("records of Codex's own bookkeeping are left out: {}", kinds.join(", "));
            self.recorder.warn(None, what);
        }
        if self.copied > 0 {
            let what = format!("{} records at the start are the parent session's and are left out", self.copied);
            self.recorder.warn(None, what);
        }
        self.workspace.finish(&mut self.recorder)?;
        self.recorder.finish()
    }
}

/// The texts of a message's content.
fn pieces(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<&str> = items
                .iter()
                .filter_map(|item| match str_at(item, &["type"]) {
                    Some("input_image") => Some("[a picture]"),
                    _ => item.as_str().or(str_at(item, &["text"])),
                })
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
