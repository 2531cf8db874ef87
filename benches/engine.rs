//! What the engine adds to the steps themselves, set beside the same steps executed plainly in one process.
//!
//! ```text
//! REWEAVE_BENCH_PYTHON=path/to/python cargo bench --bench engine
//! ```
//!
//! With an interpreter that has pandas, steps work on a DataFrame; without, on lists. Medians of 5, imports left out on
//! both sides. `peers.py` beside this file runs the same steps in nbclient, papermill and marimo where they are there.

#![allow(clippy::unwrap_used, reason = "a bench says what it expects by failing")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reweave::engine::{Engine, Goal, Leaves, MemoryCalls, MemoryVault, Report, Settings, Task};
use reweave::run::{Policy, Preset};
use reweave::step::{Execution, Kind, VersionNumber};

const REPEATS: usize = 5;
const STEPS: usize = 200;

/// Executes the steps of a JSON file in order in one namespace; prints the seconds that all but the first took.
const PLAIN: &str = "
import json, sys, time
steps = json.load(open(sys.argv[1]))
space = {'__name__': '__main__'}
codes = [compile(text, name, 'exec') for name, text in steps]
exec(codes[0], space)
start = time.perf_counter()
for code in codes[1:]:
    exec(code, space)
print(time.perf_counter() - start)
";

fn main() {
    let python = PathBuf::from(std::env::var("REWEAVE_BENCH_PYTHON").unwrap_or_else(|_| "python3".into()));
    let pandas = Command::new(&python).args(["-c", "import pandas"]).output().is_ok_and(|done| done.status.success());
    let first = if pandas {
        "import pandas as pd, time\ndf = pd.DataFrame({'a': range(1000), 'b': range(1000)})\n"
    } else {
        "import time\ndf = {'a': list(range(1000)), 'b': list(range(1000))}\n"
    };
    println!("{STEPS} steps, {}", if pandas { "pandas" } else { "no pandas" });
    let trivial = |n: usize| match (pandas, n % 4) {
        (true, 0) => format!("v{n} = df['a'].sum() + {n}\n"),
        (true, 1) => format!("v{n} = df[df['b'] > {n}]['a'].mean()\n"),
        (true, 2) => format!("s{n} = df['a'] * {n}\n"),
        (true, _) => format!("print(len(df), {n})\n"),
        (false, 0) => format!("v{n} = sum(df['a']) + {n}\n"),
        (false, 1) => format!("v{n} = sum(x for x in df['b'] if x > {n}) / 2\n"),
        (false, 2) => format!("s{n} = [x * {n} for x in df['a']]\n"),
        (false, _) => format!("print(len(df), {n})\n"),
    };
    let small: Vec<String> = std::iter::once(first.to_owned()).chain((0..STEPS).map(trivial)).collect();
    let (plain, ours, edited) = pair(&python, &small, STEPS / 2);
    let each = |time: Duration| time.as_secs_f64() * 1e3 / STEPS as f64;
    println!(
        "small steps     plain {:7.3} ms a step   reweave {:7.3} ms   overhead {:6.3} ms",
        each(plain),
        each(ours),
        each(ours.saturating_sub(plain))
    );
    println!("  one constant of {STEPS} edited: brought up to date in {edited:.1?}");
    // The policy on and off in turn, so that what else the machine does weighs on both.
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        on.push(reweave(&python, &small, 1, Preset::Standard).0);
        off.push(reweave(&python, &small, 1, Preset::Trusted).0);
    }
    on.sort();
    off.sort();
    let (on, off) = (on[REPEATS / 2], off[REPEATS / 2]);
    println!("  policy          off {off:.2?}   on {on:.2?}   ratio {:.3}", on.as_secs_f64() / off.as_secs_f64());
    let busy: Vec<String> = std::iter::once(first.to_owned())
        .chain((0..STEPS / 2).map(|n| {
            format!("end = time.perf_counter() + 0.02\nwhile time.perf_counter() < end:\n    pass\nv{n} = {n}\n")
        }))
        .collect();
    let (plain, ours, _) = pair(&python, &busy, 0);
    println!(
        "20 ms a step    plain {plain:.2?}   reweave {ours:.2?}   ratio {:.3}",
        ours.as_secs_f64() / plain.as_secs_f64()
    );
    if pandas {
        let with = |more: &str| -> Vec<String> {
            let big = format!(
                "{first}import numpy as np\nbig = pd.DataFrame({{'x': np.zeros(16_000_000), 'y': np.zeros(16_000_000)}})\n"
            );
            std::iter::once(big).chain((0..50).map(|n| format!("{more}\nv{n} = {n}\n"))).collect()
        };
        let (plain, ours, _) = pair(&python, &with("w = df['a'].sum()"), 0);
        println!("256 MB lying by plain {plain:.2?}   reweave {ours:.2?}");
        let (plain, ours, _) = pair(&python, &with("big.iloc[0, 0] += 1"), 0);
        println!(
            "256 MB changed  plain {plain:.2?}   reweave {ours:.2?}   ({:.1?} more a step)",
            ours.saturating_sub(plain) / 50
        );
    }
}

