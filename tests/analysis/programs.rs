//! Random step programs run in CPython: what they really look up, bind and change is within what analysis says.
//!
//! `REWEAVE_PROGRAMS=20000 cargo test --test analysis random_programs -- --nocapture` tries that many with each
//! interpreter that can be found; `REWEAVE_PROGRAMS_SEED` starts elsewhere. A program that fails is cut down first.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use reweave::analysis::{Certainty, OccurrenceKind, Options, analyze_all};
use reweave::engine::InterpreterParser;
use reweave::graph::resolve;
use reweave::step::StepId;
use serde::Deserialize;

use crate::generate::{self, Node};
use crate::python;
use crate::random::{Random, times};

const SCRIPT: &str = include_str!("programs.py");

/// What a step really did.
#[derive(Debug, Deserialize)]
pub struct Done {
    /// Each name that it looked up without having bound it, with the step that had bound it last, or -1.
    pub loads: Vec<(String, i64)>,
    pub binds: BTreeSet<String>,
    /// Names whose values were changed in place, in groups that share what can be changed.
    pub changed: Vec<Vec<String>>,
    pub error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    steps: Vec<Done>,
}

/// An interpreter that runs programs, started anew where one brings it down.
pub struct Runner {
    python: std::path::PathBuf,
    child: Option<(Child, BufReader<std::process::ChildStdout>)>,
}

impl Runner {
    pub fn new(python: &Path) -> Self {
        Self { python: python.to_owned(), child: None }
    }

    /// What each step did; `None` where the program brought the interpreter down or took too long.
    pub fn run(&mut self, steps: &[String]) -> Option<Vec<Done>> {
        let (child, lines) = self.child.get_or_insert_with(|| {
            let mut child = Command::new(&self.python)
                .args(["-I", "-c", SCRIPT])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap());
            (child, lines)
        });
        let mut question = serde_json::to_vec(&serde_json::json!({ "steps": steps })).unwrap();
        question.push(b'\n');
        let _ = child.stdin.as_mut().unwrap().write_all(&question);
        let mut line = String::new();
        if lines.read_line(&mut line).unwrap_or(0) == 0 {
            let (mut child, _) = self.child.take().unwrap();
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        let answer: Answer = serde_json::from_str(&line).unwrap();
        Some(answer.steps)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What analysis does not tell of what a program really did.
pub fn missed(steps: &[String], done: &[Done], options: &Options<'_>) -> Vec<String> {
    // Who needs a step that can't be compiled is blocked: what it would have bound counts.
    if done.iter().any(|done| done.error.as_deref() == Some("SyntaxError")) {
        return Vec::new();
    }
    let sources: Vec<&str> = steps.iter().map(String::as_str).collect();
    let names = analyze_all(&sources, options);
    let ids: Vec<StepId> = (0..steps.len()).map(|at| format!("s{at}").parse().unwrap()).collect();
    let pairs: Vec<_> = ids.iter().cloned().zip(&names).collect();
    let (all_resolved, edges) = resolve(&pairs);
    // Steps that each step needs, on whatever way.
    let mut needs: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); steps.len()];
    let place: BTreeMap<&StepId, usize> = ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
    for edge in &edges {
        let (from, to) = (place[&edge.from], place[&edge.to]);
        let mut all = needs[from].clone();
        all.insert(from);
        needs[to].extend(all);
    }
    let mut wrong = Vec::new();
    let all_done = done;
    for (at, done) in all_done.iter().enumerate() {
        // Who needs a step that failed is blocked: what that would have bound at its end counts, and here it has not.
        let blocked = done.loads.iter().any(|(name, binder)| {
            let after = usize::try_from(*binder).map_or(0, |binder| binder + 1);
            (after..at).any(|between| {
                let writes = all_resolved[between].writes.get(name.as_str());
                all_done[between].error.is_some() && writes == Some(&Certainty::Certain)
            })
        });
        if blocked {
            continue;
        }
        let (names, resolved) = (&names[at], &all_resolved[at]);
        for (name, binder) in &done.loads {
            let Ok(binder) = usize::try_from(*binder) else { continue };
            let read = resolved.reads_everything
                || resolved.reads.contains(name.as_str())
                || resolved.late_reads.contains(name.as_str());
            if !read {
                wrong.push(format!("s{at} looks up {name}, which is not among its reads"));
            } else if !needs[at].contains(&binder) {
                wrong.push(format!("s{at} looks up {name} of s{binder}, which it is not said to need"));
            }
        }
        for name in &done.binds {
            if !resolved.writes_anything && !resolved.writes.contains_key(name.as_str()) {
                wrong.push(format!("s{at} binds {name}, which is not among its writes"));
            }
        }
        for group in &done.changed {
            if !resolved.writes_anything && !group.iter().any(|name| resolved.writes.contains_key(name.as_str())) {
                wrong.push(format!("s{at} changes {group:?}, none of which is among its writes"));
            }
        }
        if done.error.is_none() {
            for (name, how) in &names.writes {
                let changes = names.occurrences.iter().any(|o| o.name == *name && o.kind == OccurrenceKind::Mutate);
                let done = done.binds.contains(&**name) || done.changed.iter().flatten().any(|n| **n == **name);
                if *how == Certainty::Certain && !done && !changes && names.calls.is_empty() {
                    wrong.push(format!("s{at} is said to write {name} for certain, and did not"));
                }
            }
        }
    }
    wrong
}

