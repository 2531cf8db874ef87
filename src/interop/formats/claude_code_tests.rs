//! Sessions with the structure of real ones.

use serde_json::{Value, json};

use crate::interop::formats::testing::{imported_bytes, imported_lines, warnings};
use crate::interop::{Imported, NoteKind};
use crate::step::{Kind, Stream};

fn assistant(uuid: &str, items: Value) -> Value {
    json!({"type": "assistant", "uuid": uuid, "parentUuid": null, "isSidechain": false, "cwd": "/work", "sessionId": "s",
        "version": "1.0.98", "timestamp": "2025-09-03T00:47:21.540Z", "requestId": "r",
        "message": {"id": format!("msg_{uuid}"), "role": "assistant", "model": "claude-x",
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 8}, "content": items}})
}

fn user(uuid: &str, content: Value) -> Value {
    json!({"type": "user", "uuid": uuid, "parentUuid": format!("p{uuid}"), "isSidechain": false, "cwd": "/work",
        "message": {"role": "user", "content": content}, "timestamp": "2025-09-03T00:47:24.686Z"})
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn answer(uuid: &str, id: &str, content: Value, parts: Value) -> Value {
    let mut record = user(uuid, json!([{"type": "tool_result", "tool_use_id": id, "content": content}]));
    record["toolUseResult"] = parts;
    record
}

fn paths(run: &Imported) -> Vec<String> {
    let mut steps: Vec<_> = run.steps.iter().collect();
    steps.sort_by(|a, b| a.id.cmp(&b.id));
    steps.into_iter().map(crate::interop::ImportedStep::path).collect()
}

#[test]
fn shell_calls_are_steps_and_the_rest_stays_with_them() {
    let run = imported_lines(&[
        json!({"type": "summary", "summary": "Fix it", "leafUuid": "x"}),
        user("1", json!("please fix")),
        assistant(
            "2",
            json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "I look."},
            call("t1", "Read", json!({"file_path": "/work/a.py"}))]),
        ),
        answer("3", "t1", json!("1→x = 1"), json!({"type": "text"})),
        assistant("4", json!([call("t2", "Bash", json!({"command": "python a.py\n", "description": "Run it"}))])),
        answer(
            "5",
            "t2",
            json!("out\nerr"),
            json!({"stdout": "out", "stderr": "err", "interrupted": false, "durationMs": 12}),
        ),
        assistant("6", json!([{"type": "text", "text": "All done."}])),
    ]);
    assert_eq!(warnings(&run), [""; 0]);
    assert_eq!(paths(&run), ["001_python_a_py.sh"]);
    let step = &run.steps[0];
    assert_eq!(step.kind, Kind::Shell);
    assert_eq!(
        step.text,
        "# /// step\n# agent = \"claude-code\"\n# model = \"claude-x\"\n# call = \"t2\"\n# summary = \"Run it\"\n# ///\npython a.py\n"
    );
    assert_eq!(step.provenance.at, 1_756_860_441_540);
    assert_eq!(step.provenance.tokens.map(|t| (t.input, t.output)), Some((10, 8)));
    let recorded = step.recorded.as_ref().unwrap();
    assert_eq!(
        (recorded.output.text(Stream::Stdout), recorded.output.text(Stream::Stderr)),
        ("out".into(), "err".into())
    );
    assert_eq!(recorded.duration_us, Some(12_000));
    let notes: Vec<(NoteKind, &str)> = step.notes.iter().map(|n| (n.kind, n.by.as_str())).collect();
    assert_eq!(
        notes,
        [
            (NoteKind::Other, "summary"),
            (NoteKind::Message, "user"),
            (NoteKind::Thought, "assistant"),
            (NoteKind::Thought, "assistant"),
            (NoteKind::Tool, "Read")
        ]
    );
    assert_eq!(step.notes[4].result.as_deref(), Some("1→x = 1"));
    assert_eq!(run.files[0].bytes, b"All done.\n");
}

