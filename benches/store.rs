//! The store at 100,000 executions of 10,000 steps: opening under 150 ms, each query under 50 ms, one more execution
//! under 1 ms of the caller's time.
//!
//! `cargo bench --bench store` makes the store in a temporary directory, measures (medians of 9) and fails where a
//! limit is passed. `REWEAVE_BENCH_STEPS` makes a smaller one, and
//! `REWEAVE_BENCH_ONLY` measures only the rows that have this text in them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench says what it expects by failing")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reweave::step::*;
use reweave::store::query::{LogFilter, Moment};
use reweave::store::{Proposal, Reader, Store, Subject};

const ROUNDS: usize = 10;
const REPEATS: usize = 9;

fn main() -> ExitCode {
    let steps: usize = std::env::var("REWEAVE_BENCH_STEPS").map_or(10_000, |text| text.parse().unwrap());
    let only = std::env::var("REWEAVE_BENCH_ONLY").unwrap_or_default();
    let dir = tempfile::tempdir().unwrap();
    let made = Instant::now();
    let then = fill(&Store::open(dir.path()).unwrap(), steps);
    let bytes = std::fs::metadata(dir.path().join(".reweave/store.db")).unwrap().len();
    println!(
        "{} executions of {steps} steps: {:.0} MB, made in {:.1} s ({:.0} µs an execution)",
        steps * ROUNDS,
        bytes as f64 / 1e6,
        made.elapsed().as_secs_f64(),
        made.elapsed().as_secs_f64() * 1e6 / (steps * ROUNDS) as f64
    );
    let mut table = Table { kept: true, only };
    let ms = Duration::from_millis;

    table.row("open, and the last execution of each step in short", Some(ms(150)), || {
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.latest().unwrap().len(), steps);
    });
    table.row("opening, and what a workbench needs to say how each step stands", Some(ms(150)), || {
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.latest_observed().unwrap().len(), steps);
        drop((store.holds().unwrap(), store.invalidated().unwrap()));
    });
    table.row("the last execution of each step in full", None, || {
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.latest_executions().unwrap().len(), steps);
    });

    let store = Store::open(dir.path()).unwrap();
    let (first, middle, last) = (step(0), step(steps / 2), step(steps - 1));
    let common = Subject::name("df");
    let rare = Subject::name(&format!("a{}", steps / 2));
    let limit = Some(ms(50));
    table.row("at: the whole run, now", limit, || drop(store.at(None, &Moment::Now).unwrap()));
    table.row("at: the whole run, half way back", limit, || drop(store.at(None, &then).unwrap()));
    table.row("at: a step in the middle", limit, || drop(store.at(Some(&middle), &Moment::Now).unwrap()));
    table.row("affected-by: the first step", limit, || drop(store.affected_by(&first, None).unwrap()));
    table.row("affected-by: one name of a step in the middle", limit, || {
        drop(store.affected_by(&middle, Some(&rare)).unwrap());
    });
    table.row("needs: the last step", limit, || drop(store.needs(&last, &[]).unwrap()));
    table.row("writers: a name that every step writes", limit, || drop(store.writers(&common, 100).unwrap()));
    table.row("writers: a name of one step", limit, || drop(store.writers(&rare, 100).unwrap()));
    table.row("readers: a name that every step reads", limit, || drop(store.readers(&common, 100).unwrap()));
    table.row("readers: a name of few steps", limit, || drop(store.readers(&rare, 100).unwrap()));
    table.row("diff: half way back to now", limit, || drop(store.diff(&then, &Moment::Now).unwrap()));
    let other = Reader::open(dir.path()).unwrap();
    table.row("diff: two runs", limit, || drop(store.diff_with(&then, &other, &Moment::Now).unwrap()));
    let ids: Vec<ExecutionId> = store.executions(&middle, 2).unwrap().iter().map(|one| one.id).collect();
    table.row("diff: two executions", limit, || drop(store.diff_executions(ids[1], ids[0]).unwrap()));
    table.row("by-agent", limit, || drop(store.by_agent().unwrap()));
    table.row("by-model", limit, || drop(store.by_model().unwrap()));
    let page = LogFilter { limit: 200, ..LogFilter::default() };
    table.row("log: the run, a page of 200", limit, || drop(store.log(&page).unwrap()));
    let mine = LogFilter { step: Some(middle.clone()), ..page.clone() };
    table.row("log: a step", limit, || drop(store.log(&mine).unwrap()));
    let named = LogFilter { subject: Some(common.clone()), ..page.clone() };
    table.row("log: a name that every step writes", limit, || drop(store.log(&named).unwrap()));
    table.row("log: since half way", limit, || {
        drop(store.log(&LogFilter { since: Some(1_000 * 5), ..page.clone() }).unwrap());
    });

    let small = Arc::new(execution(steps / 2, 11, steps));
    let large = Arc::new(large(steps / 2));
    let limit = Some(ms(1));
    table.row("one more execution: the caller's time", limit, || drop(store.record_execution(Arc::clone(&small))));
    table.row("one more with 3,000 names and 1 MB of output: the caller's time", limit, || {
        drop(store.record_execution(Arc::clone(&large)));
    });
    store.flush();
    table.row("one more execution, until it is committed", None, || {
        store.record_execution(Arc::clone(&small)).wait().unwrap();
    });
    table.row("one more large one, until it is committed", None, || {
        store.record_execution(Arc::clone(&large)).wait().unwrap();
    });
    table.row("one more version, safe from a power cut", None, || {
        let text = format!("{:?}", Instant::now());
        store.record_version(&middle, text.as_bytes(), &Provenance::new(Author::Person, 1)).unwrap();
    });
    if table.kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a row a measurement; remembers whether all kept their limits.
