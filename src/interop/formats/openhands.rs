//! OpenHands (CodeAct) event streams, in the shapes that they have had:
//!
//! - a list of events with `id`, `action` or `observation`, `args` or `extras`, and `cause`;
//! - `output.jsonl` of its evaluations: a run a line, the events in `history`, in 2024 without ids and with the
//!   arguments beside the name of the action, older still as pairs of action and observation;
//! - events of the newer SDK, told by `kind`: see [`super::openhands_sdk`].
//!
//! `run_ipython` becomes a Python step and `run` a shell step. What OpenHands itself adds after the output of a
//! cell, where its kernel stands, is left out of the recorded output.

use std::collections::{BTreeMap, HashMap, VecDeque};

use base64::Engine;
use serde_json::Value;

use super::mini_swe_agent::submitted;
use super::openhands_sdk::plain_event;
use super::records::each_record;
use super::result::{printed, tokens, told};
use crate::interop::detect::Sample;
use crate::interop::json::{at, str_at, text_at};
use crate::interop::moment::moment;
use crate::interop::recorder::{Action, Answer, FrameRef, Given, Origin, Recorder, TOP};
use crate::interop::workspace::{Change, Workspace};
use crate::interop::{ImportError, Layout, NoteKind, Place, Recording, Sink};
use crate::step::{Display, Kind, StepError};

/// Actions and observations that carry no part of the run.
const BOOKKEEPING: [&str; 7] = [
    "change_agent_state",
    "agent_state_changed",
    "null",
    "recall",
    "condensation",
    "ConversationStateUpdateEvent",
    "PauseEvent",
];

/// Whether the records are OpenHands events, or runs with a history of such.
pub fn is(sample: &Sample) -> bool {
    let event = |record: &Value| {
        let named = |key: &str| str_at(record, &[key]).is_some();
        let v0 = (named("action") || named("observation"))
            && ["args", "extras", "cause", "content", "command", "code", "source"]
                .iter()
                .any(|key| record.get(key).is_some())
            && record.get("response").is_none();
        let sdk =
            str_at(record, &["kind"]).is_some_and(|kind| kind.ends_with("Event")) && record.get("source").is_some();
        v0 || sdk
    };
    sample.records.iter().any(|record| {
        event(record)
            || ["history", "trajectory", "events"].iter().any(|key| {
                let first = at(record, &[key]).get(0).unwrap_or(&Value::Null);
                event(first) || first.get(0).is_some_and(event)
            })
    })
}

/// Reads OpenHands events.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut stream = Stream {
        recorder: Recorder::new(sink, "openhands"),
        workspace: Workspace::default(),
        frame: TOP,
        waiting: VecDeque::new(),
        by_id: HashMap::new(),
        edits: HashMap::new(),
        paid: None,
        calls: 0,
        bookkeeping: BTreeMap::new(),
        started_with: None,
        runs: layout == Layout::Lines,
    };
    stream.workspace.root("/workspace");
    let warnings = match layout {
        Layout::Object => {
            let mut warnings = Vec::new();
            for key in ["history", "trajectory", "events"] {
                warnings = each_record(recording, layout, &[key], &mut |place, event| stream.record(&place, &event))?;
            }
            stream.end_of_object(recording)?;
            warnings
        }
        _ => each_record(recording, layout, &[], &mut |place, record| stream.record(&place, &record))?,
    };
    for warning in warnings {
        stream.recorder.warn(warning.place, warning.what);
    }
    stream.finish()
}

struct Edit {
    path: String,
    origin: Origin,
}

struct Stream<'s> {
    recorder: Recorder<'s>,
    workspace: Workspace,
    frame: FrameRef,
    /// Calls that no observation named yet, oldest first, with the name of their action.
    waiting: VecDeque<(String, String)>,
    /// Calls by the id of their event.
    by_id: HashMap<i64, String>,
    edits: HashMap<String, Edit>,
    /// The model's answer whose tokens were counted last.
    paid: Option<String>,
    calls: usize,
    bookkeeping: BTreeMap<String, usize>,
    started_with: Option<String>,
    /// Whether each record may be a whole run.
    runs: bool,
}

