//! IPython's syntax as plain Python that does the same, for scripts that run anywhere.
//!
//! Only what begins a logical line is looked at, never what stands in strings or brackets, and lines keep their
//! number, so that tracebacks point where they did. What means nothing outside a notebook becomes a comment.

use std::collections::BTreeSet;

/// What translated code uses that a script must define first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// `_shell(command)`: runs a command line.
    Shell,
    /// `_lines(command)`: what it prints, as lines.
    Lines,
    /// `_await(source)`: runs source with top-level `await`.
    Await,
    /// `os`.
    Os,
    /// `display(value)`.
    Display,
    /// `get_ipython()`.
    GetIpython,
}

/// Translates a step; `needs` is told what the result uses.
pub fn translate(source: &str, needs: &mut BTreeSet<Need>) -> String {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let text = match first {
        Some(first) if lines.get(first).is_some_and(|line| line.trim_start().starts_with("%%")) => {
            let above: String = lines.get(..first).unwrap_or_default().concat();
            let head = lines.get(first).map_or("", |line| line.trim());
            let body: String = lines.get(first + 1..).unwrap_or_default().concat();
            format!("{above}{}", cell(head, &body, needs))
        }
        _ => logical_lines(&lines).iter().map(|line| statement(line, needs)).collect(),
    };
    if uses_word(&text, "display(") {
        needs.insert(Need::Display);
    }
    if uses_word(&text, "get_ipython(") {
        needs.insert(Need::GetIpython);
    }
    if awaits(&text) {
        needs.insert(Need::Await);
        return format!("_await({})\n", quoted(&text));
    }
    text
}

/// Whether `word` stands in the text and is not the end of a longer name.
fn uses_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text
            .get(..at)
            .and_then(|before| before.chars().last())
            .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
    })
}

/// A cell magic with its body.
fn cell(head: &str, body: &str, needs: &mut BTreeSet<Need>) -> String {
    let (name, rest) = head.trim_start_matches('%').split_once(' ').unwrap_or((head.trim_start_matches('%'), ""));
    match name {
        "time" | "capture" | "prun" | "memit" => {
            let lines: Vec<&str> = body.split_inclusive('\n').collect();
            let body: String = logical_lines(&lines).iter().map(|line| statement(line, needs)).collect();
            format!("# {head}\n{body}")
        }
        "timeit" => {
            // What a timed body binds does not last.
            let lines: Vec<&str> = body.split_inclusive('\n').collect();
            let indented: String = logical_lines(&lines)
                .iter()
                .map(|line| statement(line, needs))
                .flat_map(|text| text.split_inclusive('\n').map(|line| format!("    {line}")).collect::<Vec<_>>())
                .collect();
            let end = if indented.ends_with('\n') || indented.is_empty() { "" } else { "\n" };
            format!("def _timed():  # {head}\n{indented}{end}    pass\n_timed(); del _timed\n")
        }
        "bash" | "sh" | "script" | "!" | "system" => {
            needs.insert(Need::Shell);
            let shell = if name == "bash" { "bash" } else { "sh" };
            let program = if name == "script" && !rest.is_empty() { rest } else { shell };
            format!("_shell({}, program={})\n", quoted(body), quoted(program))
        }
        "writefile" | "file" => {
            let (mode, path) = rest.trim().strip_prefix("-a ").map_or(("w", rest.trim()), |path| ("a", path.trim()));
            let path = path.trim_matches(['"', '\'']);
            format!("with open({}, {}) as _file:\n    _file.write({})\n", quoted(path), quoted(mode), quoted(body))
        }
        _ => {
            let body: String = body.split_inclusive('\n').map(|line| format!("# {line}")).collect();
            format!("# {head} is not Python and was left out:\n{body}\n")
        }
    }
}

