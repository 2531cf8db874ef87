//! One file of settings, read with the line of everything in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{self, KEYS, Value};
use super::policy::{Area, Decision, Layer, Preset, Rule};
use super::{ConfigProblem, RawTable, Severity};
use crate::run::exclude::Exclude;
use crate::run::toml_text::{self, describe};

/// What a file of settings says.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    pub path: PathBuf,
    /// Values by the name of their setting, with their lines.
    pub values: BTreeMap<&'static str, (Value, usize)>,
    /// `[policy]`, and the lines of its areas.
    pub policy: Layer,
    pub policy_lines: BTreeMap<Area, usize>,
    /// Whether something that may have been a policy could not be read: then the strictest preset stands in.
    pub policy_unread: bool,
    /// `[keys]` and `[themes]`, which the screen reads.
    pub keys: Option<RawTable>,
    pub themes: Option<RawTable>,
    pub problems: Vec<ConfigProblem>,
}

/// The tables of a file.
const TABLES: [&str; 7] = ["run", "policy", "verify", "agent", "ui", "keys", "themes"];

impl ConfigFile {
    /// Reads the text of a file. What can't be read is a problem, and the rest counts; a policy that can't be read
    /// counts as the strictest.
    pub fn read(path: &Path, text: &str) -> Self {
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        let (table, faults) = toml_text::parse(text);
        let broken = !faults.is_empty();
        for fault in faults {
            file.say(Severity::Error, fault.line, fault.message);
        }
        for (name, value) in &table {
            let line = toml_text::line(text, name.span());
            let name: &str = name.get_ref();
            match (name, value.get_ref()) {
                ("policy", DeValue::Table(rules)) => file.policy(text, rules),
                ("policy", _) => {
                    file.policy_unread = true;
                    file.say(Severity::Error, line, format!("policy is {}: give a table", describe(value)));
                }
                ("keys", DeValue::Table(raw)) => file.keys = Some(RawTable::of(path, text, raw)),
                ("themes", DeValue::Table(raw)) => file.themes = Some(RawTable::of(path, text, raw)),
                (_, DeValue::Table(inner)) if is_table(name) => {
                    for (key, value) in inner {
                        let line = toml_text::line(text, key.span());
                        file.value(&format!("{name}.{}", key.get_ref()), value, line);
                    }
                }
                _ => file.value(name, value, line),
            }
        }
        // What the lost part would have refused is not known.
        file.policy_unread |= broken && text.contains("policy");
        if file.policy_unread {
            file.policy.preset = Some(Preset::Sealed);
        }
        file.problems.sort_by_key(|problem| problem.line);
        file
    }

    fn say(&mut self, severity: Severity, line: usize, message: impl Into<String>) {
        let file = Some(self.path.clone());
        self.problems.push(ConfigProblem { severity, file, line: Some(line), message: message.into() });
    }

    fn value(&mut self, name: &str, value: &Spanned<DeValue<'_>>, line: usize) {
        let Some(key) = key::find(name) else {
            let known = KEYS.iter().map(|key| key.name).chain(TABLES);
            let message = match toml_text::nearest(name, known) {
                Some(near) => format!("unknown setting {name:?}: did you mean {near:?}?"),
                None => format!("unknown setting {name:?}: `reweave config` lists all"),
            };
            return self.say(Severity::Warning, line, message);
        };
        match key.read(value).and_then(|value| checked(key.name, value)) {
            Ok(value) => {
                if key.name == "policy.preset" {
                    self.policy.preset = preset(&value);
                }
                self.values.insert(key.name, (value, line));
            }
            Err(message) => {
                if key.name == "policy.preset" {
                    self.policy_unread = true;
                }
                self.say(Severity::Error, line, message);
            }
        }
    }

    fn policy(&mut self, text: &str, rules: &DeTable<'_>) {
        for (name, value) in rules {
            let line = toml_text::line(text, name.span());
            let name: &str = name.get_ref();
            if name == "preset" {
                self.value("policy.preset", value, line);
                continue;
            }
            let Some(area) = Area::ALL.into_iter().find(|area| area.word() == name) else {
                let known = Area::ALL.into_iter().map(Area::word).chain(["preset"]);
                let message = match toml_text::nearest(name, known) {
                    Some(near) => format!("unknown policy {name:?}: did you mean {near:?}?"),
                    None => format!(
                        "unknown policy {name:?}: known are preset, read, write, process, network, environment, native"
                    ),
                };
                // It may have been meant to refuse something.
                self.policy_unread = true;
                self.say(Severity::Error, line, message);
                continue;
            };
            let rule = match rule(value).and_then(|rule| self.placed(area, rule)) {
                Ok(rule) => rule,
                Err(message) => {
                    self.say(Severity::Error, line, format!("policy.{name}: {message}; until then it is \"deny\""));
                    Rule { default: Some(Decision::Deny), ..Rule::default() }
                }
            };
            self.policy_lines.insert(area, line);
            self.policy.rules.insert(area, rule);
        }
    }
}

