//! Each construct in the forms that it is met in, with what is read, written and needed. What CPython really does with
//! them is checked too: all of these are run, step by step.

use reweave::analysis::{Options, PythonVersion, analyze};

use crate::debatable::told;
use crate::programs::{Runner, missed};
use crate::python;

/// Steps of one case, separated by lines of `---`; cases by blank lines with `===`.
const CASES: &str = include_str!("constructs.txt");

fn cases() -> Vec<(&'static str, Vec<&'static str>)> {
    CASES
        .split("=== ")
        .filter(|case| !case.trim().is_empty())
        .map(|case| {
            let (name, text) = case.split_once('\n').unwrap();
            (name, text.trim_end_matches('\n').split("\n---\n").collect())
        })
        .collect()
}

#[test]
fn each_construct_reads_and_writes_what_it_should() {
    let mut out = String::new();
    for (name, steps) in cases() {
        out += &format!("=== {name}\n{}\n{}\n", steps.join("\n---\n"), told(&steps));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn each_construct_is_seen_by_cpython_to_do_no_more() {
    let python = std::path::Path::new(python::PYTHON);
    let version = reweave::engine::InterpreterParser::new(python).version().unwrap();
    let options = Options { python: Some(version), parser: None };
    let mut runner = Runner::new(python);
    let mut wrong = Vec::new();
    for (name, steps) in cases() {
        let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
        let done = runner.run(&steps).unwrap_or_default();
        wrong.extend(missed(&steps, &done, &options).into_iter().map(|what| format!("{name}: {what}")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn annotations_follow_the_interpreter_of_the_run() {
    let source = "v: T = 3\ndef f(a: T) -> U: pass\nclass K:\n    w: T = 1\nU = str";
    let with = |minor| {
        let options = Options { python: Some(PythonVersion { major: 3, minor }), parser: None };
        let names = analyze(source, &options);
        names
            .reads
            .iter()
            .filter(|(name, _)| name.len() == 1)
            .map(|(name, read)| format!("{name} {read:?}"))
            .collect::<Vec<_>>()
    };
    // Evaluated where they stand, ...
    assert_eq!(with(13), ["T Now", "U Now"]);
    assert_eq!(with(9), with(13));
    // ... and from 3.14 on when somebody asks for them: by then the step itself has bound U.
    assert_eq!(with(14), ["T Deferred"]);
}
