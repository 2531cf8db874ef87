//! IPython's own syntax, written as Python of the same length: magics, `!` lines, `?`, cells in other languages.
//!
//! Only what begins a statement, or is assigned, is looked at, never what stands in strings or brackets.
//! Nothing moves, so that places in the text stay what they are. What runs Python in the run's namespace stays
//! Python; of commands, what IPython fills in (`{x}`, `$x`) stays. A magic that is not known may do anything
//! to the namespace, and makes the step opaque.

use std::ops::Range;

use rustpython_parser::{Parse, ast};

use super::lexical::{self, Kind, Token};
use super::{Certainty, StepNames};

/// A source without IPython's syntax.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Translation {
    /// Python, of the length of what it was made from.
    pub text: String,
    /// Names that magics bind: `%%capture out`.
    pub binds: Vec<String>,
    /// Why a magic may do anything to the namespace, if one may.
    pub opaque: Option<String>,
    /// Whether the body runs in a function of its own, so that what it binds does not last (`%%timeit`).
    pub detached: bool,
}

impl Translation {
    /// Adds what IPython does with the source to what Python does with it.
    pub fn add_to(&self, names: &mut StepNames) {
        if self.detached {
            names.writes.values_mut().for_each(|how| *how = Certainty::Possible);
        }
        for name in &self.binds {
            names.writes.insert(name.as_str().into(), Certainty::Certain);
        }
        if self.opaque.is_some() {
            names.opaque.clone_from(&self.opaque);
            names.reads_everything = true;
            names.writes_anything = true;
        }
    }
}

/// Magics whose argument is a statement that runs in the run's namespace.
const RUNS_PYTHON: &[&str] = &["time", "prun", "memit", "lprun", "mprun", "snakeviz", "pyinstrument"];

/// Magics that leave the namespace alone.
const HARMLESS: &[&str] = &[
    "alias",
    "autoawait",
    "autocall",
    "automagic",
    "autoreload",
    "autosave",
    "bookmark",
    "cat",
    "cd",
    "clear",
    "colors",
    "conda",
    "config",
    "connect_info",
    "cp",
    "debug",
    "dhist",
    "dirs",
    "doctest_mode",
    "env",
    "gui",
    "hist",
    "history",
    "html",
    "javascript",
    "latex",
    "ldir",
    "less",
    "lf",
    "lk",
    "ll",
    "load_ext",
    "logoff",
    "logon",
    "logstart",
    "logstate",
    "logstop",
    "ls",
    "lsmagic",
    "lx",
    "magic",
    "mamba",
    "man",
    "matplotlib",
    "micromamba",
    "mkdir",
    "more",
    "mv",
    "notebook",
    "page",
    "pastebin",
    "pdb",
    "pfile",
    "pinfo",
    "pinfo2",
    "pip",
    "popd",
    "pprint",
    "precision",
    "psearch",
    "pushd",
    "pwd",
    "pycat",
    "quickref",
    "rehashx",
    "reload_ext",
    "rm",
    "rmdir",
    "set_env",
    "sc",
    "sx",
    "system",
    "tb",
    "tensorboard",
    "unalias",
    "unload_ext",
    "uv",
    "watermark",
    "writefile",
    "xmode",
];

/// Cells whose body is Python that runs in the run's namespace.
const PYTHON_CELLS: &[&str] = &["time", "timeit", "prun", "memit", "capture", "snakeviz", "pyinstrument", "scalene"];

/// Cells whose body is for another program.
const OTHER_CELLS: &[&str] = &[
    "!",
    "HTML",
    "SVG",
    "bash",
    "cmd",
    "css",
    "dot",
    "file",
    "html",
    "javascript",
    "js",
    "latex",
    "markdown",
    "mermaid",
    "perl",
    "powershell",
    "pypy",
    "python",
    "python2",
    "python3",
    "ruby",
    "script",
    "sh",
    "svg",
    "sx",
    "system",
    "writefile",
];

/// Options of `%timeit`, `%prun` and their like that take a value in the next word.
const OPTIONS_WITH_VALUE: &[&str] = &["-n", "-r", "-p", "-s", "-l", "-T", "-D", "-f", "-m", "-u", "-i"];

/// Whether a source may hold IPython's syntax: a cheap look at where its lines begin and end.
pub(super) fn may_have(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with(['%', '!', '?', ',', ';', '/'])
            || line.ends_with('?')
            || line.split_once('=').is_some_and(|(_, value)| value.trim_start().starts_with(['%', '!']))
    })
}

/// Writes IPython's syntax as Python. `None`: there is none.
pub(super) fn translate(text: &str) -> Option<Translation> {
    let mut out = Out { bytes: text.as_bytes().to_vec(), text, made: Translation::default() };
    let first = text.len() - text.trim_start().len();
    let mut found = text.get(first..).is_some_and(|rest| rest.starts_with("%%"));
    if found && !out.cell(first) {
        return out.finish();
    }
    let tokens = lexical::tokens_with_magics(text);
    let mut line = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Magic if token.range.start > first || !found => {
                found = true;
                out.magic(token.range.clone(), at > line);
            }
            Kind::Newline => {
                found |= out.help(tokens.get(line..at).unwrap_or_default());
                line = at + 1;
            }
            Kind::Comment if at == line => line = at + 1,
            _ => {}
        }
    }
    if found { out.finish() } else { None }
}

