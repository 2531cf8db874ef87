//! `run`, `replay`, `state`, `status`, `log` and `query` on a real interpreter, as a person and as a program see them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use common::Run;

/// Three steps in a row, one that fails, one that needs what it should have made, and one apart.
fn story() -> Run {
    Run::new(&[
        ("01_load.py", "rows = [3, 1, 2]\nprint('loaded', len(rows))\n"),
        ("02_sort.py", "rows = sorted(rows)\nrows\n"),
        ("03_fit.py", "model = rows[0] / (rows[0] - 1)\n"),
        ("04_report.py", "print(model)\n"),
        ("05_apart.py", "note = 'alone'\n"),
    ])
}

#[test]
fn a_run_tells_each_step_and_ends_with_1_where_one_failed() {
    let run = story();
    assert_answer!(run.call("run", &[]), @"
    01_load    ran        [time]  never run
        loaded 3
    02_sort    ran        [time]  never run
        => [1, 2, 3]
    03_fit     failed     [time]  never run
        ZeroDivisionError: division by zero
          line 1: model = rows[0] / (rows[0] - 1)
    04_report  blocked   blocked by 03_fit: model
    05_apart   ran        [time]  never run
    5 steps: 3 ran, 1 failed, 1 blocked
    [exit Some(1)]
    ");
    // A second run keeps all that it can, the failure too.
    assert_answer!(run.call("run", &[]), @"
    01_load    kept
        loaded 3
    02_sort    kept
        => [1, 2, 3]
    03_fit     failed before
        ZeroDivisionError: division by zero
          line 1: model = rows[0] / (rows[0] - 1)
    04_report  blocked   blocked by 03_fit: model
    05_apart   kept
    5 steps: 3 kept, 1 failed, 1 blocked
    [exit Some(1)]
    ");
    assert_answer!(run.call("status", &[]), @"
    01_load    fresh
    02_sort    fresh
    03_fit     failed   ZeroDivisionError: division by zero
    04_report  blocked  blocked by 03_fit: model
    05_apart   fresh
    5 steps: 3 fresh, 1 failed, 1 blocked
    ");
}

#[test]
fn a_run_answers_with_one_document() {
    let run = Run::new(&[("a.py", "print('hi')\n40 + 2\n"), ("b.py", "1 / 0\n")]);
    assert_answer!(run.call("run", &["--json"]), @r#"
    {"steps":[{"id":"a","status":"fresh","ran":true,"carried":false,"rebuilt":false,"why":"never run","reasons":[{"reason":"never_run","text":"never run"}],"recorded":false,"stdout":"hi\n","stderr":"","stdout_truncated":false,"display":{"repr":"42","mime":{}},"displays":[],"error":null,"duration_ms":0},{"id":"b","status":"failed","ran":true,"carried":false,"rebuilt":false,"why":"never run","reasons":[{"reason":"never_run","text":"never run"}],"recorded":false,"stdout":"","stderr":"","stdout_truncated":false,"display":null,"displays":[],"error":{"type":"ZeroDivisionError","module":"builtins","message":"division by zero","line":1,"step":"b","caused_by":null,"columns":[1,6],"stack":[{"step":"b","file":"[dir]/b.py","line":1,"function":"<module>","text":"1 / 0","saw":{"expression":"1 / 0","names":{}}}],"notes":[],"context":null},"duration_ms":0}],"ran":2,"kept":0,"rebuilt":0,"failed":1,"blocked":0}
    [exit Some(1)]
    "#);
}

#[test]
fn events_are_lines_and_the_document_comes_last() {
    let run = Run::new(&[("a.py", "print('hi')\n")]);
    assert_answer!(run.call("run", &["--events"]), @r#"
    {"event":"started","id":"a","why":"never run","reasons":[{"reason":"never_run","text":"never run"}],"rebuilt":false}
    {"event":"printed","id":"a","stream":"stdout","text":"hi\n"}
    {"event":"settled","id":"a","status":"fresh","ran":true,"rebuilt":false,"why":"never run","error":null}
    {"steps":[{"id":"a","status":"fresh","ran":true,"carried":false,"rebuilt":false,"why":"never run","reasons":[{"reason":"never_run","text":"never run"}],"recorded":false,"stdout":"hi\n","stderr":"","stdout_truncated":false,"display":null,"displays":[],"error":null,"duration_ms":0}],"ran":1,"kept":0,"rebuilt":0,"failed":0,"blocked":0}
    "#);
}

#[test]
fn an_edit_runs_what_depends_on_it_and_nothing_else() {
    let run = story();
    run.call("run", &[]);
    run.write("03_fit.py", "model = rows[0] * 10\n");
    assert_answer!(run.call("status", &[]), @"
    01_load    fresh
    02_sort    fresh
    03_fit     stale    its code changed
    04_report  never
    05_apart   fresh
    5 steps: 3 fresh, 1 stale, 1 never
    ");
    assert_answer!(run.call("replay", &["--dry-run"]), @"
    01_load    keep
    02_sort    keep
    03_fit     run        [time]  its code changed
    04_report  run             ?  never run
    05_apart   keep?
    2 of 5 would run, about [time] and 1 never timed
    ");
    assert_answer!(run.call("run", &[]), @"
    01_load    kept
        loaded 3
    02_sort    kept
        => [1, 2, 3]
    03_fit     ran        [time]  its code changed
    04_report  ran        [time]  never run
        10
    05_apart   kept
    5 steps: 2 ran, 3 kept
    ");
    // A comment changes nothing.
    run.write("01_load.py", "rows = [3, 1, 2]  # as ever\nprint('loaded', len(rows))\n");
    assert_eq!(run.json("run", &[])["ran"], 0);
    assert_answer!(run.call("status", &[]), @"
    01_load    fresh
    02_sort    fresh
    03_fit     fresh
    04_report  fresh
    05_apart   fresh
    5 steps: 5 fresh
    ");
}

#[test]
fn a_replay_marks_first() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("b.py", "y = x\n"), ("c.py", "z = 3\n")]);
    run.call("run", &[]);
    assert_answer!(run.call("replay", &["--from", "a"]), @"
    a  ran        [time]  marked by hand
    b  kept
    c  kept
    3 steps: 1 ran, 2 kept
    ");
    assert_answer!(run.call("replay", &["--all", "--until", "b"]), @"
    a  ran        [time]  marked by hand
    b  ran        [time]  marked by hand
    3 steps: 2 ran, 1 kept
    ");
    assert_answer!(run.call("replay", &["--all", "--dry-run", "--json"]), @r#"{"plan":[{"id":"a","action":"run","certain":true,"why":"marked by hand","reasons":[{"reason":"invalidated","text":"marked by hand"}],"estimate_ms":0,"reaches":[]},{"id":"b","action":"run","certain":true,"why":"marked by hand","reasons":[{"reason":"invalidated","text":"marked by hand"}],"estimate_ms":0,"reaches":[]},{"id":"c","action":"run","certain":true,"why":"marked by hand","reasons":[{"reason":"invalidated","text":"marked by hand"}],"estimate_ms":0,"reaches":[]}]}"#);
}

#[test]
fn a_mark_by_hand_forces_one_execution() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("b.py", "y = x\n")]);
    run.call("run", &[]);
    run.call("invalidate", &["a"]);
    assert_answer!(run.call("status", &[]), @"
    a  stale    marked by hand
    b  stale    x from a
    2 steps: 2 stale
    ");
    assert_answer!(run.call("run", &[]), @"
    a  ran        [time]  marked by hand
    b  kept
    2 steps: 1 ran, 1 kept
    ");
    assert_eq!(run.json("run", &[])["ran"], 0);
}

#[test]
fn only_what_is_named_is_brought_up_to_date() {
    let run = story();
    assert_answer!(run.call("run", &["02"]), @"
    01_load    ran        [time]  never run
        loaded 3
    02_sort    ran        [time]  never run
        => [1, 2, 3]
    5 steps: 2 ran, 3 not up to date
    ");
}

#[test]
fn on_error_stop_and_continue_follow_the_settings() {
    let run = story();
    run.write("reweave.toml", "on_error = \"stop\"\n");
    assert_answer!(run.call("run", &[]), @"
    01_load    ran        [time]  never run
        loaded 3
    02_sort    ran        [time]  never run
        => [1, 2, 3]
    03_fit     failed     [time]  never run
        ZeroDivisionError: division by zero
          line 1: model = rows[0] / (rows[0] - 1)
    04_report  blocked   the run stopped at 03_fit
    05_apart   blocked   the run stopped at 03_fit
    5 steps: 2 ran, 1 failed, 2 blocked
    [exit Some(1)]
    ");
    run.write("reweave.toml", "on_error = \"continue\"\n");
    assert_answer!(run.call("run", &[]), @"
    01_load    kept
        loaded 3
    02_sort    kept
        => [1, 2, 3]
    03_fit     failed before
        ZeroDivisionError: division by zero
          line 1: model = rows[0] / (rows[0] - 1)
    04_report  failed     [time]  never run
        NameError: name 'model' is not defined
          line 1: print(model)
          only follows from the failure of 03_fit
    05_apart   ran        [time]  never run
    5 steps: 1 ran, 2 kept, 1 failed, 1 failed in consequence
    [exit Some(1)]
    ");
}

#[test]
fn variables_are_told_as_of_any_step() {
    let run = story();
    run.call("run", &[]);
    assert_answer!(run.call("state", &["--at", "01_load"]), @"
    after 01_load
    rows  list  [3, 1, 2]
    ");
    assert_answer!(run.call("state", &["rows", "--at", "02", "--json"]), @r#"{"at":"02_sort","variables":[{"name":"rows","type":"list","repr":"[1, 2, 3]","truncated":false,"digest":"[digest]","written_by":"02_sort","shape":"len 3"}]}"#);
    assert_answer!(run.call("state", &["nothing"]), @r#"
    after 05_apart
    warning: there is no variable "nothing" after 05_apart
    "#);
}

#[test]
fn the_story_is_told_newest_first() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    run.call("run", &[]);
    run.write("a.py", "x = 2\n");
    run.call("run", &[]);
    run.call("rename", &["a", "b"]);
    run.call("undo", &[]);
    assert_answer!(run.call("log", &[]), @"
    [moment]  @6  a  renamed from b to a by a person
    [moment]  @5  a  renamed from a to b by a person
    [moment]  @4  a  v2 ran in [time]: its code changed
    [moment]  @3  a  v2 by a person, [moment]
    [moment]  @2  a  v1 ran in [time]: never run
    [moment]  @1  a  v1 by a person, [moment]
    ");
    assert_answer!(run.call("log", &["a", "--name", "x", "--json"]), @r#"{"entries":[{"seq":4,"when":"[moment]","id":"a","what":"executed","execution":2,"version":2,"outcome":"done","duration_ms":0,"error":null,"caused_by":null,"nondeterministic":[],"why":"its code changed","reasons":[{"reason":"source_changed","text":"its code changed"}]},{"seq":2,"when":"[moment]","id":"a","what":"executed","execution":1,"version":1,"outcome":"done","duration_ms":0,"error":null,"caused_by":null,"nondeterministic":[],"why":"never run","reasons":[{"reason":"never_run","text":"never run"}]}]}"#);
    assert_answer!(run.call("show", &["a"]), @"
    a  fresh
    v2 by a person, [moment]

      1  x = 2

    v2 ran in [time], [moment]: its code changed

    before that
      v1 ran in [time], [moment]: never run

    other versions
      v1 by a person, [moment]
    ");
}

#[test]
fn questions_are_answered_from_the_record() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("b.py", "y = x + 1\n"), ("c.py", "z = y\n")]);
    // Before anything ran, by the texts.
    assert_answer!(run.call("query", &["affected-by", "a"]), @"
    b  x from a
    c  y from b
    ");
    run.call("run", &[]);
    assert_answer!(run.call("query", &["affected-by", "a:x"]), @"
    b  x from a
    c  y from b
    ");
    assert_answer!(run.call("query", &["needs", "c"]), @"
    a  x
    b  y
    ");
    assert_answer!(run.call("query", &["at", "b"]), @"
    a  v1, v1 ran
        x = 1
    b  v1, v1 ran
        y = x + 1
    values
        x  f8b79d8eee by a
        y  9a48d1be49 by b
    ");
    run.write("a.py", "x = 5\n");
    run.call("run", &[]);
    assert_answer!(run.call("query", &["writers", "x"]), @"
    [moment]  a v2 wrote it, changed
    [moment]  a v1 wrote it, changed
    ");
    assert_answer!(run.call("query", &["readers", "x"]), @"
    [moment]  b v1 read it
    [moment]  b v1 read it
    ");
    assert_answer!(run.call("query", &["diff", "a:v1", "now"]), @"
    a  text, output, outcome
        @@ -1 +1 @@
        -x = 1
        +x = 5
    b  output, outcome
    c  output, outcome
    x: another value
    y: another value
    z: another value
    a -> b:  | x
    b -> c:  | y
    ");
    assert_answer!(run.call("query", &["by-agent"]), @"nobody proposed anything");
    assert_answer!(run.call("query", &["diff", "sometime", "now"]), @r#"
    error: "sometime" is no moment; say now, a time (2026-11-27T10:00), an execution (e12), a version (01_load:v3) or an event (@40)
    [exit Some(2)]
    "#);
}

#[test]
fn the_graph_is_drawn() {
    let run = story();
    assert_answer!(run.call("graph", &[]), @"
    ○  01_load  never
    ○  02_sort  never
    ○  03_fit  never
    ○  04_report  never

    ○  05_apart  never
    ");
    assert_answer!(run.call("graph", &["--format", "json"]), @r#"{"steps":[{"id":"01_load","kind":"step","status":"never","reads":[],"writes":["rows"],"reaches":[],"unannounced":[]},{"id":"02_sort","kind":"step","status":"never","reads":["rows"],"writes":["rows"],"reaches":[],"unannounced":[]},{"id":"03_fit","kind":"step","status":"never","reads":["rows"],"writes":["model"],"reaches":[],"unannounced":[]},{"id":"04_report","kind":"step","status":"never","reads":["model"],"writes":[],"reaches":[],"unannounced":[]},{"id":"05_apart","kind":"step","status":"never","reads":[],"writes":["note"],"reaches":[],"unannounced":[]}],"artifacts":[],"edges":[{"from":"01_load","to":"02_sort","names":["rows"],"kind":"data"},{"from":"02_sort","to":"03_fit","names":["rows"],"kind":"data"},{"from":"03_fit","to":"04_report","names":["model"],"kind":"data"}]}"#);
}

#[test]
fn undo_and_redo_go_through_the_journal() {
    let run = Run::new(&[("a.py", "x = 1\n")]);
    assert_answer!(run.call("undo", &[]), @"
    error: there is nothing to undo
    [exit Some(2)]
    ");
    run.call("delete", &["a"]);
    assert!(!run.file("a.py").exists());
    assert_answer!(run.call("undo", &[]), @"undone: delete a");
    assert_eq!(run.read("a.py"), "x = 1\n");
    assert_answer!(run.call("redo", &[]), @"done again: delete a");
    assert!(!run.file("a.py").exists());
}

#[test]
fn what_a_step_can_not_be_is_a_failed_step() {
    let run = Run::new(&[("b.py", "print('fine')\n")]);
    std::fs::write(run.file("a.py"), b"x = '\xff'\n").unwrap();
    assert_answer!(run.call("run", &[]), @r#"
    a  failed     [time]  never run
        SyntaxError: a.py: line 1 is not UTF-8; save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-
          line 1: raise SyntaxError("a.py: line 1 is not UTF-8; save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-")
    b  ran        [time]  never run
        fine
    2 steps: 1 ran, 1 failed
    error: a.py: line 1 is not UTF-8; save it as UTF-8, or name its encoding on line 1: # -*- coding: NAME -*-
    [exit Some(1)]
    "#);
}

#[test]
fn bad_settings_are_named_with_their_place() {
    let run = Run::new(&[("a.py", "x = 1\n"), ("reweave.toml", "on_eror = \"stop\"\nseed = -1\n")]);
    assert_answer!(run.call("run", &[]), @r#"
    warning: reweave.toml:1: unknown setting "on_eror": did you mean "on_error"?
    warning: reweave.toml:2: seed is -1: give a whole number from 0 to 4294967295
    error: reweave.toml:2: seed is -1: give a whole number from 0 to 4294967295
    hint: correct reweave.toml; `reweave config` lists the settings
    [exit Some(2)]
    "#);
    assert_answer!(run.call("run", &["--limit", "time"]), @"
    error: --limit time: a limit is KEY=VALUE
    hint: for example `--limit time=30s`, `--limit memory=2GB`
    [exit Some(2)]
    ");
    assert_answer!(run.call("run", &["--python", "/no/such/python"]), @r#"
    warning: reweave.toml:1: unknown setting "on_eror": did you mean "on_error"?
    warning: reweave.toml:2: seed is -1: give a whole number from 0 to 4294967295
    error: reweave.toml:2: seed is -1: give a whole number from 0 to 4294967295
    hint: correct reweave.toml; `reweave config` lists the settings
    [exit Some(2)]
    "#);
}

#[test]
fn a_parameter_is_written_where_it_is_assigned_and_only_what_uses_it_runs_again() {
    let run = Run::new(&[
        ("01_set.py", "rate = 0.1\nname = 'a'\n"),
        ("02_use.py", "print(rate * 10)\n"),
        ("03_tell.py", "print(name)\n"),
    ]);
    run.call("run", &[]);
    assert_answer!(run.call("run", &["-p", "rate=0.5"]), @"
    01_set   ran        [time]  its code changed
    02_use   ran        [time]  rate changed
        5.0
    03_tell  kept
        a
    3 steps: 2 ran, 1 kept
    01_set: rate = 0.5
    ");
    assert_eq!(run.read("01_set.py"), "rate = 0.5\nname = 'a'\n");
    assert_answer!(run.call("run", &["-p", "rate=1", "-p", "depth=3"]), @"
    error: no step assigns depth
    hint: write `depth = …` at the outermost level of a step
    [exit Some(2)]
    ");
    assert_eq!(run.read("01_set.py"), "rate = 0.5\nname = 'a'\n", "all of them or none");
    run.call("undo", &[]);
    assert_eq!(run.read("01_set.py"), "rate = 0.1\nname = 'a'\n");
}

#[test]
fn a_file_that_steps_write_is_told_with_who_wrote_and_reads_it() {
    let run = Run::new(&[
        ("01_make.py", "with open('out.txt', 'w') as file:\n    count = file.write('1')\n"),
        ("02_use.py", "print(open('out.txt').read())\n"),
    ]);
    run.call("run", &[]);
    run.write("out.txt", "2");
    let line = "out.txt  changed outside; written by 01_make v1; read by 02_use; versions: 1";
    assert!(run.call("graph", &[]).stdout.contains(line));
    let graph = run.json("graph", &[]);
    assert_eq!(graph["artifacts"][0]["readers"][0], "02_use");
    for step in ["01_make", "02_use"] {
        assert!(run.call("show", &[step]).stdout.contains(&format!("files\n  {line}\n")));
        assert_eq!(run.json("show", &[step])["artifacts"][0]["state"], "changed outside");
    }
    assert_eq!(run.json("status", &[])["steps"][1]["status"], "stale");
}

#[test]
fn code_that_a_step_writes_is_its_result_and_no_step() {
    let run = Run::new(&[
        ("01_make.py", "with open('helper.py', 'w') as file:\n    file.write('X = 1')\n"),
        ("02_use.py", "import helper\nprint(helper.X)\n"),
    ]);
    let ids = |document: serde_json::Value| -> Vec<String> {
        document["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["01_make", "02_use"];
    assert_eq!(ids(run.json("run", &[])), all);
    assert_eq!(ids(run.json("run", &[])), all);
    run.write("01_make.py", "with open('helper.py', 'w') as file:\n    file.write('X = 2')\n");
    let told = run.json("run", &[]);
    assert_eq!(told["steps"][1]["stdout"], "2\n");
    assert_eq!(ids(told), all);
    // What a person writes there is one, once nothing makes it.
    std::fs::remove_file(run.file("01_make.py")).unwrap();
    run.json("run", &[]);
    run.write("helper.py", "X = 3\n");
    let told = run.json("run", &[]);
    assert_eq!(told["steps"][0]["stdout"], "3\n");
    assert_eq!(ids(told), ["02_use", "helper"]);
}

/// A person may add a step while another runs a program, and nothing tells the two apart.
#[test]
fn code_that_comes_while_a_program_runs_is_told_and_never_lost() {
    let writes = |text: &str| format!("import subprocess\nsubprocess.run(['sh', '-c', '{text}'])\nNone\n");
    let run = Run::new(&[("01_run.py", &writes("echo y=1 > 02_new.py; echo 1 > out.txt"))]);
    run.set_up("[policy]\npreset = \"trusted\"\n");
    let count = |verb: &str| run.json(verb, &[])["steps"].as_array().unwrap().len();
    assert_eq!((count("run"), count("status")), (1, 1));
    let said = run.call("status", &[]).stderr;
    assert!(said.contains("02_new.py: came while 01_run had a program running"), "{said}");
    // It is one as soon as it is changed, whatever becomes of who may have made it.
    run.write("02_new.py", "y = 2\n");
    assert_eq!(count("status"), 2);
    run.write("01_run.py", &writes("true"));
    assert_eq!((count("run"), run.read("02_new.py").as_str()), (2, "y = 2\n"));
    assert!(!run.file("out.txt").exists(), "of what is no code the present run makes nothing");

    let run = Run::new(&[("01_run.py", &writes("echo y=1 > 02_new.py"))]);
    run.set_up("[policy]\npreset = \"trusted\"\n");
    run.call("run", &[]);
    run.write("01_run.py", &writes("true"));
    run.call("run", &[]);
    assert_eq!(
        (run.read("02_new.py").as_str(), run.json("status", &[])["steps"].as_array().unwrap().len()),
        ("y=1\n", 2)
    );
}

#[test]
fn the_temporary_directory_is_as_a_step_found_it_the_next_time_and_goes_where_none_looked() {
    let looks = "import os, tempfile\nwith tempfile.TemporaryDirectory() as made:\n    print(len(os.listdir(tempfile.gettempdir())))\n";
    let run = Run::new(&[("1.py", looks)]);
    assert_eq!(run.json("run", &[])["ran"], 1);
    assert_eq!(run.json("run", &[])["ran"], 0);
    let run = Run::new(&[("1.py", "import os\nprint(os.environ['TMPDIR'])\n")]);
    let said = run.json("run", &[]);
    let place = said["steps"][0]["stdout"].as_str().unwrap().trim_end().to_owned();
    assert!(place.contains("reweave-run-") && !std::path::Path::new(&place).exists(), "{place}");
}
