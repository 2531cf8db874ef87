//! smolagents: `agent.memory.get_full_steps()`, `get_succinct_steps()` or the steps of a `RunResult`, as JSON.
//!
//! Steps are told apart by their keys alone. The code is `code_action`, or in files of before 2025 the argument
//! of the call of `python_interpreter`. The model is not in the file.

use base64::Engine;
use serde_json::Value;

use super::records::each_record;
use super::result::{tokens, told};
use super::traceback::named_error;
use crate::interop::detect::Sample;
use crate::interop::json::{at, str_at, text_at};
use crate::interop::moment::{moment, seconds_us};
use crate::interop::recorder::{Action, Answer, Given, Origin, Recorder, TOP};
use crate::interop::{ImportError, Layout, NoteKind, Place, Recorded, Recording, Sink};
use crate::step::{Display, Kind, StepError, Stream};

/// Whether the records are a smolagents memory.
pub fn is(sample: &Sample) -> bool {
    let step = |record: &Value| {
        let has = |key: &str| record.get(key).is_some();
        has("step_number") && (has("code_action") || has("tool_calls") || has("model_output"))
            || has("task") && has("task_images")
    };
    sample.records.iter().any(|record| step(record) || at(record, &["steps"]).get(0).is_some_and(step))
}

/// Reads a smolagents memory.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut memory = Memory { recorder: Recorder::new(sink, "smolagents"), stands_in: false };
    let warnings = each_record(recording, layout, &["steps"], &mut |place, step| memory.step(place, &step))?;
    for warning in warnings {
        memory.recorder.warn(warning.place, warning.what);
    }
    memory.recorder.finish()
}

struct Memory<'s> {
    recorder: Recorder<'s>,
    /// Whether the stand-in for `final_answer` is there.
    stands_in: bool,
}

impl Memory<'_> {
    fn step(&mut self, place: Place, step: &Value) -> Result<(), ImportError> {
        if let Some(task) = text_at(step, &["task"]) {
            return self.recorder.note(TOP, NoteKind::Message, "user", &task);
        }
        if let Some(plan) = text_at(step, &["plan"]) {
            return self.recorder.note(TOP, NoteKind::Thought, "plan", &plan);
        }
        if let Some(prompt) = text_at(step, &["system_prompt"]) {
            return self.recorder.note(TOP, NoteKind::Message, "system", &prompt);
        }
        if step.get("step_number").is_none() && step.get("tool_calls").is_none() {
            self.recorder.warn(Some(place), "a step of an unknown sort; kept as a note");
            return self.recorder.note(TOP, NoteKind::Other, "step", &told(step));
        }
        self.action(step)
    }

    fn action(&mut self, step: &Value) -> Result<(), ImportError> {
        let call = at(step, &["tool_calls"]).get(0).unwrap_or(&Value::Null);
        let arguments = at(call, &["function", "arguments"]);
        let is_code = str_at(call, &["function", "name"]) == Some("python_interpreter");
        let code = text_at(step, &["code_action"]).or_else(|| {
            let code = arguments.as_str().or_else(|| str_at(arguments, &["code"]))?;
            is_code.then(|| code.to_owned())
        });
        let said = text_at(step, &["model_output"]).unwrap_or_default();
        let origin = Origin {
            at: moment(at(step, &["timing", "start_time"])),
            call: str_at(call, &["id"]).map(str::to_owned),
            tokens: tokens(at(step, &["token_usage"])),
            reason: code.as_ref().and_then(|_| thought(&said)),
            model: None,
        };
        let recorded = recorded(step, code.as_deref());
        let Some(code) = code else {
            self.recorder.note(TOP, NoteKind::Thought, "agent", &said)?;
            for call in at(step, &["tool_calls"]).as_array().into_iter().flatten() {
                let name = str_at(call, &["function", "name"]).unwrap_or("tool");
                let given = Given { text: Some(recorded.all_output()), ..Given::default() };
                let input = told(at(call, &["function", "arguments"]));
                self.recorder.tool(TOP, name, &input, Answer::Known(Some(given.into())))?;
            }
            return match &recorded.error {
                Some(error) => self.recorder.note(TOP, NoteKind::Other, &error.type_name, &error.message),
                None => Ok(()),
            };
        };
        if !self.stands_in && code.contains("final_answer(") {
            self.stands_in = true;
            let reason = Some("Stands in for smolagents' own final_answer; not in the recording.".to_owned());
            let added = Action {
                code: "def final_answer(answer):\n    return answer\n".to_owned(),
                origin: Origin { reason, ..Origin::default() },
                added: true,
                ..Action::default()
            };
            self.recorder.step(TOP, added, Answer::Known(None))?;
        }
        let action = Action { kind: Kind::Step, code, origin, ..Action::default() };
        self.recorder.step(TOP, action, Answer::Known(Some(Given { recorded, text: None }.into()))).map(drop)
    }
}