impl Stream<'_> {
    fn record(&mut self, place: &Place, record: &Value) -> Result<(), ImportError> {
        let history = ["history", "trajectory", "events"].iter().find_map(|key| at(record, &[key]).as_array());
        match history {
            Some(history) if record.get("action").is_none() && record.get("observation").is_none() => {
                let name =
                    ["instance_id", "issue", "id"].iter().find_map(|key| str_at(record, &[key])).unwrap_or("run");
                self.frame = if self.runs { self.recorder.frame(TOP, name) } else { TOP };
                self.by_id.clear();
                for event in history {
                    self.record(place, event)?;
                }
                self.end_of_run(record)
            }
            _ => match record {
                // The oldest shape: pairs of action and observation.
                Value::Array(pair) => pair.iter().try_for_each(|event| self.record(place, event)),
                Value::Object(_) => match plain_event(record) {
                    Some(event) => self.event(place, &event),
                    None => self.event(place, record),
                },
                other => {
                    self.recorder.warn(Some(place.clone()), "not an event; kept as a note");
                    self.recorder.note(self.frame, NoteKind::Other, "record", &other.to_string())
                }
            },
        }
    }

    /// What stands beside the history of one run.
    fn end_of_run(&mut self, run: &Value) -> Result<(), ImportError> {
        if let Some(instruction) = text_at(run, &["instruction"]) {
            self.recorder.note(self.frame, NoteKind::Other, "instruction", &instruction)?;
        }
        let patch = text_at(run, &["git_patch"]).or_else(|| text_at(run, &["test_result", "git_patch"]));
        if let Some(patch) = patch.filter(|patch| !patch.trim().is_empty()) {
            submitted(&mut self.recorder, &patch, None)?;
        }
        if let Some(error) = text_at(run, &["error"]) {
            self.recorder.note(self.frame, NoteKind::Other, "error", &error)?;
        }
        Ok(())
    }

    /// The same for a document that is one run, whose history was read apart.
    fn end_of_object(&mut self, recording: &Recording<'_>) -> Result<(), ImportError> {
        let (frame, _) =
            crate::interop::json::outline(crate::interop::json::Clean::new(recording.read()?), 16 << 20, 1);
        self.end_of_run(&frame)
    }

    fn event(&mut self, place: &Place, event: &Value) -> Result<(), ImportError> {
        if let Some(observation) = str_at(event, &["observation"]) {
            return self.observation(observation, event);
        }
        match str_at(event, &["action"]) {
            Some(action) => self.action(action, event),
            None => {
                self.recorder.warn(Some(place.clone()), "neither an action nor an observation; kept as a note");
                self.recorder.note(self.frame, NoteKind::Other, "event", &event.to_string())
            }
        }
    }

    fn action(&mut self, name: &str, event: &Value) -> Result<(), ImportError> {
        let frame = self.frame;
        let argument = |key: &str| text_at(event, &["args", key]).or_else(|| text_at(event, &[key]));
        let by_user = str_at(event, &["source"]) == Some("user");
        let thought = argument("thought").unwrap_or_default();
        if name == "message" {
            let text = argument("content").unwrap_or_default();
            let (kind, by) = if by_user { (NoteKind::Message, "user") } else { (NoteKind::Thought, "assistant") };
            return self.recorder.note(frame, kind, by, &text);
        }
        if name == "system" {
            return self.recorder.note(frame, NoteKind::Message, "system", &argument("content").unwrap_or_default());
        }
        if BOOKKEEPING.contains(&name) {
            *self.bookkeeping.entry(name.to_owned()).or_default() += 1;
            return Ok(());
        }
        self.recorder.note(frame, NoteKind::Thought, "assistant", &thought)?;
        let said_last = matches!(name, "finish" | "reject" | "think");
        if said_last {
            let text = argument("final_thought").or_else(|| argument("outputs")).unwrap_or_default();
            return self.recorder.note(frame, NoteKind::Thought, "assistant", if text == thought { "" } else { &text });
        }
        let origin = self.origin(event);
        let key = self.wait(name, event);
        match name {
            "run" | "run_ipython" => {
                if let Some(init) = argument("kernel_init_code").filter(|init| !init.trim().is_empty()) {
                    self.started_with.get_or_insert(init);
                }
                let (kind, code) = if name == "run" { (Kind::Shell, "command") } else { (Kind::Step, "code") };
                let action = Action { kind, code: argument(code).unwrap_or_default(), origin, ..Action::default() };
                self.recorder.step(frame, action, Answer::Awaited(&key)).map(drop)
            }
            _ => {
                let arguments = match at(event, &["args"]) {
                    Value::Object(arguments) => {
                        let told_already = ["thought", "is_confirmed", "confirmation_state", "security_risk"];
                        let kept = arguments.iter().filter(|(key, value)| {
                            !told_already.contains(&key.as_str()) && !value.is_null() && value.as_str() != Some("")
                        });
                        Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
                    }
                    _ => event.clone(),
                };
                self.recorder.tool(frame, name, &told(&arguments), Answer::Awaited(&key))?;
                if let Some(path) = argument("path").filter(|_| matches!(name, "edit" | "write")) {
                    self.edits.insert(key, Edit { path, origin });
                }
                Ok(())
            }
        }
    }

    fn origin(&mut self, event: &Value) -> Origin {
        let response = at(event, &["tool_call_metadata", "model_response"]);
        let answer = str_at(response, &["id"]).map(str::to_owned);
        // Several events may come from one answer of the model; it was paid once.
        let unpaid = answer.is_none() || answer != self.paid;
        self.paid = answer;
        Origin {
            at: moment(at(event, &["timestamp"])),
            model: str_at(response, &["model"]).map(str::to_owned),
            call: str_at(event, &["tool_call_metadata", "tool_call_id"]).map(str::to_owned),
            tokens: tokens(at(response, &["usage"])).filter(|_| unpaid),
            reason: None,
        }
    }

    /// A key under which the observation of this action will be waited for.
    fn wait(&mut self, name: &str, event: &Value) -> String {
        self.calls += 1;
        let key = format!("#{}", self.calls);
        if let Some(id) = at(event, &["id"]).as_i64() {
            self.by_id.insert(id, key.clone());
        }
        self.waiting.push_back((key.clone(), name.to_owned()));
        key
    }

    /// The call that an observation answers: the one that it names, or the oldest of its sort, or the oldest.
    fn answered(&mut self, name: &str, event: &Value) -> Option<String> {
        let named = at(event, &["cause"]).as_i64().and_then(|id| self.by_id.remove(&id));
        let place = match &named {
            Some(key) => self.waiting.iter().position(|(waiting, _)| waiting == key),
            None if !at(event, &["cause"]).is_null() => None,
            None => self.waiting.iter().position(|(_, sort)| sort == name).or((name == "error").then_some(0)),
        };
        let waited = place.and_then(|place| self.waiting.remove(place)).map(|(key, _)| key);
        named.or(waited)
    }

    fn observation(&mut self, name: &str, event: &Value) -> Result<(), ImportError> {
        if BOOKKEEPING.contains(&name) {
            *self.bookkeeping.entry(name.to_owned()).or_default() += 1;
            return Ok(());
        }
        let text = text_at(event, &["content"]).unwrap_or_default();
        let Some(key) = self.answered(name, event) else {
            return self.recorder.note(self.frame, NoteKind::Other, name, &text);
        };
        let extras = at(event, &["extras"]);
        let code = [at(extras, &["metadata", "exit_code"]), at(extras, &["exit_code"]), at(event, &["exit_code"])];
        let status = code.iter().find_map(|code| code.as_i64());
        let mut recorded = if name == "run_ipython" {
            printed(Kind::Step, without_trailer(&text), None)
        } else {
            printed(Kind::Shell, &text, status)
        };
        if name == "error" {
            let message = text.lines().next().unwrap_or_default().to_owned();
            recorded.error =
                Some(StepError { type_name: "ErrorObservation".to_owned(), message, ..StepError::default() });
        }
        for url in at(extras, &["image_urls"]).as_array().into_iter().flatten().filter_map(Value::as_str) {
            recorded.displays.extend(picture(url));
        }
        if let Some(edit) = self.edits.remove(&key)
            && name != "error"
        {
            let old = at(extras, &["old_content"]);
            let change = Change {
                path: &edit.path,
                before: old.as_str().map(str::to_owned),
                after: text_at(extras, &["new_content"]),
                created: at(extras, &["prev_exist"]).as_bool() == Some(false),
                ..Change::default()
            };
            if change.after.is_some() {
                self.workspace.change(change, &edit.origin, &mut self.recorder)?;
            }
        }
        self.recorder.settle(&key, Given { recorded, text: Some(text) })
    }

    fn finish(mut self) -> Result<(), ImportError> {
        if let Some(init) = self.started_with.take() {
            self.recorder.warn(
                None,
                format!(
                    "the kernel was started with {init:?}, which is not here: steps that use it can't be run again"
                ),
            );
        }
        if !self.bookkeeping.is_empty() {
            let kinds: Vec<String> = self.bookkeeping.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let what = format!("events of OpenHands' own bookkeeping are left out: {}", kinds.join(", "));
            self.recorder.warn(None, what);
        }
        self.workspace.finish(&mut self.recorder)?;
        self.recorder.finish()
    }
}

