//! Ways out of the run, tried through Python, through `ctypes` and through a program: the kernel denies each of them.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use serde_json::Value;

use crate::common::Run;
use crate::pen::{Pen, Who, in_each, in_those};

/// What a step tries; each line that it prints is what came of one attempt: `name: denied`, or what it got.
fn attempts(outside: &str, tcp: u16) -> String {
    format!(
        r#"
import ctypes, os, signal, socket, struct, subprocess
outside, tcp = {outside:?}, {tcp}
libc = ctypes.CDLL(None, use_errno=True)
DENIED = (1, 13, 30, 16, 18, 101)  # no permission, no access, read-only, busy, another device, no network
def tell(name, what):
    try:
        print(f"{{name}}: {{what()}}")
    except OSError as error:
        print(f"{{name}}: {{'denied' if error.errno in DENIED else repr(error)}}")
def native(name, *given):
    result = getattr(libc, name)(*given)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return f"did {{name}}"
def shell(line):
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    return "denied" if done.returncode else f"did {{line}}"
def address(family, *parts):
    return struct.pack("=H", family) + b"".join(parts)
def connected(family, packed):
    fd = socket.socket(family, socket.SOCK_STREAM)
    return native("connect", fd.fileno(), packed, len(packed))

for place in (outside + "/new", "1.py", ".reweave/new", "patches/new", "reweave.toml", "02_frame/1.py", "link/new"):
    tell(f"write {{place.replace(outside, 'OUT')}} by Python", lambda: open(place, "w"))
    tell(f"write {{place.replace(outside, 'OUT')}} by ctypes", lambda: native("open", place.encode(), os.O_WRONLY | os.O_CREAT, 0o600))
    tell(f"write {{place.replace(outside, 'OUT')}} by a program", lambda: shell(f"echo x >> {{place}}"))
for name, line in (("remove", "rm -f 1.py"), ("rename", "mv 1.py 9.py"), ("replace", "echo x > n.txt; mv -f n.txt 1.py"), ("mode", "chmod 777 1.py"),
                   ("the record", "rm .reweave/store.db"), ("link", "ln 1.py y.txt"),
                   ("the frame", "mv 02_frame away"), ("the inbox", "mv patches away"), ("the whole", "mv $PWD $PWD.away")):
    tell(f"{{name}} by a program", lambda: shell(line))
tell("rename by Python", lambda: os.rename("1.py", "9.py"))
tell("rename the frame by Python", lambda: os.rename("02_frame", "away"))
tell("rename the frame by ctypes", lambda: native("rename", b"link/../02_frame/", b"away") if not os.path.exists("link/../02_frame") else native("rename", b"02_frame/", b"away"))
os.makedirs("empty", exist_ok=True)
tell("exchange the frame", lambda: native("renameat2", -100, b"empty", -100, b"02_frame", 2))
tell("rename over a step", lambda: native("renameat", -100, b"n2.txt", os.open(".", 0), b"1.py") if open("n2.txt", "w") else None)
tell("open again for writing", lambda: open(f"/proc/self/fd/{{os.open('1.py', os.O_RDONLY)}}", "r+"))
tell("open again by a descriptor", lambda: open(f"/dev/fd/{{os.open('1.py', os.O_RDONLY)}}", "r+"))
tell("mode by a descriptor", lambda: os.fchmod(os.open("1.py", os.O_RDONLY), 0o777))
os.symlink(".reweave/made", "dangling")
tell("make through a link", lambda: open("dangling", "w"))
tell("link by ctypes", lambda: native("link", b"1.py", b"z.txt"))
tell("cut by Python", lambda: os.truncate("1.py", 0))
tell("openat2", lambda: "denied" if libc.syscall(437, -100, b"1.py", struct.pack("QQQ", os.O_RDWR, 0, 0), 24) < 0 else "did")
tell("remove by ctypes", lambda: native("unlink", b"1.py"))
secret = outside + "/secret"
tell("read by Python", lambda: open(secret).read())
tell("read by a link", lambda: open("link/secret").read())
tell("read by ctypes", lambda: native("open", secret.encode(), os.O_RDONLY))
tell("read by a program", lambda: shell(f"cat {{secret}}"))
tell("list by Python", lambda: os.listdir(outside))
parent = os.getppid()
tell("environment by Python", lambda: open(f"/proc/{{parent}}/environ").read())
tell("environment by a program", lambda: shell(f"cat /proc/{{parent}}/environ"))
tell("memory by Python", lambda: open(f"/proc/{{parent}}/mem", "rb").read(1))
tell("root by Python", lambda: os.listdir(f"/proc/{{parent}}/root/"))
four = address(2, struct.pack("!H", tcp), bytes([127, 0, 0, 1]), bytes(8))
six = address(10, struct.pack("!HI", tcp, 0), bytes(15) + b"\x01", bytes(4))
unix = outside.encode() + b"/socket"
tell("TCP 4 by Python", lambda: socket.create_connection(("127.0.0.1", tcp)))
tell("TCP 4 by ctypes", lambda: connected(socket.AF_INET, four))
tell("TCP 4 by a program", lambda: shell(f"exec 3<>/dev/tcp/127.0.0.1/{{tcp}}") if os.path.exists("/bin/bash") and False else
     "denied" if subprocess.run(["python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {{tcp}}))"], capture_output=True).returncode else "did")
tell("TCP 6 by ctypes", lambda: connected(socket.AF_INET6, six))
tell("UDP by Python", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", tcp)))
tell("listen by Python", lambda: socket.create_server(("127.0.0.1", 0)))
tell("Unix by Python", lambda: socket.socket(socket.AF_UNIX).connect(unix))
tell("Unix by ctypes", lambda: connected(socket.AF_UNIX, address(1, unix, b"\0")))
tell("Unix by a link", lambda: socket.socket(socket.AF_UNIX).connect("link/socket"))
tell("listen without a port", lambda: socket.socket().listen())
tell("a name for everybody", lambda: socket.socket(socket.AF_UNIX).bind("\0reweave-test"))
tell("no name", lambda: socket.socket(socket.AF_UNIX).bind(""))
tell("a socket in the inbox", lambda: socket.socket(socket.AF_UNIX).bind("patches/socket"))
tell("datagrams in pairs", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
tell("Unix datagrams", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", unix))
tell("UDP by sendmsg", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("::1", tcp)))
tell("a raw socket", lambda: native("socket", 17, 3, 0) if libc.socket(17, 3, 0) >= 0 else "denied")
tell("signal by Python", lambda: os.kill(parent, 0))
tell("signal by ctypes", lambda: native("kill", parent, 0))
tell("signal by a program", lambda: shell(f"kill -0 {{parent}}"))
tell("ptrace by ctypes", lambda: native("ptrace", 16, parent, None, None))
tell("ptrace on the first", lambda: native("ptrace", 16, 1, None, None))
tell("mount by ctypes", lambda: native("mount", b"none", b"/tmp", b"tmpfs", 0, None))
tell("unmount by ctypes", lambda: native("umount2", b"1.py", 2))
tell("a user namespace by ctypes", lambda: native("unshare", 0x10000000))
tell("another root by ctypes", lambda: native("chroot", b"/proc"))
import fcntl, resource
tell("limits of the workbench", lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)))
tell("priority of the workbench", lambda: os.setpriority(os.PRIO_PROCESS, parent, 19))
tell("priority of everybody", lambda: os.setpriority(os.PRIO_USER, 0, 19))
tell("processors of the workbench", lambda: os.sched_setaffinity(parent, {{0}}))
tell("a lock on the record", lambda: fcntl.lockf(open(".reweave/store.db"), fcntl.LOCK_SH) if os.path.exists(".reweave/store.db") else "denied")
tell("another lock on the record", lambda: fcntl.flock(open(".reweave/store.db"), fcntl.LOCK_EX) if os.path.exists(".reweave/store.db") else "denied")
tell("typing into the terminal", lambda: fcntl.ioctl(0, 0x5412, b"x"))
tell("a signal by a descriptor", lambda: signal.pidfd_send_signal(os.pidfd_open(parent), 0) if hasattr(os, "pidfd_open") else "denied")
tell("a signal by a thread", lambda: native("tgkill", parent, parent, 0) if hasattr(libc, "tgkill") else "denied")
def owned():
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, parent)
    return "denied"  # such signals are held back as they are sent
tell("signals by a pipe", owned)
def called(number, *given):
    if libc.syscall(number, *given) < 0:
        return "denied"
    return "did"
if os.uname().machine == "x86_64":
    word = ctypes.create_string_buffer(8)
    part = (ctypes.c_ulong * 2)(ctypes.addressof(word), 8)
    for name, number, given in (
        ("process_vm_readv", 310, (parent, part, 1, part, 1, 0)), ("process_vm_writev", 311, (parent, part, 1, part, 1, 0)),
        ("userfaultfd", 323, (0,)), ("keyctl", 250, (0, -3, 0)), ("add_key", 248, (b"user", b"x", b"y", 1, -3)), ("bpf", 321, (0, None, 0)),
        ("perf_event_open", 298, (None, parent, -1, -1, 0)), ("setns", 308, (0, 0)), ("pidfd_getfd", 438, (0, 0, 0)),
        ("open_by_handle_at", 304, (-100, None, 0)), ("kcmp", 312, (parent, parent, 0, 0, 0)), ("clone3", 435, (None, 0)),
        ("fsopen", 430, (b"tmpfs", 0)), ("open_tree", 428, (-100, b"/", 1)), ("move_mount", 429, (-100, b"", -100, b"", 0)),
        ("pivot_root", 155, (b"/", b"/")), ("io_uring_enter", 426, (0, 0, 0, 0, None)), ("init_module", 175, (None, 0, b"")),
        ("x32 mount", 0x40000000 | 165, (None, None, None, 0, None)), ("process_madvise", 440, (-1, None, 0, 0, 0)),
        ("move_pages", 279, (parent, 0, None, None, None, 0)), ("swapon", 167, (b"/x", 0)), ("settimeofday", 164, (None, None)),
    ):
        tell(name, lambda: called(number, *given))
    def cloned():
        child = libc.syscall(56, 0x10000000 | 17, None, None, None, None)
        if child == 0:
            os._exit(0)
        return "denied" if child < 0 else "did"
    tell("a user namespace by clone", cloned)
def from_memory():
    fd = os.memfd_create("program")
    with open(os.path.realpath("/bin/cat"), "rb") as file:
        os.write(fd, file.read())
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
            os.execve(fd, ["cat", secret], {{}})
        finally:
            os._exit(1)
    return "denied" if os.waitpid(child, 0)[1] else "did"
tell("a program from memory", from_memory)
def descriptors():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            at, flags = os.readlink("/proc/self/fd/" + name), fcntl.fcntl(int(name), fcntl.F_GETFL)
        except OSError:
            continue
        if at.startswith("/") and flags & 3 and not at.startswith((os.getcwd(), "/dev/null", "/memfd:")):
            found.append(at)
    return found or "denied"
tell("descriptors that it inherited", descriptors)
def memory():
    with open("/proc/self/mem", "r+b", buffering=0) as file:
        file.seek(ctypes.addressof(ctypes.create_string_buffer(8)))
        file.write(b"own")
    return "denied"  # its own memory is its own
tell("its own memory", memory)
def watched():
    fd = libc.inotify_init()
    many = sum(libc.inotify_add_watch(fd, place.encode(), 0x2) >= 0 for place in (outside, secret))
    os.close(fd)
    return "denied"  # it may see that something happens, as it may see that something is there
tell("watching outside", watched)
tell("io_uring", lambda: "denied" if libc.syscall(425, 1, None) < 0 else "did")
"#
    )
}

