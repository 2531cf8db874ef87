//! Effects in words, and what a step's header said that it would do.

use std::fmt;

use super::Effect;

/// Longest that a started program's arguments are told.
const COMMAND: usize = 200;

impl Effect {
    /// The kind of effect, as in `[policy]` and in a header's `allow`; `None` for what no step can announce.
    pub fn area(&self) -> Option<&'static str> {
        Some(match self {
            Self::Read { .. } => "read",
            Self::Write { .. } | Self::Delete { .. } | Self::Rename { .. } => "write",
            Self::Process { .. } => "process",
            Self::Connect { .. } | Self::Resolve { .. } => "network",
            Self::SetEnv { .. } => "environment",
            Self::Load { .. } => "native",
            Self::GetEnv { .. }
            | Self::Import { .. }
            | Self::Refused { .. }
            | Self::PutBack { .. }
            | Self::Granted { .. }
            | Self::Unguarded { .. }
            | Self::Left { .. } => return None,
        })
    }

    /// The kind of effect in one word, as a document has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::Process { .. } => "process",
            Self::Connect { .. } => "connect",
            Self::Resolve { .. } => "resolve",
            Self::GetEnv { .. } => "get_env",
            Self::SetEnv { .. } => "set_env",
            Self::Load { .. } => "load",
            Self::Import { .. } => "import",
            Self::Refused { .. } => "refused",
            Self::PutBack { .. } => "put_back",
            Self::Granted { .. } => "granted",
            Self::Unguarded { .. } => "unguarded",
            Self::Left { .. } => "left",
        }
    }

    /// Whether it is on a target: a path and what is below it, a host, a program by its name or path, a variable.
    pub fn is_on(&self, target: &str) -> bool {
        let below = |path: &str| {
            let above = target.trim_end_matches('/');
            path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
        };
        match self {
            Self::Read { path } | Self::Write { path } | Self::Delete { path } | Self::Load { path } => below(path),
            Self::Rename { from, to } => below(from) || below(to),
            Self::Process { command } => {
                command.first().is_some_and(|program| program == target || program.rsplit('/').next() == Some(target))
            }
            Self::Connect { address } => address.contains(target),
            Self::Resolve { host } => host == target,
            Self::GetEnv { variable } | Self::SetEnv { variable } => variable == target,
            Self::Import { module } => module == target,
            Self::Refused { target: on, .. } | Self::Granted { target: on, .. } => below(on) || on.contains(target),
            Self::PutBack { what, .. } | Self::Left { what } => what.contains(target),
            Self::Unguarded { .. } => false,
        }
    }

    /// Whether it leaves something behind that others see, or reaches out: what a person should know of.
    pub fn matters(&self) -> bool {
        !matches!(self, Self::Read { .. } | Self::GetEnv { .. } | Self::Import { .. })
    }

    /// Whether an entry of a header's `allow` announces it: `write`, `write:out/`, `network:pypi.org`, `process:git`.
    fn is_announced_by(&self, entry: &str) -> bool {
        let (area, target) = entry.split_once(':').map_or((entry, None), |(area, target)| (area, Some(target.trim())));
        if self.area() != Some(area.trim()) {
            return false;
        }
        let Some(target) = target else { return true };
        let below = |path: &str| {
            let above = target.trim_end_matches('/');
            path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
        };
        match self {
            Self::Read { path } | Self::Write { path } | Self::Delete { path } | Self::Load { path } => below(path),
            Self::Rename { from, to } => below(from) && below(to),
            Self::Process { command } => {
                command.first().is_some_and(|program| program == target || program.rsplit('/').next() == Some(target))
            }
            // An address as Python shows it: ('1.2.3.4', 80).
            Self::Connect { address } => address.contains(target),
            Self::Resolve { host } => host == target,
            Self::SetEnv { variable } => variable == target,
            _ => false,
        }
    }
}

/// Effects that a step's header did not announce. A header that says nothing of effects announces nothing, and then
/// there is nothing to compare with. That a step reads and writes what its header `produces` needs no announcement.
pub fn unannounced<'e>(allow: &[String], produces: &[String], effects: &'e [Effect]) -> Vec<&'e Effect> {
    if allow.is_empty() {
        return Vec::new();
    }
    let expected = |effect: &Effect| {
        let produced = matches!(effect, Effect::Write { path } if produces.contains(path));
        // A read inside the run is what steps are there for.
        let own = matches!(effect, Effect::Read { path } if !path.starts_with('/'));
        produced || own || effect.area().is_none() || allow.iter().any(|entry| effect.is_announced_by(entry))
    };
    effects.iter().filter(|effect| !expected(effect)).collect()
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path } => write!(f, "read {path}"),
            Self::Write { path } => write!(f, "wrote {path}"),
            Self::Delete { path } => write!(f, "removed {path}"),
            Self::Rename { from, to } => write!(f, "renamed {from} to {to}"),
            Self::Process { command } => {
                let line = command.join(" ");
                let short: String = line.chars().take(COMMAND).collect();
                write!(f, "started {short}{}", if short.len() < line.len() { "…" } else { "" })
            }
            Self::Connect { address } => write!(f, "connected to {address}"),
            Self::Resolve { host } => write!(f, "looked up {host}"),
            Self::GetEnv { variable } => write!(f, "read {variable} in the environment"),
            Self::SetEnv { variable } => write!(f, "set {variable} in the environment"),
            Self::Load { path } => write!(f, "loaded {path}"),
            Self::Import { module } => write!(f, "imported {module}"),
            Self::Refused { area, target, why } => write!(f, "was refused {area} {target}: {why}"),
            Self::PutBack { what, failed: None } => write!(f, "{what}, which is put back"),
            Self::PutBack { what, failed: Some(why) } => write!(f, "{what}, which could not be put back: {why}"),
            Self::Granted { area, target, why } => write!(f, "was given leave for {area} {target}: {why}"),
            Self::Unguarded { what } => f.write_str(what),
            Self::Left { what } => write!(f, "left {what} behind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_did_not_announce_is_found() {
        let wrote = |path: &str| Effect::Write { path: path.into() };
        let effects = [
            wrote("out/a.csv"),
            wrote("outer.csv"),
            wrote("model.json"),
            Effect::Read { path: "in.csv".into() },
            Effect::Read { path: "/etc/x".into() },
            Effect::Process { command: vec!["/usr/bin/git".into(), "log".into()] },
            Effect::Process { command: vec!["curl".into()] },
            Effect::Resolve { host: "pypi.org".into() },
            Effect::Import { module: "json".into() },
        ];
        let found = |allow: &[&str]| {
            let allow: Vec<String> = allow.iter().map(|entry| (*entry).to_owned()).collect();
            let found = unannounced(&allow, &["model.json".into()], &effects);
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(found(&[]), "");
        assert_eq!(
            found(&["write:out/", "process:git"]),
            "wrote outer.csv, read /etc/x, started curl, looked up pypi.org"
        );
        assert_eq!(found(&["write", "read", "process", "network:pypi.org"]), "");
    }
}