/// What the model said before the code.
fn thought(output: &str) -> Option<String> {
    let before =
        ["<code>", "```", "<end_code>"].iter().fold(output, |text, mark| text.split(mark).next().unwrap_or(text));
    let before = before.trim().strip_prefix("Thought:").unwrap_or(before.trim()).trim();
    (!before.is_empty()).then(|| before.to_owned())
}

const LOGS: &str = "Execution logs:\n";
const LAST: &str = "Last output from code snippet:\n";

fn recorded(step: &Value, code: Option<&str>) -> Recorded {
    let mut recorded = Recorded {
        started: moment(at(step, &["timing", "start_time"])),
        duration_us: seconds_us(at(step, &["timing", "duration"])).or_else(|| seconds_us(at(step, &["duration"]))),
        ..Recorded::default()
    };
    if let Some(observations) = text_at(step, &["observations"]) {
        let body = observations.strip_prefix(LOGS).unwrap_or(&observations);
        let (printed, last) = match body.rfind(LAST) {
            Some(at) => (body.get(..at).unwrap_or_default(), body.get(at + LAST.len()..)),
            None => (body, None),
        };
        if !printed.is_empty() {
            recorded.print(Stream::Stdout, printed.to_owned());
        }
        // The value of an assignment is told too; Python shows only that of an expression.
        if let Some(last) = last.filter(|last| *last != "None" && code.is_none_or(ends_in_expression)) {
            recorded.displays.push(Display { repr: last.to_owned(), mime: Default::default(), last: true });
        }
    }
    for image in at(step, &["observations_images"]).as_array().into_iter().flatten() {
        if let Some(bytes) = image.as_str().and_then(bytes_literal).filter(|bytes| bytes.starts_with(b"\x89PNG")) {
            let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
            let mime = [("image/png".to_owned(), encoded)].into_iter().collect();
            recorded.displays.push(Display { repr: "<image>".to_owned(), mime, last: false });
        }
    }
    recorded.error = error(at(step, &["error"]), code);
    recorded
}

/// `Code execution failed at line '…' due to: TypeError: …`
fn error(error: &Value, code: Option<&str>) -> Option<StepError> {
    let (name, message) = match error {
        Value::Object(_) => (str_at(error, &["type"]).unwrap_or("AgentError"), str_at(error, &["message"])?),
        Value::String(message) => ("AgentError", message.as_str()),
        _ => return None,
    };
    let Some((place, cause)) = message.split_once("' due to: ") else { return Some(named_error(name, message)) };
    let (name, message) = cause.split_once(": ").unwrap_or((name, cause));
    let source = place.split_once("at line '").map_or("", |(_, source)| source);
    let before = code.and_then(|code| code.get(..code.find(source.lines().next()?)?));
    let line = before.and_then(|before| u32::try_from(before.matches('\n').count() + 1).ok());
    Some(StepError { line: line.filter(|_| !source.is_empty()), ..named_error(name, message) })
}

/// Whether the last statement of a code is an expression, as far as a look at its last lines can tell.
fn ends_in_expression(code: &str) -> bool {
    use rustpython_parser::{Parse, ast};
    if code.len() > 1 << 16 || super::script::nesting(code) > 100 {
        return true;
    }
    ast::Suite::parse(code, "step").map_or(true, |body| matches!(body.last(), Some(ast::Stmt::Expr(_))))
}

