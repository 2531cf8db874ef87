//! SWE-agent trajectories, `*.traj`.
//!
//! `trajectory` has the actions with their observations, `history` the conversation, with the ids of calls;
//! either may be missing. Actions are commands of SWE-agent's own shell, so each is a shell step; its file
//! editing commands (`open`, `edit`…) exist only there. Times are there since version 1.0, the model only in
//! `replay_config`, which is a text in some files.

use std::collections::VecDeque;

use serde_json::Value;

use super::mini_swe_agent::submitted;
use super::records::each_record;
use super::result::printed;
use crate::interop::detect::Sample;
use crate::interop::json::{Clean, at, each_element, embedded, outline, str_at, text_at};
use crate::interop::moment::seconds_us;
use crate::interop::recorder::{Action, Answer, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, Layout, NoteKind, Recording, Sink};
use crate::step::Kind;

/// Commands that only SWE-agent's own shell has.
const OWN_COMMANDS: [&str; 15] = [
    "open",
    "goto",
    "scroll_up",
    "scroll_down",
    "create",
    "edit",
    "find_file",
    "search_dir",
    "search_file",
    "submit",
    "str_replace_editor",
    "view",
    "insert",
    "find_and_replace",
    "exit_forfeit",
];

/// Whether the records are a SWE-agent trajectory.
pub fn is(sample: &Sample) -> bool {
    sample.records.iter().any(|record| {
        let acts = at(record, &["trajectory"]).get(0).is_some_and(|step| {
            step.get("action").is_some() && step.get("observation").is_some() && step.get("response").is_some()
        });
        let told = at(record, &["history"]).as_array().is_some_and(|history| {
            history.iter().any(|message| message.get("message_type").is_some() || message.get("agent").is_some())
        });
        acts || told && record.get("instruction").is_none()
    })
}

/// Reads a SWE-agent trajectory.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let (frame, ended) = outline(Clean::new(recording.read()?), 16 << 20, 1);
    let config = embedded(at(&frame, &["replay_config"]));
    let mut trajectory = Trajectory {
        recorder: Recorder::new(sink, "swe-agent"),
        model: ["agent", "model", "name"]
            .iter()
            .try_fold(&config, |value, key| value.get(*key))
            .and_then(Value::as_str)
            .map(str::to_owned),
        calls: VecDeque::new(),
        waiting: VecDeque::new(),
        acted: 0,
        own_commands: false,
    };
    if let Some(warning) = ended.warning() {
        trajectory.recorder.warn(warning.place, warning.what);
    }
    let has_steps = at(&frame, &["trajectory"]).get(0).is_some();
    // The conversation first: it has what was asked, and the ids of the calls.
    each_element(Clean::new(recording.read()?), &["history"], &mut |message| trajectory.message(&message, has_steps))?;
    if has_steps {
        each_record(recording, layout, &["trajectory"], &mut |_, step| trajectory.step(&step))?;
    }
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    trajectory.finish(&frame)
}

struct Trajectory<'s> {
    recorder: Recorder<'s>,
    model: Option<String>,
    /// Ids of calls in `history`, for the steps of `trajectory`, in order.
    calls: VecDeque<Option<String>>,
    /// Actions in `history` that wait for their observation.
    waiting: VecDeque<String>,
    acted: usize,
    own_commands: bool,
}

