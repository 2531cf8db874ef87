//! What the terminal can do, as far as its environment says.

use crate::ui::theme::Depth;

/// What stands between the program and the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Multiplexer {
    /// tmux.
    Tmux,
    /// GNU screen.
    Screen,
}

/// What the environment says of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Colours.
    pub depth: Depth,
    /// Whether text beyond ASCII arrives.
    pub unicode: bool,
    /// Whether the person sits at another machine.
    pub ssh: bool,
    /// What stands between.
    pub multiplexer: Option<Multiplexer>,
    /// Whether underlines may have a colour of their own. Terminals that don't know it take its numbers for other
    /// things, so only those known to have it get it.
    pub underline_colors: bool,
    /// Whether it is asked questions that it may not know: not the Linux console, which prints them, and not a
    /// terminal that says it knows nothing.
    pub answers: bool,
}

impl Capabilities {
    /// From environment variables.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        let multiplexer = if set("TMUX").is_some() || term.starts_with("tmux") {
            Some(Multiplexer::Tmux)
        } else if set("STY").is_some() || term.starts_with("screen") {
            Some(Multiplexer::Screen)
        } else {
            None
        };
        // POSIX: the first of these that is set and not empty decides.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        let modern = ["kitty", "wezterm", "foot", "alacritty", "ghostty", "contour", "rio"];
        let program = set("TERM_PROGRAM").unwrap_or_default();
        // VTE has it since 0.52, and tells its version as 5200.
        let vte = set("VTE_VERSION").and_then(|version| version.parse().ok()).unwrap_or(0);
        let underline_colors = multiplexer.is_none()
            && (modern.iter().any(|name| term.contains(name))
                || matches!(&*program, "iTerm.app" | "vscode" | "WezTerm" | "ghostty")
                || vte >= 5200
                || set("WT_SESSION").is_some());
        let plain = matches!(&*term, "linux" | "dumb" | "vt100" | "vt220" | "ansi" | "");
        Self {
            depth: Depth::detect(&variable),
            unicode: (utf8 && !plain) || cfg!(windows),
            ssh: set("SSH_CONNECTION").is_some() || set("SSH_TTY").is_some(),
            multiplexer,
            underline_colors,
            answers: !plain,
        }
    }

    /// Those of the process's own environment. Variables that are not Unicode count as unset.
    pub fn of_process() -> Self {
        Self::detect(|name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(pairs: &[(&str, &str)]) -> Capabilities {
        Capabilities::detect(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn unicode_wants_a_locale_and_a_terminal_that_have_it() {
        assert!(detect(&[("LANG", "de_DE.UTF-8"), ("TERM", "xterm")]).unicode);
        assert!(detect(&[("LC_CTYPE", "C.utf8"), ("TERM", "foot")]).unicode);
        assert!(!detect(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8"), ("TERM", "xterm")]).unicode);
        assert!(!detect(&[("LANG", "de_DE.UTF-8"), ("TERM", "linux")]).unicode);
        assert!(!detect(&[("TERM", "xterm")]).unicode);
    }

    #[test]
    fn what_stands_between_is_seen() {
        assert_eq!(detect(&[("TMUX", "/tmp/x,1,0"), ("TERM", "xterm")]).multiplexer, Some(Multiplexer::Tmux));
        assert_eq!(detect(&[("TERM", "screen-256color")]).multiplexer, Some(Multiplexer::Screen));
        assert_eq!(detect(&[("TMUX", "/tmp/x"), ("TERM", "screen-256color")]).multiplexer, Some(Multiplexer::Tmux));
        assert!(detect(&[("SSH_CONNECTION", "1 2 3 4")]).ssh);
        assert!(!detect(&[("SSH_TTY", "")]).ssh);
    }

    #[test]
    fn coloured_underlines_are_for_terminals_that_are_known_to_have_them() {
        assert!(detect(&[("TERM", "xterm-kitty")]).underline_colors);
        assert!(detect(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7200")]).underline_colors);
        assert!(!detect(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]).underline_colors);
        assert!(!detect(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")]).underline_colors);
    }

    #[test]
    fn a_console_that_would_print_questions_is_not_asked() {
        assert!(!detect(&[("TERM", "linux")]).answers);
        assert!(!detect(&[("TERM", "dumb")]).answers);
        assert!(detect(&[("TERM", "xterm-256color")]).answers);
    }
}
