//! Small changes that may make a text Python. Each is only a candidate: what counts is whether the run's own
//! interpreter can compile the result, and whether there is just one that it can.

use std::ops::Range;

use crate::feedback::case::Case;
use crate::feedback::diagnosis::Rule;
use crate::feedback::known;
use crate::feedback::near;

/// A text with a small change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// The rule.
    pub rule: Rule,
    /// What it does, in a few words.
    pub title: String,
    /// The whole new text.
    pub text: String,
    /// Whether it is what was meant, if it compiles and no other does.
    pub certain: bool,
}

impl Edit {
    /// A change that is certain where no other compiles.
    pub fn new(rule: Rule, title: impl Into<String>, text: String) -> Self {
        Self { rule, title: title.into(), text, certain: true }
    }
}

/// The candidates that compile, each text once.
pub(super) fn compiling(case: &Case<'_>, mut candidates: Vec<Edit>) -> Vec<Edit> {
    candidates.retain(|edit| edit.text != case.step.text);
    let mut distinct: Vec<Edit> = Vec::new();
    for edit in candidates {
        if !distinct.iter().any(|other| other.text == edit.text) {
            distinct.push(edit);
        }
    }
    if distinct.is_empty() {
        return distinct;
    }
    let texts: Vec<String> = distinct.iter().map(|edit| edit.text.clone()).collect();
    let mut verdicts = case.failure.world.compile(&texts).into_iter();
    distinct.retain(|_| verdicts.next().unwrap_or(false));
    distinct
}

/// The candidate that compiles, if there is just one.
pub(super) fn only_compiling(case: &Case<'_>, candidates: Vec<Edit>) -> Option<Edit> {
    let mut found = compiling(case, candidates).into_iter();
    found.next().filter(|_| found.next().is_none())
}

/// Every kind of change, near a 0-based line.
pub(super) fn all(text: &str, line: usize) -> Vec<Edit> {
    let whole = [
        fences(text),
        typographic(text),
        print_statements(text),
        old_raise_and_except(text),
        else_if(text),
        operators(text),
    ];
    let near = [colons(text, line), brackets(text), quotes(text, line), words(text, line)];
    whole.into_iter().chain(near).flatten().collect()
}

/// The characters of a text outside of its strings and comments, with their places. A string that its line does
/// not close ends with the line.
fn code_of(text: &str) -> Vec<(usize, char)> {
    scan(text).0
}

/// The code of a text, and the places at which its comments begin.
fn scan(text: &str) -> (Vec<(usize, char)>, Vec<usize>) {
    let mut found = Vec::with_capacity(text.len());
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(c) = rest.chars().next() else { break };
        match c {
            '#' => {
                comments.push(at);
                at += rest.find('\n').unwrap_or(rest.len());
            }
            '"' | '\'' => {
                let triple = if c == '"' { "\"\"\"" } else { "'''" };
                if rest.starts_with(triple) {
                    let end = rest.get(3..).and_then(|inner| inner.find(triple)).map(|end| end + 6);
                    at += end.unwrap_or(rest.len());
                } else {
                    at += 1;
                    let mut escaped = false;
                    for inner in text.get(at..).unwrap_or_default().chars() {
                        if inner == '\n' {
                            break;
                        }
                        at += inner.len_utf8();
                        if inner == c && !escaped {
                            break;
                        }
                        escaped = inner == '\\' && !escaped;
                    }
                }
            }
            _ => {
                found.push((at, c));
                at += c.len_utf8();
            }
        }
    }
    (found, comments)
}