/// One logical line.
fn statement(text: &str, needs: &mut BTreeSet<Need>) -> String {
    let body = text.trim_end_matches(['\r', '\n']);
    let end = text.get(body.len()..).unwrap_or_default();
    let rest = body.trim_start();
    let indent = body.get(..body.len() - rest.len()).unwrap_or_default();
    if let Some(magic) = rest.strip_prefix('%').filter(|magic| !magic.starts_with('%')) {
        return format!("{indent}{}{end}", line_magic(magic, needs));
    }
    if let Some(command) = rest.strip_prefix('!') {
        needs.insert(Need::Shell);
        return format!("{indent}_shell({}){end}", interpolated(command.trim_start_matches('!').trim()));
    }
    if let Some((target, sign, argument)) = assigned(rest) {
        if sign == '!' {
            needs.insert(Need::Lines);
            return format!("{indent}{target} = _lines({}){end}", interpolated(argument.trim()));
        }
        let value = match argument.trim().split_once(' ').unwrap_or((argument.trim(), "")) {
            ("time" | "timeit", expression) => expression.trim().to_owned(),
            ("pwd", _) => {
                needs.insert(Need::Os);
                "os.getcwd()".to_owned()
            }
            _ => format!("None  # %{}", argument.trim()),
        };
        return format!("{indent}{target} = {value}{end}");
    }
    if let Some(name) = help(rest) {
        return format!("{indent}help({name}){end}");
    }
    text.to_owned()
}

fn line_magic(magic: &str, needs: &mut BTreeSet<Need>) -> String {
    let (name, argument) = magic.split_once(char::is_whitespace).unwrap_or((magic, ""));
    let argument = argument.trim();
    match name {
        "time" if !argument.is_empty() => argument.to_owned(),
        "timeit" if !argument.is_empty() && !argument.starts_with('-') => argument.to_owned(),
        "cd" => {
            needs.insert(Need::Os);
            format!(
                "os.chdir(os.path.expanduser({}))",
                quoted(if argument.is_empty() { "~" } else { argument.trim_matches(['"', '\'']) })
            )
        }
        "env" | "set_env" if argument.contains('=') => {
            needs.insert(Need::Os);
            let (variable, value) = argument.split_once('=').unwrap_or((argument, ""));
            format!("os.environ[{}] = {}", quoted(variable.trim()), quoted(value.trim()))
        }
        "pwd" => {
            needs.insert(Need::Os);
            "print(os.getcwd())".to_owned()
        }
        "pip" | "conda" | "mamba" | "uv" => {
            needs.insert(Need::Shell);
            let command =
                if name == "pip" { format!("python3 -m pip {argument}") } else { format!("{name} {argument}") };
            format!("_shell({})", quoted(&command))
        }
        "ls" | "cat" | "mkdir" | "rm" | "cp" | "mv" | "rmdir" | "less" | "more" | "system" | "sx" => {
            needs.insert(Need::Shell);
            let command = if matches!(name, "system" | "sx") { argument.to_owned() } else { magic.trim().to_owned() };
            format!("_shell({})", quoted(&command))
        }
        "run" if !argument.split_whitespace().next().is_some_and(|path| path.ends_with(".ipynb")) => {
            let path = argument.split_whitespace().next().unwrap_or_default();
            format!("exec(compile(open({0}).read(), {0}, \"exec\"))", quoted(path))
        }
        _ => format!("pass  # %{magic}"),
    }
}

/// `target = %magic` or `target = !command`.
fn assigned(line: &str) -> Option<(&str, char, &str)> {
    let (target, value) = line.split_once('=')?;
    let value = value.trim_start();
    let sign = value.chars().next().filter(|c| matches!(c, '%' | '!'))?;
    let plain = !target.trim().is_empty()
        && target.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ',' | ' ' | '[' | ']' | '\'' | '"'));
    (plain && !value.starts_with("!=")).then(|| (target.trim_end(), sign, value.get(1..).unwrap_or_default()))
}

/// `name?`, `name??`, `?name`.
fn help(line: &str) -> Option<&str> {
    let line = line.trim_end().trim_end_matches(';').trim_end();
    let name = line.strip_suffix('?').or_else(|| line.strip_prefix('?'))?.trim_matches(['?', ' ', '%']);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    is_name.then_some(name)
}

