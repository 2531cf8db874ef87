//! The MCP server, spoken with in plain JSON-RPC and, where `REWEAVE_MCP_PYTHON` names an interpreter that has the
//! `mcp` package, by that client: an agent makes a run, reads why it fails, proposes patches; a person accepts one.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{Run, answer};
use serde_json::{Value, json};

/// A client that speaks the protocol by hand.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(run: &Run) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command.args(["mcp", "."]).current_dir(run.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, last: 0 };
        let told = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "by-hand", "version": "1"},
            }),
        );
        assert_eq!(told["result"]["serverInfo"]["name"], "reweave", "{told}");
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn tell(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server went away");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// What a tool says: whether it went well, and its text.
    fn try_tool(&mut self, name: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        (result["isError"] == false, result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let (well, text) = self.try_tool(name, arguments);
        assert!(well, "{name}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Goes away, and sees that the server ends.
    fn end(mut self) {
        self.input = None;
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

const RIGHT: &str = "02_ratio.py\n<<<<<<< SEARCH\nratios = [1 / row for row in rows]\n=======\nratios = [1 / row for row in rows if row]\n>>>>>>> REPLACE\n";
const WRONG: &str =
    "02_ratio.py\n<<<<<<< SEARCH\nratios = [1 / row for row in rows]\n=======\nratios = []\n>>>>>>> REPLACE\n";

#[test]
fn a_repair_driven_over_the_protocol() {
    let run = Run::empty();
    let mut client = Client::start(&run);
    let tools = client.ask("tools/list", &json!({}));
    let tools: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"patch_try") && tools.contains(&"context"), "{tools:?}");
    for decided in ["patch_accept", "patch_reject", "answer", "delete"] {
        assert!(!tools.contains(&decided), "{decided} is for a person");
    }
    client.tool("new", &json!({"step": "01_rows", "source": "rows = [3, 0, 4]\n"}));
    client.tool("new", &json!({"step": "02_ratio", "source": "ratios = [1 / row for row in rows]\n"}));
    client.tool("new", &json!({"step": "test_ratio", "source": "assert len(ratios) == 3\n"}));
    client.tool("edit", &json!({"step": "test_ratio.py", "source": "assert len(ratios) == 2\n"}));
    let ran = client.tool("run", &json!({}));
    assert_eq!((&ran["ran"], &ran["failed"]), (&json!(2), &json!(1)), "{ran}");
    assert_eq!(ran["steps"][1]["last"]["error"]["type"], "ZeroDivisionError", "{ran}");
    let diagnosis = client.tool("diagnose", &json!({"step": "02_ratio"}));
    assert!(diagnosis["explanation"].as_str().unwrap().contains("zero"), "{diagnosis}");
    let context = client.tool("context", &json!({"step": "02_ratio"}));
    assert!(context["text"].as_str().unwrap().contains("rows = [3, 0, 4]"), "{context}");
    let state = client.tool("state", &json!({"at": "01_rows"}));
    assert_eq!(state["variables"][0]["repr"], "[3, 0, 4]", "{state}");
    let graph = client.tool("graph", &json!({}));
    assert_eq!(graph["edges"][0], json!({"from": "01_rows", "to": "02_ratio", "names": ["rows"], "kind": "data"}));
    let wrong = client.tool("patch_add", &json!({"patch": WRONG, "model": "m1"}));
    let right = client.tool("patch_add", &json!({"patch": RIGHT, "model": "m1", "call": "c2"}));
    assert_eq!((&wrong["state"], &right["state"]), (&json!("proposed"), &json!("proposed")));
    let tried = client.tool("patch_try", &json!({"patch": wrong["patch"]}));
    assert_eq!(tried["tests"], json!({"all": 1, "pass_before": 0, "pass_after": 0}), "{tried}");
    let tried = client.tool("patch_try", &json!({"patch": right["patch"]}));
    assert_eq!(tried["tests"], json!({"all": 1, "pass_before": 0, "pass_after": 1}), "{tried}");
    // A person decides, from outside, while the server has the run open.
    let mut accept = Command::new(env!("CARGO_BIN_EXE_reweave"));
    accept.args(["patch", "accept", ".", &right["patch"].to_string()]).current_dir(run.path());
    let accepted = answer(accept, "");
    assert_eq!(accepted.status, Some(0), "{accepted}");
    let patches = client.tool("patch_list", &json!({}));
    let states: Vec<&Value> = patches["patches"].as_array().unwrap().iter().map(|patch| &patch["state"]).collect();
    assert!(states.contains(&&json!("accepted")), "{patches}");
    let replayed = client.tool("replay", &json!({"from": "01_rows"}));
    assert_eq!(replayed["failed"], 0, "{replayed}");
    let log = client.tool("log", &json!({"step": "02_ratio"}));
    assert!(log.to_string().contains("agent by-hand"), "{log}");
    client.end();
}

#[test]
fn what_is_asked_wrongly_is_answered_with_what_to_do() {
    let run = Run::new(&[("01_a.py", "a = 1\n")]);
    let mut client = Client::start(&run);
    let (well, text) = client.try_tool("diagnose", &json!({"step": "01_a"}));
    assert!(!well && text.contains("hint:"), "{text}");
    let (well, text) = client.try_tool("new", &json!({"step": "../evil", "source": ""}));
    assert!(!well && text.contains("dot"), "{text}");
    let (well, text) = client.try_tool("edit", &json!({"step": "09_none", "source": ""}));
    assert!(!well && text.contains("there is no step 09_none"), "{text}");
    let (well, _) = client.try_tool("new", &json!({"step": "patches/x", "source": ""}));
    assert!(!well && !run.file("patches/x.py").exists());
    let unknown = client.ask("tools/call", &json!({"name": "patch_accept", "arguments": {"patch": 1}}));
    assert!(unknown.get("error").is_some(), "{unknown}");
    client.end();
}

#[test]
#[ignore = "needs an interpreter with the `mcp` package: REWEAVE_MCP_PYTHON=… cargo test --test mcp -- --ignored"]
fn a_real_client_drives_a_repair() {
    let python = std::env::var("REWEAVE_MCP_PYTHON").unwrap();
    let run = Run::empty();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/client.py");
    let mut command = Command::new(python);
    command.arg(script).arg(env!("CARGO_BIN_EXE_reweave")).arg(run.path());
    let said = answer(command, "");
    assert_eq!(said.status, Some(0), "{said}");
    assert!(said.stdout.ends_with("replayed: 0 failed\n"), "{said}");
}
