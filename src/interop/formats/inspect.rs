//! inspect_ai logs: one JSON document, or a ZIP archive (`.eval`) with `header.json` and `samples/*.json`.
//!
//! Each sample is a run: the run itself where there is one, a frame each where there are several. Calls of the
//! tools that run code become steps. Long texts stand apart under `attachment://` names and are put back.

use std::io::BufReader;

use serde_json::Value;

use super::code::code_of;
use super::mini_swe_agent::submitted;
use super::result::{printed, tokens, told};
use crate::interop::archive::Archive;
use crate::interop::detect::Sample;
use crate::interop::json::{Clean, at, each_element, outline, str_at, text_at};
use crate::interop::moment::{moment, seconds_us};
use crate::interop::recorder::{Action, Answer, FrameRef, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, Layout, NoteKind, Place, Recording, Sink};
use crate::step::{Kind, StepError};

/// The largest sample that is read, in bytes.
const LARGEST_SAMPLE: u64 = 512 << 20;

/// Events that carry no part of a run.
const BOOKKEEPING: [&str; 12] = [
    "sample_init",
    "sample_limit",
    "state",
    "store",
    "step",
    "span_begin",
    "span_end",
    "score",
    "score_edit",
    "subtask",
    "sandbox",
    "logger",
];

/// Whether the records are an inspect log.
pub fn is(sample: &Sample) -> bool {
    sample.has(&["eval", "task"]) && (sample.has(&["samples"]) || sample.has(&["plan"]) || sample.has(&["stats"]))
}

/// Whether the archive at hand is an inspect log.
pub fn is_archive(recording: &Recording<'_>) -> bool {
    Archive::open(recording.path()).is_ok_and(|archive| {
        archive
            .names()
            .any(|name| name == "header.json" || name == "_journal/start.json" || name.starts_with("samples/"))
    })
}

/// Reads an inspect log.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut log = Log { recorder: Recorder::new(sink, "inspect"), model: None, several: false, alone: false };
    if layout == Layout::Packed {
        log.archive(recording)?;
    } else {
        let (frame, ended) = outline(Clean::new(recording.read()?), 1 << 16, 2);
        log.header(&frame);
        log.several = at(&frame, &["samples"]).as_array().is_some_and(|samples| samples.len() > 1);
        each_element(Clean::new(recording.read()?), &["samples"], &mut |sample| log.sample(&sample))?;
        if let Some(warning) = ended.warning() {
            log.recorder.warn(warning.place, warning.what);
        }
    }
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    if log.alone {
        log.recorder
            .warn(None, "each call of the tool python ran in a process of its own; here the steps share one namespace");
    }
    log.recorder.finish()
}

struct Log<'s> {
    recorder: Recorder<'s>,
    model: Option<String>,
    several: bool,
    /// Whether Python ran in a process for each call.
    alone: bool,
}

