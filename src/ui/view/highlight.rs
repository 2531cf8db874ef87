//! Syntax: which bytes of a source are what.
//!
//! # Architecture
//!
//! - [`Highlighter`]: one text with what is known of its lines. It works from the top in slices, so that a large
//!   text holds nobody up; lines that are shown before that are guessed ([`Highlighter::show`]). After an edit, only
//!   lines whose state at their beginning changed are looked at again.
//! - [`Token`]: some bytes of a line and their [`Role`]; [`runs`] gives them a theme's styles.
//! - [`Language`]: what the text is written in.
//! - `scope.rs`: from a grammar's scopes to roles.
//!
//! The grammars are those of `two-face`, run by `syntect`. A Highlighter may be moved to another thread.

mod scope;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use scope::Roles;
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::text::Run;
use crate::ui::theme::{Role, Theme};

/// Lines of more bytes are left without colours: grammars can take seconds for a minified one.
pub const LONGEST: usize = 2000;

/// How far above a line that is shown a guess begins.
const GUESS: usize = 40;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// Python.
    Python,
    /// A shell script.
    Shell,
    /// A patch.
    Diff,
    /// Markdown.
    Markdown,
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// None of these: no colours.
    Plain,
}

impl Language {
    /// By the ending of a path.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "py" | "pyi" => Self::Python,
            "sh" | "bash" => Self::Shell,
            "diff" | "patch" => Self::Diff,
            "md" => Self::Markdown,
            "json" | "ipynb" => Self::Json,
            "toml" => Self::Toml,
            _ => Self::Plain,
        }
    }

    fn grammar(self) -> Option<&'static SyntaxReference> {
        let ending = match self {
            Self::Python => "py",
            Self::Shell => "sh",
            Self::Diff => "diff",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Plain => return None,
        };
        grammars().find_syntax_by_extension(ending)
    }
}

fn grammars() -> &'static SyntaxSet {
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

/// Some bytes of a line and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Which bytes.
    pub bytes: Range<usize>,
    /// What.
    pub role: Role,
}

/// Tokens as a layer for [`super::text::Painted`].
pub fn runs(tokens: &[Token], theme: &Theme) -> Vec<Run> {
    tokens.iter().map(|token| Run::new(token.bytes.clone(), theme.style(token.role))).collect()
}

/// What a grammar remembers from line to line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    parse: ParseState,
    scopes: ScopeStack,
}

/// What is known of a line.
#[derive(Debug, Clone, Default)]
struct Known {
    tokens: Option<Arc<[Token]>>,
    /// The states before and after it; none while its tokens are a guess.
    states: Option<(Arc<State>, Arc<State>)>,
}

/// A text and the tokens of its lines.
#[derive(Debug, Clone)]
pub struct Highlighter {
    language: Language,
    text: Arc<str>,
    /// Where each line's content lies, without its break.
    lines: Vec<Range<usize>>,
    known: Vec<Known>,
    /// Lines before this one are known for sure.
    sure: usize,
    start: Option<Arc<State>>,
    roles: Roles,
}

impl Highlighter {
    /// Takes a text; looks at none of it yet.
    pub fn new(language: Language, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let lines = split(&text);
        let known = vec![Known::default(); lines.len()];
        let start = language
            .grammar()
            .map(|grammar| Arc::new(State { parse: ParseState::new(grammar), scopes: ScopeStack::new() }));
        Self { language, text, lines, known, sure: 0, start, roles: Roles::default() }
    }

