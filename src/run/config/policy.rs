//! What steps may do outside their namespace: a policy that a person can read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What is done about an effect. Later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It happens.
    Allow,
    /// The step waits for a person's answer; without anyone to ask it is no.
    Ask,
    /// It is refused.
    Deny,
}

/// A kind of effect that the policy decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// Reading files outside the run and what the preset leaves open. Targets are absolute paths.
    Read,
    /// Writing, deleting and renaming files outside the run. Targets are absolute paths.
    Write,
    /// Starting programs. Targets are the program's absolute path.
    Process,
    /// Connections and name look-ups. Targets are `host` or `host:port`.
    Network,
    /// Reading environment variables that could hold secrets. Targets are their names.
    Environment,
    /// Loading native libraries from outside the interpreter's packages. Targets are absolute paths.
    Native,
}

impl Area {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Read, Self::Write, Self::Process, Self::Network, Self::Environment, Self::Native];

    /// The word for it, as in `[policy]`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Process => "process",
            Self::Network => "network",
            Self::Environment => "environment",
            Self::Native => "native",
        }
    }
}

/// A stance from which a policy starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Everything is allowed, and observed.
    Trusted,
    /// The run's directory is writable but for what is the workbench's; no network and no program without asking.
    #[default]
    Standard,
    /// No network and no program at all.
    Sealed,
}

impl Preset {
    /// What it says of an area.
    pub fn decides(self, area: Area) -> Decision {
        match (self, area) {
            (Self::Trusted, _) | (Self::Standard, Area::Environment | Area::Native) => Decision::Allow,
            (Self::Standard, Area::Network | Area::Process) => Decision::Ask,
            (Self::Standard, Area::Read | Area::Write) | (Self::Sealed, _) => Decision::Deny,
        }
    }

    /// As [`Preset::decides`], of one target.
    fn decides_on(self, area: Area, target: &str) -> Decision {
        let decision = self.decides(area);
        if decision == Decision::Ask && area == Area::Process && is_helper(Path::new(target)) {
            return Decision::Allow;
        }
        decision
    }
}

/// What starts other programs, each of which is asked about for itself, and what libraries look things up with:
/// matplotlib its fonts, `ctypes.util` its libraries, `platform` the machine.
const HELPERS: [&str; 15] = [
    "sh", "bash", "dash", "env", "ldconfig", "gcc", "cc", "ld", "objdump", "fc-list", "fc-match", "uname", "lscpu",
    "file", "locale",
];
const SYSTEM: [&str; 5] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];

/// Whether a program is one of those, and where a step can't have put it.
fn is_helper(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    let place = program.parent().and_then(Path::to_str);
    name.is_some_and(|name| HELPERS.contains(&name)) && place.is_some_and(|place| SYSTEM.contains(&place))
}

/// What one file says of one area. The lists name exceptions; where several match, the strictest counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// For what no list names; `None` leaves it to the preset.
    pub default: Option<Decision>,
    /// Targets that are allowed.
    pub allow: Vec<String>,
    /// Targets that are asked about.
    pub ask: Vec<String>,
    /// Targets that are refused.
    pub deny: Vec<String>,
}

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// The stance where no rule says more.
    pub preset: Option<Preset>,
    /// Rules by area.
    pub rules: BTreeMap<Area, Rule>,
}

/// The policy in force: the user's layer, and others that can only tighten it.
///
/// A decision is the strictest that any layer gives. So whatever a run's own file says, nothing is allowed that the
/// user's settings do not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    base: Layer,
    tightened_by: Vec<Layer>,
}

/// What of an area a wall must leave open, since it can't be widened later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// Anything may be allowed or asked about.
    Everything,
    /// Only these targets, as the rules name them.
    Only(Vec<String>),
}

impl Policy {
    /// A preset and nothing else.
    pub fn of(preset: Preset) -> Self {
        Self::new(Layer { preset: Some(preset), ..Layer::default() }, Vec::new())
    }

    /// A policy of the user's own layer, tightened by others.
    pub fn new(base: Layer, tightened_by: Vec<Layer>) -> Self {
        Self { base, tightened_by }
    }

    /// The user's preset.
    pub fn preset(&self) -> Preset {
        self.tightened_by
            .iter()
            .filter_map(|layer| layer.preset)
            .fold(self.base.preset.unwrap_or_default(), Preset::max)
    }