impl Log<'_> {
    fn header(&mut self, header: &Value) {
        self.model = str_at(header, &["eval", "model"]).map(str::to_owned);
    }

    fn archive(&mut self, recording: &Recording<'_>) -> Result<(), ImportError> {
        let archive = Archive::open(recording.path()).map_err(|why| recording.malformed(why))?;
        for name in ["header.json", "_journal/start.json"] {
            if let Ok(reader) = archive.read(name) {
                self.header(&outline(Clean::new(BufReader::new(reader)), 1 << 16, 2).0);
                break;
            }
        }
        let mut names: Vec<String> =
            archive.names().filter(|name| name.starts_with("samples/")).map(str::to_owned).collect();
        names.sort_by_key(|name| natural(name));
        self.several = names.len() > 1;
        if names.is_empty() {
            self.recorder.warn(None, "the log has no samples");
        }
        for name in names {
            if recording.watch().is_stopped() {
                return Err(ImportError::Stopped);
            }
            let place = Place::Member(name.clone());
            let sample = archive.read(&name).and_then(|reader| {
                let reader = std::io::Read::take(reader, LARGEST_SAMPLE);
                serde_json::from_reader::<_, Value>(Clean::new(BufReader::new(reader)))
                    .map_err(|error| error.to_string())
            });
            match sample {
                Ok(sample) => self.sample(&sample)?,
                Err(why) => self.recorder.warn(Some(place), format!("left out: {why}")),
            }
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Value) -> Result<(), ImportError> {
        let sample = &attached(sample);
        let id = match at(sample, &["id"]) {
            Value::String(id) => id.clone(),
            other => other.to_string(),
        };
        let name = format!("{id} epoch {}", at(sample, &["epoch"]).as_u64().unwrap_or(1));
        let frame = if self.several { self.recorder.frame(TOP, &name) } else { TOP };
        let events = [at(sample, &["events"]), at(sample, &["transcript", "events"])];
        let events = events.iter().find_map(|events| events.as_array()).filter(|events| {
            events
                .iter()
                .any(|event| str_at(event, &["event"]) == Some("model") || str_at(event, &["event"]) == Some("tool"))
        });
        self.recorder.note(frame, NoteKind::Message, "input", &asked(at(sample, &["input"])))?;
        match events {
            Some(events) => events.iter().try_for_each(|event| self.event(frame, event))?,
            None => at(sample, &["messages"])
                .as_array()
                .into_iter()
                .flatten()
                .try_for_each(|message| self.message(frame, message))?,
        }
        if let Value::Object(scores) = at(sample, &["scores"]) {
            for (name, score) in scores {
                self.recorder.note(frame, NoteKind::Other, &format!("score {name}"), &told(score))?;
            }
        }
        if let Some(error) = text_at(sample, &["error", "message"]) {
            self.recorder.note(frame, NoteKind::Other, "error", &error)?;
        }
        let answer =
            said(at(at(sample, &["output", "choices"]).get(0).unwrap_or(&Value::Null), &["message", "content"]));
        if answer.starts_with("diff ") {
            submitted(&mut self.recorder, &answer, self.model.clone())?;
        }
        if self.several { self.recorder.returned(frame, &answer) } else { Ok(()) }
    }

    fn event(&mut self, frame: FrameRef, event: &Value) -> Result<(), ImportError> {
        match str_at(event, &["event"]).unwrap_or_default() {
            "model" => {
                self.model = str_at(event, &["model"]).map(str::to_owned).or(self.model.take());
                let output = at(event, &["output"]);
                for choice in at(output, &["choices"]).as_array().into_iter().flatten() {
                    let text = said(at(choice, &["message", "content"]));
                    self.recorder.note(frame, NoteKind::Thought, "model", &text)?;
                }
                if let Some(tokens) = tokens(at(output, &["usage"])) {
                    self.recorder.cost(frame, tokens);
                }
                Ok(())
            }
            "tool" => {
                let name = str_at(event, &["function"]).unwrap_or("tool");
                let mut given = self.given(name, at(event, &["result"]), at(event, &["error"]));
                given.recorded.started = moment(at(event, &["timestamp"]));
                given.recorded.duration_us = seconds_us(at(event, &["working_time"]));
                let call = str_at(event, &["id"]);
                self.call(frame, name, at(event, &["arguments"]), call, Answer::Known(Some(given.into())))?;
                // A tool that is an agent has events of its own.
                let inner = at(event, &["events"]).as_array().filter(|events| !events.is_empty());
                match inner {
                    Some(events) => {
                        let frame = self.recorder.frame(frame, name);
                        events.iter().try_for_each(|event| self.event(frame, event))
                    }
                    None => Ok(()),
                }
            }
            "info" | "error" | "input" | "approval" => {
                let kind = str_at(event, &["event"]).unwrap_or_default();
                let data = [at(event, &["data"]), at(event, &["error", "message"]), at(event, &["input"])];
                let data = data.iter().find(|data| !data.is_null()).map(|data| told(data)).unwrap_or_default();
                self.recorder.note(frame, NoteKind::Other, kind, &data)
            }
            kind if BOOKKEEPING.contains(&kind) => Ok(()),
            kind => self.recorder.note(frame, NoteKind::Other, kind, &event.to_string()),
        }
    }

    fn message(&mut self, frame: FrameRef, message: &Value) -> Result<(), ImportError> {
        let role = str_at(message, &["role"]).unwrap_or_default();
        let text = said(at(message, &["content"]));
        match role {
            "assistant" => {
                self.recorder.note(frame, NoteKind::Thought, "model", &text)?;
                for call in at(message, &["tool_calls"]).as_array().into_iter().flatten() {
                    let name = str_at(call, &["function"]).unwrap_or("tool");
                    let id = str_at(call, &["id"]);
                    let answer = id.map_or(Answer::Known(None), Answer::Awaited);
                    self.call(frame, name, at(call, &["arguments"]), id, answer)?;
                }
                Ok(())
            }
            "tool" => {
                let name = str_at(message, &["function"]).unwrap_or("tool");
                let given = self.given(name, at(message, &["content"]), at(message, &["error"]));
                let call = str_at(message, &["tool_call_id"]).unwrap_or_default();
                if self.recorder.awaits(call) {
                    return self.recorder.settle(call, given);
                }
                // The call is not in the log: what was called is known all the same.
                self.recorder.tool(frame, name, "", Answer::Known(Some(given.into())))
            }
            role => self.recorder.note(frame, NoteKind::Message, role, &text),
        }
    }

    fn call(
        &mut self,
        frame: FrameRef,
        name: &str,
        arguments: &Value,
        call: Option<&str>,
        answer: Answer<'_>,
    ) -> Result<(), ImportError> {
        let Some((kind, code)) = code_of(name, arguments) else {
            return self.recorder.tool(frame, name, &told(arguments), answer);
        };
        self.alone |= name == "python";
        let origin = Origin { model: self.model.clone(), call: call.map(str::to_owned), ..Origin::default() };
        self.recorder.step(frame, Action { kind, code, origin, ..Action::default() }, answer).map(drop)
    }

    fn given(&self, name: &str, result: &Value, error: &Value) -> Given {
        let text = said(result);
        let kind = code_of(name, &Value::from("x")).map_or(Kind::Shell, |(kind, _)| kind);
        let mut recorded = printed(kind, &text, None);
        let message = text_at(error, &["message"]);
        let is_error = message.is_some();
        if let Some(message) = message {
            recorded.error = Some(StepError {
                type_name: str_at(error, &["type"]).unwrap_or("error").to_owned(),
                message: message.clone(),
                ..StepError::default()
            });
        }
        let text = if text.is_empty() && is_error { text_at(error, &["message"]).unwrap_or_default() } else { text };
        Given { recorded, text: Some(text) }
    }
}

