//! Putting the sources of settings together. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Config;
use super::file::{self, ConfigFile};
use super::key::{FromRun, KEYS, Key, Value, find};
use super::origin::{ConfigProblem, Origin, Setting, Severity, Waiting};
use super::policy::{Layer, Policy};
use super::raw::RawTable;
use super::settings::{AgentSettings, Limits, RunSettings, UiSettings, VerifySettings};
use crate::run::exclude::Exclude;
use crate::run::toml_text;
use crate::step::OnError;

/// What settings are made of. All but the run's own file is the user's.
#[derive(Debug, Default)]
pub struct Sources {
    /// The user's `config.toml`: its path and text.
    pub user: Option<(PathBuf, String)>,
    /// The run's `reweave.toml`: its path, as it is shown, and text.
    pub run: Option<(PathBuf, String)>,
    /// Whether the user approved the run's file as it is.
    pub approved: bool,
    /// The environment: names and values.
    pub environment: Vec<(String, String)>,
    /// Flags: names of settings and values.
    pub flags: Vec<(String, String)>,
}

impl Config {
    /// Puts the sources together. Pure.
    pub fn resolve(sources: &Sources) -> Self {
        let read = |source: &Option<(PathBuf, String)>| {
            source.as_ref().map(|(path, text)| ConfigFile::read(path, text)).unwrap_or_default()
        };
        let (mut user, mut run) = (read(&sources.user), read(&sources.run));
        let mut problems = std::mem::take(&mut user.problems);
        problems.append(&mut run.problems);
        let mut waiting = Vec::new();
        let mut settings = BTreeMap::new();
        for key in KEYS {
            // A default is a value of its own setting: a test says so.
            let default = key.parse(key.default).unwrap_or(Value::None);
            let mut setting = Setting { value: default, origin: Origin::Default };
            if let Some((value, line)) = user.values.remove(key.name) {
                setting = Setting { value, origin: Origin::User { file: user.path.clone(), line } };
            }
            if let Some((value, line)) = run.values.remove(key.name) {
                let granted = match key.from_run {
                    _ if sources.approved => Some(value.clone()),
                    FromRun::Free => Some(value.clone()),
                    FromRun::Lower => value.within(&setting.value),
                    FromRun::Tighten => (file::preset(&value) >= file::preset(&setting.value)).then(|| value.clone()),
                    FromRun::Approve => None,
                };
                match granted {
                    Some(value) => setting = Setting { value, origin: Origin::Run { line } },
                    None => {
                        let asks = format!("{} = {value}", key.name);
                        waiting.push(Waiting { name: key.name.to_owned(), asks, line });
                    }
                }
            }
            override_by_hand(key, &mut setting, sources, &mut problems);
            settings.insert(key.name, setting);
        }
        for raw in [&run.keys, &run.themes].into_iter().flatten() {
            let line = raw.lines.values().min().copied();
            let message = "keys and themes are the user's own: they belong in config.toml".to_owned();
            problems.push(problem(Severity::Warning, Some(&run.path), line, message));
        }
        for (name, _) in &sources.flags {
            if find(name).is_none() {
                let near = toml_text::nearest(name, KEYS.iter().map(|key| key.name));
                let near = near.map(|near| format!(": did you mean {near:?}?")).unwrap_or_default();
                problems.push(problem(Severity::Error, None, None, format!("there is no setting {name:?}{near}")));
            }
        }
        let policy = policy(&mut user, run, &settings, sources.approved, &mut waiting);
        let (keys, themes) = (user.keys, user.themes);
        Self::typed(settings, policy, keys, themes, waiting, problems)
    }

