//! What a notebook's cell printed, showed and failed with.

use serde_json::Value;

use super::notebook::Joining;
use super::traceback::cell_line;
use crate::interop::Recorded;
use crate::interop::json::{at, kind_of, str_at};
use crate::interop::moment::moment;
use crate::step::{Display, StepError, Stream};

/// Output keys of nbformat 2 and 3, and the MIME types that they stand for.
const OLD_KEYS: [(&str, &str); 9] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
    ("pdf", "application/pdf"),
];

/// What was recorded of a cell, or `None` where nothing says that it ran. What is not understood is told to
/// `odd`.
pub fn recorded(cell: &Value, joining: Joining, odd: &mut dyn FnMut(String)) -> Option<Recorded> {
    let mut recorded = Recorded::default();
    let outputs = match at(cell, &["outputs"]) {
        Value::Array(outputs) => outputs.as_slice(),
        Value::Null => &[],
        other => {
            odd(format!("its outputs are {} and not a list; left out", kind_of(other)));
            &[]
        }
    };
    for output in outputs {
        one(output, joining, &mut recorded, odd);
    }
    times(cell, &mut recorded);
    let ran = ["execution_count", "prompt_number"].iter().any(|key| at(cell, &[key]).is_number());
    (ran || !outputs.is_empty()).then_some(recorded)
}

fn one(output: &Value, joining: Joining, recorded: &mut Recorded, odd: &mut dyn FnMut(String)) {
    match str_at(output, &["output_type"]) {
        Some("stream") => {
            let name = str_at(output, &["name"]).or(str_at(output, &["stream"])).unwrap_or("stdout");
            let stream = if name == "stderr" { Stream::Stderr } else { Stream::Stdout };
            match joining.text(at(output, &["text"])) {
                Some(text) => recorded.print(stream, text),
                None => odd("a stream without a text".to_owned()),
            }
        }
        Some(kind @ ("execute_result" | "pyout" | "display_data" | "update_display_data")) => {
            let last = matches!(kind, "execute_result" | "pyout");
            match display(output, joining, last) {
                Some(display) => recorded.displays.push(display),
                None => odd("an output that shows nothing".to_owned()),
            }
        }
        Some("error" | "pyerr") => recorded.error = Some(error(output, joining)),
        Some(other) => odd(format!("an output of the unknown type {other:?}; left out")),
        None => odd("an output without a type; left out".to_owned()),
    }
}

fn display(output: &Value, joining: Joining, last: bool) -> Option<Display> {
    let mut display = Display { repr: String::new(), mime: Default::default(), last };
    if let Value::Object(data) = at(output, &["data"]) {
        for (mime, value) in data {
            display.mime.insert(mime.clone(), joining.text(value).unwrap_or_else(|| value.to_string()));
        }
    }
    for (key, mime) in OLD_KEYS {
        if let Some(text) = joining.text(at(output, &[key])) {
            display.mime.entry(mime.to_owned()).or_insert(text);
        }
    }
    display.repr = display.mime.remove("text/plain").unwrap_or_default();
    (!display.repr.is_empty() || !display.mime.is_empty()).then_some(display)
}

fn error(output: &Value, joining: Joining) -> StepError {
    let lines = match at(output, &["traceback"]) {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        other => joining.text(other).unwrap_or_default(),
    };
    let mut error = StepError {
        type_name: str_at(output, &["ename"]).unwrap_or("Exception").to_owned(),
        message: joining.text(at(output, &["evalue"])).unwrap_or_default(),
        line: cell_line(&lines),
        ..StepError::default()
    };
    if !lines.is_empty() {
        error.attributes.insert("traceback".to_owned(), lines);
    }
    error
}

/// Times are there only where a front end was told to keep them: `metadata.execution` of JupyterLab,
/// `metadata.ExecuteTime` of an extension.
fn times(cell: &Value, recorded: &mut Recorded) {
    let metadata = at(cell, &["metadata"]);
    let first = |paths: &[[&str; 2]]| paths.iter().find_map(|path| moment(at(metadata, path)));
    let start = first(&[
        ["execution", "iopub.execute_input"],
        ["execution", "iopub.status.busy"],
        ["ExecuteTime", "start_time"],
    ]);
    let end =
        first(&[["execution", "shell.execute_reply"], ["execution", "iopub.status.idle"], ["ExecuteTime", "end_time"]]);
    recorded.started = start;
    if let (Some(start), Some(end)) = (start, end) {
        recorded.duration_us = end.checked_sub(start).and_then(|ms| u64::try_from(ms).ok()?.checked_mul(1000));
    }
}
