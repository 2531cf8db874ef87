//! A run as one JSON document, from which the same run is made again.
//!
//! `{"reweave_run": 1, "title", "config", "files": […], "patches": […], "steps": […]}`: steps last, since they
//! are the largest. Texts that are not UTF-8 are in base64 under `base64` instead of `text`.

use base64::Engine;
use serde_json::{Value, json};

use super::whole::{Whole, WholePatch, WholeStep};
use crate::step::Author;

/// The number of the format.
pub const VERSION: u32 = 1;

/// The run as JSON.
pub fn json(run: &Whole) -> Value {
    let files: Vec<Value> =
        run.files.iter().map(|file| with_content(json!({"path": file.path}), &file.bytes)).collect();
    json!({
        "reweave_run": VERSION,
        "title": run.title,
        "config": run.config,
        "files": files,
        "patches": run.patches.iter().map(patch).collect::<Vec<_>>(),
        "edges": run.edges,
        "left_out": run.left_out,
        "steps": run.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

fn with_content(mut value: Value, bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => value["text"] = text.into(),
        Err(_) => value["base64"] = base64::engine::general_purpose::STANDARD.encode(bytes).into(),
    }
    value
}

fn patch(WholePatch { patch, text }: &WholePatch) -> Value {
    with_content(
        json!({
            "title": patch.title, "state": patch.state, "provenance": patch.provenance, "files": patch.files,
            "problems": patch.problems, "comments": patch.comments,
        }),
        text,
    )
}

fn step(step: &WholeStep) -> Value {
    let bytes = step.bytes.as_deref().unwrap_or(step.text.as_bytes());
    let mut value = json!({"id": step.id, "kind": step.kind, "path": step.path});
    let versions: Vec<Value> = step
        .versions
        .iter()
        .filter(|(version, _)| !version.deleted)
        .map(|(version, text)| with_content(json!({"number": version.number, "provenance": version.provenance}), text))
        .collect();
    value["author"] = step.version().map_or(Value::Null, |version| match &version.provenance.author {
        Author::Person => "a person".into(),
        author => author.to_string().into(),
    });
    value["versions"] = versions.into();
    value["execution"] = json!(step.execution);
    with_content(value, bytes)
}
