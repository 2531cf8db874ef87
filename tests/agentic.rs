//! Functions that an agent answers and calls that are made once: asked once, the same at every replay, asked again when
//! their question changes or a person lets go of the answer.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Answer, Run, answer};
use serde_json::Value;

const PLAN: &str = r#"from concurrent.futures import ThreadPoolExecutor
from reweave import agentic

@agentic
def parts(topic: str) -> list[str]:
    """The two parts of a topic."""

@agentic
def size(part: str) -> int:
    """How large a part is."""

@agentic
def plan(topic: str) -> dict[str, int]:
    """The sizes of the parts of a topic."""
    names = parts(topic)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(size, names)))

result = plan("cats")
"#;

/// `reweave VERB . REST` with the stub as the agent, which notes in `asked` what it is asked.
fn call(run: &Run, verb: &str, rest: &[&str]) -> Answer {
    answer(command(run, verb, rest), "")
}

fn command(run: &Run, verb: &str, rest: &[&str]) -> Command {
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/answers.py");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.arg(verb).arg(".").args(rest).current_dir(run.path());
    command.env("REWEAVE_AGENT_COMMAND", format!("python3 {} {}", stub.display(), log(run).display()));
    command
}

fn log(run: &Run) -> std::path::PathBuf {
    run.path().with_extension("asked")
}

