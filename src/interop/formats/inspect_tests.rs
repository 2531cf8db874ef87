//! Logs with the structure of real ones.

use serde_json::{Value, json};

use crate::interop::Imported;
use crate::interop::formats::testing::{imported, imported_bytes, warnings};
use crate::step::{Kind, Stream};

const ALONE: &str = "each call of the tool python ran in a process of its own; here the steps share one namespace";

fn log(samples: Value) -> Value {
    json!({"version": 2, "status": "success", "eval": {"task": "t", "model": "openai/gpt"}, "plan": {}, "results": {},
        "stats": {}, "samples": samples})
}

fn sample(id: Value) -> Value {
    json!({
        "id": id, "epoch": 1, "input": [{"role": "user", "content": "Count."}],
        "attachments": {"h1": "a long output"},
        "events": [
            {"event": "sample_init", "timestamp": "2025-02-07T00:00:00+00:00"},
            {"event": "model", "model": "openai/gpt-4", "output": {"choices": [{"message": {"content": [
                {"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "I count."}]}}],
                "usage": {"input_tokens": 4, "output_tokens": 2}}},
            {"event": "tool", "id": "c1", "function": "python", "arguments": {"code": "print(1)"}, "result": "attachment://h1",
                "timestamp": "2025-02-07T00:00:01+00:00", "working_time": 0.5},
            {"event": "tool", "id": "c2", "function": "bash", "arguments": {"cmd": "sleep 9"}, "result": "",
                "error": {"type": "timeout", "message": "too long"}},
            {"event": "tool", "id": "c3", "function": "search", "arguments": {"query": "x"}, "result": [{"type": "text", "text": "y"}]},
        ],
        "scores": {"match": {"value": "C"}},
        "output": {"choices": [{"message": {"content": "42"}}]},
    })
}

fn ids(run: &Imported) -> Vec<&str> {
    run.steps.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn events_of_tools_that_run_code_are_steps() {
    let run = imported(&log(json!([sample(json!(1))])));
    assert_eq!(warnings(&run), [ALONE]);
    assert_eq!(ids(&run), ["001_print_1", "002_sleep_9"]);
    let recorded = run.steps[0].recorded.as_ref().unwrap();
    assert_eq!(recorded.output.text(Stream::Stdout), "a long output");
    assert_eq!(recorded.duration_us, Some(500_000));
    assert_eq!(run.steps[0].provenance.model.as_deref(), Some("openai/gpt-4"));
    assert_eq!(run.steps[0].provenance.reason.as_deref(), Some("Hm.\nI count."));
    assert_eq!(run.steps[1].kind, Kind::Shell);
    assert_eq!(run.steps[1].recorded.as_ref().unwrap().error.as_ref().unwrap().type_name, "timeout");
}

#[test]
fn several_samples_are_frames_and_older_logs_have_messages_only() {
    let old = json!({"id": "x", "epoch": 2, "input": "go", "messages": [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"command": "ls"}}]},
        {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "a"},
        {"role": "tool", "tool_call_id": "bash_9", "function": "bash", "content": "...", "error": {"type": "limit", "message": "too much"}},
    ]});
    let run = imported(&log(json!([sample(json!("s one")), old])));
    assert_eq!(ids(&run), ["001_s_one_epoch_1/001_print_1", "001_s_one_epoch_1/002_sleep_9", "002_x_epoch_2/001_ls"]);
    assert_eq!(run.steps[2].recorded.as_ref().unwrap().output.text(Stream::Stdout), "a");
    assert!(run.files.iter().any(|file| file.path == "001_s_one_epoch_1/return.md" && file.bytes == b"42\n"));
    assert_eq!(warnings(&run), [ALONE]);
}

#[test]
fn an_archive_is_read_member_by_member_and_a_broken_one_is_told() {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    let members = [
        ("header.json", log(json!([])).to_string()),
        ("samples/10_epoch_1.json", sample(json!(10)).to_string()),
        ("samples/9_epoch_1.json", sample(json!(9)).to_string()),
        ("samples/8_epoch_1.json", "{\"id\": 8, \"ev".to_owned()),
    ];
    for (name, text) in &members {
        let (mut entry, config) =
            archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE).start().unwrap();
        let packer = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(packer);
        std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
        let (packer, descriptor) = writer.finish().unwrap();
        packer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    let run = imported_bytes(&bytes);
    assert_eq!(
        ids(&run),
        [
            "001_9_epoch_1/001_print_1",
            "001_9_epoch_1/002_sleep_9",
            "002_10_epoch_1/001_print_1",
            "002_10_epoch_1/002_sleep_9"
        ]
    );
    assert!(
        warnings(&run)[0].starts_with("\"samples/8_epoch_1.json\" in the archive: left out: EOF"),
        "{:?}",
        warnings(&run)
    );
}
