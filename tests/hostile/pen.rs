//! Where hostile steps are run: under a bound on processes and memory that the system keeps, or not at all.
//!
//! Root's tests are run twice, as root and as an ordinary user, and a third time where user namespaces are switched off,
//! as some systems have them: what holds steps back differs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{Answer, Run, answer};

/// Most processes and threads in a pen.
const PROCESSES: u32 = 400;
/// Most bytes of memory in one.
const MEMORY: u64 = 2 << 30;

/// Who the program is run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Whoever runs the test.
    Present,
    /// An ordinary user.
    Ordinary,
    /// An ordinary user who may have no user namespace, and so no mounts.
    Confined,
    /// The same with a kernel that has no Landlock and can't ask at the call.
    Old,
}

/// A pen for one call of the program after another.
pub struct Pen {
    pub who: Who,
    groups: Vec<PathBuf>,
    /// The system's limit on an ordinary user's processes.
    most: Option<u32>,
    user: Option<User>,
    program: PathBuf,
    /// In the environment of everything in it.
    mark: String,
}

/// An ordinary user that nobody else is.
struct User {
    id: u32,
    home: TempDir,
}

/// Enters the control groups, becomes the user, has a limit, and is the program that it is given.
const ENTER: &str = r#"
import ctypes, os, resource, struct, sys
groups, most, user, confined, old = sys.argv[1:6]
for group in filter(None, groups.split(":")):
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
if confined:
    # In a user namespace that may have none below it, with everybody in it as they are outside.
    libc = ctypes.CDLL(None, use_errno=True)
    me, maps = os.getpid(), {}
    for name, own in (("uid_map", os.geteuid()), ("gid_map", os.getegid())):
        with open(f"/proc/self/{name}") as file:
            everybody = "\n".join(f"{line[0]} {line[0]} {line[2]}" for line in map(str.split, file))
        maps[name] = everybody if os.geteuid() == 0 else f"{own} {own} 1"
    (ready, go), (answer, tell) = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.read(ready, 1)
        try:
            if os.geteuid() != 0:
                maps = {"setgroups": "deny", **maps}
            for name, text in maps.items():
                with open(f"/proc/{me}/{name}", "w") as file:
                    file.write(text)
            os.write(tell, b"d")
        finally:
            os._exit(0)
    if libc.unshare(0x10000000) != 0:
        sys.exit("pen: no user namespace")
    os.write(go, b"g")
    os.close(tell)
    if os.read(answer, 1) != b"d":
        sys.exit("pen: no user namespace")
    os.wait()
    for fd in (ready, go, answer):
        os.close(fd)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
if user:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
if most:
    resource.setrlimit(resource.RLIMIT_NPROC, (int(most), int(most)))