struct Out<'t> {
    text: &'t str,
    bytes: Vec<u8>,
    made: Translation,
}

impl Out<'_> {
    fn finish(mut self) -> Option<Translation> {
        self.made.text = String::from_utf8(self.bytes).ok()?;
        Some(self.made)
    }

    fn put(&mut self, at: usize, byte: u8) {
        if let Some(place) = self.bytes.get_mut(at) {
            *place = byte;
        }
    }

    fn blank(&mut self, range: Range<usize>) {
        for byte in self.bytes.get_mut(range).into_iter().flatten() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    /// A cell magic, whose first line begins at `first`. Gives whether its body is Python.
    fn cell(&mut self, first: usize) -> bool {
        let rest = self.text.get(first + 2..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let end = first + 2 + line.len();
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        if PYTHON_CELLS.contains(&name) {
            self.put(first, b'#');
            self.made.detached = name == "timeit";
            if name == "capture" {
                self.made.binds.extend(words.find(|word| !word.starts_with('-')).map(str::to_owned));
            }
            return true;
        }
        let words: Vec<&str> = words.collect();
        for pair in words.windows(2) {
            if let ["--out" | "--err" | "--proc", name] = pair {
                self.made.binds.push((*name).to_owned());
            }
        }
        if !OTHER_CELLS.contains(&name) {
            self.unknown(name);
        }
        self.command(first..end);
        self.blank(end..self.text.len());
        false
    }

    fn unknown(&mut self, name: &str) {
        self.made.opaque.get_or_insert_with(|| format!("the magic %{name} may do anything to the namespace"));
    }

    /// A magic of one line. `assigned`: it stands right of a `=`.
    fn magic(&mut self, range: Range<usize>, assigned: bool) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let after_mark = text.trim_start_matches(['%', '?', '!']);
        match text.as_bytes().first() {
            Some(b'?') => {
                if is_path(after_mark.trim()) {
                    // `?x` reads `x`, as `+x` does.
                    let marks = text.len() - after_mark.len();
                    (range.start..range.start + marks).for_each(|at| self.put(at, b'+'));
                } else {
                    self.command(range);
                }
            }
            Some(b'/' | b',' | b';') => self.call(range),
            Some(b'%') if !text.trim_end().ends_with('?') => {
                let name_end = after_mark.find(|c: char| c.is_whitespace()).unwrap_or(after_mark.len());
                let (name, code) = after_mark.split_at(name_end);
                let name = name.to_owned();
                if name == "timeit" || RUNS_PYTHON.contains(&name.as_str()) {
                    let code = code.trim_start();
                    let code = range.end - skip_options(code).len();
                    self.statement(range, code, &name, assigned);
                } else {
                    if !HARMLESS.contains(&name.as_str()) {
                        self.unknown(&name);
                    }
                    self.command(range);
                }
            }
            _ => self.command(range),
        }
    }

    /// A magic that runs the Python from `code` on.
    fn statement(&mut self, range: Range<usize>, code: usize, name: &str, assigned: bool) {
        self.blank(range.start..code);
        if self.text.get(code..range.end).is_none_or(|code| code.trim().is_empty()) {
            self.put(range.start, b'0');
        } else if name == "timeit" && !assigned {
            // It runs in a function of its own, over and over: what it binds does not last.
            for (at, byte) in (range.start..).zip(b"if 1<0:") {
                self.put(at, *byte);
            }
        } else {
            self.put(range.start, b'0');
            self.put(range.start + 1, if assigned { b',' } else { b';' });
        }
    }

    /// A command: what IPython fills in is kept, as the parts of a tuple.
    fn command(&mut self, range: Range<usize>) {
        let pieces = filled_in(self.text, range.clone());
        let last = pieces.last().map_or(range.start, |piece| piece.end);
        let bytes = self.text.as_bytes();
        for at in range.clone() {
            let joins = at < last && bytes.get(at) == Some(&b'\\') && matches!(bytes.get(at + 1), Some(b'\n' | b'\r'));
            let kept = pieces.iter().any(|piece| piece.contains(&at));
            if !kept && !joins {
                self.blank(at..at + 1);
            }
        }
        self.put(range.start, b'0');
        if !pieces.is_empty() {
            self.put(range.start + 1, b',');
        }
        for piece in pieces.iter().filter(|piece| piece.end < range.end) {
            if !matches!(bytes.get(piece.end), Some(b'\n' | b'\r' | b'\\')) {
                self.put(piece.end, b',');
            }
        }
    }

    /// `/f a b`, `,f a b`, `;f a b`: reads the function and, for `/`, the arguments.
    fn call(&mut self, range: Range<usize>) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let name_end = text.find(char::is_whitespace).unwrap_or(text.len());
        if text.starts_with('/') {
            let gaps: Vec<usize> = text.match_indices(char::is_whitespace).map(|(at, _)| at).collect();
            let arguments = text.get(name_end..).unwrap_or_default().split_whitespace();
            if arguments.clone().all(is_path) && arguments.count() == gaps.len() {
                gaps.into_iter().for_each(|at| self.put(range.start + at, b','));
            }
        } else {
            self.blank(range.start + name_end..range.end);
        }
        self.put(range.start, b'+');
    }

    /// `x?` and `x??` at the end of a line.
    fn help(&mut self, line: &[Token]) -> bool {
        let marks: Vec<&Token> =
            line.iter().rev().take_while(|token| token.kind == Kind::Punctuation(b'?')).take(2).collect();
        for mark in &marks {
            self.blank(mark.range.clone());
        }
        !marks.is_empty()
    }
}