/// The text of a content: a text, or a list of items of which some are texts.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .filter_map(|item| match str_at(item, &["type"]) {
                    Some("image" | "audio" | "video") => {
                        Some(format!("[{}]", str_at(item, &["type"]).unwrap_or_default()))
                    }
                    Some("reasoning") => text_at(item, &["reasoning"]),
                    _ => text_at(item, &["text"]),
                })
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What was asked: a text, or a list of messages.
fn asked(input: &Value) -> String {
    match input {
        Value::Array(messages) => {
            let texts: Vec<String> = messages.iter().map(|message| said(at(message, &["content"]))).collect();
            texts.join("\n\n")
        }
        other => said(other),
    }
}

/// The sample with the texts that stand apart put back.
fn attached(sample: &Value) -> Value {
    let stores = [at(sample, &["attachments"]), at(sample, &["transcript", "content"])];
    let mut sample = sample.clone();
    for store in stores.iter().filter(|store| store.is_object()) {
        put_back(&mut sample, store, 0);
    }
    sample
}

fn put_back(value: &mut Value, store: &Value, depth: usize) {
    if depth > 100 {
        return;
    }
    match value {
        Value::String(text) => {
            let name = text.strip_prefix("attachment://").or_else(|| text.strip_prefix("tc://"));
            if let Some(Value::String(whole)) = name.and_then(|name| store.get(name)) {
                *text = whole.clone();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| put_back(item, store, depth + 1)),
        Value::Object(entries) => entries
            .iter_mut()
            .filter(|(key, _)| *key != "attachments")
            .for_each(|(_, value)| put_back(value, store, depth + 1)),
        _ => {}
    }
}

/// `samples/10_epoch_2.json` after `samples/9_epoch_1.json`.
fn natural(name: &str) -> Vec<(u64, String)> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(|word| word.parse().map_or((u64::MAX, word.to_owned()), |number| (number, String::new()))).collect()
}
