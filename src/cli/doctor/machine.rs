//! Memory, processors, the system's own limits, and watches.

use std::fs;
use std::path::Path;

use super::{Fact, Standing};
use crate::run::{RunDir, Tree, bytes_text};

/// What the machine offers.
pub(super) fn facts(run: &RunDir) -> Vec<Fact> {
    let mut facts = vec![Fact::ok("system", system())];
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    facts.push(Fact::ok("processors", processors.to_string()));
    facts.extend(memory());
    facts.extend(disk(run.path()));
    facts.extend(own_limits());
    facts.extend(cgroup());
    facts.extend(watches(run));
    facts
}

fn system() -> String {
    #[cfg(unix)]
    {
        let name = rustix::system::uname();
        let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let user = if rustix::process::geteuid().is_root() { "as root" } else { "as an ordinary user" };
        format!("{} {} on {}, {user}", part(name.sysname()), part(name.release()), part(name.machine()))
    }
    #[cfg(not(unix))]
    {
        format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH)
    }
}

/// A line `name: N kB` of a file like `/proc/meminfo`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn memory() -> Option<Fact> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let (all, free) = (kilobytes(&text, "MemTotal")?, kilobytes(&text, "MemAvailable")?);
    let swap = kilobytes(&text, "SwapTotal").unwrap_or_default();
    let swap = if swap == 0 { "no swap".to_owned() } else { format!("{} of swap", bytes_text(swap)) };
    Some(Fact::ok("memory", format!("{} free of {}, {swap}", bytes_text(free), bytes_text(all))))
}

#[cfg(unix)]
fn disk(dir: &Path) -> Option<Fact> {
    let found = rustix::fs::statvfs(dir).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let says = format!("{} free where the run lies", bytes_text(free));
    Some(if free < 64 << 20 {
        Fact::new("disk", Standing::Wrong, says)
            .remedy("free some space: what steps write and what is recorded may not fit")
    } else {
        Fact::ok("disk", says)
    })
}

#[cfg(not(unix))]
fn disk(_dir: &Path) -> Option<Fact> {
    None
}

#[cfg(unix)]
fn own_limits() -> Option<Fact> {
    use rustix::process::{Resource, getrlimit};
    let shown = |resource| match getrlimit(resource).current {
        Some(limit) => limit.to_string(),
        None => "no limit".to_owned(),
    };
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let says = format!("open files {}, processes {}", shown(Resource::Nofile), shown(Resource::Nproc));
    Some(if files < 256 {
        let says = format!("{says}: too few open files for a run with many checkpoints");
        Fact::new("ulimit", Standing::Wrong, says).remedy("ulimit -n 4096")
    } else {
        Fact::ok("ulimit", says)
    })
}

#[cfg(not(unix))]
fn own_limits() -> Option<Fact> {
    None
}

/// The control group: which version, what it limits, and whether this process may make one below it.
fn cgroup() -> Option<Fact> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    let place = |controller: &str| {
        text.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (names, path) = (parts.next()?, parts.next()?);
            names.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let unified = root.join("cgroup.controllers").is_file();
    let (kind, memory, pids, below) = if unified {
        let own = root.join(place("").unwrap_or_default());
        ("version 2", own.join("memory.max"), own.join("pids.max"), own)
    } else {
        let memory = root.join("memory").join(place("memory")?);
        let pids = root.join("pids").join(place("pids")?);
        ("version 1", memory.join("memory.limit_in_bytes"), pids.join("pids.max"), pids)
    };
    let limit = |path: &Path| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // Version 1 says "no limit" by a number near 2^63.
    let memory = limit(&memory).filter(|bytes| *bytes < 1 << 60).map(|bytes| format!(", memory {}", bytes_text(bytes)));
    let pids = limit(&pids).map(|count| format!(", processes {count}"));
    let says = format!("{kind}{}{}", memory.unwrap_or_default(), pids.unwrap_or_default());
    Some(if is_writable(&below) {
        Fact::new("cgroup", Standing::NotUsed, format!("{says}; groups can be made below it"))
    } else {
        Fact::new("cgroup", Standing::Missing, format!("{says}; no group can be made below it"))
    })
}

#[cfg(unix)]
fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable(_path: &Path) -> bool {
    false
}

/// Whether the kernel has watches for the run's directories.
fn watches(run: &RunDir) -> Option<Fact> {
    let limit = |name: &str| -> Option<usize> {
        fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
    };
    let (most, instances) = (limit("max_user_watches")?, limit("max_user_instances")?);
    let wanted = Tree::read(run).directories().count() + 1;
    let says = format!("{wanted} directories to watch, {most} watches and {instances} watchers for all your programs");
    Some(if wanted > most / 2 {
        Fact::new("watching", Standing::Wrong, format!("{says}: the run may have to be polled"))
            .remedy("raise fs.inotify.max_user_watches with sysctl, or name what holds no steps under `[run] exclude`")
    } else {
        Fact::ok("watching", says)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_meminfo_is_read_in_bytes() {
        let text = "MemTotal:       24689512 kB\nMemFree:  5 kB\n";
        assert_eq!(kilobytes(text, "MemTotal"), Some(24_689_512 * 1024));
        assert_eq!(kilobytes(text, "Mem"), None);
    }
}
