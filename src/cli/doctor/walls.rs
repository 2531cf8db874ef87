//! Limits and the policy: what is asked for, and whether anything enforces it.

use std::fs;

use super::interpreter::Probe;
use super::{Fact, Standing};
use crate::run::{Area, Config, Value};

/// The settings that limit steps, with what keeps each of them in this version; `None` is nothing yet.
const LIMITS: [(&str, Option<&str>); 6] = [
    ("timeout", Some("the step is stopped")),
    ("output_limit", Some("head and tail are kept, and the step goes on")),
    ("memory", None),
    ("processes", None),
    ("open_files", None),
    ("file_size", None),
];

/// Each limit with its value, its origin, and what keeps it.
pub(super) fn limits(config: &Config) -> Vec<Fact> {
    let set = |name: &str| config.settings().find(|(key, _)| key.name == name).map(|(_, setting)| setting);
    LIMITS
        .iter()
        .filter_map(|(name, kept)| {
            let setting = set(name)?;
            let says = format!("{} ({})", setting.value, setting.origin);
            Some(match (kept, &setting.value) {
                (_, Value::None) => Fact::ok(name, "no limit"),
                (Some(how), _) => Fact::new(name, Standing::InForce, format!("{says}: {how}")),
                (None, _) => Fact::new(name, Standing::NotUsed, format!("{says}: nothing enforces it in this version")),
            })
        })
        .collect()
}

/// The policy, what observes, and each wall that the kernel has.
pub(super) fn sandbox(config: &Config, probe: Option<&Probe>) -> Vec<Fact> {
    let areas: Vec<String> =
        Area::ALL.iter().map(|area| format!("{} {}", area.word(), config.policy.default_of(*area))).collect();
    let mut facts = vec![
        Fact::new(
            "policy",
            Standing::NotUsed,
            format!("{}: {}; nothing enforces it in this version", config.policy.preset(), areas.join(", ")),
        ),
        Fact::new(
            "audit hook",
            Standing::InForce,
            "sees files and imports as steps use them; it observes and stops nothing",
        ),
    ];
    match probe {
        Some(Probe { kernel: Some(kernel), .. }) => {
            let mut wall = |name, refused: &Option<String>, says: &str| {
                facts.push(match refused {
                    None => Fact::new(name, Standing::NotUsed, format!("{says}: the kernel has it")),
                    Some(why) => Fact::new(name, Standing::Missing, format!("{says}: {why}")),
                });
            };
            let abi = kernel.landlock_abi.map(|abi| format!(" (ABI {abi})")).unwrap_or_default();
            wall("landlock", &kernel.landlock, &format!("files and ports by rule{abi}"));
            wall("no new privileges", &kernel.no_new_privs, "no gain of rights by executing");
            wall("user namespace", &kernel.user_namespace, "rights of its own for an ordinary user");
            wall("bind mounts", &kernel.bind_mount, "files kept from being written");
            wall("overlay", &kernel.overlay, "trials that never touch the run's files");
            wall("network namespace", &kernel.network_namespace, "no network at all");
            wall("process namespace", &kernel.pid_namespace, "no process left behind");
        }
        Some(Probe { kernel_unknown: Some(why), .. }) => {
            let says = format!("the interpreter can't ask the kernel: {why}");
            facts.push(Fact::new("namespaces", Standing::Unknown, says));
        }
        Some(_) => facts.push(Fact::new("namespaces", Standing::Missing, "only Linux has what is looked for here")),
        None => facts.push(Fact::new("namespaces", Standing::Unknown, "no interpreter to try them with")),
    }
    facts.extend(seccomp());
    facts
}

fn seccomp() -> Option<Fact> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let says = "system calls by filter";
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let has = |action: &str| actions.split_whitespace().any(|word| word == action);
    Some(match (has("errno"), has("user_notif")) {
        (true, true) => {
            Fact::new("seccomp", Standing::NotUsed, format!("{says}, and asking at the call: the kernel has it"))
        }
        (true, false) => Fact::new("seccomp", Standing::NotUsed, format!("{says}: the kernel has it, but can't ask")),
        _ => Fact::new("seccomp", Standing::Missing, format!("{says}: the kernel has none")),
    })
}
