//! A run's memory from the command line: what happened, what stood when, who wrote and read what, and going back.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::fs;

use common::Run;
use serde_json::{Value, json};

/// A run of five steps: values, a function, a file, and a test; run, changed, and run again.
fn told() -> Run {
    let run = Run::new(&[
        ("01_load.py", "rows = [1, 2, 3]\n"),
        (
            "02_clean.py",
            "# /// step\n# agent = \"cleaner\"\n# model = \"m-1\"\n# call = \"c1\"\n# ///\n\
             def clean(rows):\n    return [row * 2 for row in rows]\n\ncleaned = clean(rows)\n",
        ),
        ("03_write.py", "with open('out.txt', 'w') as file:\n    file.write(repr(cleaned))\ndel file\n"),
        ("04_read.py", "print(open('out.txt').read())\n"),
        ("test_clean.py", "assert clean([1]) == [2]\n"),
    ]);
    assert_eq!(run.json("run", &[])["ran"], 5);
    run.write("01_load.py", "rows = [1, 2, 4]\n");
    assert_eq!(run.json("run", &[])["ran"], 4);
    run
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_log_tells_what_happened_newest_first_with_its_author() {
    let run = told();
    let log = run.json("log", &[]);
    let first = |what: &str, id: &str| {
        let entries = log["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["what"] == what && entry["id"] == id).unwrap().clone()
    };
    assert_eq!(first("executed", "04_read")["why"], "file out.txt changed");
    assert_eq!(first("version", "01_load")["provenance"]["version"], 2);
    assert_eq!(first("version", "01_load")["provenance"]["author"], json!({"by": "person"}));
    let agent = &first("version", "02_clean")["provenance"];
    assert_eq!(
        (&agent["author"], &agent["model"], &agent["call"]),
        (&json!({"by": "agent", "name": "cleaner"}), &json!("m-1"), &json!("c1"))
    );
    let writers = run.json("log", &["--name", "cleaned"]);
    assert_eq!(ids(&writers["entries"]), ["02_clean", "02_clean"]);
    assert_eq!(ids(&run.json("log", &["01"])["entries"]), ["01_load"; 4]);
    let since = run.json("log", &["--since", "01_load:v2"]);
    assert_eq!(ids(&since["entries"]), ["04_read", "03_write", "02_clean", "01_load"]);
}

#[test]
fn an_edit_of_what_an_agent_wrote_is_a_persons_and_a_new_call_is_the_agents() {
    let run = told();
    let text = run.read("02_clean.py");
    run.write("02_clean.py", &text.replace("* 2", "* 3"));
    run.json("status", &[]);
    run.write("02_clean.py", &text.replace("c1", "c2"));
    let versions = run.json("show", &["02"])["versions"].clone();
    let authors: Vec<(&Value, &Value)> =
        versions.as_array().unwrap().iter().map(|version| (&version["author"], &version["call"])).collect();
    let agent = json!({"by": "agent", "name": "cleaner"});
    assert_eq!(authors, [(&agent, &json!("c2")), (&json!({"by": "person"}), &Value::Null), (&agent, &json!("c1"))]);
}

#[test]
fn what_code_and_values_stood_at_a_moment() {
    let run = told();
    let now = run.json("query", &["at", "02"]);
    assert_eq!(ids(&now["steps"]), ["01_load", "02_clean"]);
    assert_eq!(now["steps"][0]["source"], "rows = [1, 2, 4]\n");
    let then = run.json("query", &["at", "02", "--when", "04_read:v1"]);
    assert_eq!(then["steps"][0]["source"], "rows = [1, 2, 3]\n");
    assert_eq!(then["values"], json!([]), "nothing had run by then");
    let between = run.json("query", &["at", "02", "--when", "e5"]);
    let value = |standing: &Value, name: &str| {
        let values = standing["values"].as_array().unwrap();
        values.iter().find(|value| value["name"] == name).unwrap().clone()
    };
    assert_ne!(value(&between, "cleaned")["digest"], value(&now, "cleaned")["digest"]);
    assert_eq!(value(&between, "clean")["digest"], value(&now, "clean")["digest"]);
    assert_eq!(value(&now, "cleaned")["written_by"], "02_clean");
}

#[test]
fn what_depends_on_a_step_or_a_name_and_what_a_step_needs() {
    let run = told();
    let affected = run.json("query", &["affected-by", "01"])["affected"].clone();
    assert_eq!(ids(&affected), ["02_clean", "03_write", "04_read", "test_clean"]);
    assert_eq!((&affected[2]["because"], &affected[2]["names"]), (&json!("03_write"), &json!(["out.txt"])));
    assert_eq!(ids(&run.json("query", &["affected-by", "02:clean"])["affected"]), ["test_clean"]);
    assert_eq!(ids(&run.json("query", &["affected-by", "02:cleaned"])["affected"]), ["03_write", "04_read"]);
    let needs = run.json("query", &["needs", "04"]);
    assert_eq!(ids(&needs["needs"]), ["01_load", "02_clean", "03_write"]);
    assert_eq!(needs["needs"][2]["names"], json!(["out.txt"]));
    // Of a run that was never executed, the texts tell.
    let fresh = Run::new(&[("a.py", "x = 1\n"), ("b.py", "y = x\n"), ("c.py", "z = 1\n")]);
    assert_eq!(ids(&fresh.json("query", &["affected-by", "a"])["affected"]), ["b"]);
    assert_eq!(ids(&fresh.json("query", &["needs", "b"])["needs"]), ["a"]);
}

#[test]
fn who_wrote_and_read_a_variable_or_a_file() {
    let run = told();
    let writers = run.json("query", &["writers", "cleaned"])["writers"].clone();
    assert_eq!(ids(&writers), ["02_clean", "02_clean"]);
    assert_eq!((&writers[0]["changed"], &writers[0]["latest"]), (&json!(true), &json!(true)));
    assert_eq!(ids(&run.json("query", &["readers", "clean"])["readers"]), ["test_clean"]);
    assert_eq!(ids(&run.json("query", &["writers", "out.txt"])["writers"]), ["03_write", "03_write"]);
    assert_eq!(ids(&run.json("query", &["readers", "file:out.txt"])["readers"]), ["04_read", "04_read"]);
    assert_eq!(run.json("query", &["writers", "nowhere"])["writers"], json!([]));
}

#[test]
fn two_moments_two_executions_and_two_runs_are_set_side_by_side() {
    let run = told();
    let difference = run.json("query", &["diff", "test_clean:v1", "now"]);
    assert_eq!(difference["steps"][0]["diff"], "@@ -1 +1 @@\n-rows = [1, 2, 3]\n+rows = [1, 2, 4]\n");
    let names: Vec<&Value> = difference["values"].as_array().unwrap().iter().map(|value| &value["name"]).collect();
    assert!(names.contains(&&json!("out.txt")) && names.contains(&&json!("rows")), "{names:?}");
    let executions = run.json("query", &["diff", "e4", "e9"]);
    assert_eq!(executions["stdout"], "@@ -1 +1 @@\n-[2, 4, 6]\n+[2, 4, 8]\n");
    let other = Run::new(&[("01_load.py", "rows = [1, 2, 4]\n"), ("09_more.py", "print(rows)\n")]);
    other.json("run", &[]);
    let runs = run.json("query", &["diff", ".", other.path().to_str().unwrap()]);
    let sides: Vec<(&Value, &Value)> =
        runs["steps"].as_array().unwrap().iter().map(|step| (&step["before"]["id"], &step["after"]["id"])).collect();
    assert!(sides.contains(&(&Value::Null, &json!("09_more"))), "{sides:?}");
    assert!(!sides.iter().any(|(before, _)| **before == "01_load"), "it is the same in both");
    assert_answer!(run.call("query", &["diff", "now", "@99999"]), @"
    error: the store holds no event @99999
    [exit Some(2)]
    ");
}

#[test]
fn what_agents_and_models_wrote_is_counted() {
    let run = told();
    let agents = run.json("query", &["by-agent"]);
    assert_eq!((&agents["by"][0]["name"], &agents["by"][0]["versions"]), (&json!("cleaner"), &json!(1)));
    assert_eq!(run.json("query", &["by-model"])["by"][0]["name"], "m-1");
}

#[test]
fn a_step_or_the_whole_run_is_taken_back_and_that_is_undone() {
    let run = told();
    let then = run.json("log", &["test_clean"])["entries"][0]["seq"].to_string();
    run.write("05_new.py", "more = rows\n");
    fs::remove_file(run.file("03_write.py")).unwrap();
    fs::rename(run.file("02_clean.py"), run.file("02_tidy.py")).unwrap();
    run.json("status", &[]);
    let files = || {
        let names = fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".py")).collect();
        names.sort();
        names
    };
    let before = files();
    let answer = run.call("restore", &["--version", &then]);
    assert_eq!(
        answer.to_string(),
        format!("the run is as at @{then} again, 5 files changed; `reweave undo` takes that back\n")
    );
    assert_eq!(files(), ["01_load.py", "02_clean.py", "03_write.py", "04_read.py", "test_clean.py"]);
    assert_eq!(run.read("01_load.py"), "rows = [1, 2, 3]\n");
    let versions = run.json("show", &["02_clean"])["versions"].clone();
    assert_eq!(versions.as_array().unwrap().len(), 1, "it is the same step under its old name");
    run.call("undo", &[]);
    assert_eq!(files(), before);
    assert_eq!(run.read("01_load.py"), "rows = [1, 2, 4]\n");
    // One step, by a moment; what was first seen together is one moment.
    assert!(run.call("restore", &["01", "--version", "01_load:v1"]).stdout.starts_with("01_load is as at @5 again"));
    assert_eq!(run.read("01_load.py"), "rows = [1, 2, 3]\n");
    assert_answer!(run.call("restore", &["--version", "@99999"]), @"
    error: the store holds no event @99999
    hint: `reweave log` lists what happened, each with its moment
    [exit Some(2)]
    ");
}

#[test]
fn a_file_that_was_changed_outside_stands_in_the_way_of_going_back() {
    let run = told();
    run.call("restore", &["01", "--version", "1"]);
    run.write("01_load.py", "rows = []\n");
    assert_answer!(run.call("undo", &[]), @"
    error: 01_load.py was changed meanwhile
    hint: look at it again, then repeat
    [exit Some(2)]
    ");
    assert_eq!(run.read("01_load.py"), "rows = []\n");
}

#[test]
fn the_record_is_made_smaller_and_never_loses_a_version() {
    let run = told();
    for number in 0..6 {
        run.write("01_load.py", &format!("rows = [{number}] * 1000\n"));
        run.json("run", &[]);
    }
    let before = run.json("log", &["--limit", "1000"]);
    let freed = run.json("gc", &["--executions", "1", "--days", "0", "--saved", "0"]);
    assert!(freed["executions"].as_u64().unwrap() > 10, "{freed}");
    assert!(freed["saved_values"].as_u64().unwrap() > 0, "{freed}");
    let after = run.json("log", &["--limit", "1000"]);
    let versions = |log: &Value| {
        let entries = log["entries"].as_array().unwrap();
        entries.iter().filter(|entry| entry["what"] == "version").cloned().collect::<Vec<_>>()
    };
    assert_eq!(versions(&before), versions(&after));
    assert_eq!(run.json("show", &["01", "--version", "1"])["source"], "rows = [1, 2, 3]\n");
    let run_again = run.json("run", &[]);
    assert_eq!((&run_again["ran"], &run_again["kept"]), (&json!(0), &json!(5)));
    let told = run.call("gc", &[]).stdout;
    assert!(told.starts_with("0 executions, 0 saved values"), "{told}");
}

#[test]
fn the_doctor_tells_how_large_the_record_is_and_whether_it_is_whole() {
    let run = told();
    let facts = |name: &str| {
        let report = run.json("doctor", &[]);
        let sections = report["sections"].as_array().unwrap().clone();
        let section = sections.into_iter().find(|section| section["name"] == "run").unwrap();
        let facts = section["facts"].as_array().unwrap().clone();
        facts.into_iter().find(|fact| fact["name"] == name).unwrap_or_default()
    };
    let says = facts("store")["says"].as_str().unwrap().to_owned();
    assert!(says.contains("6 versions, 9 executions, 0 patches"), "{says}");
    assert_eq!(facts("record")["standing"], "ok");
    // A text of a step, where it lies in the database, turns to another.
    let path = run.file(".reweave/store.db");
    let mut bytes = fs::read(&path).unwrap();
    let text = b"rows = [1, 2, 3]";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at] = b'R';
    fs::write(&path, bytes).unwrap();
    assert_eq!(facts("record")["standing"], "wrong");
    // Whoever asks for it is told, and the next opening sets the store aside and saves what can be read.
    let asked = run.call("restore", &["01", "--version", "1"]);
    assert_eq!(asked.status, Some(2));
    assert!(asked.stderr.contains(".reweave/store.db: it is damaged"), "{}", asked.stderr);
    let next = run.call("status", &[]);
    assert!(next.stderr.contains("a new store begun. 5 versions and 0 patches were brought over"), "{}", next.stderr);
    assert_eq!(facts("record")["standing"], "ok");
    assert_eq!(facts("set aside")["standing"], "not_used");
    assert_eq!(run.read("01_load.py"), "rows = [1, 2, 4]\n");
}

#[test]
fn a_file_that_a_step_writes_has_versions_a_writer_and_readers() {
    let run = told();
    let artifacts = run.json("query", &["artifacts"])["artifacts"].clone();
    let artifact = &artifacts[0];
    assert_eq!((&artifact["path"], &artifact["written_by"]), (&json!("out.txt"), &json!("03_write")));
    assert_eq!((&artifact["readers"], &artifact["versions"]), (&json!(["04_read"]), &json!(2)));
    assert_eq!(artifact["state"], "as it was left");
    let versions = run.json("query", &["artifacts", "out.txt"])["versions"].clone();
    assert_eq!((&versions[0]["number"], &versions[1]["number"]), (&json!(2), &json!(1)));
    assert_ne!(versions[0]["digest"], versions[1]["digest"]);
}

#[test]
fn a_written_file_that_is_edited_outside_marks_its_readers_stale_and_is_kept() {
    let run = told();
    run.write("out.txt", "by hand");
    let status = run.json("status", &[]);
    let standing = |id: &str| {
        let steps = status["steps"].as_array().unwrap();
        steps.iter().find(|step| step["id"] == id).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!((standing("04_read"), standing("test_clean")), ("stale".into(), "fresh".into()));
    assert_eq!(run.json("query", &["artifacts"])["artifacts"][0]["state"], "changed outside");
    run.json("run", &[]);
    let store = reweave::store::Reader::open(run.path()).unwrap();
    let kept = store.kept_files("out.txt").unwrap();
    assert_eq!(store.get_blob(&kept[0].content).unwrap(), b"by hand");
}

#[test]
fn what_a_step_says_that_it_produces_must_be_there_after_it() {
    let run = Run::new(&[
        ("a.py", "# /// step\n# produces = [\"model.json\"]\n# ///\nx = 1\n"),
        ("b.py", "print(open('model.json').read())\n"),
    ]);
    let answer = run.json("run", &[]);
    assert_eq!(answer["steps"][0]["status"], "failed");
    let message = answer["steps"][0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("model.json"), "{message}");
    run.write("a.py", "# /// step\n# produces = [\"model.json\"]\n# ///\nopen('model.json', 'w').write('{}')\n");
    assert_eq!(run.json("run", &[])["steps"][1]["stdout"], "{}\n");
}

#[test]
fn tests_say_what_they_cover_and_a_function_by_which_tests_it_is_covered() {
    let run = told();
    let status = run.json("status", &[]);
    assert_eq!(status["steps"][4]["covers"], json!([{"step": "02_clean", "names": ["clean"]}]));
    assert_eq!(status["steps"][0]["covers"], json!([]));
    let tests = run.json("query", &["tests", "02:clean"])["tests"].clone();
    assert_eq!(tests, json!([{"id": "test_clean", "direct": true, "names": ["clean"]}]));
    let through = run.json("query", &["tests", "01"])["tests"].clone();
    assert_eq!(through, json!([{"id": "test_clean", "direct": false, "names": ["clean"]}]));
    assert_answer!(run.call("query", &["tests", "02:clean"]), @"test_clean  reads clean");
}

#[test]
fn a_module_that_a_step_writes_is_an_artifact_like_any_other() {
    let module = "# /// step\\n# kind = \"module\"\\n# ///\\nVALUE = 3\\n";
    let run = Run::new(&[
        ("a.py", &format!("with open('helper.py', 'w') as file:\n    file.write('{module}')\ndel file\n")),
        ("b.py", "import helper\nprint(helper.VALUE)\n"),
    ]);
    assert_eq!(run.json("run", &[])["steps"][1]["stdout"], "3\n");
    let artifacts = run.json("query", &["artifacts"])["artifacts"].clone();
    assert_eq!((&artifacts[0]["path"], &artifacts[0]["readers"]), (&json!("helper.py"), &json!(["b"])));
    run.write("helper.py", &run.read("helper.py").replace('3', "4"));
    let status = run.json("status", &[]);
    let b = status["steps"].as_array().unwrap().iter().find(|step| step["id"] == "b").unwrap().clone();
    assert_eq!(b["status"], "stale", "{status}");
}

#[test]
fn for_a_function_that_a_patch_writes_anew_the_tests_that_cover_it_are_named() {
    let run = told();
    let patch = "--- a/02_clean.py\n+++ b/02_clean.py\n@@ -6,2 +6,2 @@\n def clean(rows):\n\
                 -    return [row * 2 for row in rows]\n+    return [row + row for row in rows]\n";
    let mut add = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    add.args(["patch", "add", ".", "-"]).current_dir(run.path());
    assert_eq!(common::answer(add, patch).status, Some(0));
    let mut show = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    show.args(["patch", "show", ".", "1"]).current_dir(run.path());
    let shown = common::answer(show, "");
    assert!(shown.stdout.contains("covered by test_clean, which reads clean\n"), "{shown}");
}

/// A run whose steps do things outside, one of them more than its header says.
fn reaching() -> Run {
    Run::new(&[
        (
            "01_write.py",
            "# /// step\n# allow = [\"write:out/\"]\n# ///\nimport os, subprocess\nos.makedirs('out', exist_ok=True)\nopen('out/a.csv', 'w').write('1')\nopen('more.txt', 'w').write('2')\nsubprocess.run(['true'])\n",
        ),
        ("02_env.py", "import os as system\nsystem.environ['MODE'] = 'x'\nhome = system.getenv('HOME')\n"),
        ("03_plain.py", "x = 1\n"),
    ])
}

#[test]
fn what_texts_name_that_reaches_outside_is_told_before_the_first_run() {
    let run = reaching();
    assert_answer!(run.call("replay", &["--dry-run"]), @"
    01_write  run             ?  never run
    02_env    run             ?  never run
    03_plain  run             ?  never run
    3 of 3 would run
    by their texts alone, which can hide what they do and protect from nothing, these reach outside:
      01_write  process: subprocess.run
      02_env  environment: os.getenv
    ");
    let plan = run.json("replay", &["--dry-run"]);
    assert_eq!(plan["plan"][0]["reaches"], json!(["process: subprocess.run"]));
    let graph = run.json("graph", &[]);
    assert_eq!(graph["steps"][1]["reaches"], json!(["environment: os.getenv"]));
    let said = run.call("run", &[]);
    assert!(
        said.stderr.contains("protect from nothing") && said.stderr.contains("01_write  process: subprocess.run"),
        "{said}"
    );
    assert!(!run.call("run", &[]).stderr.contains("protect from"));
}

#[test]
fn effects_are_found_by_kind_by_target_and_by_what_was_announced() {
    let run = reaching();
    run.set_up("[policy]\nprocess.allow = [\"true\"]\n");
    run.json("run", &[]);
    assert_answer!(run.call("query", &["effects"]), @"
    01_write  e1  wrote out
    01_write  e1  wrote out/a.csv
    01_write  e1  wrote more.txt  not announced by its header
    01_write  e1  started true  not announced by its header
    01_write  e1  read PATH in the environment
    02_env  e2  set MODE in the environment
    02_env  e2  read HOME in the environment
    ");
    let found = |rest: &[&str]| {
        let document = run.json("query", &[&["effects"], rest].concat());
        let rows = document["effects"].as_array().unwrap().clone();
        rows.iter().map(|row| row["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(found(&["--kind", "process"]), "started true");
    assert_eq!(found(&["--on", "out"]), "wrote out, wrote out/a.csv");
    assert_eq!(found(&["02", "--kind", "environment"]), "set MODE in the environment");
    assert_eq!(found(&["--unannounced"]), "wrote more.txt, started true");
    assert_eq!(found(&["03"]), "");
    run.write("03_plain.py", "open('made', 'w')\n");
    run.json("run", &[]);
    assert_eq!(found(&["--kind", "write", "--on", "made", "--history"]), "wrote made");
    assert_answer!(run.call("query", &["effects", "--kind", "write", "--on", "made", "--json"]), @r#"{"effects":[{"id":"03_plain","execution":5,"version":2,"when":"[moment]","kind":"write","area":"write","what":"wrote made","effect":{"effect":"write","path":"made"},"unannounced":false}]}"#);
    assert_answer!(run.call("query", &["effects", "--kind", "touch"]), @"
    error: touch is no kind of effect
    hint: one of read, write, delete, rename, process, network, connect, resolve, environment, get_env, set_env, native, load, import, refused, granted, put_back, unguarded, left
    [exit Some(2)]
    ");
    let status = run.json("status", &[]);
    assert_eq!(status["steps"][0]["unannounced"], json!(["wrote more.txt", "started true"]));
    assert_eq!(run.json("graph", &[])["steps"][0]["unannounced"], status["steps"][0]["unannounced"]);
}