#[test]
fn edits_are_accepted_patches_and_the_files_are_laid_down_as_they_stood() {
    let run = imported_lines(&[
        assistant("1", json!([call("t1", "Write", json!({"file_path": "/work/src/a.py", "content": "x = 1\n"}))])),
        answer(
            "2",
            "t1",
            json!("ok"),
            json!({"type": "create", "filePath": "/work/src/a.py", "content": "x = 1\n", "structuredPatch": []}),
        ),
        assistant(
            "3",
            json!([call("t2", "Edit", json!({"file_path": "/work/src/a.py", "old_string": "1", "new_string": "2"}))]),
        ),
        answer(
            "4",
            "t2",
            json!("ok"),
            json!({"originalFile": "x = 1\n", "oldString": "1", "newString": "2", "structuredPatch": [
            {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x = 1", "+x = 2"]}]}),
        ),
        // The result is a string on an error, and then nothing was edited.
        assistant(
            "5",
            json!([call("t3", "Edit", json!({"file_path": "/work/src/a.py", "old_string": "9", "new_string": "8"}))]),
        ),
        {
            let mut record = answer(
                "6",
                "t3",
                json!("<tool_use_error>String not found</tool_use_error>"),
                json!("Error: String not found"),
            );
            record["message"]["content"][0]["is_error"] = json!(true);
            record
        },
    ]);
    assert_eq!(warnings(&run), [""; 0]);
    assert_eq!(run.patches.len(), 2);
    assert_eq!(run.patches[1].files[0].path, "src/a.py");
    assert_eq!(run.patches[1].files[0].result.as_deref(), Some("x = 2\n"));
    assert_eq!(run.patches[1].provenance.call.as_deref(), Some("t2"));
    let work: Vec<&str> = run.files.iter().filter(|f| f.work).map(|f| f.path.as_str()).collect();
    assert_eq!(work, ["src/a.py"]);
}

#[test]
fn a_failing_command_is_recorded_as_failing() {
    let mut failed = answer("2", "t1", json!("Exit code 2\nls: no"), json!("Error: Exit code 2\nls: no"));
    failed["message"]["content"][0]["is_error"] = json!(true);
    let run = imported_lines(&[assistant("1", json!([call("t1", "Bash", json!({"command": "ls /x"}))])), failed]);
    let recorded = run.steps[0].recorded.as_ref().unwrap();
    assert_eq!(recorded.error.as_ref().unwrap().message, "exit status 2");
    assert_eq!(recorded.output.text(Stream::Stderr), "Exit code 2\nls: no");
}

#[test]
fn a_sub_agent_is_a_frame_and_its_answer_what_the_frame_returned() {
    let side = |mut record: Value, parent: Value| {
        record["isSidechain"] = json!(true);
        record["parentUuid"] = parent;
        record
    };
    let run = imported_lines(&[
        assistant("1", json!([call("t0", "Bash", json!({"command": "ls"}))])),
        answer("1b", "t0", json!("a"), json!({"stdout": "a", "stderr": ""})),
        assistant("2", json!([call("t1", "Task", json!({"description": "Review code", "prompt": "Look at it"}))])),
        side(user("s1", json!("Look at it")), json!(null)),
        side(assistant("s2", json!([call("t2", "Bash", json!({"command": "cat a"}))])), json!("s1")),
        side(answer("s3", "t2", json!("x"), json!({"stdout": "x", "stderr": ""})), json!("s2")),
        side(assistant("s4", json!([{"type": "text", "text": "Fine."}])), json!("s3")),
        answer("3", "t1", json!([{"type": "text", "text": "Fine."}]), json!({"totalDurationMs": 5})),
        assistant("4", json!([call("t3", "Bash", json!({"command": "pwd"}))])),
        answer("5", "t3", json!("/work"), json!({"stdout": "/work", "stderr": ""})),
    ]);
    assert_eq!(warnings(&run), [""; 0]);
    assert_eq!(paths(&run), ["001_ls.sh", "002_review_code/001_cat_a.sh", "003_pwd.sh"]);
    let returned = run.files.iter().find(|f| f.path == "002_review_code/return.md").unwrap();
    assert_eq!(returned.bytes, b"Fine.\n");
}

#[test]
fn broken_lines_doubles_orphans_and_rewinds_are_told_and_nothing_else_is_lost() {
    let call_ = assistant("1", json!([call("t1", "Bash", json!({"command": "ls"}))])).to_string();
    let result = answer("2", "t1", json!("a"), json!({"stdout": "a", "stderr": ""})).to_string();
    let mut first = user("3", json!("go left"));
    let mut second = user("4", json!("no, right"));
    first["parentUuid"] = json!("2");
    second["parentUuid"] = json!("2");
    let orphan = assistant("5", json!([call("t9", "Bash", json!({"command": "sleep 9"}))])).to_string();
    let ghost = answer("6", "t8", json!("boo"), json!({})).to_string();
    let snapshot = json!({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}).to_string();
    let odd = json!({"type": "hologram", "uuid": "7"}).to_string();
    let (half, _) = result.split_at(result.len() / 2);
    let text = format!(
        "{half}\n{call_}{result}\n\0\0\0{result}\n{first}\n{second}\n{orphan}\n{ghost}\n{snapshot}\n{odd}\n{half}"
    );
    let run = imported_bytes(text.as_bytes());
    assert_eq!(paths(&run), ["001_ls.sh", "002_sleep_9.sh"]);
    assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "a");
    assert_eq!(
        warnings(&run),
        [
            "line 9: a record of the unknown type \"hologram\"; kept as a note",
            "line 1: skipped, since it is not JSON",
            "line 2: two records on one line; both are taken",
            "line 3: NUL bytes around the record, left out",
            "line 10: the last record is cut off and left out",
            "records of Claude Code's own bookkeeping are left out: 1 file-history-snapshot",
            "one record stands in the log twice; the first is taken",
            "the conversation was taken up again from an earlier point once; the steps of every branch are kept, in the order of the log",
            "one call has no result: it was interrupted or is not in the log",
            "one result answers no call in the log; it is kept as a note",
        ]
    );
}

#[test]
fn half_a_surrogate_pair_in_an_output_is_no_broken_line() {
    let call_ = assistant("1", json!([call("t1", "Bash", json!({"command": "ls"}))])).to_string();
    let result =
        answer("2", "t1", json!("XX"), json!({"stdout": "XX", "stderr": ""})).to_string().replace("XX", r"cut \ud83d");
    let run = imported_bytes(format!("{call_}\n{result}\n").as_bytes());
    assert_eq!(warnings(&run), [""; 0]);
    assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "cut \u{fffd}");
}
