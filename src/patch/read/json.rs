//! Edits as JSON: what the editing tools of agents take, and reweave's own form.
//!
//! Read are the calls of text editors (`command`, `path`, `old_str`, `new_str`, `insert_line`, `file_text`;
//! `file_path`, `old_string`, `new_string`, `replace_all`, `content`), lists of them, edits by range of lines
//! with a guard, and any of these within a tool call. reweave's own form is an object with the key `reweave`:
//!
//! ```json
//! {"reweave": 1, "title": "…", "agent": "…", "model": "…", "call": "…", "reason": "…",
//!  "base": {"steps/a.py": "<SHA-256 or BLAKE3 in hexadecimal>"},
//!  "changes": [{"path": "steps/a.py", "old": "…", "new": "…"}, {"path": "steps/b.py", "text": "…"},
//!              {"path": "steps/c.py", "delete": true}, {"path": "steps/d.py", "rename": "steps/e.py"}],
//!  "patch": "a patch in any other format"}
//! ```

use serde_json::{Map, Value};

use crate::patch::note::{Problem, Reason};
use crate::patch::reading::{
    Body, FileEdit, Format, Hunk, LineNumber, MadeFor, Named, Operation, Reading, TextChange, TextEdit,
};

/// How deep calls within calls are unwrapped.
const DEPTH: usize = 6;

/// Whether a text begins as JSON that may hold edits.
pub(super) fn looks_like(text: &str) -> bool {
    let text = text.trim_start();
    let after = |open: char| text.strip_prefix(open).map(str::trim_start);
    after('{').is_some_and(|rest| rest.starts_with('"') || rest.starts_with('}') || rest.is_empty())
        || after('[').is_some_and(|rest| rest.starts_with('{') || rest.is_empty())
}

/// Whether a text that is no valid JSON was surely meant to hold edits.
pub(super) fn meant_as_edits(text: &str) -> bool {
    ["\"old_str", "\"new_str", "\"edits\"", "\"command\"", "\"reweave\"", "\"file_path\"", "\"insert_line\""]
        .iter()
        .any(|key| text.contains(key))
}

/// Reads one JSON value or several one after the other. `Err` says where the text is no JSON.
pub(super) fn read(text: &str, first: usize) -> Result<Vec<Reading>, Problem> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(value) => values.push(value),
            Err(error) => {
                let (reason, what) = if error.is_eof() {
                    (Reason::CutOff, "the JSON is cut off".to_owned())
                } else {
                    (Reason::Syntax, format!("the JSON can't be read: {error}"))
                };
                return Err(Problem::new(reason, what)
                    .hint("send it again, whole")
                    .at(first + error.line().saturating_sub(1)));
            }
        }
    }
    let mut reader = Reader { reading: Reading::new(Format::Json), inner: Vec::new(), at: first };
    let value = match values.len() {
        1 => values.pop().unwrap_or_default(),
        _ => Value::Array(values),
    };
    reader.value(&value, None, DEPTH);
    let Reader { mut reading, mut inner, .. } = reader;
    if inner.is_empty() || !reading.edits.is_empty() || !reading.problems.is_empty() {
        inner.insert(0, reading);
    } else if let Some(first) = inner.first_mut() {
        first.claim = std::mem::take(&mut reading.claim);
    }
    Ok(inner)
}

struct Reader {
    reading: Reading,
    /// Readings of patches that stood in the JSON as text.
    inner: Vec<Reading>,
    at: usize,
}

fn text<'v>(object: &'v Map<String, Value>, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| object.get(*key)).and_then(Value::as_str)
}

fn number(object: &Map<String, Value>, keys: &[&str]) -> Option<usize> {
    keys.iter().find_map(|key| object.get(*key)).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
}

const PATHS: [&str; 7] = ["path", "file_path", "file", "filename", "target_file", "filepath", "step"];
const OLD: [&str; 7] = ["old_str", "old_string", "old", "old_text", "search", "find", "oldText"];
const NEW: [&str; 8] = ["new_str", "new_string", "new", "new_text", "replace", "replacement", "newText", "insert_text"];
const WHOLE: [&str; 5] = ["file_text", "content", "contents", "text", "code"];
const WRAPPERS: [&str; 7] = ["input", "arguments", "parameters", "args", "tool_input", "function", "tool_call"];
const LISTS: [&str; 5] = ["edits", "changes", "operations", "replacements", "tool_calls"];

impl Reader {
    fn problem(&mut self, reason: Reason, text: String) {
        self.reading.problems.push(
            Problem::new(reason, text).hint("give `path`, `old_str` and `new_str`, or a unified diff").at(self.at),
        );
    }