/// What follows the options before it.
fn skip_options(mut code: &str) -> &str {
    while code.starts_with('-') {
        let end = code.find(char::is_whitespace).unwrap_or(code.len());
        let (option, rest) = code.split_at(end);
        code = rest.trim_start();
        if OPTIONS_WITH_VALUE.contains(&option) {
            let end = code.find(char::is_whitespace).unwrap_or(code.len());
            code = code.get(end..).unwrap_or_default().trim_start();
        }
    }
    code
}

/// `x` or `x.y`
fn is_path(text: &str) -> bool {
    !text.is_empty()
        && ast::Expr::parse(text, "").is_ok_and(|e| matches!(e, ast::Expr::Name(_) | ast::Expr::Attribute(_)))
}

/// The expressions that IPython puts in a command: in `{}` and after `$`.
fn filled_in(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let bytes = text.as_bytes();
    let mut at = range.start + 1;
    while at < range.end {
        match bytes.get(at) {
            Some(b'{') if bytes.get(at + 1) == Some(&b'{') => at += 2,
            Some(b'{') => {
                let close = text.get(at..range.end).and_then(|rest| rest.find('}')).map(|close| at + close);
                let Some(close) = close else { break };
                let inside = text.get(at + 1..close).unwrap_or_default();
                if inside.len() < 500 && !inside.contains('\n') && ast::Expr::parse(inside, "").is_ok() {
                    pieces.push(at + 1..close);
                }
                at = close + 1;
            }
            Some(b'$') if bytes.get(at + 1) == Some(&b'$') => at += 2,
            Some(b'$') => {
                let rest = text.get(at + 1..range.end).unwrap_or_default();
                let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
                let name = rest.get(..len).unwrap_or_default().trim_end_matches('.');
                if is_path(name) {
                    pieces.push(at + 1..at + 1 + name.len());
                }
                at += 1 + len;
            }
            _ => at += 1,
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        let made = translate(source).unwrap();
        assert_eq!(made.text.len(), source.len(), "{source}");
        made.text
    }

    #[test]
    fn magics_become_python_of_the_same_length() {
        for (source, expected) in [
            ("%time y = f(x)", "0;    y = f(x)"),
            ("if a:\n    %time y = f(x)\n", "if a:\n    0;    y = f(x)\n"),
            ("%timeit -n 5 y = f(x)", "if 1<0:      y = f(x)"),
            ("r = %timeit -o f(x)", "r = 0,        f(x)  "),
            ("%matplotlib inline\ny = x", "0                 \ny = x"),
            ("files = !ls {path} $d", "files = 0,  path , d "),
            ("!ls", "0  "),
            ("!awk '{print $1}'", "0                "),
            ("x.y?", "x.y "),
            ("??x", "++x"),
            ("/f a b", "+f,a,b"),
            ("%%time\ny = x", "#%time\ny = x"),
            ("%%bash\nls 'it\n", "0     \n      \n"),
            ("\n\n%%bash\nls", "\n\n0     \n  "),
            ("!cp a \\\n  {b}\n", "0,     \\\n   b,\n"),
        ] {
            let words =
                |text: &str| text.lines().map(|line| line.split_whitespace().collect::<String>()).collect::<Vec<_>>();
            assert_eq!(words(&text(source)), words(expected), "{source}");
        }
    }

    #[test]
    fn what_is_python_is_left_alone() {
        for source in
            ["v = (a\n%n)", "s = '''\n%time y = x\n!ls\n'''", "x = a % b\n", "y = x \\\n % z\n", "# x?\n", "x != y"]
        {
            assert_eq!(translate(source), None, "{source}");
        }
    }

    #[test]
    fn a_magic_that_is_not_known_may_do_anything() {
        assert!(translate("%run other.py").unwrap().opaque.is_some());
        assert!(translate("%%sql\nselect 1").unwrap().opaque.is_some());
        assert_eq!(translate("%%bash --out o\nls").unwrap().binds, ["o"]);
        assert_eq!(translate("%%capture out\nx = 1").unwrap().binds, ["out"]);
        assert!(translate("%%timeit\nx = 1").unwrap().detached);
    }
}
