//! All processes that came of one root: which of them are the engine's own, and ending the others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// The processes of one root. What steps leave behind becomes a child of the root, so that nothing gets out of sight.
#[derive(Debug, Clone, Default)]
pub(super) struct Brood(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    root: i32,
    own: BTreeSet<i32>,
}

/// Most processes that are looked for under one.
const TREE_MOST: usize = 100_000;
/// How often what is left is looked for again: each time the kernel may have let a fork that was under way finish.
const SWEEPS: usize = 100;

impl Brood {
    /// The processes of this root.
    pub(super) fn of(root: i32) -> Self {
        Self(Arc::new(Mutex::new(Known { root, own: BTreeSet::from([root]) })))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process that the engine made.
    pub(super) fn add(&self, pid: i32) {
        self.known().own.insert(pid);
    }

    /// A process that the engine is done with.
    pub(super) fn remove(&self, pid: i32) {
        self.known().own.remove(&pid);
    }

    /// What came of the step that runs in `pid`: itself, what it started, and what of that has been left by its
    /// parent; the engine's other processes not.
    pub(super) fn of_step(&self, pid: i32) -> Vec<i32> {
        let known = self.known();
        let others = |found: &i32| *found != pid && known.own.contains(found);
        let mut found = tree(pid, &others);
        for child in children(known.root) {
            if !others(&child) && child != pid && !found.contains(&child) {
                found.extend(tree(child, &others));
            }
        }
        found
    }

    /// Ends all that came of the step in `pid`, itself too, and looks until none is left.
    pub(super) fn end_step(&self, pid: i32) {
        self.end(|| self.of_step(pid));
    }

    /// Ends all that came of the root but the root itself.
    pub(super) fn end_all(&self) {
        let root = self.known().root;
        self.end(|| tree(root, &|_| false).into_iter().filter(|found| *found != root).collect());
    }

    fn end(&self, mut look: impl FnMut() -> Vec<i32>) {
        for _ in 0..SWEEPS {
            let left: Vec<i32> = look().into_iter().filter(|&pid| is_alive(pid)).collect();
            if left.is_empty() {
                return;
            }
            kill_all(&left);
            std::thread::yield_now();
        }
    }
}

/// A process and all that came of it; what is under those that `leave` names is left out with them.
fn tree(pid: i32, leave: &dyn Fn(&i32) -> bool) -> Vec<i32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&pid) = found.get(at)
        && found.len() < TREE_MOST
    {
        at += 1;
        found.extend(children(pid).into_iter().filter(|child| !leave(child)));
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let told = threads.flatten().map(|one| std::fs::read_to_string(one.path().join("children")).unwrap_or_default());
    told.flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// The letter that the kernel gives for how a process stands, `None` if there is none.
pub(super) fn standing(pid: i32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

fn is_alive(pid: i32) -> bool {
    standing(pid).is_some_and(|letter| !matches!(letter, 'Z' | 'X'))
}

/// How many threads a process has.
pub(super) fn threads(pid: i32) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |threads| threads.count() as u64)
}

/// Kills processes, the first one first so that it starts no more.
pub(super) fn kill_all(pids: &[i32]) {
    for pid in pids.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        // One that is gone needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
}