/// A text with something put in place of a range of it.
fn with(text: &str, range: Range<usize>, new: &str) -> Option<String> {
    Some(format!("{}{new}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// The places at which lines begin, and the end of the text.
fn starts(text: &str) -> Vec<usize> {
    let mut found = vec![0];
    found.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    if found.last() != Some(&text.len()) {
        found.push(text.len());
    }
    found
}

/// Where a line ends, a comment and the blanks before it left out.
fn line_end(text: &str, comments: &[usize], line: &Range<usize>) -> usize {
    let end = comments.iter().copied().find(|at| line.contains(at)).unwrap_or(line.end);
    text.get(line.start..end).map_or(line.end, |source| line.start + source.trim_end().len())
}

/// Markdown's fences around the whole text.
fn fences(text: &str) -> Vec<Edit> {
    let is_fence = |line: &str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let filled: Vec<usize> =
        (0..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| !line.trim().is_empty())).collect();
    let fenced: Vec<usize> =
        filled.iter().copied().filter(|at| lines.get(*at).is_some_and(|line| is_fence(line))).collect();
    let (Some(first), Some(last)) = (filled.first(), filled.last()) else { return Vec::new() };
    if fenced.is_empty() {
        return Vec::new();
    }
    let kept: String = lines.iter().enumerate().filter(|(at, _)| !fenced.contains(at)).map(|(_, line)| *line).collect();
    let whole = fenced.as_slice() == [*first, *last];
    let mut edit = Edit::new(Rule::StripFences, "take Markdown's fences off", kept);
    edit.certain = whole;
    vec![edit]
}

/// Quotes, blanks, dashes and brackets as word processors write them.
fn typographic(text: &str) -> Vec<Edit> {
    let mut made = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    // The quote that closes what is open, as it stands in the text, and what is written for it.
    let mut open: Option<(Vec<char>, char)> = None;
    let mut comment = false;
    while let Some(c) = chars.next() {
        if comment {
            comment = c != '\n';
            made.push(c);
            continue;
        }
        if let Some((closing, plain)) = &open {
            if closing.contains(&c) {
                made.push(*plain);
                open = None;
            } else {
                if c == '\n' {
                    open = None;
                }
                made.push(c);
                if c == '\\'
                    && let Some(next) = chars.next()
                {
                    made.push(next);
                }
            }
            continue;
        }
        match c {
            '#' => {
                comment = true;
                made.push(c);
            }
            '\'' | '"' => {
                made.push(c);
                let mut run = 1;
                while run < 3 && chars.peek() == Some(&c) {
                    chars.next();
                    made.push(c);
                    run += 1;
                }
                match run {
                    1 => open = Some((vec![c], c)),
                    2 => {}
                    _ => {
                        // A long string: copied to its end.
                        let mut quotes = 0;
                        for inner in chars.by_ref() {
                            made.push(inner);
                            quotes = if inner == c { quotes + 1 } else { 0 };
                            if quotes == 3 {
                                break;
                            }
                        }
                    }
                }
            }
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{00ab}' | '\u{ff02}' => {
                made.push('"');
                open = Some((vec!['\u{201c}', '\u{201d}', '\u{00bb}', '\u{ff02}', '"'], '"'));
            }
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{ff07}' | '\u{2032}' => {
                made.push('\'');
                open = Some((vec!['\u{2018}', '\u{2019}', '\u{ff07}', '\u{2032}', '\''], '\''));
            }
            '\u{00a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => made.push(' '),
            '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{2060}' | '\u{00ad}' => {}
            '\u{2010}'..='\u{2015}' | '\u{2212}' => made.push('-'),
            '\u{00d7}' => made.push('*'),
            '\u{2260}' => made.push_str("!="),
            '\u{2264}' => made.push_str("<="),
            '\u{2265}' => made.push_str(">="),
            '\u{ff01}'..='\u{ff5e}' => made.push(char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c)),
            '\u{3001}' => made.push(','),
            other => made.push(other),
        }
    }
    vec![Edit::new(Rule::AsciiCharacters, "write typographic characters as Python's", made)]
}

/// Each line of a text with what `make` makes of it, if it makes anything of any.
fn by_line(text: &str, rule: Rule, title: &str, make: impl Fn(&str) -> Option<String>) -> Vec<Edit> {
    let mut made = String::with_capacity(text.len() + 16);
    let mut changed = false;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        match make(body) {
            Some(new) => {
                changed = true;
                made.push_str(&new);
                made.push_str(line.get(body.len()..).unwrap_or_default());
            }
            None => made.push_str(line),
        }
    }
    if changed { vec![Edit::new(rule, title, made)] } else { Vec::new() }
}

