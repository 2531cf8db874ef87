//! What a text says that it would do outside its namespace, before anything runs.
//!
//! Words are looked at, no values are known: a text can hide all of this, and can name it without doing it. It warns a
//! person, and protects nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::StepNames;

/// Something that a text names and that reaches outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Outward {
    /// The kind of effect, as in `[policy]`; `code` for text that is run as code.
    pub area: &'static str,
    /// By which names, as they are imported or called.
    pub by: Vec<String>,
}

/// Modules, and functions of modules, with what they reach. A name stands for all below it; the longest counts.
const NAMES: [(&str, &[&str]); 6] = [
    (
        "process",
        &[
            "subprocess",
            "multiprocessing",
            "pty",
            "os.system",
            "os.popen",
            "os.fork",
            "os.forkpty",
            "os.kill",
            "os.killpg",
            "os.posix_spawn",
            "os.posix_spawnp",
            "os.execv",
            "os.execve",
            "os.execvp",
            "os.execvpe",
            "os.execl",
            "os.execlp",
            "os.spawnv",
            "os.spawnl",
            "os.spawnvp",
            "os.spawnlp",
            "concurrent.futures.ProcessPoolExecutor",
            "asyncio.create_subprocess_exec",
            "asyncio.create_subprocess_shell",
            "pexpect",
            "sh",
            "plumbum",
            "invoke",
            "fabric",
            "signal.pthread_kill",
            "joblib.Parallel",
        ],
    ),
    (
        "network",
        &[
            "socket",
            "socketserver",
            "ssl",
            "http",
            "urllib.request",
            "ftplib",
            "smtplib",
            "imaplib",
            "poplib",
            "nntplib",
            "telnetlib",
            "xmlrpc",
            "webbrowser",
            "asyncio.open_connection",
            "asyncio.start_server",
            "requests",
            "httpx",
            "aiohttp",
            "urllib3",
            "websockets",
            "websocket",
            "paramiko",
            "grpc",
            "zmq",
            "boto3",
            "botocore",
            "openai",
            "anthropic",
            "huggingface_hub",
            "google.cloud",
            "azure",
            "redis",
            "pymongo",
            "psycopg",
            "psycopg2",
            "mysql",
            "pymysql",
            "kafka",
            "pika",
            "twisted",
            "tornado",
            "flask",
            "fastapi",
            "uvicorn",
            "pip",
        ],
    ),
    ("native", &["ctypes", "_ctypes", "cffi", "pyximport", "numpy.ctypeslib", "torch.utils.cpp_extension"]),
    (
        "environment",
        &["os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv", "dotenv", "keyring", "getpass"],
    ),
    (
        "write",
        &["shutil.rmtree", "os.chroot", "os.chown", "os.mkfifo", "os.mknod", "os.chdir", "os.symlink", "os.link"],
    ),
    (
        "code",
        &[
            "importlib.import_module",
            "runpy",
            "pickle.load",
            "pickle.loads",
            "dill",
            "cloudpickle.load",
            "cloudpickle.loads",
            "marshal",
            "code.interact",
            "torch.load",
            "joblib.load",
        ],
    ),
]; // fmt: skip

/// Modules that are told by their name alone, where the text itself imports nothing of that name.
const USUAL: [&str; 9] =
    ["os", "subprocess", "socket", "ctypes", "shutil", "requests", "urllib", "pickle", "importlib"];

/// Most names that are told of each kind.
const TOLD: usize = 8;

