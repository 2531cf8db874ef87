//! Rollouts with the structure of real ones, of both ages.

use serde_json::{Value, json};

use crate::interop::formats::testing::{imported_lines, warnings};
use crate::interop::{Imported, NoteKind};
use crate::step::Stream;

fn item(payload: Value) -> Value {
    json!({"timestamp": "2025-10-03T00:00:01.000Z", "type": "response_item", "payload": payload})
}

fn event(payload: Value) -> Value {
    json!({"timestamp": "2025-10-03T00:00:02.000Z", "type": "event_msg", "payload": payload})
}

fn notes(run: &Imported, step: usize) -> Vec<(NoteKind, &str, &str)> {
    run.steps[step].notes.iter().map(|n| (n.kind, n.by.as_str(), n.text.as_str())).collect()
}

#[test]
fn messages_that_stand_twice_are_taken_once() {
    let message = |role: &str, text: &str| {
        item(json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}))
    };
    let arguments = json!({"command": ["bash", "-lc", "ls"], "workdir": "/w"}).to_string();
    let run = imported_lines(&[
        json!({"timestamp": "2025-10-03T00:00:00.000Z", "type": "session_meta", "payload": {"id": "u", "cwd": "/w", "cli_version": "0.135.0"}}),
        json!({"timestamp": "2025-10-03T00:00:00.000Z", "type": "turn_context", "payload": {"cwd": "/w", "model": "gpt-x"}}),
        message("user", "go on"),
        event(json!({"type": "user_message", "message": "go on"})),
        message("user", "go on"),
        event(json!({"type": "user_message", "message": "go on"})),
        event(json!({"type": "agent_reasoning", "text": "I list."})),
        item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "I list."}], "encrypted_content": "…"}),
        ),
        item(json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"})),
        event(json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 9, "output_tokens": 4}}})),
        event(json!({"type": "exec_command_begin", "call_id": "c1"})),
        item(
            json!({"type": "function_call_output", "call_id": "c1", "output": "Exit code: 0\nWall time: 0.2 seconds\nOutput:\na\n"}),
        ),
        item(json!({"type": "hologram"})),
    ]);
    assert_eq!(notes(&run, 0), [(NoteKind::Message, "user", "go on"), (NoteKind::Message, "user", "go on")]);
    let provenance = &run.steps[0].provenance;
    assert_eq!((provenance.model.as_deref(), provenance.reason.as_deref()), (Some("gpt-x"), Some("I list.")));
    assert_eq!(provenance.tokens.map(|tokens| tokens.input), Some(9));
    assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "a\n");
    assert_eq!(
        warnings(&run),
        [
            "line 13: a record of the unknown type \"hologram\"; kept as a note",
            "records of Codex's own bookkeeping are left out: 1 exec_command_begin",
        ]
    );
}

#[test]
fn patches_are_patches_whether_they_are_calls_or_in_a_shell_command() {
    let add = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch";
    let update = "*** Begin Patch\n*** Update File: /w/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch";
    let wrong = "*** Begin Patch\n*** Update File: a.py\n@@\n-y = 1\n+y = 2\n*** End Patch";
    let arguments = json!({"command": ["bash", "-lc", format!("apply_patch <<'EOF'\n{add}\nEOF")]}).to_string();
    let output = |status: i64| json!({"output": "Success.", "metadata": {"exit_code": status}}).to_string();
    let run = imported_lines(&[
        json!({"timestamp": "t", "type": "session_meta", "payload": {"cwd": "/w"}}),
        item(json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": output(0)})),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "input": update, "call_id": "c2"})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": output(0)})),
        item(json!({"type": "custom_tool_call", "name": "apply_patch", "input": wrong, "call_id": "c3"})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c3", "output": output(1)})),
    ]);
    assert_eq!(warnings(&run), [""; 0]);
    assert_eq!(run.steps.len(), 0);
    assert_eq!(run.patches.iter().map(|p| p.title.as_str()).collect::<Vec<_>>(), ["create a.py", "edit a.py"]);
    assert_eq!(run.patches[1].files[0].result.as_deref(), Some("x = 2\n"));
    assert!(run.files.iter().any(|f| f.path == "a.py" && f.bytes == b"x = 2\n" && f.work));
}

#[test]
fn old_rollouts_have_bare_lines_and_noise() {
    let run = imported_lines(&[
        json!({"id": "u", "timestamp": "2025-06-01T00:00:00.000Z", "instructions": "Be good.", "git": {}}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\",\"a b\"]}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"}),
        json!({"record_type": "state"}),
    ]);
    assert!(run.steps[0].text.ends_with("# ///\nls 'a b'\n"), "{}", run.steps[0].text);
    assert_eq!(notes(&run, 0), [(NoteKind::Message, "system", "Be good."), (NoteKind::Message, "user", "hi")]);
    assert_eq!(warnings(&run), ["records of Codex's own bookkeeping are left out: 2 state"]);
}

#[test]
fn a_sub_agent_s_copy_of_its_parent_is_not_imported_twice() {
    let call = |ordinal: u64, id: &str| {
        let mut call = item(
            json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": id}),
        );
        call["ordinal"] = json!(ordinal);
        call
    };
    let run = imported_lines(&[
        json!({"timestamp": "t", "type": "session_meta", "payload": {"cwd": "/w", "subagent_history_start_ordinal": 3}, "ordinal": 0}),
        call(1, "a"),
        call(2, "b"),
        call(3, "c"),
    ]);
    assert_eq!(run.steps.len(), 1);
    assert_eq!(
        warnings(&run),
        [
            "2 records at the start are the parent session's and are left out",
            "one call has no result: it was interrupted or is not in the log",
        ]
    );
}