fn escapes_are_denied(pen: &Pen, preset: &str) {
    let outside = tempfile::tempdir().unwrap();
    let place = outside.path().to_str().unwrap();
    fs::write(outside.path().join("secret"), "hidden").unwrap();
    let _unix = UnixListener::bind(outside.path().join("socket")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let step = attempts(place, tcp.local_addr().unwrap().port());
    let run = Run::new(&[
        ("1.py", "kept = 5\n"),
        ("02_frame/1.py", "print(kept)\n"),
        ("3.py", &step),
        ("4.py", "open('made.txt', 'w').write('x')\nprint(open('made.txt').read(), kept)\n"),
        ("patches/note.md", "kept\n"),
        // What is said here counts for programs as well, and `standard` is in force without it.
        (
            "reweave.toml",
            &if preset == "standard" { "# standard\n".into() } else { format!("[policy]\npreset = {preset:?}\n") },
        ),
    ]);
    std::os::unix::fs::symlink(outside.path(), run.file("link")).unwrap();
    let said = pen.call(&run, "run", &["--json"]);
    let document: Value = serde_json::from_str(said.stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{} {}", said.stdout, said.stderr));
    let steps = document["steps"].as_array().unwrap();
    let of = |id: &str| steps.iter().find(|step| step["id"] == id).unwrap();
    assert_eq!(of("4")["stdout"], "x 5\n", "{}", of("4"));
    let hostile = of("3");
    assert_eq!(hostile["error"], Value::Null, "{hostile}");
    let missing = unguarded(pen, &run);
    let lines: Vec<&str> = hostile["stdout"].as_str().unwrap().lines().collect();
    assert!(lines.len() > 50, "{lines:?}");
    let through: Vec<&&str> = lines.iter().filter(|line| !line.ends_with(": denied")).collect();
    if missing.is_empty() {
        assert!(through.is_empty(), "{:?}: {through:#?}", pen.who);
    } else if pen.who == Who::Confined {
        // The calls themselves are refused, where mounts would do it.
        assert!(missing.iter().all(|what| what.contains("namespace")), "{missing:?}");
        assert!(through.is_empty(), "{:?}: {through:#?}", pen.who);
    } else {
        eprintln!("skipped in part as {:?}: {missing:?}; not denied: {through:?}", pen.who);
    }
    if pen.who != Who::Old {
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 2);
    }
    assert_eq!(run.read("02_frame/1.py"), "print(kept)\n");
    assert_eq!(run.read("patches/note.md"), "kept\n");
    assert!(run.read("reweave.toml").contains(preset) && !run.file("patches/new").exists());
    assert_eq!(fs::metadata(run.file("1.py")).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(run.read("1.py"), "kept = 5\n");
    if pen.who == Who::Old {
        let shown = pen.call(&run, "show", &["3"]);
        for what in ["changed 02_frame/1.py", "moved 02_frame to away", "removed .reweave/store.db", "removed 1.py"] {
            assert!(shown.stdout.contains(&format!("{what}, which is put back")), "{what}: {shown}");
        }
    }
    assert_eq!(pen.left(), Vec::<String>::new());
}

/// What the kernel does not enforce here, as the run says.
fn unguarded(pen: &Pen, run: &Run) -> Vec<String> {
    let shown = pen.call(run, "show", &["4", "--json"]);
    let last = shown.stdout.lines().last().unwrap_or_default();
    let document: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{shown}"));
    let effects = document["executions"][0]["effects"].as_array().unwrap().clone();
    let told = effects.iter().filter(|effect| effect["effect"] == "unguarded");
    told.map(|effect| effect["what"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn no_way_out_of_the_standard_policy() {
    in_each(|pen| escapes_are_denied(pen, "standard"));
}

#[test]
fn no_way_out_of_the_sealed_policy() {
    in_each(|pen| escapes_are_denied(pen, "sealed"));
}

/// What Landlock and asking at the call would hold back is not held back there, and that is said; what is the run's own is
/// put back.
#[test]
fn what_an_old_kernel_lets_through_of_the_runs_own_files_is_put_back() {
    in_those(&[Who::Old], |pen| escapes_are_denied(pen, "standard"));
}