/// The code of a line and the comment after it, blanks before that included.
fn comment_of(line: &str) -> (&str, &str) {
    let comments = scan(line).1;
    line.split_at_checked(line_end(line, &comments, &(0..line.len()))).unwrap_or((line, ""))
}

/// `print x` of Python 2.
fn print_statements(text: &str) -> Vec<Edit> {
    by_line(text, Rule::PrintCall, "call print with brackets", |line| {
        let at = line.find("print ")?;
        let before = line.get(..at)?;
        if !(before.trim().is_empty() || before.trim_end().ends_with([':', ';'])) {
            return None;
        }
        let (shown, comment) = comment_of(line.get(at + "print".len()..)?);
        let shown = shown.trim();
        if shown.is_empty() || shown.starts_with('=') || shown.contains(';') {
            return None;
        }
        if let Some(rest) = shown.strip_prefix(">>") {
            let (file, rest) = rest.split_once(',')?;
            return Some(format!("{before}print({}, file={}){comment}", rest.trim(), file.trim()));
        }
        match shown.strip_suffix(',') {
            Some(rest) => Some(format!("{before}print({}, end=' '){comment}", rest.trim_end())),
            None => Some(format!("{before}print({shown}){comment}")),
        }
    })
}

/// `raise E, "text"` and `except E, e:` of Python 2.
fn old_raise_and_except(text: &str) -> Vec<Edit> {
    let mut rule = Rule::ExceptBrackets;
    if !text.contains("except") {
        rule = Rule::ReservedWord;
    }
    by_line(text, rule, "write the exceptions as Python 3 does", |line| {
        let bare = line.trim_start();
        let indent = line.get(..line.len() - bare.len())?;
        let (code, comment) = comment_of(bare);
        if let Some(rest) = code.strip_prefix("raise ") {
            let (class, message) = rest.split_once(',')?;
            let is_name = class.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
            return is_name.then(|| format!("{indent}raise {class}({}){comment}", message.trim()));
        }
        let rest = code.strip_prefix("except ")?.strip_suffix(':')?;
        let (first, last) = rest.rsplit_once(',')?;
        let (first, last) = (first.trim(), last.trim());
        let is_name =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        if !is_name(last) {
            return None;
        }
        // What begins with a capital is another class; else it is the name that the exception is given.
        if first.split(',').all(|one| is_name(one.trim())) && last.chars().next().is_some_and(char::is_uppercase) {
            return Some(format!("{indent}except ({rest}):{comment}"));
        }
        let first_is_one = is_name(first) || (first.starts_with('(') && first.ends_with(')'));
        first_is_one.then(|| format!("{indent}except {first} as {last}:{comment}"))
    })
}

/// `else if`.
fn else_if(text: &str) -> Vec<Edit> {
    by_line(text, Rule::ElseIf, "write else if as elif", |line| {
        let bare = line.trim_start();
        let rest = bare.strip_prefix("else if").filter(|rest| rest.starts_with([' ', '(']))?;
        Some(format!("{}elif{rest}", line.get(..line.len() - bare.len())?))
    })
}

