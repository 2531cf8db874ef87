//! How the interface is set up: what the settings of a person and of a run say.

use std::path::{Path, PathBuf};

use super::app::key::Chord;
use super::app::keymap::Keymap;
use super::memory;
use crate::run::{Config, RunDir, UserDirs};

/// How the interface is set up. What is left out follows the terminal.
#[derive(Debug, Clone)]
pub struct Options {
    /// A theme by name; what suits the terminal's background when `None`.
    pub theme: Option<String>,
    /// Where a person's own themes lie.
    pub themes: Option<PathBuf>,
    /// Keys by the names of actions, put over the default ones.
    pub keys: Vec<(String, Vec<String>)>,
    /// Whether only ASCII is drawn; what the locale says when `None`.
    pub ascii: Option<bool>,
    /// Whether the mouse is listened to at the start.
    pub mouse: bool,
    /// Whether long lines of output are wrapped at the start.
    pub wrap: bool,
    /// Where what is remembered of the run lies; nothing is remembered when `None`.
    pub memory: Option<PathBuf>,
    /// Where a report is left after a crash.
    pub reports: PathBuf,
    /// What is wrong with the settings, a line each.
    pub problems: Vec<String>,
    /// A key that makes the interface panic, so that what a panic leaves behind can be tried. From
    /// `REWEAVE_PANIC_KEY`; none otherwise.
    pub panic_key: Option<Chord>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            theme: None,
            themes: None,
            keys: Vec::new(),
            ascii: None,
            mouse: true,
            wrap: true,
            memory: None,
            reports: std::env::temp_dir(),
            problems: Vec::new(),
            panic_key: None,
        }
    }
}

impl Options {
    /// As the person's settings and those of the run in `dir` say. What is wrong with them is told on the screen.
    pub fn of_run(dir: &Path) -> Self {
        let user = UserDirs::from_env();
        let panic_key = std::env::var("REWEAVE_PANIC_KEY").ok().and_then(|key| key.parse().ok());
        let options = match RunDir::open(dir) {
            Ok(run) => Self::of(&Config::load(&run, user.as_ref(), Vec::new()), user.as_ref()),
            Err(error) => Self { problems: vec![error.to_string()], ..Self::default() },
        };
        let memory = user.as_ref().map(|user| memory::file(user, dir));
        Self { panic_key, memory, ..options }
    }

    /// The keys in force, and what of the settings can't be used, a line each.
    pub fn keymap(&self) -> (Keymap, Vec<String>) {
        Keymap::configured(
            self.keys.iter().map(|(name, keys)| (name.as_str(), keys.iter().map(String::as_str).collect())),
        )
    }

    fn of(config: &Config, user: Option<&UserDirs>) -> Self {
        let mut problems: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
        let keys = config.keys.as_ref().map(|keys| read_keys(&keys.table, &mut problems)).unwrap_or_default();
        Self {
            theme: Some(config.ui.theme.clone()).filter(|theme| theme != "auto"),
            themes: user.map(UserDirs::themes),
            keys,
            ascii: config.ui.ascii.then_some(true),
            mouse: config.ui.mouse,
            wrap: config.ui.wrap,
            reports: user.map_or_else(std::env::temp_dir, |user| user.state().join("crashes")),
            problems,
            ..Self::default()
        }
    }
}

/// `[keys]`: an action's name, and a key or a list of keys.
fn read_keys(table: &toml::Table, problems: &mut Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut keys = Vec::new();
    for (name, value) in table {
        let given: Option<Vec<String>> = match value {
            toml::Value::String(key) => Some(vec![key.clone()]),
            toml::Value::Array(list) => list.iter().map(|key| key.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        match given {
            Some(given) => keys.push((name.clone(), given)),
            None => problems.push(format!("keys.{name}: write a key or a list of keys, as in [\"x\", \"ctrl-r\"]")),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_one_or_several_and_nothing_else() {
        let table = "run = 'x'\nquit = ['q', 'ctrl-q']\nstop = 3\n".parse().unwrap();
        let mut problems = Vec::new();
        let keys = read_keys(&table, &mut problems);
        assert_eq!(keys, [("quit".into(), vec!["q".into(), "ctrl-q".into()]), ("run".into(), vec!["x".into()])]);
        assert_eq!(problems, ["keys.stop: write a key or a list of keys, as in [\"x\", \"ctrl-r\"]"]);
    }
}