/// A command with `{expression}` and `$name` filled in, as a Python expression.
fn interpolated(command: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut plain = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(['{', '$']) {
        let (before, found) = rest.split_at(at);
        plain.push_str(before);
        let (expression, length) = if let Some(inside) = found.strip_prefix('{') {
            let end = inside.find('}').unwrap_or(0);
            (inside.get(..end).unwrap_or_default().trim(), end + 2)
        } else {
            let name = found.get(1..).unwrap_or_default();
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
            (name.get(..end).unwrap_or_default(), end + 1)
        };
        let is_expression = expression.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && expression.chars().all(|c| c.is_alphanumeric() || "_.[]()'\", +-*/".contains(c))
            // What the shell knows stays the shell's.
            && !(found.starts_with('$') && expression.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()));
        if is_expression {
            if !plain.is_empty() {
                parts.push(quoted(&std::mem::take(&mut plain)));
            }
            parts.push(format!("str({expression})"));
            rest = found.get(length..).unwrap_or_default();
        } else {
            plain.push_str(found.get(..1).unwrap_or_default());
            rest = found.get(1..).unwrap_or_default();
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() || parts.is_empty() {
        parts.push(quoted(&plain));
    }
    parts.join(" + ")
}

/// A Python string literal.
pub fn quoted(text: &str) -> String {
    let lines = text.matches('\n').count();
    let raw_fits = lines > 1 && !text.contains("'''") && !text.ends_with(['\'', '\\']) && !text.contains(['\r', '\0']);
    if raw_fits
        && (!text.contains('\\') || !text.contains("\\'"))
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
    {
        return format!("r'''{text}'''");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Joins physical lines that belong together by brackets, triple quotes or a backslash.
fn logical_lines(lines: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut state = Scan::default();
    for line in lines {
        let magic = line.trim_start().starts_with(['%', '!', '?']);
        if text.is_empty() && magic {
            found.push((*line).to_owned());
            continue;
        }
        text.push_str(line);
        state.read(line);
        if state.is_closed() && !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
            found.push(std::mem::take(&mut text));
            state = Scan::default();
        }
    }
    if !text.is_empty() {
        found.push(text);
    }
    found
}

/// Where in brackets and strings a text stands.
#[derive(Default)]
struct Scan {
    depth: usize,
    /// The triple quote that is open.
    quote: Option<&'static str>,
}

impl Scan {
    fn is_closed(&self) -> bool {
        self.depth == 0 && self.quote.is_none()
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            if let Some(quote) = self.quote {
                if let Some(after) = rest.strip_prefix(quote) {
                    self.quote = None;
                    rest = after;
                } else {
                    let skip = if c == '\\' { 1 + rest.chars().nth(1).map_or(0, char::len_utf8) } else { c.len_utf8() };
                    rest = rest.get(skip..).unwrap_or_default();
                }
                continue;
            }
            match c {
                '#' => return,
                '\'' | '"' => {
                    let triple = if c == '"' { "\"\"\"" } else { "'''" };
                    if let Some(after) = rest.strip_prefix(triple) {
                        self.quote = Some(triple);
                        rest = after;
                        continue;
                    }
                    rest = after_string(rest, c);
                    continue;
                }
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
}

/// What follows the string that `text` begins with, on its line.
fn after_string(text: &str, quote: char) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return text.get(at..).unwrap_or_default(),
            c if c == quote => return text.get(at + c.len_utf8()..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

/// Whether something is awaited outside every function.
fn awaits(text: &str) -> bool {
    if !["await ", "await(", "async for", "async with"].iter().any(|word| text.contains(word)) {
        return false;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Indentations of the functions that are open.
    let mut functions: Vec<usize> = Vec::new();
    for line in logical_lines(&lines) {
        let body = line.trim_start();
        if body.trim().is_empty() || body.starts_with('#') {
            continue;
        }
        let indent = line.len() - body.len();
        functions.retain(|open| *open < indent);
        if ["def ", "async def "].iter().any(|word| body.starts_with(word)) {
            functions.push(indent);
            continue;
        }
        if functions.is_empty() && awaits_here(body) {
            return true;
        }
    }
    false
}

/// Whether a statement awaits, outside strings and comments.
fn awaits_here(statement: &str) -> bool {
    let mut rest = statement;
    let mut code = String::new();
    while let Some(c) = rest.chars().next() {
        match c {
            '#' => rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or_default(),
            '\'' | '"' => {
                let triple = if c == '"' { "\"\"\"" } else { "'''" };
                rest = match rest.strip_prefix(triple) {
                    Some(inside) => inside.split_once(triple).map_or("", |(_, after)| after),
                    None => after_string(rest, c),
                };
            }
            c => {
                code.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    let words: Vec<&str> =
        code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    words.contains(&"await") || words.windows(2).any(|pair| matches!(pair, ["async", "for" | "with"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(source: &str) -> String {
        translate(source, &mut BTreeSet::new())
    }

    #[test]
    fn python_is_left_alone() {
        for source in [
            "x = (1\n% 2)\n",
            "s = '''\n%matplotlib inline\n!ls\n'''\n",
            "x = y \\\n  % 3\n",
            "def f():\n    return 1\n",
            "a != b\n",
            "s = \"it's\"  # (\nt = 1\n",
            "async def f():\n    await g()\n",
            "print('await x')\n",
        ] {
            assert_eq!(translated(source), source);
        }
    }

    #[test]
    fn magics_are_what_they_do() {
        for (source, want) in [
            ("%matplotlib inline\nx = 1\n", "pass  # %matplotlib inline\nx = 1\n"),
            ("if a:\n    %time f(1)\n", "if a:\n    f(1)\n"),
            ("!ls {path} $name $HOME\n", "_shell(\"ls \" + str(path) + \" \" + str(name) + \" $HOME\")\n"),
            ("files = !ls *.py\n", "files = _lines(\"ls *.py\")\n"),
            ("%cd data\n%env A=b c\n", "os.chdir(os.path.expanduser(\"data\"))\nos.environ[\"A\"] = \"b c\"\n"),
            ("%pip install x\n", "_shell(\"python3 -m pip install x\")\n"),
            ("np.array?\n?len\n", "help(np.array)\nhelp(len)\n"),
            ("y = %time f(x)\n", "y = f(x)\n"),
            ("%run a.py\n", "exec(compile(open(\"a.py\").read(), \"a.py\", \"exec\"))\n"),
            ("# c\n%%time\nf()\n%time g()\n", "# c\n# %%time\nf()\ng()\n"),
            ("%%timeit -n1\nx = 1\n", "def _timed():  # %%timeit -n1\n    x = 1\n    pass\n_timed(); del _timed\n"),
            ("%%bash\nls\npwd\n", "_shell(r'''ls\npwd\n''', program=\"bash\")\n"),
            ("%%writefile -a b.txt\nhi\n", "with open(\"b.txt\", \"a\") as _file:\n    _file.write(\"hi\\n\")\n"),
            ("%%html\n<b>\n", "# %%html is not Python and was left out:\n# <b>\n\n"),
            ("x = await f()\n", "_await(\"x = await f()\\n\")\n"),
            ("for i in x:\n    await f(i)\n", "_await(r'''for i in x:\n    await f(i)\n''')\n"),
        ] {
            assert_eq!(translated(source), want, "{source}");
        }
    }

    #[test]
    fn what_the_result_uses_is_told() {
        let mut needs = BTreeSet::new();
        translate("display(x)\n!ls\nfig.display(y)\n", &mut needs);
        assert_eq!(needs, BTreeSet::from([Need::Shell, Need::Display]));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fall_over(source in "[ -~\n\t]{0,120}|[%!?a-z(){}'\"#\\\\ \n]{0,80}") {
            translated(&source);
        }
    }
}
