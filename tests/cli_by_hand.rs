//! Steps by hand from the command line: made, shown, marked, renamed, removed and brought back. Nothing is executed.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use common::Run;

#[test]
fn a_step_is_made_renamed_moved_removed_and_restored() {
    let run = Run::empty();
    assert_answer!(run.call_with("new", &["01_load"], "x = 1\n"), @"01_load was made");
    assert_answer!(run.call_with("new", &["01_load.py"], "x = 1\n"), @"
    error: there is a step 01_load already
    hint: choose another name
    [exit Some(2)]
    ");
    assert_answer!(run.call("rename", &["01", "02_load"]), @"01_load is 02_load now");
    assert_answer!(run.call("move", &["02_load", "data/"]), @"02_load is data/02_load now");
    assert_eq!(run.read("data/02_load.py"), "x = 1\n");
    assert_answer!(run.call("delete", &["data"]), @"data/02_load was removed; `reweave undo` brings it back");
    assert!(!run.file("data/02_load.py").exists());
    assert_answer!(run.call("restore", &["data/02_load", "--version", "1"]), @"data/02_load is as in v1 again");
    assert_eq!(run.read("data/02_load.py"), "x = 1\n");
    assert_answer!(run.call("restore", &["data/02_load", "--version", "9"]), @"
    error: the store holds no version v9 of step data/02_load
    hint: `reweave log DIR data/02_load` lists the versions
    [exit Some(2)]
    ");
    assert_answer!(run.call("show", &["data/02_load"]), @"
    data/02_load  never  never run
    v3 by a person, [moment]: restore data/02_load as in v1

      1  x = 1

    other versions
      v2 by a person, [moment], removed: delete data/02_load
      v1 by a person, [moment]: new 01_load
    ");
}

#[test]
fn status_tells_every_step_without_running_any() {
    let run = Run::new(&[("01_a.py", "x = 1\n"), ("02_b.py", "print(x)\n"), ("03_c/01.py", "y = x\n")]);
    assert_answer!(run.call("status", &[]), @"
    01_a     never
    02_b     never
    03_c/01  never
    3 steps: 3 never
    ");
    assert_answer!(run.call("status", &["--json"]), @r#"{"steps":[{"id":"01_a","kind":"step","status":"never","reasons":[{"reason":"never_run","text":"never run"}],"reads":[],"writes":["x"],"version":1,"edges_in":[],"summary":null,"agent":null,"error":null,"caused_by":null,"recorded":false,"nondeterministic":[],"syntax_error":null,"reaches":[],"unannounced":[],"covers":[],"duration_ms":null},{"id":"02_b","kind":"step","status":"never","reasons":[{"reason":"never_run","text":"never run"}],"reads":["x"],"writes":[],"version":1,"edges_in":[{"from":"01_a","names":["x"],"kind":"data"}],"summary":null,"agent":null,"error":null,"caused_by":null,"recorded":false,"nondeterministic":[],"syntax_error":null,"reaches":[],"unannounced":[],"covers":[],"duration_ms":null},{"id":"03_c/01","kind":"step","status":"never","reasons":[{"reason":"never_run","text":"never run"}],"reads":["x"],"writes":["y"],"version":1,"edges_in":[{"from":"01_a","names":["x"],"kind":"data"}],"summary":null,"agent":null,"error":null,"caused_by":null,"recorded":false,"nondeterministic":[],"syntax_error":null,"reaches":[],"unannounced":[],"covers":[],"duration_ms":null}],"patches":[],"problems":[],"running":null,"waiting":0,"questions":[]}"#);
}

#[test]
fn a_mark_by_hand_needs_a_step_that_is_there() {
    let run = Run::new(&[("01_a.py", "x = 1\n")]);
    assert_answer!(run.call("invalidate", &["01_a"]), @"1 step marked stale");
    assert_answer!(run.call("invalidate", &["02"]), @r#"
    error: there is no step "02"
    hint: `reweave status .` lists the steps
    [exit Some(2)]
    "#);
    assert_answer!(run.call("invalidate", &[]), @"
    error: the following required arguments were not provided:
      <STEP>...

    Usage: reweave invalidate <DIR> <STEP>...

    For more information, try '--help'.
    [exit Some(2)]
    ");
}

#[test]
fn an_edit_on_disk_becomes_a_version() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    run.call("status", &[]);
    run.write("a.py", "x = 2\n");
    let shown = run.json("show", &["a"]);
    assert_eq!((&shown["version"], shown["source"].as_str()), (&2.into(), Some("x = 2\n")));
    assert_eq!(shown["versions"].as_array().unwrap().len(), 2);
    let earlier = run.json("show", &["a", "--version", "1"]);
    assert_eq!(earlier["source"], "x = 1\n");
}
