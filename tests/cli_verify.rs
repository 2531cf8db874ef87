//! `verify` and `replay --check`: what is held against runs from nothing.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use common::Run;

#[test]
fn a_run_that_holds_what_a_full_run_gives_ends_with_0() {
    let run = Run::new(&[("01_load.py", "rows = [3, 1, 2]\n"), ("02_sort.py", "rows.sort()\nprint(rows)\n")]);
    run.call("run", &[]);
    assert_answer!(run.call("verify", &[]), @"
    2 steps compared with a run from nothing: all equal
    ");
    // A machine may refuse the full run a view of its own, and says so.
    assert_answer!(run.call("verify", &["--json"]), @r#"{"equal":true,"differences":[],"nondeterministic":[],"compared":2,"skipped":[],"unisolated":null}"#);
}

#[test]
fn what_answers_differently_with_the_same_inputs_is_found_and_marked() {
    let run = Run::new(&[
        ("01_same.py", "base = 1\n"),
        ("02_other.py", "import os\npick = int.from_bytes(os.urandom(8), 'big') + base\n"),
        (
            "03_hidden.py",
            "import subprocess\nseen = subprocess.run(['cat', '/proc/sys/kernel/random/uuid'], capture_output=True).stdout\n",
        ),
        ("04_uses.py", "print(len(seen) + base)\n"),
    ]);
    run.set_up("[policy]\nprocess.allow = [\"cat\"]\n");
    assert_answer!(run.call("replay", &["--check", "2"]), @"
    01_same    ran        [time]  never run
    02_other   ran        [time]  never run
    03_hidden  ran        [time]  never run
    04_uses    ran        [time]  never run
        38
    4 steps: 4 ran
    run 2 more times on the side: these answer differently with the same inputs, and are marked: 02_other, 03_hidden
    by their texts alone, which can hide what they do and protect from nothing, these reach outside:
      03_hidden  process: subprocess.run
    ");
    assert_answer!(run.call("status", &[]), @"
    01_same    fresh
    02_other   fresh    nondeterministic: entropy, its answer with the same inputs
    03_hidden  fresh    nondeterministic: its answer with the same inputs
    04_uses    fresh
    4 steps: 4 fresh
    ");
    assert_answer!(run.call("verify", &[]), @"
    4 steps compared with a run from nothing: all equal
    ");
}

/// The time of a file is nothing that a record has: who shows it holds what it was.
#[test]
fn what_is_held_and_is_another_each_time_the_same_is_not_taken_for_chance() {
    let run = Run::new(&[("01_shows.py", "import os\nprint(os.stat('data').st_mtime_ns // 10 ** 9)\n")]);
    let touch = |seconds| {
        let file = std::fs::File::options().append(true).create(true).open(run.file("data")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
    };
    touch(1_000_000);
    run.call("run", &[]);
    touch(2_000_000);
    assert_answer!(run.call("verify", &[]), @"
    01_shows  stdout
      held  1000000
      full  2000000
    1 step compared with a run from nothing: not equal
    whether 01_shows answers differently each time, `reweave replay DIR --check 2` finds out
    [exit Some(1)]
    ");
    assert_answer!(run.call("replay", &["--check", "2"]), @"
    01_shows  kept
        1000000
    1 step: 1 kept
    run 2 more times on the side: every step answered the same each time
    what is held is not what all of these runs gave: 01_shows; `reweave invalidate DIR 01_shows` has it run again
    ");
    assert_answer!(run.call("invalidate", &["01_shows"]), @"
    1 step marked stale
    ");
    assert_answer!(run.call("replay", &["--check", "2"]), @"
    01_shows  ran        [time]  marked by hand
        2000000
    1 step: 1 ran
    run 2 more times on the side: every step answered the same
    ");
}