/// What a step's text reaches, by kind.
///
/// ```
/// use reweave::analysis::{Options, analyze, outward};
/// let names = analyze("import subprocess as sp\nfrom os import environ\nsp.run(['ls'])\nopen('/etc/hosts')", &Options::default());
/// let told: Vec<String> = outward(&names).iter().map(ToString::to_string).collect();
/// assert_eq!(told, ["environment: os.environ", "files outside the run: /etc/hosts", "process: subprocess.run"]);
/// ```
pub fn outward(names: &StepNames) -> Vec<Outward> {
    let mut aliases: BTreeMap<&str, String> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for import in &names.imports {
        let full = match &import.item {
            Some(item) if item != "*" => format!("{}.{item}", import.module),
            _ => import.module.clone(),
        };
        let bound = import.binds.as_deref().unwrap_or_default();
        let whole = import.item.is_some() || bound != import.module.split('.').next().unwrap_or_default();
        if !bound.is_empty() {
            // `import a.b` binds `a`.
            aliases.insert(bound, if whole { full.clone() } else { bound.to_owned() });
        }
        named.insert(full);
    }
    for call in names.unknown_calls.iter().chain(&names.parts_called) {
        let (first, rest) = call.split_once('.').map_or((call.as_str(), None), |(first, rest)| (first, Some(rest)));
        named.insert(match (aliases.get(first), rest) {
            (Some(full), Some(rest)) => format!("{full}.{rest}"),
            (Some(full), None) => full.clone(),
            // Imported by an earlier step, perhaps; other names are more likely to be values.
            (None, _) if USUAL.contains(&first) && !names.writes.contains_key(first) => call.clone(),
            (None, _) => continue,
        });
    }
    let mut found: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for name in &named {
        if let Some(area) = area(name) {
            found.entry(area).or_default().insert(name.clone());
        }
    }
    for path in &names.paths {
        found.entry("files outside the run").or_default().insert(path.clone());
    }
    if let Some(why) = &names.opaque {
        found.entry("code").or_default().insert(why.clone());
    }
    let told = |(area, by): (&'static str, BTreeSet<String>)| {
        // A module that is told by what is called of it needs no line of its own.
        let below =
            |name: &String| by.iter().any(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        let by: Vec<String> = by.iter().filter(|name| !below(name)).cloned().collect();
        Outward { area, by }
    };
    found.into_iter().map(told).collect()
}

fn area(name: &str) -> Option<&'static str> {
    let holds = |known: &&str| name == *known || name.strip_prefix(*known).is_some_and(|rest| rest.starts_with('.'));
    let all = NAMES
        .iter()
        .flat_map(|(area, known)| known.iter().filter(|known| holds(known)).map(|known| (known.len(), *area)));
    all.max().map(|(_, area)| area)
}

/// Whether a path that a text names leads out of the run.
pub(super) fn leads_out(path: &str) -> bool {
    let path = path.strip_prefix("file://").unwrap_or(path);
    path.starts_with('/') && path.len() > 1 || path.starts_with("~/") || path == ".." || path.starts_with("../")
}

impl fmt::Display for Outward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<&str> = self.by.iter().take(TOLD).map(String::as_str).collect();
        write!(f, "{}: {}", self.area, told.join(", "))?;
        match self.by.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Options, analyze};

    fn told(source: &str) -> String {
        let all = outward(&analyze(source, &Options::default()));
        all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_reaches_outside_is_told_by_its_full_name() {
        for (source, expected) in [
            ("x = 1\nprint(len([x]))\n", ""),
            ("import json, math, numpy as np\nnp.zeros(3)\n", ""),
            ("import os\nos.path.join('a', 'b')\nos.makedirs('out')\n", ""),
            ("import os\nos.system('ls')\n", "process: os.system"),
            ("from os import system as run_it\nrun_it('ls')\n", "process: os.system"),
            ("def f():\n    import requests\n    return requests.get('http://x')\n", "network: requests.get"),
            ("import urllib.request\nurllib.request.urlopen('http://x')\n", "network: urllib.request.urlopen"),
            ("import urllib.parse\nurllib.parse.quote('x')\n", ""),
            ("import ctypes\n", "native: ctypes"),
            ("import os\nos.environ.get('HOME')\n", "environment: os.environ.get"),
            // Imported by an earlier step.
            ("subprocess.run(['ls'])\n", "process: subprocess.run"),
            ("open('../x')\nopen('out.txt', 'w')\n", "files outside the run: ../x"),
            ("import pandas as pd\npd.read_csv('~/data.csv')\n", "files outside the run: ~/data.csv"),
            ("exec(text)\n", "code: "),
        ] {
            let found = told(source);
            assert!(
                if expected.ends_with(": ") { found.starts_with(expected) } else { found == expected },
                "{source:?}: {found}"
            );
        }
    }
}
