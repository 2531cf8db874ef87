//! mini-swe-agent trajectories, `*.traj.json`: a bare list of messages (version 0), or an object with `info` and
//! `messages` (`trajectory_format` "mini-swe-agent-1" and "-1.1").
//!
//! Each action is one shell command in a process of its own, so each is a shell step. Where a message has no
//! `extra`, the command is in its fenced block and the status in the observation's text.

use std::collections::VecDeque;

use serde_json::Value;

use super::records::each_record;
use super::result::{printed, tokens};
use crate::interop::detect::Sample;
use crate::interop::json::{Clean, at, outline, str_at, text_at};
use crate::interop::moment::moment;
use crate::interop::recorder::{Action, Answer, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, ImportedPatch, Layout, NoteKind, Recording, Sink};
use crate::step::{Kind, PatchState, StepError};

/// The fences that hold a command.
const FENCES: [&str; 3] = ["```mswea_bash_command", "```bash", "```sh"];

/// What a command prints to end the run.
const ENDS: [&str; 2] = ["COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT"];

/// Whether the records are a mini-swe-agent trajectory.
pub fn is(sample: &Sample) -> bool {
    let named =
        |record: &Value| str_at(record, &["trajectory_format"]).is_some_and(|f| f.starts_with("mini-swe-agent"));
    let bare = |record: &Value| {
        str_at(record, &["role"]) == Some("assistant")
            && record.get("type").is_none()
            && str_at(record, &["content"]).is_some_and(|text| FENCES.iter().any(|fence| text.contains(fence)))
    };
    sample.has(&["info", "mini_version"]) || sample.records.iter().any(named) || sample.records.iter().any(bare)
}

/// Reads a mini-swe-agent trajectory.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    // The model and the patch are told once for all messages.
    let frame = match layout {
        Layout::Object => outline(Clean::new(recording.read()?), 16 << 20, 1).0,
        _ => Value::Null,
    };
    let mut trajectory = Trajectory {
        recorder: Recorder::new(sink, "mini-swe-agent"),
        model: str_at(&frame, &["info", "config", "model", "model_name"]).map(str::to_owned),
        waiting: VecDeque::new(),
        called: 0,
        submits: false,
    };
    let warnings = each_record(recording, layout, &["messages"], &mut |_, message| trajectory.message(&message))?;
    for warning in warnings {
        trajectory.recorder.warn(warning.place, warning.what);
    }
    // The command that ends a run is never answered.
    if let Some(last) = trajectory.waiting.pop_back().filter(|_| trajectory.submits) {
        trajectory.recorder.ends_without(&last)?;
    }
    let submission = text_at(&frame, &["info", "submission"]).unwrap_or_default();
    submitted(&mut trajectory.recorder, &submission, trajectory.model.clone())?;
    trajectory.recorder.finish()
}

/// Hands on the patch that an agent submitted at the end, if what it submitted is one.
pub fn submitted(recorder: &mut Recorder<'_>, submission: &str, model: Option<String>) -> Result<(), ImportError> {
    let text = submission.replace("\r\n", "\n");
    let text = text.trim_start_matches('\n');
    if !text.starts_with("diff ") && !text.starts_with("--- ") {
        return recorder.note(TOP, NoteKind::Other, "submission", text);
    }
    recorder.patch(ImportedPatch {
        title: "what the agent submitted".to_owned(),
        provenance: recorder.provenance(&Origin { model, ..Origin::default() }),
        text: Some(text.to_owned()),
        files: Vec::new(),
        state: PatchState::Accepted,
        comments: Vec::new(),
        problems: vec!["it changes files of a repository that is not in the recording".to_owned()],
    })
}

struct Trajectory<'s> {
    recorder: Recorder<'s>,
    model: Option<String>,
    /// Calls that wait for their observation, oldest first.
    waiting: VecDeque<String>,
    called: usize,
    /// Whether the last command was the one that ends a run.
    submits: bool,
}