/// The bytes of a Python literal `b'…'`, which `json.dump(default=str)` writes for images.
fn bytes_literal(text: &str) -> Option<Vec<u8>> {
    let quote = text.strip_prefix('b')?.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let body = text.get(2..)?.strip_suffix(quote)?;
    let mut bytes = Vec::with_capacity(body.len() / 2);
    let mut rest = body.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'x' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            other => other,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::formats::testing::imported;
    use serde_json::json;

    fn action(number: u64, code: Value, observations: Value, error: Value) -> Value {
        json!({
            "step_number": number, "timing": {"start_time": 1_700_000_000.5, "duration": 0.25}, "code_action": code,
            "tool_calls": [{"id": format!("call_{number}"), "function": {"name": "python_interpreter", "arguments": code}}],
            "model_output": "Thought: I add.\n<code>\nx\n</code>", "observations": observations, "error": error,
            "token_usage": {"input_tokens": 5, "output_tokens": 2}, "observations_images": null,
        })
    }

    #[test]
    fn code_actions_are_steps_with_what_they_printed_and_showed() {
        let run = imported(&json!([
            {"task": "Add", "task_images": null},
            {"plan": "First this."},
            action(1, json!("x = 1\nprint(x)\nx + 1"), json!("Execution logs:\n1\nLast output from code snippet:\n2"), json!(null)),
            action(2, json!("y = 5"), json!("Execution logs:\nLast output from code snippet:\n5"), json!(null)),
        ]));
        assert_eq!(run.warnings, []);
        let step = &run.steps[0];
        assert_eq!(
            step.text,
            "# /// step\n# agent = \"smolagents\"\n# call = \"call_1\"\n# summary = \"I add.\"\n# ///\nx = 1\nprint(x)\nx + 1\n"
        );
        assert_eq!(step.notes.len(), 2);
        assert_eq!(step.provenance.tokens.unwrap().input, 5);
        let recorded = step.recorded.as_ref().unwrap();
        assert_eq!((recorded.started, recorded.duration_us), (Some(1_700_000_000_500), Some(250_000)));
        assert_eq!(recorded.output.text(Stream::Stdout), "1\n");
        assert_eq!(recorded.displays[0].repr, "2");
        // An assignment shows nothing in Python.
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().displays, []);
    }

    #[test]
    fn a_failure_keeps_its_type_message_and_line() {
        let message = "Code execution failed at line 'y = x + None' due to: TypeError: unsupported: 'int'";
        let error = json!({"type": "AgentExecutionError", "message": message});
        let run = imported(&json!([action(1, json!("x = 1\ny = x + None"), json!(null), error)]));
        let error = run.steps[0].recorded.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!(
            (error.type_name.as_str(), error.message.as_str(), error.line),
            ("TypeError", "unsupported: 'int'", Some(7))
        );
    }

    #[test]
    fn a_reply_without_code_stays_as_a_note_and_older_files_have_the_code_in_the_call() {
        let parse = json!({"type": "AgentParsingError", "message": "no code"});
        let old = json!({"step_number": 2, "tool_calls": [{"id": "call_2", "function":
            {"name": "python_interpreter", "arguments": "final_answer(3)"}}], "observations_images":
            ["b'\\x89PNG\\r\\n\\x1a\\n\\''"]});
        let run = imported(&json!([action(1, json!(null), json!(null), parse), old]));
        let ids: Vec<&str> = run.steps.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["001_final_answer", "002_final_answer_3"]);
        assert!(!run.steps[0].text.contains("agent ="), "{}", run.steps[0].text);
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().displays[0].mime["image/png"], "iVBORw0KGgon");
        let notes: Vec<&str> = run.steps[1].notes.iter().map(|note| note.by.as_str()).collect();
        assert_eq!(notes, ["agent", "python_interpreter", "AgentParsingError"]);
    }

    #[test]
    fn a_run_result_and_json_lines_are_read_too() {
        let step = action(1, json!("x"), json!(null), json!(null));
        assert_eq!(imported(&json!({"output": 3, "steps": [step]})).steps.len(), 1);
        assert_eq!(bytes_literal("b'\\x4"), None);
        assert_eq!(bytes_literal("text"), None);
    }
}
