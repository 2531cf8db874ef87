//! The Python that would run the steps, asked itself.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;

use super::{Fact, Standing};
use crate::run::{Config, RunDir, UserDirs, choose_interpreter, show};

const PROBE: &str = include_str!("probe.py");
/// An interpreter on a slow disk takes a second to start; one that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// The oldest Python that steps are executed with.
const OLDEST: [u32; 2] = [3, 9];

/// What the probe says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Probe {
    implementation: String,
    version: String,
    version_info: Vec<u32>,
    environment: bool,
    prefix: String,
    packages: BTreeMap<String, String>,
    fork: bool,
    fork_ms: Option<f64>,
    free_threaded: bool,
    pub kernel: Option<Kernel>,
    pub kernel_unknown: Option<String>,
}

/// What the kernel lets a child of the interpreter do: `None` where it does, else what stood in the way.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Kernel {
    pub user_namespace: Option<String>,
    pub bind_mount: Option<String>,
    pub overlay: Option<String>,
    pub network_namespace: Option<String>,
    pub pid_namespace: Option<String>,
    pub no_new_privs: Option<String>,
    pub landlock_abi: Option<u32>,
    pub landlock: Option<String>,
}

/// What there is to say of the interpreter, and what it said.
pub(super) fn facts(run: &RunDir, config: &Config, user: Option<&UserDirs>) -> (Vec<Fact>, Option<Probe>) {
    let chosen = match choose_interpreter(run, config, user) {
        Ok(chosen) => chosen,
        Err(error) => {
            let fact = Fact::new("python", Standing::Wrong, error.to_string()).remedy(error.hint());
            return (vec![fact], None);
        }
    };
    let mut facts = Vec::new();
    let place = format!("{} ({})", show(&chosen.path), chosen.origin);
    let probe = match ask(&chosen.path) {
        Ok(probe) => probe,
        Err(why) => {
            facts.push(
                Fact::new("python", Standing::Wrong, format!("{place} {why}")).remedy("name another: --python PATH"),
            );
            return (facts, None);
        }
    };
    let version = format!("{} {} at {place}", probe.implementation, probe.version);
    let usable =
        probe.implementation == "CPython" && probe.version_info.get(..2).is_some_and(|found| found >= &OLDEST[..]);
    facts.push(if usable {
        Fact::ok("python", version)
    } else {
        Fact::new("python", Standing::Wrong, version).remedy("steps need CPython 3.9 or later: --python PATH")
    });
    if probe.environment {
        facts.push(Fact::ok("environment", probe.prefix.clone()));
    }
    if let Some(over) = chosen.passed_over {
        let says = format!("{} is not used without your approval", show(&over.environment));
        let says = if over.changed { format!("{says}; it is not what you approved") } else { says };
        facts.push(Fact::new("environment", Standing::NotUsed, says).remedy("reweave config --approve"));
    }
    let packages: Vec<String> = probe.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    facts.push(Fact::ok(
        "packages",
        if packages.is_empty() { "none of those used most".to_owned() } else { packages.join(", ") },
    ));
    facts.push(match (probe.fork, probe.fork_ms) {
        (true, cost) => {
            let cost = cost.map(|ms| format!(", {ms} ms when empty")).unwrap_or_default();
            Fact::new("checkpoints", Standing::InForce, format!("by fork{cost}"))
        }
        (false, _) => {
            Fact::new("checkpoints", Standing::Missing, "this platform has no fork: steps are not executed here")
        }
    });
    if probe.free_threaded {
        facts.push(Fact::ok("threads", "free-threaded: a fork keeps only the thread that forks"));
    }
    (facts, Some(probe))
}

/// Executes the probe. `Err` completes the sentence "this interpreter …".
fn ask(python: &Path) -> Result<Probe, String> {
    let mut child = Command::new(python)
        .args(["-I", "-c", PROBE])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("can't be started: {error}"))?;
    let mut stdout = child.stdout.take().ok_or("gives no answer")?;
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        // Whatever it printed is judged below; the other end may have given up waiting.
        let _ = stdout.read_to_string(&mut text);
        let _ = tell.send(text);
    });
    let text = told.recv_timeout(PATIENCE);
    if matches!(text, Err(RecvTimeoutError::Timeout)) {
        let _ = child.kill();
    }
    let ended = child.wait();
    let text = text.map_err(|_| format!("gives no answer within {} s", PATIENCE.as_secs()))?;
    serde_json::from_str(text.trim()).map_err(|_| match ended {
        Ok(status) if !status.success() => format!("ends with {status}"),
        _ => "answers what no Python would".to_owned(),
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_no_python_is_said_so() {
        let dir = tempfile::tempdir().unwrap();
        let program = |text: &str| {
            let path = dir.path().join("python");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            ask(&path).unwrap_err()
        };
        assert_eq!(program("#!/bin/sh\nexit 3\n"), "ends with exit status: 3");
        assert_eq!(program("#!/bin/sh\necho hello\n"), "answers what no Python would");
        assert!(ask(Path::new("/nowhere/python")).unwrap_err().starts_with("can't be started"));
    }
}