    /// What the text is written in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Takes the text as it is now. What is known of the lines before and after what changed is kept; the
    /// latter is checked by [`Highlighter::work`].
    pub fn edit(&mut self, text: impl Into<Arc<str>>) {
        let text = text.into();
        let lines = split(&text);
        let old = |range: &Range<usize>| self.text.get(range.clone());
        let new = |range: &Range<usize>| text.get(range.clone());
        let same = |(a, b): &(&Range<usize>, &Range<usize>)| old(a) == new(b);
        let before = self.lines.iter().zip(&lines).take_while(same).count();
        let left = self.lines.len().min(lines.len()) - before;
        let after = self.lines.iter().rev().zip(lines.iter().rev()).take(left).take_while(same).count();

        let mut known = Vec::with_capacity(lines.len());
        let mut former = std::mem::take(&mut self.known);
        let tail = former.split_off(former.len() - after);
        former.truncate(before);
        known.append(&mut former);
        known.resize(lines.len() - after, Known::default());
        known.extend(tail);
        (self.text, self.lines, self.known) = (text, lines, known);
        self.sure = self.sure.min(before);
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// How many lines, from the top, are known for sure.
    pub fn sure(&self) -> usize {
        self.sure
    }

    /// The tokens of a line, in order, or `None` while nothing is known; always `None` of a plain text.
    pub fn line(&self, at: usize) -> Option<&Arc<[Token]>> {
        self.known.get(at)?.tokens.as_ref()
    }

    /// Whether a line is too long to be looked at.
    pub fn is_too_long(&self, at: usize) -> bool {
        self.start.is_some() && self.lines.get(at).is_some_and(|range| range.len() > LONGEST)
    }

    /// Looks at up to `budget` lines after those that are known for sure; whether there are more. Lines that turn
    /// out to be as they were cost nothing.
    pub fn work(&mut self, budget: usize) -> bool {
        let Some(start) = self.start.clone() else {
            self.sure = self.lines.len();
            return false;
        };
        let mut state = match self.sure.checked_sub(1) {
            None => start,
            Some(last) => match self.known.get(last).and_then(|known| known.states.as_ref()) {
                Some((_, after)) => Arc::clone(after),
                None => start,
            },
        };
        let mut left = budget;
        while let Some(known) = self.known.get(self.sure) {
            match &known.states {
                Some((before, after)) if Arc::ptr_eq(before, &state) || *before == state => {
                    state = Arc::clone(after);
                }
                _ => {
                    let Some(next) = left.checked_sub(1) else { return true };
                    left = next;
                    state = self.look(self.sure, state, true);
                }
            }
            self.sure += 1;
        }
        false
    }

    /// Sees to it that the lines that are shown have tokens at once. What is far below what is known for sure is
    /// guessed, as if the text began a little above it.
    pub fn show(&mut self, lines: Range<usize>) {
        let end = lines.end.min(self.lines.len());
        if lines.start <= self.sure + GUESS {
            while self.sure < end && self.work(end - self.sure) {}
            return;
        }
        let Some(start) = self.start.clone() else { return };
        let missing = |known: &Known| known.tokens.is_none();
        if !self.known.get(lines.start..end).is_some_and(|shown| shown.iter().any(missing)) {
            return;
        }
        let mut state = start;
        for at in lines.start.saturating_sub(GUESS)..end {
            state = self.look(at, state, false);
        }
    }

    /// Looks at one line from a state, and gives the state after it.
    fn look(&mut self, at: usize, state: Arc<State>, sure: bool) -> Arc<State> {
        let Some(range) = self.lines.get(at).cloned() else { return state };
        let content = self.text.get(range.clone()).unwrap_or_default();
        let (tokens, after) = if content.len() > LONGEST {
            (Arc::default(), Arc::clone(&state))
        } else {
            match parse(content, &state, &mut self.roles) {
                Some((tokens, after)) => {
                    let same =
                        [Some(&state), self.start.as_ref()].into_iter().flatten().find(|known| ***known == after);
                    (tokens.into(), same.map_or_else(|| Arc::new(after), Arc::clone))
                }
                // A grammar that can't go on starts anew with the next line.
                None => (Arc::default(), self.start.clone().unwrap_or_else(|| Arc::clone(&state))),
            }
        };
        if let Some(known) = self.known.get_mut(at)
            && (sure || known.states.is_none())
        {
            known.tokens = Some(tokens);
            known.states = sure.then(|| (state, Arc::clone(&after)));
        }
        after
    }
}

/// One line from a state: its tokens, and the state after it.
fn parse(content: &str, before: &State, roles: &mut Roles) -> Option<(Vec<Token>, State)> {
    let mut state = before.clone();
    // The grammars want the line's break.
    let line = format!("{content}\n");
    let operations = state.parse.parse_line(&line, grammars()).ok()?;
    let mut tokens: Vec<Token> = Vec::new();
    let mut from = 0;
    let mut push = |bytes: Range<usize>, role: Option<Role>| {
        let Some(role) = role.filter(|_| !bytes.is_empty()) else { return };
        match tokens.last_mut() {
            Some(last) if last.role == role && last.bytes.end == bytes.start => last.bytes.end = bytes.end,
            _ => tokens.push(Token { bytes, role }),
        }
    };
    for (at, operation) in operations {
        let at = at.min(content.len());
        if at > from {
            push(from..at, roles.of(&state.scopes));
            from = at;
        }
        state.scopes.apply(&operation).ok()?;
    }
    push(from..content.len(), roles.of(&state.scopes));
    Some((tokens, state))
}

/// Where the content of each line lies, without `\n` or `\r\n`. A break at the very end begins no further line.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            let content = line.strip_suffix('\n').unwrap_or(line);
            start..start + content.strip_suffix('\r').unwrap_or(content).len()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(highlighter: &mut Highlighter) {
        while highlighter.work(100) {}
    }