    fn value(&mut self, value: &Value, path: Option<&str>, depth: usize) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.value(item, path, depth)),
            Value::Object(object) if depth > 0 => self.object(object, path, depth - 1),
            Value::String(text) if looks_like(text) && depth > 0 => match serde_json::from_str::<Value>(text) {
                Ok(value) => self.value(&value, path, depth - 1),
                Err(error) => self.problem(Reason::Syntax, format!("the JSON within the JSON can't be read: {error}")),
            },
            Value::String(text) if depth > 0 => self.patch_text(text),
            _ => self.problem(Reason::Syntax, "the JSON holds no edit".to_owned()),
        }
    }

    fn patch_text(&mut self, text: &str) {
        let inner = super::read_text(text, self.at);
        if inner.is_empty() {
            self.problem(Reason::NoPatch, "the text within the JSON holds no patch".to_owned());
        }
        self.inner.extend(inner);
    }

    fn object(&mut self, object: &Map<String, Value>, path: Option<&str>, depth: usize) {
        let path = text(object, &PATHS).or(path);
        if object.contains_key("reweave") {
            self.own(object, depth);
            return;
        }
        if let Some(list) = LISTS.iter().find_map(|key| object.get(*key)).filter(|v| v.is_array()) {
            self.value(list, path, depth);
            return;
        }
        let old = text(object, &OLD);
        let new = text(object, &NEW);
        let command = text(object, &["command", "action", "op"]).unwrap_or_default();
        if old.is_none() && new.is_none() && text(object, &WHOLE).is_none() {
            if let Some(inner) = WRAPPERS.iter().find_map(|key| object.get(*key)) {
                self.value(inner, path, depth);
                return;
            }
            if let Some(Value::Object(files)) = object.get("files") {
                files.iter().for_each(|(path, text)| self.file(path, text));
                return;
            }
            if let Some(patch) = text(object, &["patch", "diff"]) {
                self.patch_text(patch);
                return;
            }
        }
        let made_for = text(object, &["base_sha256", "base_blake3", "base_hash", "base_digest"])
            .map(|digest| MadeFor { digest: digest.to_ascii_lowercase(), required: true });
        match self.operation(object, command, old, new) {
            Ok(operation) => self.push(path, operation, made_for),
            Err(why) => self.problem(Reason::Unsupported, why),
        }
    }

    fn operation(
        &self,
        object: &Map<String, Value>,
        command: &str,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<Operation, String> {
        let one = |what| Ok(Operation::Sequence { edits: vec![TextEdit { what, at: self.at }] });
        let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
        if matches!(command, "view" | "undo_edit") {
            return Err(format!("`{command}` changes nothing that a patch could"));
        }
        if object.get("delete").and_then(Value::as_bool) == Some(true) || command == "delete" {
            return Ok(Operation::Delete { shown: None });
        }
        if let Some(to) = text(object, &["rename", "rename_to", "move_to", "new_path"]) {
            return Ok(Operation::Change { rename: Some(Named::As(to.to_owned())), copy: false, hunks: Vec::new() });
        }
        if let Some(line) = number(object, &["insert_line", "after_line"]) {
            let new = new.ok_or("an insertion without `new_str`")?;
            return one(TextChange::Lines { start: line.saturating_add(1), count: 0, new: with_newline(new) });
        }
        if let Some(start) = number(object, &["start_line", "line_start", "from_line"]) {
            let end = number(object, &["end_line", "line_end", "to_line"]).unwrap_or(start);
            let new = new.or_else(|| text(object, &WHOLE)).ok_or("a range of lines without its new text")?;
            let count =
                end.checked_add(1).and_then(|end| end.checked_sub(start)).ok_or("the range of lines is empty")?;
            let expect = text(object, &["expect", "expected"]).or(old);
            return match expect {
                Some(expect) => Ok(Operation::Change {
                    rename: None,
                    copy: false,
                    hunks: vec![Hunk {
                        body: Body::Block { search: block_lines(expect), replace: block_lines(new) },
                        number: Some(LineNumber { start, trusted: true }),
                        anchors: Vec::new(),
                        heading: None,
                        at_end: false,
                        at: self.at,
                    }],
                }),
                None => one(TextChange::Lines { start, count, new: with_newline(new) }),
            };
        }
        match (old, new, text(object, &WHOLE)) {
            (Some(""), _, _) => Err("the old text is empty and would be found everywhere".to_owned()),
            (Some(old), new, _) if new.is_some() || command == "str_replace" => {
                let all = ["replace_all", "replaceAll", "all"]
                    .iter()
                    .any(|k| object.get(*k).and_then(Value::as_bool) == Some(true));
                one(TextChange::Replace { old: old.to_owned(), new: owned(new), all })
            }
            (Some(_), _, _) => Err("an old text without its new text".to_owned()),
            (None, _, Some(whole)) if command == "create" => Ok(Operation::Create { text: whole.to_owned() }),
            (None, _, Some(whole)) => Ok(Operation::Write { text: whole.to_owned(), stated: true, exact: true }),
            (None, Some(_), None) => Err("a new text without the old text that it replaces".to_owned()),
            (None, None, None) => Err("the JSON holds no edit".to_owned()),
        }
    }

    fn push(&mut self, path: Option<&str>, operation: Operation, made_for: Option<MadeFor>) {
        let path = path.map_or(Named::Nothing, |path| Named::As(path.to_owned()));
        if let (Operation::Sequence { edits }, Some(last)) = (&operation, self.reading.edits.last_mut())
            && let Operation::Sequence { edits: before } = &mut last.operation
            && last.path == path
            && made_for.is_none()
        {
            before.extend(edits.iter().cloned());
            return;
        }
        self.reading.edits.push(FileEdit { path, also: None, operation, made_for, at: self.at });
    }

    fn file(&mut self, path: &str, value: &Value) {
        match value {
            Value::Null => self.push(Some(path), Operation::Delete { shown: None }, None),
            Value::String(text) => {
                let operation = Operation::Write { text: text.clone(), stated: true, exact: true };
                self.push(Some(path), operation, None);
            }
            _ => self.problem(Reason::Syntax, format!("the text of {path} is neither text nor null")),
        }
    }

    /// reweave's own form.
    fn own(&mut self, object: &Map<String, Value>, depth: usize) {
        let owned = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        self.reading.format = Format::Reweave;
        let claim = &mut self.reading.claim;
        claim.title = owned("title");
        claim.agent = owned("agent");
        claim.model = owned("model");
        claim.call = owned("call");
        claim.reason = owned("reason");
        let mut found = false;
        if let Some(changes) = object.get("changes").or_else(|| object.get("edits")) {
            found = true;
            self.value(changes, None, depth);
        }
        if let Some(Value::Object(files)) = object.get("files") {
            found = true;
            files.iter().for_each(|(path, text)| self.file(path, text));
        }
        if let Some(patch) = text(object, &["patch", "diff"]) {
            found = true;
            self.patch_text(patch);
        }
        if !found {
            self.problem(Reason::NoPatch, "there is no `changes`, `files` or `patch` in it".to_owned());
        }
        if let Some(Value::Object(base)) = object.get("base") {
            let edits = self.reading.edits.iter_mut().chain(self.inner.iter_mut().flat_map(|r| r.edits.iter_mut()));
            for edit in edits {
                let digest = edit.path.text().and_then(|path| {
                    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
                    base.get(path).or_else(|| bare.and_then(|path| base.get(path)))
                });
                if let (Some(digest), None) = (digest.and_then(Value::as_str), &edit.made_for) {
                    edit.made_for = Some(MadeFor { digest: digest.to_ascii_lowercase(), required: false });
                }
            }
        }
    }
}