struct Table {
    kept: bool,
    only: String,
}

impl Table {
    fn row(&mut self, what: &str, limit: Option<Duration>, mut run: impl FnMut()) {
        if !what.contains(&self.only) {
            return;
        }
        let mut times: Vec<Duration> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed()
            })
            .collect();
        let first = times[0];
        times.sort();
        let (best, median) = (times[0], times[REPEATS / 2]);
        let verdict = match limit {
            None => String::new(),
            Some(limit) if median <= limit => format!("within {limit:?}"),
            Some(limit) => {
                self.kept = false;
                format!("OVER {limit:?}")
            }
        };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("{:>9.3} ms  first {:>9.3}  best {:>9.3}  {what}  {verdict}", ms(median), ms(first), ms(best));
    }
}

fn step(n: usize) -> StepId {
    format!("{:03}_part/{:02}_step", n / 50, n % 50).parse().unwrap()
}

/// Fills the store and gives the moment half way.
fn fill(store: &Store, steps: usize) -> Moment {
    let texts: Vec<(StepId, String)> =
        (0..steps).map(|n| (step(n), format!("# step {n}\na{n} = f(df, a{})\n", n.saturating_sub(1)))).collect();
    let by = Provenance { model: Some("m-1".into()), ..Provenance::new(Author::Agent("writer".into()), 0) };
    store.record_run(texts.iter().map(|(step, text)| (step, text.as_bytes())), &by).unwrap();
    let mut then = Moment::Now;
    for round in 0..ROUNDS {
        for n in 0..steps {
            drop(store.record_execution(Arc::new(execution(n, round, steps))));
            if n % 2_000 == 0 {
                store.flush();
            }
        }
        if round == ROUNDS / 2 {
            then = store.now().unwrap();
        }
    }
    for n in 0..1_000 {
        let provenance = Provenance { at: 1, model: Some(format!("m-{}", n % 5)), ..by.clone() };
        let proposal = Proposal {
            state: PatchState::Proposed,
            title: "a patch".into(),
            provenance,
            text: format!("patch {n}").into_bytes(),
            files: vec![FileChange { path: format!("{}.py", step(n % steps)), base: None, result: None }],
            problems: Vec::new(),
        };
        store.import_patch(&proposal).unwrap();
    }
    store.flush();
    then
}

/// A step that reads what the one before it wrote, some names that all read, and a few from further back.
fn execution(n: usize, round: usize, steps: usize) -> Execution {
    let mut execution = Execution::new(step(n), VersionNumber(1), i64::try_from(round).unwrap() * 1_000);
    execution.duration_us = 1_500;
    execution.why = vec![Reason::ValueChanged { names: vec!["df".into()] }];
    let value = |name: &str| Digest::of(format!("{name} {round}"));
    let reads = &mut execution.observation.reads;
    for name in ["df", "np", "pd", "f"] {
        reads.insert(name.into(), Some(value(name)));
    }
    for back in [1, 2, 17, 101] {
        if let Some(from) = n.checked_sub(back) {
            let name = format!("a{from}");
            reads.insert(name.as_str().into(), Some(value(&name)));
        }
    }
    for name in [format!("a{n}"), "df".to_owned(), format!("tmp{}", n % (steps / 10 + 1))] {
        execution.observation.writes.insert(name.as_str().into(), Some(Written::alone(&name, value(&name))));
    }
    let text = format!("step {n} of round {round}: {}\n", "done ".repeat(30));
    execution.output.chunks.push(Chunk { stream: Stream::Stdout, text });
    execution
}

/// An execution that saw the whole of a large namespace and printed much.
fn large(n: usize) -> Execution {
    let mut execution = Execution::new(step(n), VersionNumber(1), 99_000);
    for name in 0..3_000 {
        let name = format!("column_{name}");
        execution.observation.reads.insert(name.as_str().into(), Some(Digest::of(&name)));
    }
    let text: String =
        (0..20_000).map(|line| format!("line {line} of much that was printed, 50 bytes a line\n")).collect();
    execution.output.chunks.push(Chunk { stream: Stream::Stdout, text });
    execution
}
