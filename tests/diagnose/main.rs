//! `reweave diagnose` on real failures: each kind is explained, the fault is found where it lies, and a change is
//! proposed only where a rule is certain.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use common::Run;
use serde::Deserialize;
use serde_json::Value;

/// A failing run, and what is to be said of it.
#[derive(Deserialize)]
struct Case {
    id: String,
    /// Paths and texts.
    steps: Vec<(String, String)>,
    fails_in: String,
    exc: String,
    /// What kind of fault it is.
    cause: Option<String>,
    /// The step in which it lies.
    root: String,
    /// The texts that a proposal that is called safe makes; without them, nothing may be called safe.
    patched: Option<BTreeMap<String, String>>,
    /// Other files.
    needs: Option<BTreeMap<String, String>>,
}

impl Case {
    fn differs(&self) -> Vec<String> {
        let run = Run::empty();
        self.steps.iter().for_each(|(path, text)| run.write(path, text));
        self.needs.iter().flatten().for_each(|(path, text)| run.write(path, text));
        let ran = run.json("run", &[]);
        let mut differs = Vec::new();
        let mut expect = |what: &str, found: Option<&str>, wanted: &str| {
            if found != Some(wanted) {
                differs.push(format!("{}: {what} is {found:?}, not {wanted:?}", self.id));
            }
        };
        let failed = ran["steps"].as_array().unwrap().iter().find(|step| step["id"] == self.fails_in.as_str()).unwrap();
        expect("error", failed["error"]["type"].as_str(), &self.exc);
        let told = run.json("diagnose", &[&self.fails_in]);
        expect("root step", told["root_step"].as_str(), &self.root);
        if let Some(cause) = &self.cause {
            expect("cause", told["cause"].as_str(), cause);
        }
        if told["explanation"].as_str().is_none_or(str::is_empty) {
            differs.push(format!("{}: nothing is explained", self.id));
        }
        let safe: Vec<&Value> = told["suggestions"].as_array().unwrap().iter().filter(|s| s["safe"] == true).collect();
        match &self.patched {
            None if safe.is_empty() => {}
            None => differs.push(format!("{}: called safe: {}", self.id, safe[0]["title"])),
            Some(wanted) => {
                let makes = |s: &&&Value| wanted.iter().all(|(path, text)| s["files"][path] == text.as_str());
                match safe.iter().find(makes) {
                    None => {
                        differs.push(format!("{}: no proposal makes {wanted:?}: {:?}", self.id, told["suggestions"]))
                    }
                    // The diff says the same as the texts.
                    Some(found) => {
                        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
                        command.args(["apply", "--root"]).arg(run.path()).args(["-", "--json"]);
                        let applied = common::answer(command, found["patch"].as_str().unwrap());
                        let applied: Value = serde_json::from_str(applied.stdout.trim()).unwrap();
                        if applied["files"] != found["files"] {
                            differs.push(format!("{}: its diff makes {}", self.id, applied["files"]));
                        }
                    }
                }
            }
        }
        differs
    }
}

#[test]
fn every_kind_of_failure_is_explained() {
    let cases: Vec<Case> =
        include_str!("cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() > 100);
    let waiting = Mutex::new(cases.iter());
    let differs = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(case) = waiting.lock().unwrap().next() else { break };
                    let found = case.differs();
                    differs.lock().unwrap().extend(found);
                }
            });
        }
    });
    let differs = differs.into_inner().unwrap();
    assert!(differs.is_empty(), "{}", differs.join("\n"));
}

#[test]
fn repairs_that_go_nowhere_are_named_as_a_loop() {
    let run = Run::new(&[("a.py", "row = {'cost': 1}\n"), ("b.py", "print(row['price'])\n")]);
    run.call("run", &[]);
    assert!(run.json("diagnose", &["b"])["repeats"].is_null());
    run.write("b.py", "price = row['price']\nprint(price)\n");
    run.call("run", &[]);
    let told = run.json("diagnose", &["b"]);
    assert_eq!(told["repeats"]["same_failure"], 1);
    assert!(told["explanation"].as_str().unwrap().contains("before this becomes a loop"), "{told}");
    run.write("b.py", "cost = row['price']\nprint(cost, 1)\n");
    run.call("run", &[]);
    let told = run.json("diagnose", &["b"]);
    assert_eq!(told["repeats"]["same_failure"], 2);
    let explained = told["explanation"].as_str().unwrap();
    assert!(explained.contains("This is a loop: the text was changed 2 times and it still fails"), "{told}");
    // Another failure is another matter.
    run.write("b.py", "print(row['cost'] / 0)\n");
    run.call("run", &[]);
    assert!(run.json("diagnose", &["b"])["repeats"].is_null());
}

#[test]
fn a_step_that_did_not_fail_is_not_explained() {
    let run = Run::new(&[("a.py", "x = 1 / 0\n"), ("b.py", "print(x)\n"), ("c.py", "y = 1\n")]);
    run.call("run", &[]);
    let said = |step: &str| run.call("diagnose", &[step]).to_string();
    assert!(said("b").contains("b did not run: blocked by a: x"), "{}", said("b"));
    assert!(said("c").contains("c has not failed: it is fresh"), "{}", said("c"));
    run.write("a.py", "x = 2 / 0\n");
    assert!(said("a").contains("a was changed since it failed"), "{}", said("a"));
    assert!(said("nothing").contains("there is no step"), "{}", said("nothing"));
}

#[test]
fn a_diagnosis_reads_as_a_page() {
    let run = Run::new(&[("01_load.py", "row = {'price': 3}\n"), ("02_show.py", "print(row['pirce'])\n")]);
    run.call("run", &[]);
    let page = run.call("diagnose", &["02_show"]).to_string();
    for wanted in [
        "02_show  KeyError: 'pirce'",
        "`row` has no key 'pirce'; it has 'price' (asked for at 02_show, line 1).",
        "row = dict of 1: {'price': 3}  from 01_load",
        "proposed  write 'pirce' as 'price'",
        "+print(row['price'])",
    ] {
        assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
    }
}

#[test]
fn what_is_proposed_becomes_a_patch_by_its_rule() {
    let run = Run::new(&[("a.py", "x = json.dumps({})\n")]);
    run.call("run", &[]);
    let told = run.json("diagnose", &["a", "--propose"]);
    assert_eq!(told["proposed"].as_array().unwrap().len(), 1, "{told}");
    let answer = patch(&run, "show", &told["proposed"][0].to_string());
    assert!(answer.contains("add-import") && answer.contains("add `import json`"), "{answer}");
    patch(&run, "accept", &told["proposed"][0].to_string());
    assert_eq!(run.read("a.py"), "import json\nx = json.dumps({})\n");
}

/// `reweave patch VERB . ID`
fn patch(run: &Run, verb: &str, id: &str) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["patch", verb]).arg(run.path()).arg(id);
    common::answer(command, "").to_string()
}
