//! The terminal, as far as its environment tells.

use std::env;
use std::io::{self, IsTerminal};

use super::{Fact, Standing};

/// What tells of a terminal.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    keys: bool,
    screen: bool,
    size: Option<(u16, u16)>,
    variables: Vec<(&'static str, String)>,
}

const VARIABLES: [&str; 12] = [
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "TMUX",
    "STY",
    "SSH_TTY",
    "LC_ALL",
    "LC_CTYPE",
    "LANG",
    "KITTY_WINDOW_ID",
];

impl Environment {
    /// As this process has it.
    pub fn of_process() -> Self {
        let variable = |name: &'static str| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?));
        Self {
            keys: io::stdin().is_terminal(),
            screen: io::stdout().is_terminal(),
            size: io::stdout().is_terminal().then(|| crossterm::terminal::size().ok()).flatten(),
            variables: VARIABLES.into_iter().filter_map(variable).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the locale's characters are UTF-8: the first of these that is set decides (POSIX).
    fn is_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| self.get(name)).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    }
}

/// What there is to say of the terminal.
pub(super) fn facts(environment: &Environment) -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.push(match (environment.keys, environment.screen) {
        (true, true) => Fact::ok("terminal", "at both ends"),
        (keys, screen) => {
            let lacking = match (keys, screen) {
                (false, false) => "neither standard input nor standard output is one",
                (false, true) => "standard input is none",
                _ => "standard output is none",
            };
            Fact::new("terminal", Standing::Missing, lacking).remedy("the workbench needs one; `reweave run` does not")
        }
    });
    if let Some((columns, rows)) = environment.size {
        let says = format!("{columns}x{rows}");
        facts.push(if columns < 40 || rows < 10 {
            Fact::new("size", Standing::Wrong, says).remedy("the workbench needs 40 columns and 10 rows")
        } else {
            Fact::ok("size", says)
        });
    }
    let kind = environment.get("TERM").unwrap_or("not set");
    let program = environment.get("TERM_PROGRAM").map(|name| format!(", {name}")).unwrap_or_default();
    facts.push(match kind {
        "not set" | "dumb" if environment.screen => {
            Fact::new("kind", Standing::Wrong, format!("TERM is {kind}")).remedy("export TERM=xterm-256color")
        }
        _ => Fact::ok("kind", format!("{kind}{program}")),
    });
    let colours = match (environment.get("NO_COLOR"), environment.get("COLORTERM")) {
        (Some(_), _) => "none: NO_COLOR is set",
        (None, Some("truecolor" | "24bit")) => "16 million",
        (None, _) if kind.contains("256") => "256",
        (None, _) => "16",
    };
    facts.push(Fact::ok("colours", colours));
    facts.push(if environment.is_utf8() {
        Fact::ok("characters", "UTF-8")
    } else {
        let says = "the locale is not UTF-8: lines and marks may come out as others";
        Fact::new("characters", Standing::Missing, says).remedy("export LC_ALL=C.UTF-8, or set ui.ascii = true")
    });
    let within = [("TMUX", "tmux"), ("STY", "screen"), ("SSH_TTY", "ssh")];
    let within: Vec<&str> =
        within.into_iter().filter(|(name, _)| environment.get(name).is_some()).map(|(_, what)| what).collect();
    if !within.is_empty() {
        facts.push(Fact::ok("within", within.join(", ")));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(environment: &Environment) -> String {
        facts(environment)
            .iter()
            .map(|fact| format!("{} {}: {}\n", fact.standing.word(), fact.name, fact.says))
            .collect()
    }

    #[test]
    fn a_good_terminal_is_told_in_a_few_lines() {
        let environment = Environment {
            keys: true,
            screen: true,
            size: Some((120, 40)),
            variables: vec![
                ("TERM", "tmux-256color".into()),
                ("COLORTERM", "truecolor".into()),
                ("TMUX", "x".into()),
                ("LANG", "en_US.UTF-8".into()),
            ],
        };
        insta::assert_snapshot!(said(&environment), @r"
        ok terminal: at both ends
        ok size: 120x40
        ok kind: tmux-256color
        ok colours: 16 million
        ok characters: UTF-8
        ok within: tmux
        ");
    }

    #[test]
    fn what_a_poor_one_lacks_is_told() {
        let variables =
            vec![("LC_ALL", "C".to_owned()), ("LANG", "en_US.UTF-8".to_owned()), ("TERM", "dumb".to_owned())];
        let environment = Environment { keys: false, screen: true, size: Some((30, 9)), variables };
        insta::assert_snapshot!(said(&environment), @r"
        missing terminal: standard input is none
        wrong size: 30x9
        wrong kind: TERM is dumb
        ok colours: 16
        missing characters: the locale is not UTF-8: lines and marks may come out as others
        ");
    }
}