impl ConfigFile {
    /// The same rule with whole paths: `~` is the user's home, and what is relative lies beside the file.
    fn placed(&self, area: Area, mut rule: Rule) -> Result<Rule, String> {
        let of_paths = matches!(area, Area::Read | Area::Write | Area::Native);
        if of_paths && (rule.default == Some(Decision::Ask) || !rule.ask.is_empty()) {
            // The kernel decides on files, and it can't wait for a person.
            return Err(r#"files can't be asked about: say "allow" or "deny""#.to_owned());
        }
        for target in rule.allow.iter_mut().chain(&mut rule.ask).chain(&mut rule.deny) {
            let is_path = of_paths || area == Area::Process && target.contains('/');
            if !is_path {
                continue;
            }
            let path = match (target.as_str(), target.strip_prefix("~/")) {
                ("~", _) | (_, Some(_)) => {
                    let home = std::env::home_dir().ok_or_else(|| format!("{target}: there is no home directory"))?;
                    home.join(target.trim_start_matches('~').trim_start_matches('/'))
                }
                _ => self.path.parent().unwrap_or(Path::new("/")).join(target.as_str()),
            };
            *target = path.to_string_lossy().into_owned();
        }
        Ok(rule)
    }
}

fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(table, _)| table == name))
}

/// What only the whole value shows.
fn checked(name: &str, value: Value) -> Result<Value, String> {
    match (name, &value) {
        ("run.exclude", Value::Texts(globs)) => match Exclude::new(globs.iter().map(String::as_str)) {
            Ok(_) => Ok(value),
            Err((glob, why)) => Err(format!("run.exclude: {glob:?} is no glob: {why}")),
        },
        ("verify.steps", Value::Texts(ids)) => {
            match ids.iter().find_map(|id| id.parse::<crate::step::StepId>().err()) {
                Some(error) => Err(format!("verify.steps: {error}")),
                None => Ok(value),
            }
        }
        _ => Ok(value),
    }
}

pub(super) fn preset(value: &Value) -> Option<Preset> {
    match value {
        Value::Text(word) => {
            [Preset::Trusted, Preset::Standard, Preset::Sealed].into_iter().find(|preset| preset.to_string() == *word)
        }
        _ => None,
    }
}

/// `"ask"`, or a table with `default`, `allow`, `ask` and `deny`.
fn rule(value: &Spanned<DeValue<'_>>) -> Result<Rule, String> {
    let mut rule = Rule::default();
    match value.get_ref() {
        DeValue::String(_) => rule.default = Some(decision(value)?),
        DeValue::Table(table) => {
            for (key, value) in table {
                let list = match &**key.get_ref() {
                    "default" => {
                        rule.default = Some(decision(value)?);
                        continue;
                    }
                    "allow" => &mut rule.allow,
                    "ask" => &mut rule.ask,
                    "deny" => &mut rule.deny,
                    other => return Err(format!("unknown {other:?}: known are default, allow, ask, deny")),
                };
                let DeValue::Array(items) = value.get_ref() else {
                    return Err(format!("{} is {}: give a list of texts", key.get_ref(), describe(value)));
                };
                for item in items.iter() {
                    let text = item.get_ref().as_str().filter(|text| !text.is_empty());
                    let text = text.ok_or_else(|| format!("{} in {} is no target", describe(item), key.get_ref()))?;
                    list.push(text.to_owned());
                }
            }
        }
        _ => return Err(format!("{}: give \"allow\", \"ask\", \"deny\" or a table", describe(value))),
    }
    Ok(rule)
}

fn decision(value: &Spanned<DeValue<'_>>) -> Result<Decision, String> {
    [Decision::Allow, Decision::Ask, Decision::Deny]
        .into_iter()
        .find(|decision| value.get_ref().as_str() == Some(decision.to_string().as_str()))
        .ok_or_else(|| format!("{}: give \"allow\", \"ask\" or \"deny\"", describe(value)))
}
