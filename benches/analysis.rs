//! How long it takes to read steps, and to follow one that changed among 10,000.
//!
//! `cargo bench --bench analysis` measures and fails where a limit is passed: the top-level statements of `python3`'s
//! standard library (or `-- steps FILE`: a JSON string a line), and a run of 10,000 steps (`-- change`: that alone).
//! `benches/analysis_peers.py` puts others beside it. `-- fuzz` reads as many mutated sources as `REWEAVE_ANALYSIS_FUZZ` says (a million).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench says what it expects by failing")]

#[path = "../tests/analysis/mutate.rs"]
mod mutate;
#[path = "../tests/interop/random.rs"]
mod random;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use reweave::analysis::{Options, analyze, analyze_all};
use reweave::graph::ExecutionStateGraph;
use reweave::step::{Reason, StepId};

const REPEATS: usize = 9;
/// For 1,000 steps of 800 bytes.
const READ_LIMIT: Duration = Duration::from_millis(100);
const CHANGE_LIMIT: Duration = Duration::from_millis(2);
const STEPS: usize = 10_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fuzz"] => fuzz(),
        ["change"] => verdict(change()),
        ["steps", file] => verdict(read(&std::fs::read_to_string(file).unwrap())),
        _ => {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/analysis_peers.py");
            let output = Command::new("python3").args([script, "split"]).output().unwrap();
            let read = read(&String::from_utf8(output.stdout).unwrap());
            verdict(change() & read)
        }
    }
}

fn verdict(held: bool) -> ExitCode {
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: Duration, mut times: Vec<Duration>) -> bool {
    times.sort();
    let (best, median, worst) = (times[0], times[times.len() / 2], times[times.len() - 1]);
    let verdict = if median <= limit { "ok" } else { "TOO SLOW" };
    println!("  {what:52} best {best:>9.2?}  median {median:>9.2?}  worst {worst:>9.2?}  limit {limit:?}  {verdict}");
    median <= limit
}

fn read(lines: &str) -> bool {
    let steps: Vec<String> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sources: Vec<&str> = steps.iter().map(String::as_str).collect();
    let bytes: usize = sources.iter().map(|source| source.len()).sum();
    println!("{} steps, {} bytes on average", sources.len(), bytes / sources.len());
    let of_800 = |time: Duration| time.mul_f64(800_000.0 / bytes as f64);
    let times = |work: &dyn Fn()| {
        let measure = |_| {
            let start = Instant::now();
            work();
            of_800(start.elapsed())
        };
        (0..REPEATS).map(measure).collect::<Vec<_>>()
    };
    let all = || drop(analyze_all(&sources, &Options::default()));
    let each = || sources.iter().for_each(|source| drop(analyze(source, &Options::default())));
    row("read 1,000 steps of 800 bytes, together", READ_LIMIT, times(&all))
        & row("read 1,000 steps of 800 bytes, one by one", READ_LIMIT, times(&each))
}

fn id(at: usize) -> StepId {
    format!("{at:05}").parse().unwrap()
}

/// A step that reads three of the twelve before it, and calls a function of one in ten.
fn source(at: usize, constant: u64) -> String {
    let read = |back: usize| format!("v{}", (at + 10_000).saturating_sub(back) % 10_000);
    if at < 12 {
        return format!("v{at} = {constant}\ndef f{at}(x): return x + v0\n");
    }
    let call = if at.is_multiple_of(10) { format!("f{}({})", at - 10, read(3)) } else { read(3) };
    format!("v{at} = {} + {} + {call} + {constant}\ndef f{at}(x): return x + v{at}\n", read(1), read(7))
}

fn change() -> bool {
    println!("{STEPS} steps, one of which changes: its analysis, edges, stale marks");
    let mut graph = ExecutionStateGraph::new();
    for at in 0..STEPS {
        graph.add_step(id(at), analyze(&source(at, 1), &Options::default()));
    }
    // What is looked at again is what reads the names that changed, so the worst is a name that all read.
    let mut value = Vec::new();
    let mut names = Vec::new();
    for turn in 0..REPEATS as u64 {
        let at = STEPS - 400 + turn as usize * 30;
        let start = Instant::now();
        graph.add_step(id(at), analyze(&source(at, 2 + turn), &Options::default()));
        graph.mark_stale(&id(at), Reason::SourceChanged).unwrap();
        value.push(start.elapsed());
        let other = format!("{}w{at} = v{}\n", source(at, turn), at - 5);
        let start = Instant::now();
        let changed = graph.add_step(id(at), analyze(&other, &Options::default()));
        graph.mark_stale(&id(at), Reason::SourceChanged).unwrap();
        names.push(start.elapsed());
        assert!(changed.len() <= 1, "only the step itself needs something else: {changed:?}");
    }
    let mut early = Vec::new();
    // The first that any other reads.
    for at in 5..5 + REPEATS {
        let mut graph = graph.clone();
        let start = Instant::now();
        graph.add_step(id(at), analyze(&source(at, 9), &Options::default()));
        let marked = graph.mark_stale(&id(at), Reason::SourceChanged).unwrap();
        early.push(start.elapsed());
        assert!(marked.len() > STEPS / 2, "nearly all steps come after it: {}", marked.len());
    }
    row("a value changes near the end", CHANGE_LIMIT, value)
        & row("names change near the end", CHANGE_LIMIT, names)
        & row("a value changes at the beginning (all turn stale)", CHANGE_LIMIT * 10, early)
}

fn fuzz() -> ExitCode {
    let count = random::times("REWEAVE_ANALYSIS_FUZZ", 1_000_000);
    let first = random::times("REWEAVE_ANALYSIS_SEED", 1);
    let seeds = mutate::seeds();
    let start = Instant::now();
    for seed in first..first + count {
        if seed.is_multiple_of(50_000) {
            println!("{seed} after {:.0?}", start.elapsed());
        }
        mutate::check(seed, &seeds);
    }
    println!("{count} mutated sources of {} seeds read in {:.0?}: none did harm", seeds.len(), start.elapsed());
    ExitCode::SUCCESS
}
