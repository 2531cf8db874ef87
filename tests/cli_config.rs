//! `reweave config` as a person and a program see it.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(user: &str, run: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for part in ["home", "run"] {
            fs::create_dir(dir.path().join(part)).unwrap();
        }
        fs::write(dir.path().join("home/config.toml"), user).unwrap();
        fs::write(dir.path().join("run/reweave.toml"), run).unwrap();
        Self { dir }
    }

    fn config(&self, arguments: &[&str]) -> Output {
        self.call("config", arguments)
    }

    fn call(&self, subcommand: &str, arguments: &[&str]) -> Output {
        // Nothing of this machine's own settings or interpreters counts.
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("REWEAVE_") || name == "VIRTUAL_ENV" {
                command.env_remove(name);
            }
        }
        command
            .args([subcommand, "run"])
            .args(arguments)
            .current_dir(self.dir.path())
            .env("REWEAVE_HOME", "home")
            .env("REWEAVE_THREADS", "2")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.config(arguments).stdout).unwrap()
    }
}

const USER: &str = "timeout = \"10m\"\n[ui]\nascii = true\n";
const RUN: &str = "seed = 7\npython = \"/opt/python\"\ntimeout = \"1m\"\n[policy]\nnetwork = \"deny\"\n";

#[test]
fn each_setting_is_listed_with_its_origin() {
    let place = Place::new(USER, RUN);
    insta::assert_snapshot!(place.text(&["--changed"]), @r#"
    seed = 7         reweave.toml:1
    threads = 2      REWEAVE_THREADS
    timeout = 1m     reweave.toml:3
    ui.ascii = true  home/config.toml:3

    policy standard: read deny, write deny, process ask, network deny, environment allow, native allow

    not in force without your approval
      python = "/opt/python"  reweave.toml:2
      if you trust it: reweave config --approve
    "#);
    assert!(place.text(&[]).contains("on_error = \"block\""));
}

#[test]
fn an_approval_is_for_the_file_as_it_is() {
    let place = Place::new("", RUN);
    let approved = place.config(&["--approve", "--changed"]);
    assert_eq!(String::from_utf8(approved.stderr).unwrap(), "approved reweave.toml as it is now\n");
    assert!(place.text(&[]).contains("python = \"/opt/python\""));
    assert!(!place.text(&[]).contains("not in force"));
    fs::write(place.dir.path().join("run/reweave.toml"), RUN.replace("/opt", "/evil")).unwrap();
    assert!(place.text(&[]).contains("not in force without your approval\n  python = \"/evil/python\""));
    place.config(&["--approve"]);
    assert!(!place.text(&[]).contains("not in force"));
    place.config(&["--revoke"]);
    assert!(place.text(&[]).contains("not in force"));
}

#[test]
fn the_document_and_the_status_tell_what_is_wrong() {
    let place = Place::new("sede = 1\n", "threads = \"many\"\n");
    let output = place.config(&["--json", "--changed"]);
    assert_eq!(output.status.code(), Some(2), "a value is none");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["settings"][0]["name"], "threads");
    assert_eq!(document["settings"][0]["origin"]["variable"], "REWEAVE_THREADS");
    let problems: Vec<&str> =
        document["problems"].as_array().unwrap().iter().map(|problem| problem["message"].as_str().unwrap()).collect();
    assert_eq!(
        problems,
        ["unknown setting \"sede\": did you mean \"seed\"?", "threads is \"many\": give a whole number from 1 to 4096"]
    );
    assert_eq!(Path::new(document["user_file"].as_str().unwrap()), Path::new("home/config.toml"));
}

#[test]
fn keys_are_told_with_what_a_person_set() {
    let place = Place::new("[keys]\nverify = ['ctrl-y', 'g v']\nflap = 'x'\n", "");
    let done = place.call("keys", &["--json"]);
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let row = |name: &str| {
        let rows = told["keys"].as_array().unwrap();
        rows.iter().find(|row| row["action"] == name).unwrap_or_else(|| unreachable!("{name}")).clone()
    };
    assert_eq!(
        (row("verify")["keys"].clone(), row("verify")["configured"].clone()),
        (serde_json::json!(["ctrl-y", "g v"]), true.into())
    );
    assert_eq!(
        (row("run")["keys"].clone(), row("run")["configured"].clone()),
        (serde_json::json!(["x"]), false.into())
    );
    assert_eq!(row("accept")["panel"], "Patch");
    assert_eq!(told["problems"], serde_json::json!(["keys.flap: there is no such action; `reweave keys` lists them"]));
    let shown = String::from_utf8(place.call("keys", &[]).stdout).unwrap();
    assert!(shown.starts_with("Run\n  x                  run                  Bring this step up to date"), "{shown}");
}

#[test]
fn who_runs_hears_what_is_not_in_force() {
    let place = Place::new("", "python = '/opt/python'\npolicy.network = 'allow'\n");
    fs::write(place.dir.path().join("run/01_a.py"), "x = 1\n").unwrap();
    let told = |arguments: &[&str]| String::from_utf8(place.call("run", arguments).stderr).unwrap();
    assert_eq!(
        told(&[]),
        "warning: reweave.toml asks for python = \"/opt/python\" and 1 more, not in force until you approve it: \
         reweave config --approve\n"
    );
    let only = told(&["--python", "python3"]);
    assert!(only.starts_with("warning: reweave.toml asks for policy.network = allow, not in force"), "{only}");
    place.config(&["--approve"]);
    let approved = told(&[]);
    assert!(approved.starts_with("error: there is no Python at /opt/python, which reweave.toml:1 names"), "{approved}");
}