/// The output of a cell without the lines that OpenHands adds at its end.
fn without_trailer(text: &str) -> &str {
    let mut text = text;
    while let Some(at) = text.rfind("[Jupyter ") {
        let tail = text.get(at..).unwrap_or_default().trim_end();
        if !tail.ends_with(']') || tail.contains('\n') {
            break;
        }
        text = text.get(..at).unwrap_or_default();
        text = text.strip_suffix('\n').unwrap_or(text);
    }
    text
}

/// A picture in a `data:` URL.
fn picture(url: &str) -> Option<Display> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    base64::engine::general_purpose::STANDARD.decode(data.trim()).ok()?;
    let mime = [(mime.to_owned(), data.trim().to_owned())].into_iter().collect();
    Some(Display { repr: "<image>".to_owned(), mime, last: false })
}

#[cfg(test)]
mod tests {
    use crate::interop::formats::testing::{imported, imported_lines, warnings};
    use crate::step::Stream;
    use serde_json::json;

    #[test]
    fn events_are_joined_by_their_cause_whatever_the_gaps_in_their_ids() {
        let metadata = json!({"tool_call_id": "toolu_1", "function_name": "execute_bash", "model_response":
            {"id": "r1", "model": "claude", "usage": {"prompt_tokens": 5, "completion_tokens": 1}}});
        let run = imported(&json!([
            {"id": 0, "source": "user", "action": "message", "args": {"content": "do it"}, "timestamp": "2025-01-27T22:44:56.9"},
            {"id": 3, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "I look."}, "tool_call_metadata": metadata},
            {"id": 4, "source": "agent", "action": "run_ipython", "args": {"code": "1/0"}, "tool_call_metadata": metadata},
            {"id": 7, "source": "agent", "observation": "run_ipython", "cause": 4, "content":
                "Traceback (most recent call last):\n  File \"<stdin>\", line 1\nZeroDivisionError: division by zero\n\
                 [Jupyter current working directory: /workspace]\n[Jupyter Python interpreter: /usr/bin/python]",
                "extras": {"code": "1/0", "image_urls": ["data:image/png;base64,aGk=", "http://x"]}},
            {"id": 8, "source": "agent", "observation": "run", "cause": 3, "content": "a\r\n", "extras": {"metadata": {"exit_code": 2}}},
            {"id": 9, "observation": "agent_state_changed", "content": ""},
            {"id": 10, "source": "agent", "action": "finish", "args": {"thought": "All done."}},
        ]));
        assert_eq!(run.steps.len(), 2);
        assert_eq!(run.steps[0].provenance.tokens.map(|t| t.input), Some(5));
        assert_eq!(run.steps[1].provenance.tokens, None);
        let first = run.steps[0].recorded.as_ref().unwrap();
        assert_eq!(
            (first.output.text(Stream::Stdout).as_str(), first.error.as_ref().unwrap().message.as_str()),
            ("a\r\n", "exit status 2")
        );
        let second = run.steps[1].recorded.as_ref().unwrap();
        assert_eq!(second.error.as_ref().unwrap().type_name, "ZeroDivisionError");
        assert!(second.output.text(Stream::Stdout).ends_with("by zero"));
        assert_eq!(second.displays.len(), 1);
        assert_eq!(warnings(&run), ["events of OpenHands' own bookkeeping are left out: 1 agent_state_changed"]);
    }

    #[test]
    fn an_edit_is_a_patch_of_whole_files() {
        let run = imported(&json!([
            {"id": 1, "source": "agent", "action": "edit", "args": {"path": "/workspace/g.py", "thought": ""}},
            {"id": 2, "observation": "edit", "cause": 1, "content": "ok", "extras":
                {"path": "/workspace/g.py", "prev_exist": false, "old_content": null, "new_content": "x = 1\n"}},
        ]));
        assert_eq!(run.patches[0].title, "create g.py");
        assert!(run.files.iter().any(|f| f.path == "g.py" && f.work));
    }

    #[test]
    fn histories_of_2024_have_neither_ids_nor_nesting_and_each_line_is_a_run() {
        let history = json!([
            {"content": "Fix", "action": "message", "wait_for_response": false},
            {"command": "touch LICENSE", "thought": "T.", "action": "run", "is_confirmed": "confirmed"},
            {"content": "$ ", "command_id": -1, "command": "touch LICENSE", "exit_code": 0, "observation": "run"},
            [{"code": "x = 1", "action": "run_ipython", "kernel_init_code": "from agentskills import *"},
             {"content": "done\n[Jupyter current working directory: /w]", "code": "x = 1", "observation": "run_ipython"}],
        ]);
        let run = json!({"instance_id": "repo__1", "history": history, "git_patch": "diff --git a/L b/L\r\n"});
        let two = imported_lines(&[run.clone(), run.clone()]);
        let ids: Vec<&str> = two.steps.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(
            ids,
            ["001_repo_1/001_touch_license", "001_repo_1/002_x", "002_repo_1/001_touch_license", "002_repo_1/002_x"]
        );
        assert_eq!(two.steps[1].recorded.as_ref().unwrap().output.text(Stream::Stdout), "done");
        assert_eq!(two.patches.len(), 2);
        let one = imported_lines(&[run]);
        assert_eq!(one.steps[0].id.as_str(), "001_touch_license");
        assert_eq!(
            warnings(&one),
            [
                "the kernel was started with \"from agentskills import *\", which is not here: steps that use it can't be run again"
            ]
        );
    }

    #[test]
    fn what_answers_nothing_is_a_note() {
        let run = imported(&json!([
            {"id": 1, "observation": "run", "cause": 99, "content": "boo"}, {"id": 2, "action": "run", "args": {"command": "ls"}},
            {"id": 3, "observation": "error", "content": "timeout", "cause": 2}, {"id": 5}, 3,
        ]));
        assert_eq!(run.steps[0].recorded.as_ref().unwrap().error.as_ref().unwrap().message, "timeout");
        assert_eq!(run.steps[0].notes[0].text, "boo");
        assert_eq!(
            warnings(&run),
            [
                "record 4: neither an action nor an observation; kept as a note",
                "record 5: not an event; kept as a note"
            ]
        );
    }
}