    fn words(language: Language, text: &str) -> Vec<(String, Role)> {
        let mut highlighter = Highlighter::new(language, text);
        all(&mut highlighter);
        let lines: Vec<&str> = text.lines().collect();
        let tokens = (0..highlighter.lines()).flat_map(|at| {
            let line = lines[at];
            highlighter
                .line(at)
                .cloned()
                .unwrap_or_default()
                .iter()
                .map(|t| (line[t.bytes.clone()].to_owned(), t.role))
                .collect::<Vec<_>>()
        });
        tokens.filter(|(word, _)| !word.trim().is_empty()).collect()
    }

    fn role(words: &[(String, Role)], word: &str) -> Option<Role> {
        words.iter().find(|(text, _)| text.trim() == word).map(|(_, role)| *role)
    }

    #[test]
    fn python_is_told_apart() {
        let found = words(
            Language::Python,
            "@cached\ndef clean(df, n: int = 3):\n    \"\"\"Drop bots.\"\"\"\n    self.x = f\"a{n}\\n\" # note\n    return len(df) is None\n",
        );
        for (word, expected) in [
            ("@cached", Role::Decorator),
            ("def", Role::Keyword),
            ("clean", Role::Function),
            ("df", Role::Parameter),
            ("int", Role::Type),
            ("3", Role::Number),
            ("\"\"\"Drop bots.\"\"\"", Role::DocString),
            ("self", Role::SelfName),
            ("}\\n", Role::Escape),
            ("# note", Role::Comment),
            ("return", Role::Keyword),
            ("len", Role::Builtin),
            ("None", Role::Constant),
        ] {
            assert_eq!(role(&found, word), Some(expected), "{word}: {found:?}");
        }
        // What stands in braces is code.
        assert_eq!(role(&found, "n"), Some(Role::Parameter));
    }