impl Trajectory<'_> {
    fn message(&mut self, message: &Value) -> Result<(), ImportError> {
        let kind = str_at(message, &["type"]).or(str_at(message, &["object"])).unwrap_or_default();
        match str_at(message, &["role"]) {
            Some("assistant") => self.actions(message),
            None if kind == "response" => self.actions(message),
            Some("user" | "tool") | None if self.is_observation(message) => self.observation(message),
            Some("exit") => {
                let status = str_at(message, &["extra", "exit_status"]).unwrap_or("end");
                let text = content(message);
                self.recorder.note(TOP, NoteKind::Other, status, &text)
            }
            Some(role) => self.recorder.note(TOP, NoteKind::Message, role, &content(message)),
            None => self.recorder.note(TOP, NoteKind::Other, "message", &message.to_string()),
        }
    }

    fn actions(&mut self, message: &Value) -> Result<(), ImportError> {
        let text = content(message);
        let mut commands: Vec<(String, Option<&str>)> = at(message, &["extra", "actions"])
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|action| {
                let command = action.as_str().or(str_at(action, &["command"]))?;
                Some((command.to_owned(), str_at(action, &["tool_call_id"])))
            })
            .collect();
        if commands.is_empty() && message.get("extra").is_none() {
            commands = fenced(&text).into_iter().map(|command| (command, None)).collect();
        }
        let thought = FENCES.iter().fold(text.as_str(), |text, fence| text.split(fence).next().unwrap_or(text)).trim();
        let thought = thought.strip_prefix("THOUGHT:").unwrap_or(thought).trim();
        self.recorder.note(TOP, NoteKind::Thought, "assistant", thought)?;
        let mut usage = tokens(at(message, &["extra", "response", "usage"]));
        for (command, call) in commands {
            self.called += 1;
            self.submits = ENDS.iter().any(|end| command.contains(end));
            let key = call.map_or_else(|| format!("#{}", self.called), str::to_owned);
            let origin = Origin {
                at: moment(at(message, &["extra", "timestamp"])),
                model: self.model.clone(),
                call: call.map(str::to_owned),
                tokens: usage.take(),
                reason: None,
            };
            let action = Action { kind: Kind::Shell, code: command, origin, ..Action::default() };
            self.recorder.step(TOP, action, Answer::Awaited(&key))?;
            self.waiting.push_back(key);
        }
        Ok(())
    }

    fn is_observation(&self, message: &Value) -> bool {
        message.get("extra").is_some_and(|extra| extra.get("returncode").is_some() || extra.get("raw_output").is_some())
            || !self.waiting.is_empty() && content(message).contains("<returncode>")
            || str_at(message, &["type"]) == Some("function_call_output")
    }

    fn observation(&mut self, message: &Value) -> Result<(), ImportError> {
        let text = content(message);
        let extra = at(message, &["extra"]);
        let (output, status) = match text_at(extra, &["raw_output"]) {
            Some(raw) => (raw, at(extra, &["returncode"]).as_i64()),
            None => parts(&text),
        };
        let mut recorded = printed(Kind::Shell, &output, status);
        let exception = str_at(extra, &["exception_info"]).unwrap_or_default();
        if !exception.is_empty() {
            recorded.error = Some(StepError {
                type_name: "ExecutionError".to_owned(),
                message: exception.to_owned(),
                ..StepError::default()
            });
        }
        let named = str_at(message, &["tool_call_id"]).or(str_at(message, &["call_id"]));
        let place = named.and_then(|named| self.waiting.iter().position(|call| call == named)).unwrap_or(0);
        let call = self.waiting.remove(place).unwrap_or_else(|| named.unwrap_or_default().to_owned());
        self.recorder.settle(&call, Given { recorded, text: Some(text) })
    }
}

/// The text of a message in any of the shapes that model interfaces give it.
fn content(message: &Value) -> String {
    let inner = [at(message, &["content"]), at(message, &["output"])];
    inner.iter().find_map(|content| content_text(content)).unwrap_or_default()
}

fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .filter_map(|item| text_at(item, &["text"]).or_else(|| content_text(at(item, &["content"]))))
                .collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

/// The commands in the fenced blocks of a message.
fn fenced(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut rest = text;
    while let Some((at, fence)) =
        FENCES.iter().filter_map(|fence| rest.find(fence).map(|at| (at, fence))).min_by_key(|(at, _)| *at)
    {
        let body = rest.get(at + fence.len()..).unwrap_or_default();
        let Some((_, body)) = body.split_once('\n') else { break };
        let (command, after) = body.split_once("\n```").unwrap_or((body, ""));
        commands.push(command.trim_matches('\n').to_owned());
        rest = after;
    }
    commands
}

