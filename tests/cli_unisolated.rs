//! Where the kernel gives no view of its own (a container, a hardened system), what runs on the side works in a copy at
//! another path: it says so, and comes to the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::process::Command;

use common::{Answer, Run, answer};

/// Calls reweave where neither namespaces of users nor mounts can be had; `None`, with why, where that can't be arranged.
fn call_without_namespaces(run: &Run, arguments: &[&str]) -> Option<Answer> {
    let confined = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", confined, "sh", env!("CARGO_BIN_EXE_reweave")]).args(arguments);
    command.current_dir(run.path());
    let answer = answer(command, "");
    let refused =
        answer.status.is_none() || ["unshare: ", "setpriv: ", "sh: "].iter().any(|of| answer.stderr.starts_with(of));
    if refused {
        eprintln!("skipped: {}", answer.stderr);
    }
    (!refused).then_some(answer)
}

fn run() -> Run {
    Run::new(&[
        ("1.py", "squares = (i * i for i in range(10))\nopen('log.txt', 'w').write('one')\n"),
        ("2.py", "first = next(squares)\nopen('log.txt', 'a').write(' two')\n"),
        ("3.py", "print(first + sum(squares), open('log.txt').read())\n"),
    ])
}

#[test]
fn a_full_run_in_a_copy_is_equal_and_says_where_it_was() {
    let run = run();
    let Some(done) = call_without_namespaces(&run, &["run", "."]) else { return };
    assert_eq!(done.status, Some(0), "{done}");
    let Some(verified) = call_without_namespaces(&run, &["verify", "."]) else { return };
    assert_eq!(verified.status, Some(0), "{verified}");
    assert!(verified.stdout.contains("all equal"), "{verified}");
    assert!(verified.stdout.contains("could not be given a view of its own"), "{verified}");
    assert_eq!(run.read("log.txt"), "one two");
}

#[test]
fn a_state_that_can_only_be_had_by_running_again_is_had_in_a_copy() {
    let run = run();
    if call_without_namespaces(&run, &["run", "."]).is_none() {
        return;
    }
    run.write("log.txt", "a person's own");
    let Some(state) = call_without_namespaces(&run, &["state", ".", "--at", "2", "--json"]) else { return };
    assert_eq!(state.status, Some(0), "{state}");
    let told: serde_json::Value = serde_json::from_str(&state.stdout).unwrap();
    let first = told["variables"].as_array().unwrap().iter().find(|variable| variable["name"] == "first").unwrap();
    assert_eq!(first["repr"], "0", "{state}");
    assert_eq!(run.read("log.txt"), "a person's own");
}