/// A colon at the end of a statement's first line.
fn colons(text: &str, line: usize) -> Vec<Edit> {
    const OPENERS: [&str; 15] = [
        "if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with", "match", "case",
        "async", "lambda",
    ];
    let (code, comments) = scan(text);
    let starts = starts(text);
    let mut found = Vec::new();
    for at in line.saturating_sub(3)..=line + 1 {
        let (Some(start), Some(end)) = (starts.get(at), starts.get(at + 1)) else { continue };
        let word: String = text
            .get(*start..*end)
            .unwrap_or_default()
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if !OPENERS.contains(&word.as_str()) {
            continue;
        }
        // The statement's first line goes on as long as a bracket is open.
        let mut depth = 0_i64;
        let mut last = at;
        for next in at..(at + 50).min(starts.len()) {
            let (Some(start), Some(end)) = (starts.get(next), starts.get(next + 1)) else { break };
            depth +=
                code.iter().filter(|(place, _)| (*start..*end).contains(place)).map(|(_, c)| bracket(*c)).sum::<i64>();
            last = next;
            if depth <= 0 {
                break;
            }
        }
        let (Some(start), Some(end)) = (starts.get(last), starts.get(last + 1)) else { continue };
        let end = line_end(text, &comments, &(*start..*end));
        let before = text.get(..end).unwrap_or_default();
        if before.ends_with(':') {
            continue;
        }
        let place = if before.ends_with([';', ',']) { end - 1..end } else { end..end };
        if let Some(new) = with(text, place, ":") {
            found.push(Edit::new(Rule::AddColon, format!("add a colon at the end of line {}", last + 1), new));
        }
    }
    found
}

fn bracket(c: char) -> i64 {
    match c {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    }
}

