//! Patches from the command line: taken in, shown, accepted whole and in part, rejected and taken back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;

use common::Run;
use serde_json::Value;

const BASE: &str = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\nh = 8\ni = 9\nj = 10\n";

const TWO: &str = "--- a/01_a.py\n+++ b/01_a.py\n@@ -1,3 +1,3 @@\n-a = 1\n+a = 100\n b = 2\n c = 3\n@@ -8,3 +8,4 @@\n h = 8\n i = 9\n-j = 10\n+j = 1000\n+k = 11\n";

fn run() -> Run {
    Run::new(&[("01_a.py", BASE), ("02_b.py", "print(a + j)\n"), ("03_c.py", "print(c)\n")])
}

/// `reweave patch VERB . REST`.
fn patch(run: &Run, verb: &str, rest: &[&str], input: &str) -> common::Answer {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["patch", verb, "."]).args(rest).current_dir(run.path());
    common::answer(command, input)
}

fn json(run: &Run, verb: &str, rest: &[&str], input: &str) -> Value {
    let rest: Vec<&str> = rest.iter().copied().chain(["--json"]).collect();
    let answer = patch(run, verb, &rest, input);
    serde_json::from_str(answer.stdout.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{answer}"))
}

#[test]
fn a_patch_is_taken_in_shown_accepted_and_taken_back() {
    let run = run();
    run.call("run", &[]);
    assert_answer!(patch(&run, "add", &["-"], TWO), @"#1 is proposed: 01_a.py +3 −2");
    assert_answer!(patch(&run, "add", &["-"], TWO), @"#1 came before and is proposed: 01_a.py +3 −2");
    assert_answer!(patch(&run, "list", &[], ""), @"  #1  proposed    01_a.py +3 −2  by a person");
    assert_answer!(patch(&run, "show", &["1"], ""), @"
    #1  proposed  01_a.py +3 −2
    by a person, [moment]

    01_a.py  +3 −2
    1.1  @@ -1,4 +1,4 @@
       1  -a = 1
       2  +a = 100
           b = 2
           c = 3
           d = 4
           e = 5
           f = 6
    1.2  @@ -7,4 +7,5 @@
           g = 7
           h = 8
           i = 9
       1  -j = 10
       2  +j = 1000
       3  +k = 11

    accepting it makes 3 steps stale: 01_a 02_b 03_c
    ");
    assert_answer!(patch(&run, "accept", &["1"], ""), @"accepted #1: 01_a.py +3 −2; 3 steps stale now");
    assert_answer!(patch(&run, "accept", &["1"], ""), @"
    error: #1: a patch that is accepted can't be accepted
    hint: reweave patch revert DIR 1 takes it back
    [exit Some(1)]
    ");
    assert_eq!(run.json("status", &[])["steps"][0]["status"], "stale");
    assert_answer!(patch(&run, "revert", &["#1"], ""), @"reverted #1: 01_a.py");
    assert_eq!(run.read("01_a.py"), BASE);
    // Nothing is to be run: what stood before is there again.
    let replay = run.json("run", &[]);
    assert_eq!(replay["ran"], 0, "{replay}");
    assert_answer!(run.call("undo", &[]), @"undone: revert #1: 01_a.py +3 −2");
    assert_eq!(json(&run, "list", &[], "")["patches"][0]["state"], "accepted");
}

#[test]
fn hunks_and_lines_are_taken_and_the_rest_is_kept_as_left() {
    let run = run();
    patch(&run, "add", &["-"], TWO);
    assert_answer!(patch(&run, "accept", &["--hunk", "1.3"], ""), @"
    error: #1 has 2 hunks, and no hunk 3
    hint: `reweave patch show DIR 1` numbers them
    [exit Some(2)]
    ");
    assert_answer!(patch(&run, "accept", &["--lines", "1.2:9"], ""), @"
    error: hunk 1.2 changes 3 lines, and has no line 9
    hint: `reweave patch show DIR 1` numbers them
    [exit Some(2)]
    ");
    let answer = json(&run, "accept", &["--hunk", "1.1", "--lines", "1.2:3", "-m", "no big j"], "");
    assert_eq!(answer["state"], "accepted", "{answer}");
    assert_eq!(run.read("01_a.py"), BASE.replace("a = 1\n", "a = 100\n") + "k = 11\n");
    let shown = json(&run, "show", &["1"], "");
    assert_eq!(shown["comments"].as_array().unwrap().len(), 2, "{shown}");
    let made_on = &shown["decisions"][0]["made_on"];
    assert!(made_on["left"].as_str().unwrap().contains("+j = 1000"), "{made_on}");
    assert_eq!(made_on["patch"], shown["content"]);
}

#[test]
fn what_changed_since_is_followed_or_refused_and_what_has_no_place_is_told() {
    let run = run();
    patch(&run, "add", &["-"], TWO);
    // An edit elsewhere: the patch follows its file.
    run.write("01_a.py", &BASE.replace("e = 5", "e = 55"));
    let shown = json(&run, "show", &["1"], "");
    assert_eq!((shown["state"].as_str(), shown["moved"].as_array().map(Vec::len)), (Some("proposed"), Some(0)));
    // An edit of the same line: it has no place any more.
    run.write("01_a.py", &BASE.replace("j = 10", "j = 7"));
    assert_answer!(patch(&run, "accept", &["1"], ""), @"
    error: #1: a patch that fits nowhere can't be accepted
    hint: line 8 of the patch: line 10 is `j = 7`, the patch expects `j = 10`; ask for another patch, or reject it
    [exit Some(1)]
    ");
    // And it finds its place again.
    run.write("01_a.py", BASE);
    assert_eq!(json(&run, "list", &[], "")["patches"][0]["state"], "proposed");
    let twice = run.call_with("new", &["04_d"], "x = 1\ny = 2\nx = 1\ny = 2\n");
    assert_eq!(twice.status, Some(0));
    assert_answer!(patch(&run, "add", &["-"], "--- a/04_d.py\n+++ b/04_d.py\n@@ ... @@\n-x = 1\n+x = 3\n"), @"
    #2 is ambiguous: 04_d.py +0 −0
      line 3 of the patch: it fits in 2 places: lines 1, 3 (give more context, or the line's right number)
    [exit Some(1)]
    ");
    assert_answer!(patch(&run, "add", &["-"], "no patch at all"), @"
    #3 is malformed: no patch in it
      there is no patch in it
    [exit Some(1)]
    ");
    assert_answer!(patch(&run, "accept", &["2"], ""), @"
    error: #2: a patch that fits in more than one place can't be accepted
    hint: line 3 of the patch: it fits in 2 places: lines 1, 3 (give more context, or the line's right number); ask for another patch, or reject it
    [exit Some(1)]
    ");
}

#[test]
fn a_patch_for_an_earlier_text_is_carried_over() {
    let run = run();
    run.call("status", &[]);
    run.write("01_a.py", &BASE.replace("b = 2\n", "b = 2\n# a word on it\n# and one more\n"));
    run.call("status", &[]);
    let text = "--- a/01_a.py\n+++ b/01_a.py\n@@ -1,4 +1,4 @@\n a = 1\n b = 2\n c = 3\n-d = 4\n+d = 44\n";
    assert_eq!(patch(&run, "add", &["-"], text).status, Some(0));
    patch(&run, "accept", &["1"], "");
    assert_eq!(
        run.read("01_a.py"),
        BASE.replace("b = 2\n", "b = 2\n# a word on it\n# and one more\n").replace("d = 4\n", "d = 44\n")
    );
}

#[test]
fn a_text_that_is_no_python_needs_a_word_more() {
    let run = run();
    let text = "--- a/03_c.py\n+++ b/03_c.py\n@@ -1 +1 @@\n-print(c)\n+print(c\n";
    patch(&run, "add", &["-"], text);
    assert_answer!(patch(&run, "accept", &["1"], ""), @"
    error: #1 is not accepted: 03_c.py would be no Python: line 1: '(' was never closed
    hint: --anyway accepts it all the same
    [exit Some(1)]
    ");
    assert_eq!(json(&run, "accept", &["1", "--anyway"], "")["state"], "accepted");
    let shown = json(&run, "show", &["1"], "");
    assert_eq!(shown["decisions"][0]["made_on"]["overridden"].as_array().unwrap().len(), 1);
}

#[test]
fn a_later_patch_in_the_way_is_named() {
    let run = run();
    let one = |old: &str, new: &str| {
        format!("```python\n01_a.py\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n")
    };
    for (number, text) in [one("a = 1", "a = 2"), one("f = 6", "f = 66"), one("a = 2", "a = 3")].iter().enumerate() {
        assert_eq!(patch(&run, "add", &["-"], text).status, Some(0));
        assert_eq!(patch(&run, "accept", &[&(number + 1).to_string()], "").status, Some(0));
    }
    assert_answer!(patch(&run, "revert", &["1"], ""), @"
    error: #1 can't be taken back: #3 changed 01_a.py:1 since
    hint: take 1 patch back first: reweave patch revert DIR 3
    [exit Some(1)]
    ");
    assert_eq!(patch(&run, "revert", &["3", "1"], "").status, Some(0));
    assert_eq!(run.read("01_a.py"), BASE.replace("f = 6", "f = 66"));
}

#[test]
fn the_inbox_is_read_and_nothing_in_it_is_touched() {
    let run = run();
    run.write("patches/one.diff", TWO);
    run.write(
        "patches/two.md",
        "I would say:\n\n```python\n03_c.py\n<<<<<<< SEARCH\nprint(c)\n=======\nprint(c + 1)\n>>>>>>> REPLACE\n```\n",
    );
    let listed = json(&run, "list", &[], "");
    assert_eq!(listed["patches"].as_array().unwrap().len(), 2, "{listed}");
    assert_answer!(patch(&run, "reject", &["1", "-m", "too large"], ""), @"rejected #1: 01_a.py +3 −2");
    // The same text under another name is the same patch.
    run.write("patches/again.diff", TWO);
    let status = run.json("status", &[]);
    assert_eq!(status["patches"].as_array().unwrap().len(), 2);
    assert_eq!(
        (status["patches"][0]["state"].as_str(), run.read("patches/one.diff").as_str()),
        (Some("rejected"), TWO)
    );
}

#[test]
fn steps_are_made_moved_and_removed_by_a_patch() {
    let run = run();
    let text = "--- /dev/null\n+++ b/04_d.py\n@@ -0,0 +1 @@\n+print('new')\n--- a/03_c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-print(c)\n";
    patch(&run, "add", &["-"], text);
    let answer = json(&run, "accept", &["1", "--replay"], "");
    assert_eq!(answer["replay"]["steps"][2]["id"], "04_d", "{answer}");
    assert!(!run.file("03_c.py").exists());
    patch(&run, "revert", &["1"], "");
    assert!(!run.file("04_d.py").exists());
    assert_eq!(run.read("03_c.py"), "print(c)\n");
}

#[test]
fn bad_usage_says_what_to_do() {
    let run = run();
    assert_answer!(patch(&run, "accept", &[], ""), @"
    error: no patch is named
    hint: name one by its number; `reweave patch list` lists them
    [exit Some(2)]
    ");
    assert_answer!(patch(&run, "accept", &["7"], ""), @"
    error: there is no patch #7
    hint: `reweave patch list` lists them
    [exit Some(2)]
    ");
    assert_answer!(patch(&run, "add", &["nowhere.diff"], ""), @"
    error: nowhere.diff: No such file or directory (os error 2)
    hint: give a file that holds a patch, or - for standard input
    [exit Some(2)]
    ");
}

const PIPELINE: [(&str, &str); 4] = [
    ("01_rows.py", "rows = [{'size': n, 'prize': n * 2} for n in range(5)]\n"),
    ("02_total.py", "total = sum(row['price'] for row in rows)\nprint('total', total)\n"),
    ("03_test_total.py", "# /// step\n# kind = \"test\"\n# ///\nassert total == 20, total\n"),
    ("reweave.toml", "[verify]\nsteps = [\"03_test_total\"]\n"),
];

const ROOT: &str = "--- a/01_rows.py\n+++ b/01_rows.py\n@@ -1 +1 @@\n-rows = [{'size': n, 'prize': n * 2} for n in range(5)]\n+rows = [{'size': n, 'price': n * 2} for n in range(5)]\n";
const SYMPTOM: &str = "```python\n02_total.py\n<<<<<<< SEARCH\ntotal = sum(row['price'] for row in rows)\n=======\ntotal = sum(row.get('price', 0) for row in rows)\n>>>>>>> REPLACE\n```\n";

#[test]
fn candidates_are_tried_side_by_side_and_one_that_a_test_refuses_needs_a_word_more() {
    let run = Run::new(&PIPELINE);
    run.call("run", &[]);
    patch(&run, "add", &["-"], ROOT);
    patch(&run, "add", &["-"], SYMPTOM);
    let before = run.json("status", &[]);
    let tried = json(&run, "try", &[], "");
    let tests = |nth: usize| tried["patches"][nth]["tests"]["pass_after"].as_u64();
    assert_eq!((tests(0), tests(1)), (Some(1), Some(0)), "{tried}");
    assert_eq!(tried["groups"].as_array().unwrap().len(), 2);
    let total = &tried["patches"][0]["steps"][1];
    assert_eq!(
        (total["id"].as_str(), total["before"].as_str(), total["after"].as_str()),
        (Some("02_total"), Some("failed"), Some("fresh"))
    );
    assert_eq!(total["output_after"], "total 20\n");
    assert!(tried["patches"][1]["remarks"][0].as_str().unwrap().contains("puts a default"), "{tried}");
    // Nothing of the run is changed.
    assert_eq!(before["steps"], run.json("status", &[])["steps"]);
    assert_answer!(patch(&run, "accept", &["2"], ""), @"
    error: #2 is not accepted: 03_test_total fails with it
    hint: `[verify]` of reweave.toml asks for it; --anyway accepts it all the same
    [exit Some(1)]
    ");
    assert_answer!(patch(&run, "accept", &["1"], ""), @"accepted #1: 01_rows.py +1 −1; 3 steps stale now");
    let made_on = json(&run, "show", &["1"], "")["decisions"][0]["made_on"].clone();
    assert!(made_on["trial"].is_string() && made_on["overridden"].as_array().unwrap().is_empty(), "{made_on}");
    assert_eq!(run.json("run", &[])["ran"], 3);
    // Taken back, the state before is there again without running anything.
    patch(&run, "revert", &["1"], "");
    let again = run.json("run", &[]);
    assert_eq!((again["ran"].as_u64(), again["steps"][1]["status"].as_str()), (Some(0), Some("failed")), "{again}");
}

#[test]
fn what_must_pass_is_tried_when_it_was_not_and_overriding_it_is_recorded() {
    let run = Run::new(&PIPELINE);
    patch(&run, "add", &["-"], SYMPTOM);
    assert_answer!(patch(&run, "accept", &["1"], ""), @"
    error: #1 is not accepted: 03_test_total fails with it
    hint: `[verify]` of reweave.toml asks for it; --anyway accepts it all the same
    [exit Some(1)]
    ");
    assert_eq!(json(&run, "accept", &["1", "--anyway"], "")["state"], "accepted");
    let shown = json(&run, "show", &["1"], "");
    assert_eq!(shown["decisions"][0]["made_on"]["overridden"][0], "03_test_total fails with it");
}

#[test]
fn trials_that_do_the_same_are_one() {
    let run = Run::new(&[("01_a.py", "x = 2\n"), ("02_b.py", "print(x)\n")]);
    for new in ["x = 4 - 1", "x = 1 + 2"] {
        patch(&run, "add", &["-"], &format!("--- a/01_a.py\n+++ b/01_a.py\n@@ -1 +1 @@\n-x = 2\n+{new}\n"));
    }
    let tried = json(&run, "try", &["1", "2"], "");
    assert_eq!(tried["groups"], serde_json::json!([[1, 2]]), "{tried}");
}

#[test]
fn a_patch_is_accepted_while_a_step_runs() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let wait = "import os, time\nprint('waiting', flush=True)\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n";
    let run = Run::new(&[("01_a.py", "x = 1\n"), ("02_wait.py", wait), ("03_b.py", "print(x)\n")]);
    let mut owner = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["run", ".", "--events"])
        .current_dir(run.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0);
    }
    patch(&run, "add", &["-"], "--- a/03_b.py\n+++ b/03_b.py\n@@ -1 +1 @@\n-print(x)\n+print(x + 1)\n");
    assert_answer!(patch(&run, "accept", &["1"], ""), @"accepted #1: 03_b.py +1 −1; 1 step stale now; what runs now still has the text before");
    assert_eq!(run.read("03_b.py"), "print(x + 1)\n");
    run.write("go", "");
    let mut rest = String::new();
    while lines.read_line(&mut rest).unwrap() > 0 {}
    owner.wait().unwrap();
    assert_eq!(run.json("status", &[])["steps"][2]["status"], "stale");
    assert_eq!(run.json("run", &[])["steps"][2]["stdout"], "2\n");
}

#[test]
fn a_file_that_changed_under_a_choice_is_whole_and_the_choice_refused() {
    let run = run();
    patch(&run, "add", &["-"], TWO);
    let shown = json(&run, "show", &["1"], "");
    assert_eq!(shown["state"], "proposed");
    let theirs = BASE.replace("a = 1", "a = 5");
    run.write("01_a.py", &theirs);
    let answer = patch(&run, "accept", &["--hunk", "1.1"], "");
    assert_eq!(answer.status, Some(1), "{answer}");
    assert_eq!(run.read("01_a.py"), theirs);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_file_whole_and_says_what_to_do() {
    let run = Run::new(&[("01_a.py", BASE)]);
    patch(&run, "add", &["-"], TWO);
    // No file may grow over this many blocks of a kibibyte: as if the disk were full.
    let size = std::fs::metadata(run.file(".reweave/store.db")).unwrap().len() / 1024;
    let wal = std::fs::metadata(run.file(".reweave/store.db-wal")).map_or(0, |found| found.len() / 1024);
    for limit in [1, size.min(wal.max(1))] {
        let mut command = std::process::Command::new("sh");
        let program = env!("CARGO_BIN_EXE_reweave");
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {program} patch accept . 1");
        command.args(["-c", &script]).current_dir(run.path());
        let answer = common::answer(command, "");
        assert_ne!(answer.status, Some(0), "{answer}");
        assert!(answer.stderr.contains("error: "), "{answer}");
        assert_eq!(run.read("01_a.py"), BASE);
    }
    assert_eq!(patch(&run, "accept", &["1"], "").status, Some(0));
    assert_ne!(run.read("01_a.py"), BASE);
}
