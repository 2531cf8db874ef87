//! Call trees of agentic functions: flat lists of calls that name their callers, `{"nodes": […]}` or one a line,
//! with `role` (user, llm, code), `caller` and `seq`.

use serde_json::Value;

use super::records::each_record;
use super::result::told;
use super::traceback::{last_error, named_error};
use super::tree::{Call, Sort, Tree};
use crate::interop::detect::Sample;
use crate::interop::json::{at, str_at};
use crate::interop::moment::moment;
use crate::interop::recorder::Recorder;
use crate::interop::{ImportError, Layout, Recording, Sink};

/// Whether the records are such calls.
pub fn is(sample: &Sample) -> bool {
    let call = |record: &Value| {
        matches!(str_at(record, &["role"]), Some("user" | "llm" | "code" | "assistant"))
            && record.get("seq").is_some()
            && (record.get("caller").is_some()
                || record.get("called_by").is_some()
                || record.get("predecessor").is_some())
    };
    sample.records.iter().any(|record| call(record) || at(record, &["nodes"]).get(0).is_some_and(call))
}

/// Reads a call tree.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, layout: Layout, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut tree = Tree::default();
    let mut recorder = Recorder::new(sink, "call-tree");
    let warnings = each_record(recording, layout, &["nodes"], &mut |_, node| {
        tree.push(call(&node));
        Ok(())
    })?;
    for warning in warnings {
        recorder.warn(warning.place, warning.what);
    }
    tree.lay(&mut recorder)?;
    recorder.finish()
}

fn call(node: &Value) -> Call {
    let id = |keys: &[&str]| {
        keys.iter().find_map(|key| match at(node, &[key]) {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        })
    };
    let status = str_at(node, &["metadata", "status"]).unwrap_or_default();
    let output = told(at(node, &["output"]));
    let error = matches!(status, "error" | "cancelled").then(|| {
        let message = str_at(node, &["metadata", "error"]).unwrap_or(&output);
        last_error(message).unwrap_or_else(|| named_error(status, message))
    });
    Call {
        id: id(&["id"]).unwrap_or_default(),
        parent: id(&["caller", "called_by"]),
        name: str_at(node, &["name"]).unwrap_or("call").to_owned(),
        sort: match str_at(node, &["role"]) {
            Some("llm" | "assistant") => Sort::Model,
            Some("user") => Sort::Person,
            _ => Sort::Function,
        },
        order: at(node, &["seq"]).as_u64().unwrap_or_default(),
        started: moment(at(node, &["created_at"])),
        input: told(at(node, &["input"])),
        output,
        error,
        model: str_at(node, &["metadata", "model"]).map(str::to_owned),
        ..Call::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::interop::formats::testing::imported;

    #[test]
    fn calls_are_frames_and_steps_by_their_caller() {
        let node = |id: &str, role: &str, name: &str, seq: u64, caller: serde_json::Value| {
            json!({"id": id, "seq": seq, "created_at": 1_795_819_668.5, "role": role, "name": name, "input": {"q": "x"},
                "output": format!("{name} gave"), "caller": caller, "predecessor": null, "reads": [], "metadata": {"status": "completed"}})
        };
        let mut failed = node("d", "code", "save", 4, json!("b"));
        failed["metadata"] = json!({"status": "error", "error": "no disk"});
        let run = imported(&json!({"nodes": [
            node("u", "user", "ask", 0, json!(null)), node("b", "code", "research", 1, json!(null)),
            node("l", "llm", "m", 2, json!("b")), node("c", "code", "search", 3, json!("b")), failed,
        ], "next_seq": 5}));
        let ids: Vec<&str> = run.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["001_research/001_search", "001_research/002_save"]);
        assert_eq!(run.steps[0].provenance.reason, None);
        assert_eq!(run.steps[1].recorded.as_ref().unwrap().error.as_ref().unwrap().message, "no disk");
        assert!(run.files.iter().any(|file| file.path == "001_research/return.md" && file.bytes == b"research gave\n"));
    }
}
