//! Every setting there is: its name, what it may be, its default, and what a run's own file may do to it.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::DeValue;

use crate::run::toml_text::{self, describe};
use crate::run::units::{self, Size, duration_text, parse_duration, parse_size};

/// A setting.
#[derive(Debug)]
pub struct Key {
    /// Its name, with its table: `run.exclude`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// What it is where nobody says otherwise, as it would be written in the environment.
    pub default: &'static str,
    pub(super) form: Form,
    pub(super) from_run: FromRun,
}

/// What a value must look like.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    OnOff,
    Whole {
        least: u64,
        most: u64,
    },
    /// A time, or `none`.
    Time,
    /// An amount, or a share of what there is, or `none`.
    Amount,
    /// A text; an empty one is none.
    Text,
    Texts,
    Choice(&'static [&'static str]),
}

/// What a run's own file may do to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FromRun {
    /// Anything: it only shapes the run.
    Free,
    /// Make it smaller; larger needs an approval.
    Lower,
    /// Make it stricter; looser needs an approval.
    Tighten,
    /// Nothing without an approval.
    Approve,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing is set.
    None,
    /// On or off.
    OnOff(bool),
    /// A whole number.
    Whole(u64),
    /// A time.
    Time(Duration),
    /// An amount of memory or of bytes.
    Amount(Size),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::OnOff(on) => write!(f, "{on}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Time(time) => f.write_str(&duration_text(*time)),
            Self::Amount(size) => write!(f, "{size}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Texts(texts) => write!(f, "{texts:?}"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::OnOff(on) => serializer.serialize_bool(*on),
            Self::Whole(number) => serializer.serialize_u64(*number),
            Self::Time(time) => serializer.serialize_f64(time.as_secs_f64()),
            Self::Amount(size) => size.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Texts(texts) => texts.serialize(serializer),
        }
    }
}

const fn key(name: &'static str, form: Form, default: &'static str, from_run: FromRun, about: &'static str) -> Key {
    Key { name, about, default, form, from_run }
}

/// All settings but the policy's rules, the keys and the themes, in the order in which they are listed.
pub static KEYS: &[Key] = &[
    key("python", Form::Text, "", FromRun::Approve, "the interpreter: a path, or a name on PATH"),
    key(
        "on_error",
        Form::Choice(&["block", "stop", "continue"]),
        "block",
        FromRun::Free,
        "what follows from a failed step",
    ),
    key(
        "seed",
        Form::Whole { least: 0, most: 4_294_967_295 },
        "0",
        FromRun::Free,
        "seeds random, numpy and the hash of texts",
    ),
    key("threads", Form::Whole { least: 1, most: 4096 }, "1", FromRun::Free, "threads of BLAS and OpenMP"),
    key("timeout", Form::Time, "none", FromRun::Lower, "the longest that a step may take"),
    key("memory", Form::Amount, "80%", FromRun::Lower, "memory of the steps' processes; a share is of what is free"),
    key("output_limit", Form::Amount, "64MB", FromRun::Lower, "output kept of a step, head and tail"),
    key(
        "processes",
        Form::Whole { least: 1, most: 1_000_000 },
        "256",
        FromRun::Lower,
        "processes and threads that steps may have at once",
    ),
    key(
        "open_files",
        Form::Whole { least: 32, most: 1_000_000 },
        "4096",
        FromRun::Lower,
        "files that a process may have open",
    ),
    key("file_size", Form::Amount, "16GB", FromRun::Lower, "the largest file that a step may write"),
    key(
        "checkpoint_memory",
        Form::Amount,
        "25%",
        FromRun::Lower,
        "memory that checkpoints may hold; a share is of all",
    ),
    key("run.exclude", Form::Texts, "", FromRun::Free, "globs of what is no step and holds none"),
    key("run.locked", Form::OnOff, "false", FromRun::Free, "once it runs, only accepted patches change steps"),
    key(
        "policy.preset",
        Form::Choice(&["trusted", "standard", "sealed"]),
        "standard",
        FromRun::Tighten,
        "what steps may do outside their namespace",
    ),
    key("verify.steps", Form::Texts, "", FromRun::Free, "steps that must pass in a trial before a patch is accepted"),
    key("verify.command", Form::Texts, "", FromRun::Approve, "a program that must pass before a patch is accepted"),
    key("verify.reviewer", Form::OnOff, "false", FromRun::Approve, "what the reviewer rejects does not pass"),
    key("agent.command", Form::Texts, "", FromRun::Approve, "the program that is asked for patches"),
    key("agent.reviewer", Form::Texts, "", FromRun::Approve, "a second program that judges them"),
    key("agent.timeout", Form::Time, "10m", FromRun::Approve, "the longest that one answer may take"),
    key("agent.trial", Form::Time, "10m", FromRun::Approve, "the longest that a trial of an answer may take"),
    key("agent.tries", Form::Whole { least: 1, most: 100 }, "3", FromRun::Approve, "the most tries of one repair"),
    key("agent.candidates", Form::Whole { least: 1, most: 16 }, "1", FromRun::Approve, "answers asked for at once"),
    key(
        "agent.budget",
        Form::Whole { least: 100, most: 10_000_000 },
        "8000",
        FromRun::Approve,
        "tokens of context that an agent is shown",
    ),
    key("ui.theme", Form::Text, "auto", FromRun::Free, "a theme's name, or auto: by the terminal's background"),
    key("ui.ascii", Form::OnOff, "false", FromRun::Free, "draw with ASCII only"),
    key("ui.mouse", Form::OnOff, "true", FromRun::Free, "take the mouse"),
    key("ui.wrap", Form::OnOff, "true", FromRun::Free, "wrap long lines"),
    key(
        "ui.images",
        Form::Choice(&["auto", "kitty", "iterm2", "sixel", "blocks", "off"]),
        "auto",
        FromRun::Free,
        "how figures are drawn",
    ),
    key("ui.replay_on_save", Form::OnOff, "false", FromRun::Approve, "run what a saved file makes stale at once"),
    key("ui.editor", Form::Text, "", FromRun::Approve, "the editor, where it is not $VISUAL or $EDITOR"),
];