if old:
    libc = ctypes.CDLL(None, use_errno=True)
    seccomp = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    program = [(0x20, 0, 0, 0)]
    for number in (444, 445, 446):
        program += [(0x15, 0, 1, number), (0x06, 0, 0, 0x0005_0000 | 38)]
    program += [(0x15, 0, 3, seccomp), (0x20, 0, 0, 24), (0x45, 0, 1, 8), (0x06, 0, 0, 0x0005_0000 | 22), (0x06, 0, 0, 0x7FFF_0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, head):
        sys.exit("pen: no filter of system calls")
os.execvp(sys.argv[6], sys.argv[6:])
"#;

/// A program that anybody may run, and read: the one that is tested may lie where only its owner looks.
fn for_everybody() -> Result<PathBuf, String> {
    static COPY: OnceLock<Result<(TempDir, PathBuf), String>> = OnceLock::new();
    let copy = COPY.get_or_init(|| {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = dir.path().join("reweave");
        let linked = fs::hard_link(env!("CARGO_BIN_EXE_reweave"), &place);
        linked.or_else(|_| fs::copy(env!("CARGO_BIN_EXE_reweave"), &place).map(|_| ())).map_err(|e| e.to_string())?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        Ok((dir, place))
    });
    copy.as_ref().map(|(_, place)| place.clone()).map_err(Clone::clone)
}

/// Where an ordinary user finds programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Pen {
    /// A pen, or why there can be none: then nothing hostile is run.
    pub fn new(who: Who) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("reweave-hostile-{}-{count}", std::process::id());
        let mut pen = Self {
            who,
            groups: Vec::new(),
            most: None,
            user: None,
            program: PathBuf::from(env!("CARGO_BIN_EXE_reweave")),
            mark: name.clone(),
        };
        if who != Who::Present && is_root() {
            let home = tempfile::tempdir().map_err(|error| error.to_string())?;
            // Within what a container maps.
            let id = 20_000 + (std::process::id() * 16 + count) % 40_000;
            std::os::unix::fs::chown(home.path(), Some(id), Some(id)).map_err(|error| error.to_string())?;
            pen.user = Some(User { id, home });
            pen.program = for_everybody()?;
        }
        pen.groups = groups(&name).unwrap_or_default();
        if pen.user.is_some() {
            pen.most = Some(PROCESSES);
        } else if !is_root() {
            pen.most = Some(PROCESSES + own_processes());
        } else if pen.groups.is_empty() {
            return Err("nothing bounds root's processes here: neither may a control group be made, nor does the \
                        limit for users hold for root"
                .to_owned());
        }
        if who != Who::Present {
            let mut command = pen.command(&pen.program.clone());
            command.arg("--version");
            let said = answer(command, "");
            if said.status != Some(0) {
                return Err(format!("an ordinary user can't run the program here: {}", said.stderr));
            }
        }
        Ok(pen)
    }

    /// Calls `reweave VERB . REST` in the run's directory.
    /// Programs start unasked: they are what the walls are to hold.
    pub fn call(&self, run: &Run, verb: &str, rest: &[&str]) -> Answer {
        run.set_up("[policy]\nprocess.default = \"allow\"\n");
        self.hand_over(run.path());
        let mut command = self.reweave();
        command.env("XDG_CONFIG_HOME", run.settings()).arg(verb).arg(".").args(rest).current_dir(run.path());
        answer(command, "")
    }

    /// A command that runs the program in here.
    pub fn reweave(&self) -> Command {
        self.command(&self.program.clone())
    }

    /// Whether what is run here is run by root.
    pub fn is_root(&self) -> bool {
        self.user.is_none() && is_root()
    }

    /// Makes a directory the user's.
    pub fn hand_over(&self, dir: &Path) {
        let Some(user) = &self.user else { return };
        let mut todo = vec![dir.to_owned()];
        while let Some(path) = todo.pop() {
            std::os::unix::fs::lchown(&path, Some(user.id), Some(user.id)).unwrap();
            if path.is_dir() && !path.is_symlink() {
                todo.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
            }
        }
    }

    /// A command that runs a program in here.
    pub fn command(&self, program: &Path) -> Command {
        let python = if self.user.is_some() { "/usr/bin/python3" } else { "python3" };
        let mut command = Command::new(python);
        let groups: Vec<String> = self.groups.iter().map(|group| group.display().to_string()).collect();
        let most = self.most.map(|most| most.to_string()).unwrap_or_default();
        let user = self.user.as_ref().map(|user| user.id.to_string()).unwrap_or_default();
        let confined = if matches!(self.who, Who::Confined | Who::Old) { "yes" } else { "" };
        let old = if self.who == Who::Old { "yes" } else { "" };
        command.args(["-I", "-c", ENTER, &groups.join(":"), &most, &user, confined, old]).arg(program);
        command.env("REWEAVE_HOSTILE", &self.mark);
        if let Some(user) = &self.user {
            command.env("HOME", user.home.path()).env("PATH", PATH);
            for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "TMPDIR"] {
                command.env_remove(name);
            }
        }
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
        let Some(group) = self.groups.first() else {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let marked = all.filter(|entry| {
                fs::read(entry.path().join("environ"))
                    .is_ok_and(|text| text.windows(mark.len()).any(|part| part == mark.as_bytes()))
            });
            return marked.map(|entry| told(&entry.file_name().to_string_lossy())).collect();
        };
        let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        inside.lines().map(told).collect()
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        for group in &self.groups {
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

/// Runs a test in a pen of each kind that there can be, side by side, and says which can't be and why.
pub fn in_each(test: impl Fn(&Pen) + Sync) {
    let all = [Who::Present, Who::Confined, Who::Ordinary];
    let kinds = if is_root() { &all[..] } else { &all[..2] };
    in_those(kinds, test);
}

/// The same for some kinds.
pub fn in_those(kinds: &[Who], test: impl Fn(&Pen) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for &who in kinds {
            std::thread::Builder::new()
                .name(format!("{who:?}"))
                .spawn_scoped(scope, move || match Pen::new(who) {
                    Ok(pen) => test(&pen),
                    Err(why) => eprintln!("skipped as {who:?}: {why}"),
                })
                .unwrap();
        }
    });
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