/// Takes out of a program whatever it fails without.
fn cut(program: Vec<Vec<Node>>, fails: &mut dyn FnMut(&[String]) -> bool) -> Vec<Vec<Node>> {
    let mut program = program;
    loop {
        let mut smaller = None;
        for candidate in generate::smaller(&program) {
            if fails(&generate::sources(&candidate)) {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(candidate) => program = candidate,
            None => return program,
        }
    }
}

fn hold(python: &Path, count: u64, first: u64) -> Vec<String> {
    let parser = InterpreterParser::new(python);
    let version = parser.version().unwrap();
    // Generated programs are ones that the parser built in can read, whatever the version.
    let options = Options { python: Some(version), parser: None };
    let mut runner = Runner::new(python);
    let mut failures = Vec::new();
    let (mut steps, mut loads, mut failed, mut lost, mut invalid) = (0, 0, 0, 0, 0);
    for seed in first..first + count {
        let program = generate::program(&mut Random::new(seed), version);
        let sources = generate::sources(&program);
        let Some(done) = runner.run(&sources) else {
            lost += 1;
            continue;
        };
        invalid += u64::from(done.iter().any(|done| done.error.as_deref() == Some("SyntaxError")));
        steps += done.len();
        loads += done.iter().map(|done| done.loads.len()).sum::<usize>();
        failed += done.iter().filter(|done| done.error.is_some()).count();
        if missed(&sources, &done, &options).is_empty() {
            continue;
        }
        let mut fails =
            |sources: &[String]| runner.run(sources).is_some_and(|done| !missed(sources, &done, &options).is_empty());
        let sources = generate::sources(&cut(program, &mut fails));
        let done = runner.run(&sources).unwrap_or_default();
        let why = missed(&sources, &done, &options);
        let text: Vec<String> = sources.iter().enumerate().map(|(at, s)| format!("# s{at}\n{s}")).collect();
        failures.push(format!("seed {seed}: {}\n{}", why.join("; "), text.join("\n")));
        if failures.len() >= 3 {
            break;
        }
    }
    println!(
        "{} {}.{}: {count} programs, {steps} steps ({failed} ended in an error), {loads} names from other steps, \
         {invalid} are no Python, {lost} without an answer, {} failures",
        python.display(),
        version.major,
        version.minor,
        failures.len()
    );
    assert!(lost * 20 <= count, "{lost} of {count} programs gave no answer");
    failures
}

#[test]
fn what_random_programs_do_is_what_analysis_says() {
    let count = times("REWEAVE_PROGRAMS", 150);
    let first = times("REWEAVE_PROGRAMS_SEED", 1);
    let pythons = if count > 5000 { python::all() } else { vec![python::PYTHON.into()] };
    let failures: Vec<String> = pythons.iter().flat_map(|python| hold(python, count, first)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
