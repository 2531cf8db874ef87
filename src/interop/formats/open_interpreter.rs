//! Open Interpreter conversations: a list of messages with `role`, `type`, `format` and `content`; in 2023 with
//! `message`, `code`, `language` and `output` in one.
//!
//! Output follows its code as messages of the computer. Errors are part of the output.

use serde_json::Value;

use super::records::each_record;
use super::result::printed;
use crate::interop::detect::Sample;
use crate::interop::json::{str_at, text_at};
use crate::interop::recorder::{Action, Answer, Given, Recorder, TOP};
use crate::interop::{ImportError, Layout, NoteKind, Recording, Sink};
use crate::step::{Display, Kind};

/// Whether the records are an Open Interpreter conversation.
pub fn is(sample: &Sample) -> bool {
    sample.records.iter().any(|record| {
        let role = str_at(record, &["role"]);
        let kind = str_at(record, &["type"]);
        role.is_some() && matches!(kind, Some("code" | "console")) && record.get("content").is_some()
            || role.is_some() && record.get("code").is_some() && record.get("language").is_some()
    })
}

/// Reads an Open Interpreter conversation.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut conversation = Conversation { recorder: Recorder::new(sink, "open-interpreter"), running: None };
    let warnings = each_record(recording, layout, &["messages"], &mut |_, message| conversation.message(&message))?;
    conversation.end_code()?;
    for warning in warnings {
        conversation.recorder.warn(warning.place, warning.what);
    }
    conversation.recorder.finish()
}

/// Code whose output is being read.
struct Running {
    kind: Kind,
    code: String,
    output: String,
    displays: Vec<Display>,
}

struct Conversation<'s> {
    recorder: Recorder<'s>,
    running: Option<Running>,
}

impl Conversation<'_> {
    fn message(&mut self, message: &Value) -> Result<(), ImportError> {
        let role = str_at(message, &["role"]).unwrap_or_default();
        let format = str_at(message, &["format"]).unwrap_or_default();
        let content = text_at(message, &["content"]).unwrap_or_default();
        match str_at(message, &["type"]) {
            Some("code") => self.code(format, content),
            Some("console") => {
                if let Some(running) = self.running.as_mut().filter(|_| format != "active_line") {
                    running.output.push_str(&content);
                }
                Ok(())
            }
            Some("image") => {
                if let (Some(running), Some(kind)) = (self.running.as_mut(), format.strip_prefix("base64")) {
                    let kind = if kind.is_empty() { "png" } else { kind.trim_start_matches('.') };
                    let mime = [(format!("image/{kind}"), content)].into_iter().collect();
                    running.displays.push(Display { repr: "<image>".to_owned(), mime, last: false });
                    return Ok(());
                }
                self.recorder.note(TOP, NoteKind::Message, role, &format!("[a picture, {format}]"))
            }
            Some("message") => self.said(role, &content),
            Some(other) => self.recorder.note(TOP, NoteKind::Other, other, &content),
            // 2023: all in one message.
            None => {
                let text = text_at(message, &["message"]).unwrap_or(content);
                self.said(role, &text)?;
                if let Some(code) = text_at(message, &["code"]) {
                    self.code(str_at(message, &["language"]).unwrap_or("python"), code)?;
                    if let Some(running) = &mut self.running {
                        running.output = text_at(message, &["output"]).unwrap_or_default();
                    }
                }
                Ok(())
            }
        }
    }

    fn said(&mut self, role: &str, text: &str) -> Result<(), ImportError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.end_code()?;
        let kind = if role == "assistant" { NoteKind::Thought } else { NoteKind::Message };
        self.recorder.note(TOP, kind, role, text)
    }

    fn code(&mut self, language: &str, code: String) -> Result<(), ImportError> {
        self.end_code()?;
        let kind = match language.to_ascii_lowercase().as_str() {
            "python" | "py" | "" => Kind::Step,
            "shell" | "bash" | "sh" | "zsh" => Kind::Shell,
            other => return self.recorder.tool(TOP, other, &code, Answer::Known(None)),
        };
        self.running = Some(Running { kind, code, output: String::new(), displays: Vec::new() });
        Ok(())
    }

    /// Lets out the code whose output has ended.
    fn end_code(&mut self) -> Result<(), ImportError> {
        let Some(Running { kind, code, output, displays }) = self.running.take() else { return Ok(()) };
        let mut recorded = printed(kind, &output, None);
        recorded.displays = displays;
        let given = Given { recorded, text: None };
        let action = Action { kind, code, ..Action::default() };
        self.recorder.step(TOP, action, Answer::Known(Some(given.into()))).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::interop::formats::testing::{imported, warnings};
    use crate::step::{Kind, Stream};

    #[test]
    fn output_follows_its_code() {
        let run = imported(&json!([
            {"role": "user", "type": "message", "content": "plot"},
            {"role": "assistant", "type": "message", "content": "I plot."},
            {"role": "assistant", "type": "code", "format": "python", "content": "1/0"},
            {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
            {"role": "computer", "type": "console", "format": "output", "content": "Traceback (most recent call last):\n"},
            {"role": "computer", "type": "console", "format": "output", "content": "ZeroDivisionError: division by zero"},
            {"role": "computer", "type": "image", "format": "base64.png", "content": "aGk="},
            {"role": "assistant", "type": "code", "format": "shell", "content": "ls"},
            {"role": "computer", "type": "console", "format": "output", "content": "a\n"},
            {"role": "assistant", "type": "code", "format": "html", "content": "<b>"},
            {"role": "assistant", "type": "message", "content": "Done."},
        ]));
        assert_eq!(warnings(&run), [""; 0]);
        assert_eq!(
            run.steps.iter().map(|s| (s.id.as_str(), s.kind)).collect::<Vec<_>>(),
            [("001_1_0", Kind::Step), ("002_ls", Kind::Shell)]
        );
        let recorded = run.steps[0].recorded.as_ref().unwrap();
        assert_eq!(recorded.error.as_ref().unwrap().type_name, "ZeroDivisionError");
        assert_eq!(recorded.displays[0].mime["image/png"], "aGk=");
        assert_eq!(run.steps[0].provenance.reason.as_deref(), Some("I plot."));
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().output.text(Stream::Stdout), "a\n");
        assert!(String::from_utf8(run.files[0].bytes.clone()).unwrap().contains("html was called"));
    }

    #[test]
    fn conversations_of_2023_have_all_in_one_message() {
        let run = imported(&json!([
            {"role": "user", "message": "hi"},
            {"role": "assistant", "message": "ok", "language": "python", "code": "print(1)", "output": "1\n"},
        ]));
        assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "1\n");
        assert_eq!(run.steps[0].provenance.reason.as_deref(), Some("ok"));
    }
}