/// Text that stands as whole lines.
fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn block_lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_tools_are_unwrapped() {
        let call = r#"{"type":"tool_use","name":"edit","input":{"file_path":"a.py","edits":[{"old_string":"x","new_string":"y"},{"old_string":"z","new_string":"w","replace_all":true}]}}"#;
        let readings = read(call, 1).unwrap();
        let Operation::Sequence { edits } = &readings[0].edits[0].operation else { panic!("{readings:?}") };
        assert_eq!(edits.len(), 2);
        assert_eq!(readings[0].edits[0].path, Named::As("a.py".into()));
        let call =
            r#"{"function":{"name":"edit","arguments":"{\"path\":\"a.py\",\"old_str\":\"x\",\"new_str\":\"y\"}"}}"#;
        assert_eq!(read(call, 1).unwrap()[0].edits.len(), 1);
    }

    #[test]
    fn own_form_carries_provenance_and_bases() {
        let own = r#"{"reweave":1,"title":"t","agent":"a","model":"m","call":"c","reason":"r","base":{"s.py":"AB"},
            "changes":[{"path":"s.py","old":"x","new":"y"},{"path":"t.py","delete":true}]}"#;
        let reading = &read(own, 1).unwrap()[0];
        assert_eq!(reading.format, Format::Reweave);
        assert_eq!(reading.claim.model.as_deref(), Some("m"));
        assert_eq!(reading.edits[0].made_for, Some(MadeFor { digest: "ab".into(), required: false }));
        assert!(matches!(reading.edits[1].operation, Operation::Delete { .. }));
    }

    #[test]
    fn what_is_no_edit_is_a_problem_and_no_panic() {
        for text in [
            "{}",
            "[]",
            "1",
            "{\"a\":{\"b\":[1,null]}}",
            "{\"path\":\"x\",\"start_line\":9,\"end_line\":3,\"new_str\":\"\"}",
        ] {
            let problems: usize = read(text, 1).unwrap().iter().map(|r| r.problems.len()).sum();
            assert!(problems > 0 || text == "[]", "{text}");
        }
        assert_eq!(read("{\"a\": \"", 1).unwrap_err().reason, Some(Reason::CutOff));
    }
}