/// The setting of this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Key {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("REWEAVE_{}", self.name.to_ascii_uppercase().replace('.', "_"))
    }

    /// A value as it stands in a file.
    pub(super) fn read(&self, value: &Spanned<DeValue<'_>>) -> Result<Value, String> {
        let found = value.get_ref();
        let read = match (self.form, found) {
            (Form::Texts, DeValue::Array(items)) => items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map(Value::Texts),
            (Form::Texts, DeValue::String(text)) => return Err(format!("write a list: [{:?}]", &**text)),
            (Form::OnOff, DeValue::Boolean(on)) => Some(Value::OnOff(*on)),
            (Form::OnOff, _) => None,
            (_, DeValue::String(text)) => return self.parse(text),
            (Form::Whole { least, most }, _) => toml_text::integer(found)
                .and_then(|number| u64::try_from(number).ok())
                .filter(|number| (least..=most).contains(number))
                .map(Value::Whole),
            (Form::Time, _) => units::seconds(found).map(Value::Time),
            (Form::Amount, _) => toml_text::integer(found)
                .and_then(|bytes| u64::try_from(bytes).ok())
                .filter(|bytes| *bytes > 0)
                .map(|bytes| Value::Amount(Size::Bytes(bytes))),
            (Form::Text | Form::Choice(_) | Form::Texts, _) => None,
        };
        read.ok_or_else(|| format!("{} is {}: {}", self.name, describe(value), self.wanted()))
    }

    /// A value as it stands in the environment or behind a flag.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let none = matches!(text, "none" | "");
        let parsed = match self.form {
            Form::OnOff => match text {
                "true" | "1" | "on" | "yes" => Some(Value::OnOff(true)),
                "false" | "0" | "off" | "no" | "" => Some(Value::OnOff(false)),
                _ => None,
            },
            Form::Whole { least, most } => {
                text.parse().ok().filter(|number| (least..=most).contains(number)).map(Value::Whole)
            }
            Form::Time | Form::Amount if none => Some(Value::None),
            Form::Time => parse_duration(text).map(Value::Time),
            Form::Amount => parse_size(text).map(Value::Amount),
            Form::Text if text.is_empty() => Some(Value::None),
            Form::Text => Some(Value::Text(text.to_owned())),
            Form::Texts => Some(Value::Texts(text.split_whitespace().map(str::to_owned).collect())),
            Form::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
        };
        parsed.ok_or_else(|| {
            let near = match self.form {
                Form::Choice(words) => toml_text::nearest(text, words.iter().copied()),
                _ => None,
            };
            let near = near.map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
            format!("{} is {text:?}: {}{near}", self.name, self.wanted())
        })
    }

    fn wanted(&self) -> String {
        match self.form {
            Form::OnOff => "give true or false".to_owned(),
            Form::Whole { least, most } => format!("give a whole number from {least} to {most}"),
            Form::Time => "give seconds, a text such as \"90s\" or \"2m\", or \"none\"".to_owned(),
            Form::Amount => "give bytes, a text such as \"64MB\" or \"50%\", or \"none\"".to_owned(),
            Form::Text => "give a text in quotes".to_owned(),
            Form::Texts => "give a list of texts".to_owned(),
            Form::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                format!("give one of {}", words.join(", "))
            }
        }
    }
}

impl Value {
    /// The bound that lets through only what both let through, unless it is looser than `other`: `None` then. A number
    /// of bytes and a share can't be compared before the machine is known: both count.
    pub(super) fn within(&self, other: &Self) -> Option<Self> {
        let tighter = match (self, other) {
            (_, Self::None) => true,
            (Self::Whole(a), Self::Whole(b)) => a <= b,
            (Self::Time(a), Self::Time(b)) => a <= b,
            (Self::Amount(a), Self::Amount(b)) => match (*a, *b) {
                (Size::Bytes(a), Size::Bytes(b)) => a <= b,
                (Size::Share(a), Size::Share(b)) => a <= b,
                (Size::Bytes(bytes), Size::Share(share)) | (Size::Share(share), Size::Bytes(bytes)) => {
                    return Some(Self::Amount(Size::Least { bytes, share }));
                }
                _ => false,
            },
            _ => false,
        };
        tighter.then(|| self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_setting() {
        for key in KEYS {
            key.parse(key.default).unwrap();
            assert!(!key.about.ends_with('.') && key.about.len() < 70, "{}", key.name);
        }
    }

    #[test]
    fn names_are_said_once() {
        let mut names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
        assert_eq!(find("run.exclude").unwrap().variable(), "REWEAVE_RUN_EXCLUDE");
    }
}