    fn typed(
        settings: BTreeMap<&'static str, Setting>,
        policy: Policy,
        keys: Option<RawTable>,
        themes: Option<RawTable>,
        waiting: Vec<Waiting>,
        mut problems: Vec<ConfigProblem>,
    ) -> Self {
        let value = |name: &str| settings.get(name).map(|setting| &setting.value);
        let text = |name: &str| match value(name) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let texts = |name: &str| match value(name) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        };
        let on = |name: &str| matches!(value(name), Some(Value::OnOff(true)));
        let whole = |name: &str| match value(name) {
            Some(Value::Whole(number)) => *number,
            _ => 0,
        };
        let small = |name: &str| u32::try_from(whole(name)).unwrap_or(u32::MAX);
        let time = |name: &str| match value(name) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        let amount = |name: &str| match value(name) {
            Some(Value::Amount(size)) => Some(*size),
            _ => None,
        };
        let exclude = texts("run.exclude");
        let exclude = Exclude::new(exclude.iter().map(String::as_str)).unwrap_or_else(|(glob, why)| {
            problems.push(problem(Severity::Error, None, None, format!("run.exclude: {glob:?} is no glob: {why}")));
            Exclude::default()
        });
        Self {
            python: text("python"),
            on_error: match text("on_error").as_deref() {
                Some("stop") => OnError::Stop,
                Some("continue") => OnError::Continue,
                _ => OnError::Block,
            },
            seed: small("seed"),
            threads: small("threads"),
            limits: Limits {
                timeout: time("timeout"),
                memory: amount("memory"),
                output: amount("output_limit"),
                processes: whole("processes"),
                open_files: whole("open_files"),
                file_size: amount("file_size"),
            },
            checkpoint_memory: amount("checkpoint_memory"),
            run: RunSettings { exclude, locked: on("run.locked") },
            policy,
            verify: VerifySettings {
                steps: texts("verify.steps").iter().filter_map(|id| id.parse().ok()).collect(),
                command: texts("verify.command"),
                reviewer: on("verify.reviewer"),
            },
            agent: AgentSettings {
                command: texts("agent.command"),
                reviewer: texts("agent.reviewer"),
                timeout: time("agent.timeout"),
                trial: time("agent.trial"),
                tries: small("agent.tries"),
                candidates: small("agent.candidates"),
                budget: whole("agent.budget"),
            },
            ui: UiSettings {
                theme: text("ui.theme").unwrap_or_else(|| "auto".to_owned()),
                ascii: on("ui.ascii"),
                mouse: on("ui.mouse"),
                wrap: on("ui.wrap"),
                images: text("ui.images").unwrap_or_else(|| "auto".to_owned()),
                replay_on_save: on("ui.replay_on_save"),
                editor: text("ui.editor"),
            },
            keys,
            themes,
            waiting,
            claim: None,
            problems,
            settings,
        }
    }
}

fn problem(severity: Severity, file: Option<&Path>, line: Option<usize>, message: String) -> ConfigProblem {
    ConfigProblem { severity, file: file.map(Path::to_owned), line, message }
}

/// Lets the environment and then the flags have their say.
fn override_by_hand(key: &Key, setting: &mut Setting, sources: &Sources, problems: &mut Vec<ConfigProblem>) {
    let variable = key.variable();
    let from_environment = sources
        .environment
        .iter()
        .filter(|(name, _)| *name == variable)
        .map(|(_, text)| (text, Origin::Environment { variable: variable.clone() }));
    let from_flags = sources.flags.iter().filter(|(name, _)| name == key.name).map(|(_, text)| (text, Origin::Flag));
    for (text, origin) in from_environment.chain(from_flags) {
        match key.parse(text) {
            Ok(value) => *setting = Setting { value, origin },
            Err(message) => {
                let by = match &origin {
                    Origin::Environment { variable } => format!("{variable}: "),
                    _ => String::new(),
                };
                problems.push(problem(Severity::Error, None, None, format!("{by}{message}")));
            }
        }
    }
}

/// The policy in force. `settings` hold the preset that the user chose, by file, environment or flag.
fn policy(
    user: &mut ConfigFile,
    run: ConfigFile,
    settings: &BTreeMap<&'static str, Setting>,
    approved: bool,
    waiting: &mut Vec<Waiting>,
) -> Policy {
    let mut base = std::mem::take(&mut user.policy);
    if let Some(setting) = settings.get("policy.preset")
        && !matches!(setting.origin, Origin::Run { .. })
        && !user.policy_unread
    {
        base.preset = file::preset(&setting.value);
    }
    let run_layer = run.policy;
    if run_layer == Layer::default() {
        return Policy::new(base, Vec::new());
    }
    if run_layer.loosens(&base) {
        if approved {
            // The run's word counts where it says something, the user's elsewhere.
            let mut rules = base.rules;
            rules.extend(run_layer.rules);
            return Policy::new(Layer { preset: run_layer.preset.or(base.preset), rules }, Vec::new());
        }
        for (area, rule) in &run_layer.rules {
            let alone = Layer { preset: None, rules: BTreeMap::from([(*area, rule.clone())]) };
            if alone.loosens(&base) {
                let line = run.policy_lines.get(area).copied().unwrap_or(1);
                let asks = format!("policy.{} = {rule}", area.word());
                waiting.push(Waiting { name: format!("policy.{}", area.word()), asks, line });
            }
        }
    }
    Policy::new(base, vec![run_layer])
}