    #[test]
    fn the_other_languages_are_told_apart() {
        assert_eq!(role(&words(Language::Shell, "for f in x; do echo \"$f\"; done\n"), "echo"), Some(Role::Builtin));
        let diff = words(Language::Diff, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n");
        assert_eq!(role(&diff, "new"), Some(Role::Added));
        assert_eq!(role(&diff, "old"), Some(Role::Removed));
        let json = words(Language::Json, "{\"a\": [1, \"b\", null]}\n");
        assert_eq!((role(&json, "\"a\""), role(&json, "\"b\"")), (Some(Role::Function), Some(Role::String)));
        assert_eq!(role(&words(Language::Markdown, "# Title\n"), "# Title"), Some(Role::Heading));
        assert_eq!(role(&words(Language::Toml, "a = 1\n"), "1"), Some(Role::Number));
        assert_eq!(words(Language::Plain, "def f(): pass\n"), []);
    }

    #[test]
    fn a_language_is_known_by_the_ending() {
        assert_eq!(Language::of_path("a/b.py"), Language::Python);
        assert_eq!(Language::of_path("x.patch"), Language::Diff);
        assert_eq!(Language::of_path("py"), Language::Plain);
    }

    #[test]
    fn work_is_done_in_slices() {
        let mut highlighter = Highlighter::new(Language::Python, "x = 1\n".repeat(100));
        assert!(highlighter.work(30));
        assert_eq!((highlighter.sure(), highlighter.line(29).is_some(), highlighter.line(30)), (30, true, None));
        assert!(!highlighter.work(1000));
        assert_eq!(highlighter.sure(), 100);
    }

    #[test]
    fn what_is_shown_far_below_is_guessed_at_once_and_made_sure_later() {
        let text = format!("\"\"\"\n{}\"\"\"\n", "x = 1\n".repeat(500));
        let mut highlighter = Highlighter::new(Language::Python, text);
        highlighter.show(400..420);
        let guess = highlighter.line(400).cloned().unwrap();
        assert_eq!(guess.last().map(|token| token.role), Some(Role::Number));
        assert_eq!(highlighter.sure(), 0);
        all(&mut highlighter);
        assert_eq!(highlighter.line(400).unwrap().first().map(|token| token.role), Some(Role::DocString));
    }

    #[test]
    fn an_edit_costs_only_the_lines_that_it_changes() {
        let text = "x = 1\n".repeat(200);
        let mut highlighter = Highlighter::new(Language::Python, text.as_str());
        all(&mut highlighter);
        let edited = text.replacen("x = 1\nx = 1\n", "x = 1\ny = 'a'\nx = 2\n", 1);
        highlighter.edit(edited.as_str());
        assert_eq!(highlighter.lines(), 201);
        // Two lines are new; the rest is found to be as it was.
        assert!(!highlighter.work(2));
        // Opening a string changes everything below.
        highlighter.edit(format!("'''\n{edited}"));
        assert!(highlighter.work(50));
        assert_eq!(highlighter.sure(), 50);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_and_told() {
        let text = format!("x = 1\ny = '{}'\nz = 2\n", "a".repeat(LONGEST));
        let mut highlighter = Highlighter::new(Language::Python, text);
        all(&mut highlighter);
        assert!(highlighter.is_too_long(1) && !highlighter.is_too_long(0));
        assert_eq!(highlighter.line(1).map(|tokens| tokens.len()), Some(0));
        assert_eq!(highlighter.line(2).unwrap().last().map(|token| token.role), Some(Role::Number));
    }

    #[test]
    fn tokens_become_runs() {
        let theme = Theme::built_in("dark");
        let tokens = [Token { bytes: 0..3, role: Role::Keyword }];
        assert_eq!(runs(&tokens, &theme), [Run::new(0..3, theme.style(Role::Keyword))]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn edits_come_to_what_a_fresh_look_gives(
            texts in prop::collection::vec("([a-c]{0,2}( = 1|'''|\"|#x|\\(|:)?(\n|\r\n)){0,8}[a-c']{0,3}", 1..5)
        ) {
            let mut highlighter = Highlighter::new(Language::Python, "");
            for text in &texts {
                highlighter.edit(text.as_str());
                highlighter.show(0..3);
                all(&mut highlighter);
                let mut fresh = Highlighter::new(Language::Python, text.as_str());
                all(&mut fresh);
                for at in 0..fresh.lines() {
                    prop_assert_eq!(highlighter.line(at), fresh.line(at));
                }
                prop_assert_eq!(highlighter.lines(), text.lines().count());
            }
        }

        #[test]
        fn tokens_are_in_order_and_on_boundaries(text in any::<String>()) {
            for language in [Language::Python, Language::Shell, Language::Markdown] {
                let mut highlighter = Highlighter::new(language, text.as_str());
                all(&mut highlighter);
                for (at, range) in split(&text).into_iter().enumerate() {
                    let mut from = 0;
                    for token in highlighter.line(at).unwrap().iter() {
                        prop_assert!(token.bytes.start >= from);
                        prop_assert!(text[range.clone()].get(token.bytes.clone()).is_some());
                        from = token.bytes.end;
                    }
                }
            }
        }
    }
}
