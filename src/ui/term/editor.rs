//! The person's own editor, at a line.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// How an editor is told a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineForm {
    /// `+12 path`.
    Plus,
    /// `path:12`.
    Colon,
    /// `--goto path:12`.
    Goto,
    /// `--line 12 path`.
    Option,
    /// Not at all.
    None,
}

/// An editor to be started: what a shell is given, and how it is told a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Editor {
    /// What the person set: words for a shell, since it may hold options and quotes.
    command: String,
}

impl Editor {
    /// From `VISUAL`, then `EDITOR`, then what is installed.
    pub fn choose(variable: impl Fn(&str) -> Option<String>, installed: impl Fn(&str) -> bool) -> Option<Self> {
        let set = ["VISUAL", "EDITOR"].iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
        let found = || ["editor", "vim", "vi", "nano", "emacs"].into_iter().find(|name| installed(name));
        set.or_else(|| found().map(str::to_owned)).map(|command| Self { command })
    }

    /// The person's own, from the process's environment.
    pub fn of_person() -> Option<Self> {
        Self::choose(
            |name| std::env::var(name).ok(),
            |name| {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
            },
        )
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        let words = self.command.split_whitespace();
        // `env A=b vim` and the like: the first word that is a program.
        let program = words.clone().find(|word| *word != "env" && !word.contains('=') && !word.starts_with('-'));
        let program = program.unwrap_or(&self.command).trim_matches(['"', '\'']);
        program.rsplit(['/', '\\']).next().unwrap_or(program)
    }

    fn form(&self) -> LineForm {
        match self.name().trim_end_matches(".exe") {
            "code" | "codium" | "code-insiders" | "cursor" | "windsurf" => LineForm::Goto,
            "hx" | "helix" | "subl" | "zed" | "micro" => LineForm::Colon,
            "kate" | "gedit" | "xed" => LineForm::Option,
            "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "kak" | "joe" | "jed"
            | "ne" | "mg" | "ee" | "editor" | "gvim" | "mcedit" => LineForm::Plus,
            _ => LineForm::None,
        }
    }

    /// The arguments after the editor's own words, for a file at a line from 1.
    fn arguments(&self, path: &Path, line: Option<usize>) -> Vec<OsString> {
        // A name that begins with `-` must not be an option.
        let path = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
        let at_line = |line: usize| {
            let mut with_line = path.clone().into_os_string();
            with_line.push(format!(":{line}"));
            with_line
        };
        match (self.form(), line) {
            (LineForm::Plus, Some(line)) => vec![format!("+{line}").into(), path.into()],
            (LineForm::Colon, Some(line)) => vec![at_line(line)],
            (LineForm::Goto, Some(line)) => vec!["--wait".into(), "--goto".into(), at_line(line)],
            (LineForm::Goto, None) => vec!["--wait".into(), path.into()],
            (LineForm::Option, Some(line)) => vec!["--line".into(), line.to_string().into(), path.into()],
            _ => vec![path.into()],
        }
    }

    /// Runs it on a file and waits until it is closed. The terminal must have been lent
    /// ([`super::Session::lend`]).
    pub fn run(&self, path: &Path, line: Option<usize>) -> io::Result<ExitStatus> {
        self.command(path, line).status()
    }

    #[cfg(unix)]
    fn command(&self, path: &Path, line: Option<usize>) -> Command {
        // As git does: the shell takes the person's words apart, the arguments never pass through it.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{} \"$@\"", self.command)).arg("sh").args(self.arguments(path, line));
        command
    }

    #[cfg(not(unix))]
    fn command(&self, path: &Path, line: Option<usize>) -> Command {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("notepad"));
        command.args(words).args(self.arguments(path, line));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(command: &str) -> Editor {
        Editor { command: command.to_owned() }
    }

    fn arguments(command: &str, path: &str, line: Option<usize>) -> Vec<String> {
        editor(command)
            .arguments(Path::new(path), line)
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn visual_comes_before_editor_and_both_before_what_is_installed() {
        let choose = |pairs: &'static [(&str, &str)]| {
            Editor::choose(
                |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
                |name| name == "nano",
            )
        };
        assert_eq!(choose(&[("VISUAL", "hx"), ("EDITOR", "ed")]), Some(editor("hx")));
        assert_eq!(choose(&[("VISUAL", " "), ("EDITOR", "ed")]), Some(editor("ed")));
        assert_eq!(choose(&[]), Some(editor("nano")));
        assert_eq!(Editor::choose(|_| None, |_| false), None);
    }

    #[test]
    fn each_editor_is_told_the_line_its_own_way() {
        assert_eq!(arguments("vim -u NONE", "/r/a.py", Some(7)), ["+7", "/r/a.py"]);
        assert_eq!(arguments("/usr/bin/hx", "/r/a.py", Some(7)), ["/r/a.py:7"]);
        assert_eq!(arguments("code -n", "/r/a.py", Some(7)), ["--wait", "--goto", "/r/a.py:7"]);
        assert_eq!(arguments("code", "/r/a.py", None), ["--wait", "/r/a.py"]);
        assert_eq!(arguments("ed", "/r/a.py", Some(7)), ["/r/a.py"]);
        assert_eq!(arguments("env TERM=xterm \"/opt/my vim\"", "/r/a.py", None), ["/r/a.py"]);
    }

    #[test]
    fn a_name_is_never_an_option() {
        assert_eq!(arguments("vim", "-c :q.py", None), ["./-c :q.py"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_never_passes_through_the_shell() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a $(touch oops) 'b\".py");
        std::fs::write(&path, "x = 1\n").unwrap();
        let status = editor("sed -i s/1/2/").run(&path, Some(3)).unwrap();
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x = 2\n");
    }
}
