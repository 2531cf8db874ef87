//! What tools give, as JSON, cut to what fits an agent's context.

use serde_json::{Value, json};

use crate::step::{Execution, Patch, Reason, Status, StepId, Stream, Variable};
use crate::workbench::{EdgeKind, Snapshot, StepResult, TrialView};

/// Most of a text that is told, in bytes: the head and the tail of it.
const TEXT: usize = 16 << 10;

/// Most of a value that is told, in bytes.
const VALUE: usize = 2 << 10;

/// Most variables that are told.
const VARIABLES: usize = 200;

/// How every step stands.
pub(super) fn status(run: &Snapshot) -> Value {
    let steps: Vec<Value> = run
        .steps
        .iter()
        .map(|row| {
            json!({
                "id": row.id, "kind": row.kind, "status": row.status, "reasons": words(&row.reasons),
                "version": row.version, "summary": row.summary, "reads": row.reads, "writes": row.writes,
                "error": row.error, "caused_by": row.caused_by, "syntax_error": row.syntax_error,
            })
        })
        .collect();
    json!({"steps": steps, "patches": run.patches, "problems": run.problems, "running": run.running})
}

/// Which steps need which.
pub(super) fn graph(run: &Snapshot) -> Value {
    let id = |place: usize| run.steps.get(place).map(|row| &row.id);
    let edges = run.edges.iter().filter(|edge| edge.kind != EdgeKind::Order);
    let edges: Vec<Value> = edges
        .map(|edge| json!({"from": id(edge.from), "to": id(edge.to), "names": edge.names, "kind": edge.kind}))
        .collect();
    json!({"steps": run.steps.iter().map(|row| &row.id).collect::<Vec<_>>(), "edges": edges})
}

/// The patches, and where each stands.
pub(super) fn patches(run: &Snapshot) -> Value {
    json!({ "patches": run.patches })
}

/// What an execution printed, showed and failed with.
pub(super) fn execution(execution: &Execution) -> Value {
    let last = execution.displays.iter().rev().find(|display| display.last);
    let error = execution.error.as_ref().map(|error| {
        json!({
            "type": error.type_name, "message": cut(&error.message, TEXT), "line": error.line, "step": error.step,
            "caused_by": error.caused_by,
        })
    });
    json!({
        "outcome": execution.outcome, "version": execution.version,
        "stdout": cut(&execution.output.text(Stream::Stdout), TEXT),
        "stderr": cut(&execution.output.text(Stream::Stderr), TEXT),
        "value": last.map(|display| cut(&display.repr, TEXT)),
        "error": error, "duration_ms": execution.duration_us / 1000,
    })
}

/// What a run did. Of what was kept only that.
pub(super) fn ran(steps: &[StepResult]) -> Value {
    let told = |step: &StepResult| {
        let mut told = json!({"id": step.id, "status": step.status, "ran": step.ran, "why": words(&step.why)});
        let news = step.ran || matches!(step.status, Status::Failed | Status::Blocked);
        if let (true, Some(made), Some(object)) = (news, step.execution.as_deref(), told.as_object_mut()) {
            object.insert("last".to_owned(), execution(made));
        }
        told
    };
    Value::Array(steps.iter().map(told).collect())
}

/// Variables as of a step.
pub(super) fn variables(at: &StepId, variables: &[Variable]) -> Value {
    let told: Vec<Value> = variables
        .iter()
        .take(VARIABLES)
        .map(|variable| {
            json!({
                "name": variable.name, "type": variable.type_name, "repr": cut(&variable.repr, VALUE),
                "shape": variable.shape, "written_by": variable.written_by,
            })
        })
        .collect();
    json!({"at": at, "variables": told, "left_out": variables.len().saturating_sub(VARIABLES)})
}

/// Where a patch stands.
pub(super) fn patch(patch: &Patch) -> Value {
    let files: Vec<&str> = patch.files.iter().map(|file| file.path.as_str()).collect();
    json!({
        "patch": patch.id, "state": patch.state, "title": patch.title, "files": files, "problems": patch.problems,
    })
}

/// A patch in full.
pub(super) fn whole_patch(whole: &Patch) -> Value {
    let mut told = patch(whole);
    if let Some(object) = told.as_object_mut() {
        let comments: Vec<&str> = whole.comments.iter().map(|(_, text)| text.as_str()).collect();
        object.insert("changes".to_owned(), json!(whole.files));
        object.insert("comments".to_owned(), json!(comments));
        object.insert("by".to_owned(), json!(whole.provenance.author.to_string()));
    }
    told
}

/// What a patch did on the side.
pub(super) fn trial(trial: &TrialView) -> Value {
    let (tests, before, after) = trial.tests();
    let steps: Vec<Value> = trial
        .steps
        .iter()
        .map(|step| {
            json!({
                "id": step.id, "test": step.test, "before": step.before, "after": step.after,
                "output_before": cut(&step.output_before, TEXT), "output_after": cut(&step.output_after, TEXT),
                "values": step.values, "effects": step.effects,
            })
        })
        .collect();
    json!({
        "steps": steps, "stale": trial.stale, "gates": trial.gates, "remarks": trial.remarks,
        "tests": {"all": tests, "pass_before": before, "pass_after": after}, "isolated": trial.isolated,
    })
}

fn words(reasons: &[Reason]) -> Vec<String> {
    reasons.iter().map(ToString::to_string).collect()
}

/// A text, or its head and its tail.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head = text.char_indices().take_while(|(at, c)| at + c.len_utf8() <= half).map(|(_, c)| c);
    let from = (text.len() - half..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let head: String = head.collect();
    format!("{head}\n[{} bytes left out]\n{}", from - head.len(), text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_text_keeps_its_ends_at_whole_characters() {
        assert_eq!(cut("short", 8), "short");
        let long = "é".repeat(100);
        assert_eq!(cut(&long, 20), format!("{}\n[180 bytes left out]\n{}", "é".repeat(5), "é".repeat(5)));
    }
}
