//! What Codex's calls ran, and what they gave.

use serde_json::Value;

use super::result::printed;
use crate::interop::json::{at, embedded, str_at};
use crate::interop::moment::seconds_us;
use crate::interop::recorder::Given;
use crate::step::Kind;

/// The shell command of a call of this name, if it is one.
pub fn command(name: &str, input: &Value) -> Option<String> {
    if !matches!(name, "shell" | "shell_command" | "exec_command" | "local_shell" | "container.exec" | "bash") {
        return None;
    }
    let command = [at(input, &["command"]), at(input, &["cmd"])].into_iter().find(|value| !value.is_null())?;
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                // The shell around a script is not part of what was written.
                [shell, "-lc" | "-c", script] if shell.ends_with("sh") => Some((*script).to_owned()),
                words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
            }
        }
        _ => None,
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a call gave, from any of the shapes that outputs have had: JSON in a string, an object, a list of items,
/// or a text with a few lines of head before `Output:`.
pub fn given(output: &Value) -> Given {
    let output = embedded(output);
    let (text, status, seconds) = match &output {
        Value::Object(_) if output.get("output").is_some() => (
            str_at(&output, &["output"]).unwrap_or_default().to_owned(),
            at(&output, &["metadata", "exit_code"]).as_i64(),
            at(&output, &["metadata", "duration_seconds"]).as_f64(),
        ),
        Value::Object(_) => {
            let failed = at(&output, &["success"]).as_bool() == Some(false);
            let (text, status, seconds) = headed(str_at(&output, &["content"]).unwrap_or_default());
            (text, status.or(failed.then_some(1)), seconds)
        }
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(|item| str_at(item, &["text"])).collect();
            headed(&texts.join("\n"))
        }
        Value::String(text) => headed(text),
        _ => (String::new(), None, None),
    };
    let mut recorded = printed(Kind::Shell, &text, status);
    recorded.duration_us = seconds.and_then(|seconds| seconds_us(&seconds.into()));
    Given { recorded, text: Some(text) }
}

/// `Exit code: 0\nWall time: 1.2 seconds\nOutput:\n…`, and the lines that newer writers put there.
fn headed(text: &str) -> (String, Option<i64>, Option<f64>) {
    let known =
        ["Exit code: ", "Wall time: ", "Chunk ID: ", "Process exited with code ", "Process running with session ID "];
    if !known.iter().any(|start| text.starts_with(start)) {
        return (text.to_owned(), None, None);
    }
    let (head, body) = match text.split_once("\nOutput:") {
        Some((head, body)) => (head, body.strip_prefix('\n').unwrap_or(body)),
        None => (text, ""),
    };
    let after = |start: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(start))?;
        line.split_whitespace().next()
    };
    let status = after("Exit code: ").or_else(|| after("Process exited with code "));
    (
        body.to_owned(),
        status.and_then(|status| status.parse().ok()),
        after("Wall time: ").and_then(|seconds| seconds.parse().ok()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Stream;
    use serde_json::json;

    #[test]
    fn commands_are_what_was_written_without_the_shell_around_them() {
        let shell = |command: Value| self::command("shell", &json!({ "command": command }));
        assert_eq!(shell(json!(["bash", "-lc", "ls | wc"])).as_deref(), Some("ls | wc"));
        assert_eq!(shell(json!(["echo", "it's", "a b", ""])).as_deref(), Some(r"echo 'it'\''s' 'a b' ''"));
        assert_eq!(shell(json!("pwd")).as_deref(), Some("pwd"));
        assert_eq!(command("exec_command", &json!({"cmd": "ls"})).as_deref(), Some("ls"));
        assert_eq!(command("update_plan", &json!({"command": "ls"})), None);
        assert_eq!(shell(json!([1])), None);
    }

    #[test]
    fn every_shape_of_an_output_is_read() {
        let read = |output: Value| {
            let given = given(&output);
            let error = given.recorded.error.map(|error| error.message);
            (given.recorded.output.text(Stream::Stdout), error, given.recorded.duration_us)
        };
        let old = json!({"output": "a\n", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}).to_string();
        assert_eq!(read(json!(old)), ("a\n".into(), Some("exit status 1".into()), Some(500_000)));
        let new = "Exit code: 0\nWall time: 1.5 seconds\nTotal output lines: 1\nOutput:\nb\n";
        assert_eq!(read(json!(new)), ("b\n".into(), None, Some(1_500_000)));
        let unified = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nc";
        assert_eq!(read(json!(unified)), ("c".into(), Some("exit status 2".into()), Some(100_000)));
        assert_eq!(read(json!({"content": "d", "success": false})), ("d".into(), Some("exit status 1".into()), None));
        assert_eq!(read(json!([{"type": "input_text", "text": "e"}])), ("e".into(), None, None));
        assert_eq!(read(json!("{not json")), ("{not json".into(), None, None));
        assert_eq!(read(json!(null)), (String::new(), None, None));
    }
}
