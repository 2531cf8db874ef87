//! Being asked: a step waits for leave, and gets it from the terminal, the workbench or another command.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;
mod support;

use std::net::{TcpListener, UdpSocket};

use common::Run;
use support::pty::Setup;

/// A run whose second step connects to a port of this machine, and the port's owner.
fn connecting() -> (Run, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let source = format!(
        "import socket\nfor turn in range(2):\n    socket.create_connection((\"127.0.0.1\", {port})).close()\nprint('reached it')\n"
    );
    let run =
        Run::new(&[("1.py", "kept = 5\n"), ("2.py", &source), ("3.py", &source.replace("reached", "also reached"))]);
    (run, listener)
}

#[test]
fn without_anyone_to_ask_it_is_no() {
    let (run, _listener) = connecting();
    let said = run.json("run", &[]);
    let error = &said["steps"][1]["error"];
    assert_eq!(error["type"], "PermissionError", "{said}");
    assert!(error["message"].as_str().unwrap().contains("the policy does not let this run reach 127.0.0.1"), "{error}");
    let shown = run.call("show", &["2"]);
    assert!(shown.stdout.contains("was refused network 127.0.0.1: the policy asks, and nobody is there"), "{shown}");
}

#[test]
fn programs_are_asked_about_but_for_python_shells_and_what_libraries_look_things_up_with() {
    let run = Run::new(&[
        ("1.py", "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(4)']))\n"),
        ("2.py", "import subprocess\nprint(subprocess.check_output('echo one; exit 0', shell=True))\n"),
        ("3.py", "import ctypes.util, platform\nprint(ctypes.util.find_library('c'), len(platform.architecture()))\n"),
        ("4.py", "import subprocess\nsubprocess.run(['true'])\n"),
        ("5.py", "import subprocess\nprint(subprocess.run('/usr/bin/true', shell=True).returncode)\n"),
        ("reweave.toml", "on_error = \"continue\"\n"),
    ]);
    let said = run.json("run", &[]);
    let told = |at: usize| (said["steps"][at]["stdout"].as_str().unwrap(), said["steps"][at]["error"]["type"].as_str());
    assert_eq!(told(0), ("b'4\\n'\n", None), "{said}");
    assert_eq!(told(1), ("b'one\\n'\n", None), "{said}");
    assert_eq!(told(2), ("libc.so.6 2\n", None), "{said}");
    assert_eq!(told(3).1, Some("PermissionError"), "{said}");
    // The shell starts, and what it starts is asked about.
    assert_eq!(told(4), ("126\n", None), "{said}");
    let shown = run.call("show", &["4"]);
    assert!(shown.stdout.contains("was refused process /usr/bin/true: the policy asks"), "{shown}");
    run.set_up("[policy]\nprocess.allow = [\"true\"]\n");
    let said = run.json("replay", &["--from", "5"]);
    assert_eq!(said["steps"][4]["stdout"], "0\n", "{said}");
}

#[test]
fn the_terminal_asks_and_the_step_waits() {
    let (run, _listener) = connecting();
    let mut terminal = Setup::reweave(run.path()).arg("run").arg(".").size(120, 40).start();
    terminal.wait_for("2 wants to connect to 127.0.0.1");
    terminal.keys("y\r").wait_for("reached it");
    // Once is until the step ends: the next one asks again.
    terminal.wait_for("3 wants to connect to 127.0.0.1");
    terminal.keys("n\r").wait_for("1 failed");
    assert_eq!(terminal.wait_exit(), 1);
    let log = run.call("log", &[]);
    assert!(log.stdout.contains("2 wants to connect to 127.0.0.1: yes, once"), "{log}");
}

#[test]
fn the_workbench_asks_and_another_command_answers() {
    let (run, _listener) = connecting();
    let mut terminal = Setup::reweave(run.path()).arg("open").arg(".").size(120, 40).start();
    terminal.wait_for("3 steps").keys("a").wait_for("asks: 2 wants to connect to 127.0.0.1");
    terminal.keys("I").wait_for("later").keys("y").wait_for("3 wants to connect to 127.0.0.1");
    let home = run.path().join(".home");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.current_dir(run.path());
    for (name, place) in [("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")] {
        command.env(name, home.join(place));
    }
    command.env_remove("XDG_RUNTIME_DIR").env_remove("REWEAVE_HOME").args(["answer", ".", "2", "all"]);
    let said = common::answer(command, "");
    assert!(said.stdout.contains("3 wants to connect to 127.0.0.1: yes, always for this run"), "{said}");
    terminal.wait_for("3 fresh").keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

/// Datagrams go to hosts that may be reached and to no others, by whichever call.
#[test]
fn datagrams_go_where_the_policy_says() {
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    let other = UdpSocket::bind(("127.0.0.2", listener.local_addr().unwrap().port())).unwrap();
    let source = format!(
        r#"
import ctypes, socket, struct
port = {port}
socket.getaddrinfo("127.0.0.1", port)
libc = ctypes.CDLL(None, use_errno=True)
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def many(host):
    name = ctypes.create_string_buffer(struct.pack("=H", 2) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8))
    text = ctypes.create_string_buffer(b"many")
    part = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 4))
    one_of = struct.pack("QIxxxxQQQQIxxxxIxxxx", ctypes.addressof(name), 16, ctypes.addressof(part), 1, 0, 0, 0, 0)
    heads = ctypes.create_string_buffer(one_of * 2)
    sent = libc.sendmmsg(one.fileno(), heads, 2, 0)
    if sent < 0:
        raise OSError(ctypes.get_errno(), "sendmmsg")
    return sent, struct.unpack_from("I", heads, 56)[0], struct.unpack_from("I", heads, 120)[0]
for host in ("127.0.0.1", "127.0.0.2"):
    for send in (lambda: one.sendto(b"to", (host, port)), lambda: one.sendmsg([b"mess", b"age"], [], 0, (host, port)), lambda: many(host)):
        try:
            print(send())
        except OSError as error:
            print(error.errno)
pair = socket.socketpair()
pair[0].sendmsg([b"in a ", b"pair"])
print(pair[1].recv(20))
"#,
        port = listener.local_addr().unwrap().port()
    );
    let run = Run::new(&[("1.py", &source)]);
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("reweave");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("config.toml"), "[policy]\nnetwork.allow = [\"127.0.0.1\"]\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.current_dir(run.path()).args(["run", ".", "--json"]).env("XDG_CONFIG_HOME", home.path());
    let said = common::answer(command, "");
    let document: serde_json::Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(document["steps"][0]["stdout"], "2\n7\n(2, 4, 4)\n13\n13\n13\nb'in a pair'\n", "{said}");
    listener.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 16];
    let mut got = || {
        let length = listener.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    assert_eq!([got(), got(), got(), got()].join(" "), "to message many many");
    other.set_nonblocking(true).unwrap();
    assert!(other.recv(&mut [0; 16]).is_err());
}