    /// What is done about an effect. Paths are absolute; see [`Area`] for the form of a target.
    pub fn decide(&self, area: Area, target: &str) -> Decision {
        let base = self.base.decide(area, target, self.base.preset.unwrap_or_default());
        self.tightened_by
            .iter()
            .map(|layer| layer.decide(area, target, layer.preset.unwrap_or(Preset::Trusted)))
            .fold(base, Decision::max)
    }

    /// Whether some layer names a target, rather than all of an area.
    pub fn names(&self, area: Area, target: &str) -> bool {
        std::iter::once(&self.base).chain(&self.tightened_by).any(|layer| layer.names(area, target))
    }

    /// What is done about effects that no list names.
    pub fn default_of(&self, area: Area) -> Decision {
        let base = self.base.default_of(area, self.base.preset.unwrap_or_default());
        self.tightened_by
            .iter()
            .map(|layer| layer.default_of(area, layer.preset.unwrap_or(Preset::Trusted)))
            .fold(base, Decision::max)
    }

    /// Targets that some layer refuses by name.
    pub fn refused(&self, area: Area) -> Vec<String> {
        let layers = std::iter::once(&self.base).chain(&self.tightened_by);
        let mut named: Vec<String> =
            layers.filter_map(|layer| layer.rules.get(&area)).flat_map(|rule| rule.deny.iter().cloned()).collect();
        named.sort();
        named.dedup();
        named
    }

    /// Whether some layer asks about targets of an area, or about all of it.
    pub fn asks(&self, area: Area) -> bool {
        let layers = std::iter::once(&self.base).chain(&self.tightened_by);
        self.default_of(area) == Decision::Ask
            || layers.filter_map(|layer| layer.rules.get(&area)).any(|rule| !rule.ask.is_empty())
    }

    /// What a wall must leave open for [`Policy::decide`] to be able to allow it.
    pub fn opening(&self, area: Area) -> Opening {
        let base = self.base.opening(area, self.base.preset.unwrap_or_default());
        self.tightened_by
            .iter()
            .map(|layer| layer.opening(area, layer.preset.unwrap_or(Preset::Trusted)))
            .fold(base, |left, right| left.and(right, area))
    }
}

impl Layer {
    fn default_of(&self, area: Area, preset: Preset) -> Decision {
        self.rules.get(&area).and_then(|rule| rule.default).unwrap_or_else(|| preset.decides(area))
    }

    fn decide(&self, area: Area, target: &str, preset: Preset) -> Decision {
        let named = self.rules.get(&area).and_then(|rule| {
            let named = |list: &[String]| list.iter().any(|pattern| matches(area, pattern, target));
            [(Decision::Deny, &rule.deny), (Decision::Ask, &rule.ask), (Decision::Allow, &rule.allow)]
                .into_iter()
                .find(|(_, list)| named(list))
                .map(|(decision, _)| decision)
        });
        let default = self.rules.get(&area).and_then(|rule| rule.default);
        named.or(default).unwrap_or_else(|| preset.decides_on(area, target))
    }

    /// Whether a rule names a target.
    fn names(&self, area: Area, target: &str) -> bool {
        let named = |list: &Vec<String>| list.iter().any(|pattern| matches(area, pattern, target));
        self.rules.get(&area).is_some_and(|rule| [&rule.allow, &rule.ask, &rule.deny].into_iter().any(named))
    }

    fn opening(&self, area: Area, preset: Preset) -> Opening {
        if self.default_of(area, preset) != Decision::Deny {
            return Opening::Everything;
        }
        let rule = self.rules.get(&area);
        Opening::Only(rule.map(|rule| rule.allow.iter().chain(&rule.ask).cloned().collect()).unwrap_or_default())
    }

    /// Whether it asks for anything that `base` alone would refuse or ask about: then it needs an approval to count in
    /// full.
    pub(super) fn loosens(&self, base: &Self) -> bool {
        let preset = base.preset.unwrap_or_default();
        self.preset.is_some_and(|wanted| wanted < preset)
            || self.rules.iter().any(|(area, rule)| {
                let below = |decision: Decision, target: &str| decision < base.decide(*area, target, preset);
                rule.default.is_some_and(|wanted| wanted < base.default_of(*area, preset))
                    || rule.allow.iter().any(|target| below(Decision::Allow, target))
                    || rule.ask.iter().any(|target| below(Decision::Ask, target))
            })
    }
}

