//! Where hostile steps are run: under a bound on processes and memory that the system keeps, or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Answer, Run, answer};

/// Most processes and threads in a pen.
const PROCESSES: u32 = 400;
/// Most bytes of memory in one.
const MEMORY: u64 = 2 << 30;

/// A pen for one call of the program after another.
pub struct Pen {
    bound: Bound,
    /// In the environment of everything in it.
    mark: String,
}

enum Bound {
    /// Control groups of its own: of processes, and of memory where there is one.
    Groups(Vec<PathBuf>),
    /// The system's limit on an ordinary user's processes.
    User(u32),
}

impl Pen {
    /// A pen, or why there can be none: then nothing hostile is run.
    pub fn new() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("reweave-hostile-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let bound = match groups(&name) {
            Some(groups) => Bound::Groups(groups),
            None if !is_root() => Bound::User(PROCESSES + own_processes()),
            None => {
                return Err("nothing bounds root's processes here: neither may a control group be made, nor does the \
                            limit for users hold for root"
                    .to_owned());
            }
        };
        Ok(Self { bound, mark: name })
    }

    /// Calls `reweave VERB . REST` in the run's directory.
    pub fn call(&self, run: &Run, verb: &str, rest: &[&str]) -> Answer {
        let mut command = self.command(env!("CARGO_BIN_EXE_reweave"));
        command.arg(verb).arg(".").args(rest).current_dir(run.path());
        answer(command, "")
    }

    /// A command that runs a program in here.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        let enter: String = match &self.bound {
            Bound::Groups(groups) => {
                groups.iter().map(|g| format!("echo $$ > {}/cgroup.procs && ", g.display())).collect()
            }
            Bound::User(most) => format!("ulimit -u {most} && "),
        };
        command.args(["-c", &format!("{enter}exec \"$0\" \"$@\""), program]).env("REWEAVE_HOSTILE", &self.mark);
        command
    }

    /// What is still running of all that was started in here; it is given a moment to end.
    pub fn left(&self) -> Vec<String> {
        let from = Instant::now();
        loop {
            let left = self.running();
            if left.is_empty() || from.elapsed() > Duration::from_secs(10) {
                return left;
            }
            std::thread::yield_now();
        }
    }

    fn running(&self) -> Vec<String> {
        let mark = format!("REWEAVE_HOSTILE={}", self.mark);
        let told = |pid: &str| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
        };
        let Bound::Groups(groups) = &self.bound else {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let marked = all.filter(|entry| {
                fs::read(entry.path().join("environ"))
                    .is_ok_and(|text| text.windows(mark.len()).any(|part| part == mark.as_bytes()))
            });
            return marked.map(|entry| told(&entry.file_name().to_string_lossy())).collect();
        };
        let inside = fs::read_to_string(groups[0].join("cgroup.procs")).unwrap_or_default();
        inside.lines().map(told).collect()
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        if let Bound::Groups(groups) = &self.bound {
            for group in groups {
                for pid in fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines() {
                    let _ = Command::new("kill").args(["-9", pid]).status();
                }
                let from = Instant::now();
                while fs::remove_dir(group).is_err() && from.elapsed() < Duration::from_secs(5) {
                    std::thread::yield_now();
                }
            }
        }
    }
}

/// A pen, or the end of the test with the reason.
#[macro_export]
macro_rules! pen_or_skip {
    () => {
        match $crate::pen::Pen::new() {
            Ok(pen) => pen,
            Err(why) => {
                eprintln!("skipped: {why}");
                return;
            }
        }
    };
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t"))
}

fn own_processes() -> u32 {
    let mine = |entry: &fs::DirEntry| fs::read_dir(entry.path().join("fd")).is_ok();
    u32::try_from(fs::read_dir("/proc").unwrap().flatten().filter(mine).count()).unwrap() * 4
}

/// New control groups with bounds, of version 1 or 2.
fn groups(name: &str) -> Option<Vec<PathBuf>> {
    let root = Path::new("/sys/fs/cgroup");
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    if root.join("cgroup.controllers").is_file() {
        let inner = own.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
        let group = root.join(inner).parent()?.join(name);
        fs::create_dir(&group).ok()?;
        if fs::write(group.join("pids.max"), PROCESSES.to_string()).is_err() {
            let _ = fs::remove_dir(&group);
            return None;
        }
        // Where memory is not counted for groups, the step's own limit bounds it.
        let _ = fs::write(group.join("memory.max"), MEMORY.to_string());
        return Some(vec![group]);
    }
    let make = |controller: &str, file: &str, bound: u64| {
        let inner = own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            (parts.next()? == controller).then(|| parts.next())?
        })?;
        let group = root.join(controller).join(inner.trim_start_matches('/')).join(name);
        fs::create_dir(&group).ok()?;
        if fs::write(group.join(file), bound.to_string()).is_err() {
            let _ = fs::remove_dir(&group);
            return None;
        }
        Some(group)
    };
    let processes = make("pids", "pids.max", u64::from(PROCESSES))?;
    Some(std::iter::once(processes).chain(make("memory", "memory.limit_in_bytes", MEMORY)).collect())
}