impl Trajectory<'_> {
    /// A message of `history`. With steps elsewhere, only what was asked and the ids of calls are taken from it.
    fn message(&mut self, message: &Value, has_steps: bool) -> Result<(), ImportError> {
        let role = str_at(message, &["role"]).unwrap_or_default();
        if at(message, &["is_demo"]).as_bool() == Some(true) {
            return Ok(());
        }
        let text = content(message);
        match role {
            "assistant" => {
                let call =
                    at(message, &["tool_calls"]).get(0).and_then(|call| str_at(call, &["id"])).map(str::to_owned);
                if has_steps {
                    self.calls.push_back(call);
                    return Ok(());
                }
                let thought = text_at(message, &["thought"]).unwrap_or_else(|| text.clone());
                let Some(action) = text_at(message, &["action"]).filter(|action| !action.trim().is_empty()) else {
                    return self.recorder.note(TOP, NoteKind::Thought, "assistant", &text);
                };
                self.acted += 1;
                let key = format!("#{}", self.acted);
                self.act(&action, &thought, call, Answer::Awaited(&key))?;
                self.waiting.push_back(key);
                Ok(())
            }
            _ if !has_steps && !self.waiting.is_empty() => {
                let key = self.waiting.pop_front().unwrap_or_default();
                let recorded = printed(Kind::Shell, &text, None);
                self.recorder.settle(&key, Given { recorded, text: Some(text) })
            }
            // Observations stand in the trajectory.
            _ if has_steps && !self.calls.is_empty() => Ok(()),
            role => self.recorder.note(TOP, NoteKind::Message, role, &text),
        }
    }

    fn step(&mut self, step: &Value) -> Result<(), ImportError> {
        let action = text_at(step, &["action"]).unwrap_or_default();
        let thought = text_at(step, &["thought"]).or_else(|| text_at(step, &["response"])).unwrap_or_default();
        let observation = text_at(step, &["observation"]).unwrap_or_default();
        let call = self.calls.pop_front().flatten();
        if action.trim().is_empty() {
            self.recorder.note(TOP, NoteKind::Thought, "assistant", &thought)?;
            return self.recorder.note(TOP, NoteKind::Other, "observation", &observation);
        }
        let mut recorded = printed(Kind::Shell, &observation, None);
        recorded.duration_us = seconds_us(at(step, &["execution_time"]));
        self.act(&action, &thought, call, Answer::Known(Some(Given { recorded, text: None }.into())))
    }

    fn act(
        &mut self,
        action: &str,
        thought: &str,
        call: Option<String>,
        answer: Answer<'_>,
    ) -> Result<(), ImportError> {
        let command = action.split_whitespace().next().unwrap_or_default();
        self.own_commands |= OWN_COMMANDS.contains(&command);
        let reason = Some(thought.trim().to_owned()).filter(|thought| !thought.is_empty());
        let origin = Origin { model: self.model.clone(), call, reason, ..Origin::default() };
        let code = action.trim_end_matches(['\n', '\r']).to_owned();
        self.recorder.step(TOP, Action { kind: Kind::Shell, code, origin, ..Action::default() }, answer).map(drop)
    }

    fn finish(mut self, frame: &Value) -> Result<(), ImportError> {
        if self.own_commands {
            self.recorder.warn(
                None,
                "commands such as open and edit exist only in SWE-agent's own shell: they are shown and can't be run again",
            );
        }
        let submission = text_at(frame, &["info", "submission"]).unwrap_or_default();
        if !submission.trim().is_empty() {
            submitted(&mut self.recorder, &submission, self.model.clone())?;
        }
        if let Some(status) = str_at(frame, &["info", "exit_status"]) {
            self.recorder.note(TOP, NoteKind::Other, "exit status", status)?;
        }
        self.recorder.finish()
    }
}

/// The text of a message: a text, or a list of items with texts.
fn content(message: &Value) -> String {
    match at(message, &["content"]) {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(|item| str_at(item, &["text"])).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::interop::formats::testing::{imported, warnings};
    use crate::step::Stream;

    const OWN: &str =
        "commands such as open and edit exist only in SWE-agent's own shell: they are shown and can't be run again";

    fn history() -> Value {
        json!([
            {"role": "system", "content": "You are.", "agent": "main", "message_type": "system_prompt"},
            {"role": "user", "content": "demo", "is_demo": true, "agent": "main"},
            {"role": "user", "content": [{"type": "text", "text": "Fix the issue."}], "agent": "main", "message_type": "observation"},
            {"role": "assistant", "content": "I find it.", "thought": "I find it.", "action": "find_file a.py", "agent": "main",
             "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "find_file", "arguments": "{}"}}], "message_type": "action"},
            {"role": "tool", "content": "Found 1\r\nbash-$", "agent": "main", "message_type": "observation", "tool_call_ids": ["call_1"]},
        ])
    }

    #[test]
    fn a_file_with_a_history_only_is_read_from_it() {
        let run = imported(&json!({ "history": history() }));
        assert_eq!(run.steps.len(), 1);
        assert_eq!(run.steps[0].provenance.call.as_deref(), Some("call_1"));
        assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "Found 1\r\nbash-$");
        assert_eq!(
            run.steps[0].notes.iter().map(|n| n.text.as_str()).collect::<Vec<_>>(),
            ["You are.", "Fix the issue."]
        );
        assert_eq!(warnings(&run), [OWN]);
    }

    #[test]
    fn every_generation_s_steps_are_read_and_calls_are_joined_by_order() {
        let run = imported(&json!({
            "environment": "swe_main",
            "trajectory": [
                {"action": "find_file a.py\n", "observation": "Found", "response": "r", "thought": "I find it.\n", "execution_time": 0.5,
                 "state": "{\"working_dir\": \"/r\"}\n", "query": []},
                {"action": "", "observation": "", "response": "no action", "thought": "Hm.", "state": {}},
                {"action": "python a.py", "observation": "ok", "response": "r", "thought": "", "messages": []},
            ],
            "history": history(),
            "info": {"exit_status": "submitted", "submission": "\r\ndiff --git a/a b/a\r\n", "model_stats": {}},
            "replay_config": json!({"agent": {"model": {"name": "gpt"}}}).to_string(),
        }));
        assert_eq!(run.steps.len(), 2);
        assert_eq!(run.steps[0].recorded.as_ref().unwrap().duration_us, Some(500_000));
        assert_eq!(run.steps[0].provenance.call.as_deref(), Some("call_1"));
        assert_eq!(run.steps[1].provenance.model.as_deref(), Some("gpt"));
        assert_eq!(run.steps[0].text.lines().last(), Some("find_file a.py"));
        assert_eq!(run.patches.len(), 1);
        assert_eq!(warnings(&run), [OWN]);
    }
}
