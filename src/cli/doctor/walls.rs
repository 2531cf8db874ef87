//! Limits and the policy: what is asked for, and whether anything enforces it.

use std::fs;

use super::interpreter::Probe;
use super::{Fact, Standing};
use crate::run::{Area, Config, Preset, Value};

/// The settings that limit steps, with what keeps each of them.
const LIMITS: [(&str, &str); 6] = [
    ("timeout", "the step is interrupted, then terminated, then killed, with all that it started"),
    ("output_limit", "head and tail are kept, and the step goes on"),
    ("memory", "looked at 20 times a second; the step is killed, with all that it started"),
    ("processes", "counted as they are started where the kernel asks, else looked at 20 times a second"),
    ("open_files", "the system refuses more"),
    ("file_size", "the system refuses more"),
];

/// Each limit with its value, its origin, and what keeps it.
pub(super) fn limits(config: &Config) -> Vec<Fact> {
    let set = |name: &str| config.settings().find(|(key, _)| key.name == name).map(|(_, setting)| setting);
    LIMITS
        .iter()
        .filter_map(|(name, kept)| {
            let setting = set(name)?;
            let says = format!("{} ({})", setting.value, setting.origin);
            Some(match &setting.value {
                Value::None => Fact::ok(name, "no limit"),
                _ => Fact::new(name, Standing::InForce, format!("{says}: {kept}")),
            })
        })
        .collect()
}

/// The policy, what observes, and each wall that the kernel has.
pub(super) fn sandbox(config: &Config, probe: Option<&Probe>) -> Vec<Fact> {
    let areas: Vec<String> =
        Area::ALL.iter().map(|area| format!("{} {}", area.word(), config.policy.default_of(*area))).collect();
    let open = config.policy.preset() == Preset::Trusted && areas.iter().all(|area| area.ends_with("allow"));
    let used = if open { Standing::NotUsed } else { Standing::InForce };
    let mut facts = vec![
        Fact::new("policy", used, format!("{}: {}", config.policy.preset(), areas.join(", "))),
        Fact::new(
            "audit hook",
            Standing::InForce,
            "sees files and imports as steps use them; it observes and stops nothing",
        ),
    ];
    match probe {
        Some(Probe { kernel: Some(kernel), .. }) => {
            let mut wall = |name, standing: Standing, refused: &Option<String>, says: &str| {
                facts.push(match refused {
                    None => Fact::new(name, standing, says.to_owned()),
                    Some(why) => Fact::new(name, Standing::Missing, format!("{says}: {why}")),
                });
            };
            let abi = kernel.landlock_abi.map(|abi| format!(" (ABI {abi})")).unwrap_or_default();
            wall("landlock", used, &kernel.landlock, &format!("files outside the run{abi}"));
            let signals = match kernel.landlock_abi {
                Some(6..) => None,
                Some(abi) => Some(format!("Landlock is of version {abi}, and this needs 6")),
                None => Some("there is no Landlock".to_owned()),
            };
            wall("signals", used, &signals, "to processes that are not the step's own");
            wall("no new privileges", used, &kernel.no_new_privs, "no gain of rights by executing");
            wall("user namespace", used, &kernel.user_namespace, "no power over the system, not even for root");
            wall(
                "bind mounts",
                used,
                &kernel.bind_mount,
                "the steps' own files read-only for steps, trials in their place",
            );
            let network = if config.policy.preset() == Preset::Sealed { used } else { Standing::NotUsed };
            wall("network namespace", network, &kernel.network_namespace, "no network at all, under `sealed`");
            wall("overlay", Standing::NotUsed, &kernel.overlay, "copies serve in its place");
            wall(
                "process namespace",
                Standing::NotUsed,
                &kernel.pid_namespace,
                "what a step leaves is ended with the run",
            );
            if kernel.bind_mount.is_some() {
                let says = if can_ask() {
                    "calls that would change the steps' own files are refused, and what comes through is put back; a trial works in a copy"
                } else {
                    "what a step changes of the steps' own files is put back after it; a trial works in a copy"
                };
                facts.push(Fact::new("in their place", used, says));
            }
        }
        Some(Probe { kernel_unknown: Some(why), .. }) => {
            let says = format!("the interpreter can't ask the kernel: {why}");
            facts.push(Fact::new("namespaces", Standing::Unknown, says));
        }
        Some(_) => facts.push(Fact::new("namespaces", Standing::Missing, "only Linux has what is looked for here")),
        None => facts.push(Fact::new("namespaces", Standing::Unknown, "no interpreter to try them with")),
    }
    facts.extend(seccomp(used));
    facts
}

/// Whether the kernel can have calls wait until they are decided on.
fn can_ask() -> bool {
    has_action("user_notif")
}

fn has_action(action: &str) -> bool {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    actions.split_whitespace().any(|word| word == action)
}

fn seccomp(used: Standing) -> Option<Fact> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let says = "system calls by filter";
    Some(match (has_action("errno"), can_ask()) {
        (true, true) => Fact::new("seccomp", used, format!("{says}, and asking at the call")),
        (true, false) => Fact::new("seccomp", used, format!("{says}; it can't ask, so what would be asked is refused")),
        _ => Fact::new("seccomp", Standing::Missing, format!("{says}: the kernel has none")),
    })
}