impl Opening {
    fn and(self, other: Self, area: Area) -> Self {
        match (self, other) {
            (Self::Everything, one) | (one, Self::Everything) => one,
            (Self::Only(left), Self::Only(right)) => {
                let within = |one: &String, list: &[String]| list.iter().any(|pattern| matches(area, pattern, one));
                let mut both: Vec<String> = left.iter().filter(|one| within(one, &right)).cloned().collect();
                both.extend(right.iter().filter(|one| within(one, &left) && !left.contains(one)).cloned());
                Self::Only(both)
            }
        }
    }
}

/// Whether a rule's pattern names a target: a path and all below it, a program by path or name, a host with `*.` for
/// what is below it and any port unless one is said, a variable with `*` at its end for a prefix.
fn matches(area: Area, pattern: &str, target: &str) -> bool {
    match area {
        Area::Read | Area::Write | Area::Native => below(Path::new(target), Path::new(pattern)),
        Area::Process if pattern.contains('/') => below(Path::new(target), Path::new(pattern)),
        Area::Process => Path::new(target).file_name().is_some_and(|name| name == pattern),
        Area::Environment => match pattern.strip_suffix('*') {
            Some(prefix) => target.starts_with(prefix),
            None => target == pattern,
        },
        Area::Network => {
            let (host, port) = split_port(target);
            let (wanted, wanted_port) = split_port(pattern);
            let (host, wanted) = (host.trim_end_matches('.').to_ascii_lowercase(), wanted.to_ascii_lowercase());
            let host_matches = match wanted.strip_prefix("*.") {
                Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
                None => wanted == "*" || host == wanted,
            };
            host_matches && wanted_port.is_none_or(|wanted| port == Some(wanted))
        }
    }
}

/// `host` and `port` of `host:port`, `[v6]:port`, `host` or a bare IPv6 address.
fn split_port(address: &str) -> (&str, Option<&str>) {
    if let Some(rest) = address.strip_prefix('[')
        && let Some((host, port)) = rest.split_once(']')
    {
        return (host, port.strip_prefix(':'));
    }
    match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.chars().all(|c| c.is_ascii_digit()) => (host, Some(port)),
        _ => (address, None),
    }
}

/// Whether a path is another or below it, whatever `..` either holds.
fn below(path: &Path, above: &Path) -> bool {
    !above.as_os_str().is_empty() && normal(path).starts_with(normal(above))
}