/// `<returncode>0</returncode>\n<output>\n…</output>`
fn parts(text: &str) -> (String, Option<i64>) {
    let status = text.split_once("<returncode>").and_then(|(_, rest)| rest.split_once("</returncode>"));
    let status = status.and_then(|(status, _)| status.trim().parse().ok());
    let output =
        text.split_once("<output>").map(|(_, rest)| rest.rsplit_once("</output>").map_or(rest, |(out, _)| out));
    let output = output.map(|output| output.strip_prefix('\n').unwrap_or(output));
    (output.unwrap_or(text).to_owned(), status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::interop::formats::testing::{imported, warnings};
    use crate::interop::{Imported, NoteKind};
    use crate::step::Stream;

    fn shown(run: &Imported) -> Vec<(String, String, Option<String>)> {
        run.steps
            .iter()
            .map(|step| {
                let code = step.text.split("# ///\n").nth(1).unwrap().to_owned();
                let recorded = step.recorded.clone().unwrap_or_default();
                (code, recorded.output.text(Stream::Stdout), recorded.error.map(|error| error.message))
            })
            .collect()
    }

    #[test]
    fn a_bare_list_has_its_commands_in_fences_and_its_status_in_the_text() {
        let run = imported(&json!([
            {"role": "system", "content": "You can use ```bash"},
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": "THOUGHT: I look.\r\n\n```mswea_bash_command\nls -la\npwd\n```\nbye"},
            {"role": "user", "content": "<returncode>1</returncode>\n<output>\na\r\nb\n</output>"},
            {"role": "assistant", "content": "```mswea_bash_command\nsleep 9\n```"},
            {"role": "assistant", "content": "```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"},
        ]));
        assert_eq!(
            shown(&run),
            [
                ("ls -la\npwd\n".into(), "a\r\nb\n".into(), Some("exit status 1".into())),
                ("sleep 9\n".into(), String::new(), None),
                ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n".into(), String::new(), None),
            ]
        );
        assert_eq!(run.steps[0].provenance.reason.as_deref(), Some("I look."));
        assert_eq!(run.steps[0].notes.iter().map(|n| n.kind).collect::<Vec<_>>(), [NoteKind::Message; 2]);
        assert_eq!(warnings(&run), ["one call has no result: it was interrupted or is not in the log"]);
    }

    #[test]
    fn version_2_tells_actions_results_model_and_submission_apart() {
        let run = imported(&json!({
            "info": {"config": {"model": {"model_name": "m"}}, "mini_version": "2.4.6", "exit_status": "Submitted",
                "submission": "\r\ndiff --git a/x b/x\r\n--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n"},
            "messages": [
                {"role": "assistant", "content": "THOUGHT: two", "extra": {"timestamp": 1_795_820_374.5, "actions":
                    [{"command": "echo 1", "tool_call_id": "c1"}, {"command": "echo 2", "tool_call_id": "c2"}]}},
                {"role": "tool", "tool_call_id": "c2", "content": "2", "extra": {"raw_output": "\u{1b}[31m2\u{1b}[0m\n", "returncode": 3}},
                {"role": "tool", "tool_call_id": "c1", "content": "1", "extra": {"raw_output": "1\n", "returncode": 0,
                    "exception_info": ""}},
                {"object": "response", "output": [{"type": "message", "content": [{"text": "third"}]}], "extra":
                    {"actions": [{"command": "echo 3"}]}},
                {"type": "function_call_output", "call_id": "c3", "output": "3", "extra": {"raw_output": "3", "returncode": -1,
                    "exception_info": "timed out"}},
                {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted", "submission": "…"}},
            ],
            "trajectory_format": "mini-swe-agent-1.1"}));
        assert_eq!(warnings(&run), [""; 0]);
        assert_eq!(
            shown(&run),
            [
                ("echo 1\n".into(), "1\n".into(), None),
                ("echo 2\n".into(), "\u{1b}[31m2\u{1b}[0m\n".into(), Some("exit status 3".into())),
                ("echo 3\n".into(), "3".into(), Some("timed out".into())),
            ]
        );
        assert_eq!(run.steps[2].provenance.model.as_deref(), Some("m"));
        assert_eq!(run.steps[2].provenance.reason.as_deref(), Some("third"));
        assert!(run.patches[0].text.as_ref().unwrap().starts_with("diff --git a/x b/x\n--- a/x\n"));
    }
}