/// Plain, a first full run without the first step, and an update after step `edit` was changed.
fn pair(python: &Path, steps: &[String], edit: usize) -> (Duration, Duration, Duration) {
    let (mut plain, mut ours, mut edited) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        plain.push(plainly(python, steps));
        let (full, again) = reweave(python, steps, edit, Preset::Standard);
        ours.push(full);
        edited.push(again);
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    (median(plain), median(ours), median(edited))
}

fn plainly(python: &Path, steps: &[String]) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let named: Vec<(String, &String)> = steps.iter().enumerate().map(|(n, text)| (format!("{n}.py"), text)).collect();
    let file = dir.path().join("steps.json");
    std::fs::write(&file, serde_json::to_vec(&named).unwrap()).unwrap();
    let done = Command::new(python).args(["-c", PLAIN]).arg(file).env("OMP_NUM_THREADS", "1").output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    Duration::from_secs_f64(said.lines().last().unwrap().parse().unwrap())
}

fn reweave(python: &Path, steps: &[String], edit: usize, preset: Preset) -> (Duration, Duration) {
    let dir = tempfile::tempdir().unwrap();
    let mut engine = Engine::new(Settings {
        dir: dir.path().to_owned(),
        python: python.to_owned(),
        seed: 0,
        timeout: None,
        output_limit: 1 << 20,
        memory: None,
        processes: None,
        open_files: None,
        file_size: None,
        threads: 1,
        checkpoint_memory: Some(4 << 30),
        answered: false,
        ignore: Vec::new(),
        vault: Arc::new(MemoryVault::default()),
        calls: Arc::new(MemoryCalls::default()),
        policy: Policy::of(preset),
        asker: None,
        leaves: Leaves::default(),
    });
    let mut tasks: Vec<Task> = steps
        .iter()
        .enumerate()
        .map(|(n, text)| Task {
            id: format!("s{n:04}").parse().unwrap(),
            kind: Kind::Step,
            source: text.as_str().into(),
            version: VersionNumber(1),
            timeout: None,
            produces: Vec::new(),
            held: Vec::new(),
            answers: Vec::new(),
            forced: None,
        })
        .collect();
    let mut from = Instant::now();
    let mut made: Vec<Arc<Execution>> = Vec::new();
    engine
        .update(&tasks, &Goal::default(), &mut |report| {
            if let Report::Executed { execution, .. } = report {
                assert!(execution.error.is_none(), "{:?}", execution.error);
                if made.is_empty() {
                    from = Instant::now();
                }
                made.push(execution);
            }
        })
        .unwrap();
    let full = from.elapsed();
    for (task, execution) in tasks.iter_mut().zip(made) {
        task.held = vec![execution];
    }
    let task = &mut tasks[edit.max(1)];
    task.source = format!("{}\nw = 1\n", task.source).into();
    let from = Instant::now();
    engine.update(&tasks, &Goal::default(), &mut |_| {}).unwrap();
    (full, from.elapsed())
}