/// A path without `.` and `..`, by its text alone: what stands there need not exist.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Trusted => "trusted",
            Self::Standard => "standard",
            Self::Sealed => "sealed",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = Vec::new();
        said.extend(self.default.map(|decision| decision.to_string()));
        for (word, list) in [("allow", &self.allow), ("ask", &self.ask), ("deny", &self.deny)] {
            if !list.is_empty() {
                said.push(format!("{word} {}", list.join(" ")));
            }
        }
        f.write_str(&said.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layer(preset: Option<Preset>, area: Area, rule: Rule) -> Layer {
        Layer { preset, rules: BTreeMap::from([(area, rule)]) }
    }

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_presets_say_what_they_promise() {
        let says = |preset| {
            let policy = Policy::new(Layer { preset: Some(preset), ..Layer::default() }, Vec::new());
            Area::ALL.map(|area| format!("{}: {}", area.word(), policy.decide(area, "/x"))).join(", ")
        };
        insta::assert_snapshot!(says(Preset::Trusted), @"read: allow, write: allow, process: allow, network: allow, environment: allow, native: allow");
        insta::assert_snapshot!(says(Preset::Standard), @"read: deny, write: deny, process: ask, network: ask, environment: allow, native: allow");
        insta::assert_snapshot!(says(Preset::Sealed), @"read: deny, write: deny, process: deny, network: deny, environment: deny, native: deny");
        assert_eq!(Policy::new(Layer::default(), Vec::new()).preset(), Preset::Standard);
    }

    #[test]
    fn patterns_name_what_they_say_and_no_more() {
        for (area, pattern, target, expected) in [
            (Area::Read, "/data", "/data/x/y.csv", true),
            (Area::Read, "/data", "/database", false),
            (Area::Read, "/data", "/data/../etc/passwd", false),
            (Area::Write, "", "/x", false),
            (Area::Process, "git", "/usr/bin/git", true),
            (Area::Process, "git", "/usr/bin/gitk", false),
            (Area::Process, "/usr/bin", "/usr/bin/git", true),
            (Area::Network, "pypi.org", "PyPI.org:443", true),
            (Area::Network, "*.example.org", "a.example.org", true),
            (Area::Network, "*.example.org", "example.org", false),
            (Area::Network, "*.example.org", "badexample.org", false),
            (Area::Network, "localhost:8080", "localhost:8081", false),
            (Area::Network, "localhost:8080", "localhost:8080", true),
            (Area::Network, "::1", "[::1]:80", true),
            (Area::Network, "*", "1.2.3.4:5", true),
            (Area::Environment, "AWS_*", "AWS_SECRET", true),
            (Area::Environment, "HOME", "HOMES", false),
        ] {
            assert_eq!(matches(area, pattern, target), expected, "{area:?} {pattern} {target}");
        }
    }

    #[test]
    fn a_run_can_tighten_and_not_loosen() {
        let user = layer(None, Area::Network, Rule { allow: list(&["pypi.org"]), ..Rule::default() });
        let run = layer(
            Some(Preset::Trusted),
            Area::Network,
            Rule { default: Some(Decision::Allow), deny: list(&["pypi.org"]), ..Rule::default() },
        );
        assert!(run.loosens(&user));
        let policy = Policy::new(user.clone(), vec![run]);
        assert_eq!(policy.decide(Area::Network, "pypi.org"), Decision::Deny);
        assert_eq!(policy.decide(Area::Network, "evil.org"), Decision::Ask);
        assert_eq!(policy.preset(), Preset::Standard);
        let tight = layer(Some(Preset::Sealed), Area::Network, Rule { allow: list(&["pypi.org"]), ..Rule::default() });
        assert!(!tight.loosens(&user));
        let policy = Policy::new(user, vec![tight]);
        assert_eq!(policy.decide(Area::Network, "pypi.org"), Decision::Allow);
        assert_eq!(policy.decide(Area::Network, "other.org"), Decision::Deny);
        assert_eq!(policy.opening(Area::Network), Opening::Only(list(&["pypi.org"])));
        assert_eq!(policy.opening(Area::Environment), Opening::Only(Vec::new()));
    }

    #[test]
    fn a_wall_opens_only_what_every_layer_opens() {
        let deny = |allow: &[&str]| {
            layer(None, Area::Read, Rule { default: Some(Decision::Deny), allow: list(allow), ..Rule::default() })
        };
        let policy = Policy::new(deny(&["/data", "/a/b", "/c"]), vec![deny(&["/data/x", "/a", "/d"])]);
        assert_eq!(policy.opening(Area::Read), Opening::Only(list(&["/a/b", "/data/x"])));
    }

    fn decision() -> impl Strategy<Value = Decision> {
        prop::sample::select(vec![Decision::Allow, Decision::Ask, Decision::Deny])
    }

    fn any_layer() -> impl Strategy<Value = Layer> {
        let hosts = prop::collection::vec(prop::sample::select(vec!["a.org", "*.a.org", "b.org:1", "*"]), 0..3);
        let preset = prop::sample::select(vec![Preset::Trusted, Preset::Standard, Preset::Sealed]);
        (prop::option::of(preset), prop::option::of(decision()), hosts.clone(), hosts.clone(), hosts).prop_map(
            |(preset, default, allow, ask, deny)| {
                let rule = Rule { default, allow: list(&allow), ask: list(&ask), deny: list(&deny) };
                layer(preset, Area::Network, rule)
            },
        )
    }

    proptest! {
        #[test]
        fn no_layer_of_a_run_allows_more_than_the_user(user in any_layer(), run in any_layer(),
            target in prop::sample::select(vec!["a.org", "x.a.org", "b.org:1", "b.org:2", "c.org"]))
        {
            let alone = Policy::new(user.clone(), Vec::new()).decide(Area::Network, target);
            let both = Policy::new(user, vec![run]);
            prop_assert!(both.decide(Area::Network, target) >= alone);
            if both.opening(Area::Network) == Opening::Only(Vec::new()) {
                prop_assert_eq!(both.decide(Area::Network, target), Decision::Deny);
            }
        }
    }
}
