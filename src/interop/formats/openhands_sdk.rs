//! Events of OpenHands' SDK (version 1), put into the shape of version 0.

use serde_json::{Value, json};

use crate::interop::json::{at, str_at};

/// The event in the older shape; `None` if it has no `kind` or is of one that has no counterpart.
pub fn plain_event(event: &Value) -> Option<Value> {
    let kind = str_at(event, &["kind"])?;
    let common = |mut plain: Value| {
        for key in ["source", "timestamp"] {
            plain[key] = at(event, &[key]).clone();
        }
        Some(plain)
    };
    match kind {
        "MessageEvent" => {
            let message = at(event, &["llm_message"]);
            common(json!({"action": "message", "args": {"content": pieces(at(message, &["content"]))}}))
        }
        "SystemPromptEvent" => {
            common(json!({"action": "system", "args": {"content": at(event, &["system_prompt", "text"])}}))
        }
        "ActionEvent" => common(action(event)),
        "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" => common(observation(kind, event)),
        "ConversationStateUpdateEvent" | "PauseEvent" => Some(json!({ "action": kind })),
        "Condensation" | "CondensationRequest" | "CondensationSummaryEvent" => Some(json!({"action": "condensation"})),
        _ => None,
    }
}

fn action(event: &Value) -> Value {
    let inner = at(event, &["action"]);
    let sort = str_at(inner, &["kind"]).unwrap_or_default();
    let mut arguments = inner.clone();
    if let Value::Object(entries) = &mut arguments {
        entries.shift_remove("kind");
        entries.insert("thought".to_owned(), pieces(at(event, &["thought"])).into());
    }
    let name = match sort {
        "ExecuteBashAction" | "TerminalAction" | "BashAction" => "run",
        "IPythonAction" | "JupyterAction" => "run_ipython",
        "FileEditorAction" | "StrReplaceEditorAction" if str_at(inner, &["command"]) != Some("view") => "edit",
        "FinishAction" => {
            arguments["outputs"] = at(inner, &["message"]).clone();
            "finish"
        }
        "ThinkAction" => "think",
        _ => str_at(event, &["tool_name"]).unwrap_or("tool"),
    };
    json!({
        "action": name, "args": arguments, "id": number(at(event, &["id"])),
        "tool_call_metadata": {
            "tool_call_id": at(event, &["tool_call_id"]),
            "model_response": {"id": at(event, &["llm_response_id"])},
        },
    })
}

fn observation(kind: &str, event: &Value) -> Value {
    let inner = at(event, &["observation"]);
    let content = ["content", "output", "error"].iter().map(|key| at(inner, &[key])).find(|value| !value.is_null());
    let content = match content {
        Some(content) => pieces(content),
        None => [at(event, &["error"]), at(event, &["rejection_reason"])]
            .iter()
            .find_map(|v| v.as_str())
            .unwrap_or_default()
            .to_owned(),
    };
    let sort = str_at(inner, &["kind"]).unwrap_or_default();
    let failed =
        kind == "AgentErrorEvent" || at(inner, &["is_error"]).as_bool() == Some(true) && !sort.contains("Bash");
    let name = if failed { "error" } else { "run" };
    json!({
        "observation": name, "content": content, "cause": number(at(event, &["action_id"])),
        "extras": {
            "exit_code": at(inner, &["exit_code"]), "old_content": at(inner, &["old_content"]),
            "new_content": at(inner, &["new_content"]), "prev_exist": at(inner, &["prev_exist"]),
        },
    })
}

/// The SDK's ids are texts; a number of theirs serves to join an observation with its action.
fn number(id: &Value) -> Value {
    match id {
        Value::String(text) => {
            let digest = crate::step::Digest::of(text);
            let number = digest.as_bytes().iter().take(7).fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte));
            number.into()
        }
        other => other.clone(),
    }
}

fn pieces(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(|item| item.as_str().or(str_at(item, &["text"]))).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::interop::formats::testing::{imported, warnings};
    use crate::step::Stream;
    use serde_json::json;

    #[test]
    fn the_sdk_s_events_are_read_as_the_older_ones() {
        let run = imported(&json!([
            {"kind": "SystemPromptEvent", "id": "a", "source": "agent", "system_prompt": {"type": "text", "text": "Be good."}},
            {"kind": "MessageEvent", "id": "b", "source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
            {"kind": "ActionEvent", "id": "c", "source": "agent", "tool_name": "terminal", "tool_call_id": "t1", "llm_response_id": "r",
             "thought": [{"type": "text", "text": "I look."}], "action": {"kind": "ExecuteBashAction", "command": "ls"}},
            {"kind": "ObservationEvent", "id": "d", "source": "environment", "action_id": "c", "tool_call_id": "t1",
             "observation": {"kind": "ExecuteBashObservation", "output": "a\n", "exit_code": 1}},
            {"kind": "ActionEvent", "id": "e", "source": "agent", "tool_name": "file_editor", "tool_call_id": "t2", "thought": [],
             "action": {"kind": "FileEditorAction", "command": "create", "path": "/workspace/a.py", "file_text": "x"}},
            {"kind": "ObservationEvent", "id": "f", "source": "environment", "action_id": "e", "observation":
             {"kind": "FileEditorObservation", "content": [{"text": "ok"}], "prev_exist": false, "new_content": "x"}},
            {"kind": "ConversationStateUpdateEvent", "id": "g", "source": "environment"},
        ]));
        assert_eq!(run.steps.len(), 1);
        let step = &run.steps[0];
        assert_eq!(step.provenance.call.as_deref(), Some("t1"));
        assert_eq!(step.provenance.reason.as_deref(), Some("I look."));
        let recorded = step.recorded.as_ref().unwrap();
        assert_eq!(recorded.output.text(Stream::Stdout), "a\n");
        assert_eq!(recorded.error.as_ref().unwrap().message, "exit status 1");
        assert_eq!(run.patches[0].title, "create a.py");
        assert_eq!(
            warnings(&run),
            ["events of OpenHands' own bookkeeping are left out: 1 ConversationStateUpdateEvent"]
        );
    }
}