/// What was asked since the last look, in the order of the alphabet.
fn asked(run: &Run) -> Vec<String> {
    let text = std::fs::read_to_string(log(run)).unwrap_or_default();
    let _ = std::fs::remove_file(log(run));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn value(run: &Run, name: &str) -> String {
    let state = run.json("state", &[name]);
    state["variables"][0]["repr"].as_str().unwrap_or_default().to_owned()
}

fn calls(run: &Run, step: &str) -> Vec<(u64, String, String, bool)> {
    let shown = run.json("show", &[step]);
    let told = |call: &Value| {
        let rounds = call["rounds"].as_array().unwrap();
        (
            call["depth"].as_u64().unwrap(),
            call["name"].as_str().unwrap().to_owned(),
            call["shown"].as_str().unwrap().to_owned(),
            rounds.iter().any(|round| round["asked"] == true),
        )
    };
    shown["calls"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn three_calls_one_nested_and_two_at_once_are_replayed_without_asking() {
    let run = Run::new(&[("01_plan.py", PLAN), ("02_sum.py", "total = sum(result.values())\n")]);
    let ran = call(&run, "run", &[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(asked(&run), ["parts cats", "size paws", "size tail"]);
    let first = value(&run, "result");
    assert_eq!(first, "{'paws': 4, 'tail': 4}");
    let mut made = calls(&run, "01_plan");
    made.sort();
    let call_of = |depth, name: &str, shown: &str, asked| (depth, name.to_owned(), shown.to_owned(), asked);
    let expected = [
        call_of(0, "plan", "'cats'", false),
        call_of(1, "parts", "'cats'", true),
        call_of(1, "size", "'paws'", true),
        call_of(1, "size", "'tail'", true),
    ];
    assert_eq!(made, expected);
    let shown = run.json("show", &["01_plan"]).to_string();
    assert!(shown.contains("How large a part is") && shown.contains("stub-1"), "{shown}");

    // Offline: no agent is named. The same comes out, and so it does from nothing on the side.
    let replayed = run.call("replay", &["--all"]);
    assert_eq!(replayed.status, Some(0), "{replayed}");
    assert_eq!(value(&run, "result"), first);
    assert!(calls(&run, "01_plan").iter().all(|(.., asked)| !asked));
    assert_eq!(run.call("verify", &[]).status, Some(0));

    // Another argument asks that call only.
    run.write(
        "01_plan.py",
        &PLAN.replace("result = plan(\"cats\")", "result = plan(\"cats\")\nmore = size(\"whiskers\")"),
    );
    assert_eq!(call(&run, "run", &[]).status, Some(0));
    assert_eq!(asked(&run), ["size whiskers"]);

    // So does letting go of an answer: the step is stale for that reason, and what follows from it is kept.
    let number = run.json("show", &["01_plan"])["calls"]
        .as_array()
        .unwrap()
        .iter()
        .find(|call| call["shown"] == "'tail'")
        .unwrap()["number"]
        .to_string();
    assert_eq!(run.call("invalidate", &["01_plan", "--call", &number]).status, Some(0));
    let status = run.json("status", &[]);
    assert_eq!(status["steps"][0]["status"], "stale", "{status}");
    assert!(status["steps"][0]["reasons"].to_string().contains("the answer of size"), "{status}");
    assert_eq!(call(&run, "run", &[]).status, Some(0));
    assert_eq!(asked(&run), ["size tail"]);
    assert_eq!(run.json("status", &[])["steps"][1]["status"], "fresh");
}

#[test]
fn a_wrong_type_is_asked_again_and_too_many_fail_the_step() {
    let source = "from reweave import agentic\n\n@agentic\ndef size(part: str) -> int:\n    \"\"\"How large a part is.\"\"\"\n\n";
    let run = Run::new(&[("01_odd.py", &format!("{source}n = size('odd')\n"))]);
    let ran = call(&run, "run", &[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(asked(&run), ["size odd", "size odd after 1"]);
    assert_eq!(value(&run, "n"), "3");
    run.write("01_odd.py", &format!("{source}n = size('never')\n"));
    let failed = call(&run, "run", &[]);
    assert_eq!((failed.status, asked(&run).len()), (Some(1), 3), "{failed}");
    assert!(failed.stdout.contains("NoAnswer") && failed.stdout.contains("should be int"), "{failed}");
    // What can't be told to an agent is an error of the step.
    run.write("01_odd.py", &format!("{source}n = size(object())\n"));
    let failed = call(&run, "run", &[]);
    assert!(failed.stdout.contains("size: part is a object"), "{failed}");
    assert!(asked(&run).is_empty());
}

#[test]
fn asynchronous_calls_are_siblings_and_an_agent_may_have_functions_called() {
    let run = Run::new(&[(
        "01_many.py",
        r#"import asyncio
from reweave import agentic

@agentic
async def size(part: str) -> int:
    """How large a part is."""

def add(a: int, b: int) -> int:
    """The sum."""
    return a + b

@agentic(uses=[add])
def total(numbers: list[int]) -> int:
    """The sum of the numbers."""

both = await asyncio.gather(size("paws"), size("ears"))
all = total([1, 2])
"#,
    )]);
    let ran = call(&run, "run", &[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(asked(&run), ["size ears", "size paws", "total [1, 2]", "total [1, 2]"]);
    assert_eq!((value(&run, "both").as_str(), value(&run, "all").as_str()), ("[4, 4]", "3"));
    assert_eq!(run.call("replay", &["--all"]).status, Some(0));
    assert_eq!(value(&run, "both"), "[4, 4]");
}

#[test]
fn what_is_recorded_is_made_once() {
    let run = Run::new(&[
        (
            "01_now.py",
            "import time, random\nfrom reweave import recorded\nwhen = recorded(time.time_ns)\ndrawn = recorded(random.random)\nafter = random.random()\n",
        ),
        ("02_use.py", "text = str(when)\n"),
    ]);
    assert_eq!(run.call("run", &[]).status, Some(0));
    let first = (value(&run, "when"), value(&run, "drawn"), value(&run, "after"));
    assert_eq!(run.call("replay", &["--all"]).status, Some(0));
    assert_eq!((value(&run, "when"), value(&run, "drawn"), value(&run, "after")), first);
    assert_eq!(run.call("verify", &[]).status, Some(0));
    // It is no step that answers differently each time.
    let status = run.json("status", &[]);
    assert!(!status["steps"][0].to_string().contains("the clock"), "{status}");
    assert_eq!(run.call("invalidate", &["01_now", "--call", "1"]).status, Some(0));
    assert_eq!(run.call("run", &[]).status, Some(0));
    assert_ne!(value(&run, "when"), first.0);
    assert_eq!(value(&run, "drawn"), first.1);
    // What it would leave behind would not come again.
    run.write("03_file.py", "from reweave import recorded\nrecorded(lambda: open('a.txt', 'w').close())\n");
    let failed = run.call("run", &[]);
    assert!(failed.stdout.contains("wrote a.txt"), "{failed}");
}

#[test]
fn a_step_whose_agent_thinks_can_be_stopped() {
    let source = "from reweave import agentic\n\n@agentic\ndef size(part: str) -> int:\n    \"\"\"How large a part is.\"\"\"\n\nn = size('slow')\n";
    let run = Run::new(&[("01_slow.py", source)]);
    let mut command = command(&run, "run", &["--json"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let began = std::time::Instant::now();
    while !log(&run).exists() {
        assert!(began.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(run.call("stop", &[]).status, Some(0));
    let output = child.wait_with_output().unwrap();
    assert!(began.elapsed().as_secs() < 60, "it waits for nobody: {output:?}");
    assert_eq!(asked(&run), ["size slow"]);
    assert_ne!(run.json("status", &[])["steps"][0]["status"], "fresh");
}

#[test]
fn a_policy_that_lets_no_program_start_lets_no_agent_be_asked() {
    let run = Run::new(&[("01_plan.py", PLAN)]);
    let mut command = command(&run, "run", &[]);
    command.env("REWEAVE_POLICY_PRESET", "sealed");
    let refused = answer(command, "");
    assert_eq!(refused.status, Some(1), "{refused}");
    assert!(refused.stdout.contains("the policy does not let this run start python3"), "{refused}");
    assert!(asked(&run).is_empty());
}