fn closer(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

fn opener(close: char) -> char {
    match close {
        ')' => '(',
        ']' => '[',
        _ => '{',
    }
}

/// Brackets that are not closed, close nothing, or close another kind.
fn brackets(text: &str) -> Vec<Edit> {
    let (code, comments) = scan(text);
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut found = Vec::new();
    for (at, c) in &code {
        match bracket(*c) {
            1 => open.push((*at, *c)),
            -1 => match open.pop() {
                Some((_, other)) if closer(other) == *c => {}
                Some((start, other)) => {
                    let right = closer(other).to_string();
                    let candidates = [
                        (Rule::CloseBracket, format!("close {other} by {right}"), with(text, *at..*at + 1, &right)),
                        (
                            Rule::CloseBracket,
                            format!("open by {}", opener(*c)),
                            with(text, start..start + 1, &opener(*c).to_string()),
                        ),
                        (Rule::CloseBracket, format!("add {right}"), with(text, *at..*at, &right)),
                        (Rule::ExtraBracket, format!("take the {c} off"), with(text, *at..*at + 1, "")),
                    ];
                    found.extend(
                        candidates.into_iter().filter_map(|(rule, title, new)| Some(Edit::new(rule, title, new?))),
                    );
                    return found;
                }
                None => {
                    found.extend(with(text, *at..*at + 1, "").map(|new| {
                        Edit::new(Rule::ExtraBracket, format!("take the {c} off that closes nothing"), new)
                    }));
                    return found;
                }
            },
            _ => {}
        }
    }
    let Some((first, _)) = open.first().copied().filter(|_| open.len() <= 3) else { return found };
    let closing: String = open.iter().rev().map(|(_, c)| closer(*c)).collect();
    let title = format!("add {closing}");
    let starts = starts(text);
    let from = starts.partition_point(|start| *start <= first).saturating_sub(1);
    for at in from..(from + 40).min(starts.len().saturating_sub(1)) {
        let (Some(start), Some(end)) = (starts.get(at), starts.get(at + 1)) else { break };
        let line = *start..*end;
        let end = line_end(text, &comments, &line);
        if end <= first {
            continue;
        }
        let ends = text.get(..end).unwrap_or_default();
        let places = [Some(end), ends.ends_with(':').then(|| end - 1)];
        for place in places.into_iter().flatten() {
            found.extend(
                with(text, place..place, &closing).map(|new| Edit::new(Rule::CloseBracket, title.clone(), new)),
            );
        }
        // A line of its own, as long calls are written.
        let next = starts.get(at + 1).copied().unwrap_or(text.len());
        let dangling =
            ends.ends_with([',', '(', '[', '{']) && text.get(..next).is_some_and(|before| before.ends_with('\n'));
        if dangling {
            found.extend(
                with(text, next..next, &format!("{closing}\n"))
                    .map(|new| Edit::new(Rule::CloseBracket, title.clone(), new)),
            );
        }
    }
    found
}

/// A quote that is missing on a line.
fn quotes(text: &str, line: usize) -> Vec<Edit> {
    let starts = starts(text);
    let (Some(start), Some(end)) = (starts.get(line), starts.get(line + 1)) else { return Vec::new() };
    let source = text.get(*start..*end).unwrap_or_default().trim_end();
    let mut open: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in source.char_indices() {
        match open {
            Some((_, quote)) if c == quote && !escaped => open = None,
            None if matches!(c, '"' | '\'') => open = Some((at, c)),
            None if c == '#' => break,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    let Some((quote_at, quote)) = open else { return Vec::new() };
    let mut found = Vec::new();
    let chars: Vec<(usize, char)> = source.char_indices().collect();
    let mut add = |at: usize, rule: Rule| {
        let place = start + at;
        found.extend(
            with(text, place..place, &quote.to_string()).map(|new| Edit::new(rule, format!("add {quote}"), new)),
        );
    };
    // After it: wherever a word or the line ends.
    for (index, (at, c)) in chars.iter().enumerate().filter(|(_, (at, _))| *at > quote_at) {
        let before = index.checked_sub(1).and_then(|index| chars.get(index)).map_or(' ', |(_, c)| *c);
        if !c.is_alphanumeric() && *c != '_' && !before.is_whitespace() {
            add(*at, Rule::CloseQuote);
        }
    }
    add(source.len(), Rule::CloseQuote);
    // Before it: wherever a word begins.
    for (index, (at, c)) in chars.iter().enumerate().filter(|(_, (at, _))| *at < quote_at) {
        let before = index.checked_sub(1).and_then(|index| chars.get(index)).map_or(' ', |(_, c)| *c);
        if (c.is_alphanumeric() || *c == '_' || *c == '/' || *c == '.')
            && matches!(before, '(' | '[' | '{' | ',' | ' ' | '=' | ':' | '+')
        {
            add(*at, Rule::CloseQuote);
        }
    }
    found.truncate(80);
    found
}

/// A misspelt word of the language near a line.
fn words(text: &str, line: usize) -> Vec<Edit> {
    let code = code_of(text);
    let starts = starts(text);
    let mut found = Vec::new();
    for at in [line, line.saturating_sub(1)] {
        let (Some(start), Some(end)) = (starts.get(at), starts.get(at + 1)) else { continue };
        let mut places: Vec<(usize, String)> = Vec::new();
        let mut last = usize::MAX;
        for (place, c) in
            code.iter().filter(|(place, c)| (*start..*end).contains(place) && (c.is_alphanumeric() || *c == '_'))
        {
            match places.last_mut() {
                Some((_, word)) if *place == last => word.push(*c),
                _ => places.push((*place, c.to_string())),
            }
            last = place + c.len_utf8();
        }
        for (place, word) in places {
            let foreign: Option<&str> = match word.as_str() {
                "elseif" | "elsif" | "elif_" => Some("elif"),
                "function" | "func" | "fun" | "fn" => Some("def"),
                "catch" => Some("except"),
                "throw" => Some("raise"),
                "foreach" => Some("for"),
                "unless" | "switch" | "then" => None,
                _ => None,
            };
            let near = near::close(&word, known::RESERVED.iter().copied());
            for new in foreign.into_iter().chain(near).take(4) {
                if known::RESERVED.contains(&word.as_str()) {
                    continue;
                }
                found.extend(
                    with(text, place..place + word.len(), new)
                        .map(|made| Edit::new(Rule::ReservedWord, format!("write {word} as {new}"), made)),
                );
            }
        }
    }
    found
}

/// Operators of other languages, wherever they stand.
fn operators(text: &str) -> Vec<Edit> {
    let code = code_of(text);
    let mut pieces: Vec<(Range<usize>, String)> = Vec::new();
    let mut taken = 0;
    for (at, _) in &code {
        if *at < taken {
            continue;
        }
        let rest = text.get(*at..).unwrap_or_default();
        let before = text.get(..*at).unwrap_or_default();
        let (blank_before, starts_line) =
            (before.ends_with(' '), before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty()));
        let word = |word: &str, length: usize| {
            let after = rest.get(length..).is_some_and(|after| after.starts_with(' '));
            format!("{}{word}{}", if blank_before { "" } else { " " }, if after { "" } else { " " })
        };
        let (length, new) = match rest {
            r if r.starts_with("&&") => (2, word("and", 2)),
            r if r.starts_with("||") => (2, word("or", 2)),
            r if r.starts_with("===") => (3, "==".to_owned()),
            r if r.starts_with("!==") => (3, "!=".to_owned()),
            r if r.starts_with("<>") => (2, "!=".to_owned()),
            r if r.starts_with("++")
                && !starts_line
                && r.get(2..).is_some_and(|after| {
                    after.trim_start_matches([' ', ';']).starts_with('\n') || after.trim().is_empty()
                }) =>
            {
                (2, " += 1".to_owned())
            }
            r if r.starts_with("--")
                && !starts_line
                && r.get(2..).is_some_and(|after| {
                    after.trim_start_matches([' ', ';']).starts_with('\n') || after.trim().is_empty()
                }) =>
            {
                (2, " -= 1".to_owned())
            }
            r if r.starts_with('!') && !r.starts_with("!=") && !starts_line && before.ends_with([' ', '(']) => {
                (1, "not ".to_owned())
            }
            _ => continue,
        };
        pieces.push((*at..at + length, new));
        taken = at + length;
    }
    if pieces.is_empty() {
        return Vec::new();
    }
    let made = crate::feedback::edit::replaced(text, pieces);
    made.map(|new| Edit::new(Rule::ForeignOperator, "write the operators as Python does", new)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(edits: Vec<Edit>) -> Vec<String> {
        edits.into_iter().map(|edit| edit.text).collect()
    }

    #[test]
    fn candidates_hold_what_was_meant() {
        let has = |edits: Vec<Edit>, wanted: &str| {
            let found = texts(edits);
            assert!(found.iter().any(|text| text == wanted), "{wanted:?} is not in {found:?}");
        };
        has(colons("if True\n    x = 1\n", 0), "if True:\n    x = 1\n");
        has(colons("def f(a,\n      b)  # two\n    return a\n", 0), "def f(a,\n      b):  # two\n    return a\n");
        has(colons("for c in '#'\n    pass\n", 0), "for c in '#':\n    pass\n");
        has(brackets("x = (1 + 2\n"), "x = (1 + 2)\n");
        has(brackets("if f(x:\n    pass\n"), "if f(x):\n    pass\n");
        has(brackets("f(\n    1,\n    2\nx = 1\n"), "f(\n    1,\n    2)\nx = 1\n");
        has(brackets("f(\n    1,\n    2,\nx = 1\n"), "f(\n    1,\n    2,\n)\nx = 1\n");
        has(brackets("print('a'))\n"), "print('a')\n");
        has(brackets("x = [1, 2)\n"), "x = [1, 2]\n");
        has(quotes("print('hi)\n", 0), "print('hi')\n");
        has(quotes("print(hi')\n", 0), "print('hi')\n");
        has(words("whille True:\n    pass\n", 0), "while True:\n    pass\n");
        has(operators("if a && !b:\n    i++\n"), "if a and not b:\n    i += 1\n");
        has(fences("```python\nx = 1\n```\n"), "x = 1\n");
        has(typographic("x = \u{201c}it\u{2019}s\u{201d}\u{a0}# \u{201c}\n"), "x = \"it\u{2019}s\" # \u{201c}\n");
        has(print_statements("if x: print 'a', b  # c\n"), "if x: print('a', b)  # c\n");
        has(old_raise_and_except("except (A, B), e:\n"), "except (A, B) as e:\n");
        has(old_raise_and_except("except A, B:\n"), "except (A, B):\n");
        has(old_raise_and_except("raise A, 'x'\n"), "raise A('x')\n");
        has(else_if("else if x:\n"), "elif x:\n");
    }
}
