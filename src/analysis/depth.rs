//! A cheap look at how deep a source is nested, before anything recurses over it.
//!
//! The parser keeps its own stack, but its tree is walked and dropped by recursion, and running out of stack
//! ends the process. CPython takes no more than 200 brackets and 100 indents.

use super::lexical::{Kind, Token};

/// Brackets within brackets, fields of f-strings among them.
const BRACKETS: usize = 200;
/// Indents within indents.
const INDENTS: usize = 100;
/// Operators, dots, calls and `elif`s that nest in one another.
const CHAIN: usize = 5_000;

/// How deep constant source may be nested that is read within another.
pub(super) const SHALLOW: usize = 40;

/// What is nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooDeep {
    #[error("more than {BRACKETS} brackets within one another")]
    Brackets,
    #[error("more than {INDENTS} indents within one another")]
    Indents,
    #[error("more than {CHAIN} operations within one another")]
    Chain,
}

/// How deep a source is nested, at most, in any way that its tree nests. Refuses what is deeper than CPython
/// could run.
pub(super) fn measure(text: &str, tokens: &[Token]) -> Result<usize, TooDeep> {
    let mut counter = Counter::default();
    let mut first = true;
    for token in tokens {
        let word = if token.kind == Kind::Word { text.get(token.range.clone()).unwrap_or_default() } else { "" };
        if first && token.kind != Kind::Newline && token.kind != Kind::Comment {
            counter.line(indent_of(text, token.range.start), word)?;
            first = false;
        }
        match token.kind {
            Kind::Open | Kind::FieldOpen | Kind::FormatStart => counter.open()?,
            Kind::Close | Kind::FieldClose | Kind::FormatEnd => counter.close(),
            Kind::Punctuation(b',' | b';') => counter.next(),
            Kind::Punctuation(_) => counter.operation()?,
            Kind::Word if is_operator(word) => counter.operation()?,
            Kind::Newline => {
                counter.end();
                first = true;
            }
            _ => {}
        }
    }
    Ok(counter.deepest)
}

fn is_operator(word: &str) -> bool {
    matches!(word, "if" | "else" | "lambda" | "not" | "and" | "or" | "in" | "is" | "await" | "yield" | "for")
}

fn indent_of(text: &str, at: usize) -> usize {
    text.as_bytes()
        .get(..at)
        .map_or(0, |before| before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t' | 0x0c)).count())
}

struct Counter {
    /// For each open bracket, how many operations nest before it and since its last comma.
    open: Vec<usize>,
    /// For each indent, how wide it is, and how many `elif`s nest in it.
    indents: Vec<(usize, usize)>,
    in_chain: usize,
    elifs: usize,
    deepest: usize,
}

impl Default for Counter {
    fn default() -> Self {
        Self { open: vec![0], indents: vec![(0, 0)], in_chain: 0, elifs: 0, deepest: 0 }
    }
}

impl Counter {
    fn operation(&mut self) -> Result<(), TooDeep> {
        if let Some(last) = self.open.last_mut() {
            *last += 1;
            self.in_chain += 1;
        }
        let depth = self.in_chain + self.elifs + self.indents.len();
        self.deepest = self.deepest.max(depth);
        if depth > CHAIN { Err(TooDeep::Chain) } else { Ok(()) }
    }

    fn open(&mut self) -> Result<(), TooDeep> {
        self.operation()?;
        self.open.push(0);
        if self.open.len() > BRACKETS + 1 { Err(TooDeep::Brackets) } else { Ok(()) }
    }

    fn close(&mut self) {
        if self.open.len() > 1
            && let Some(count) = self.open.pop()
        {
            self.in_chain -= count;
        }
    }

    fn next(&mut self) {
        if let Some(last) = self.open.last_mut() {
            self.in_chain -= *last;
            *last = 0;
        }
    }

    fn end(&mut self) {
        self.open.clear();
        self.open.push(0);
        self.in_chain = 0;
    }

    fn line(&mut self, indent: usize, word: &str) -> Result<(), TooDeep> {
        while self.indents.len() > 1 && self.indents.last().is_some_and(|(width, _)| *width > indent) {
            if let Some((_, elifs)) = self.indents.pop() {
                self.elifs -= elifs;
            }
        }
        if self.indents.last().is_some_and(|(width, _)| *width < indent) {
            self.indents.push((indent, 0));
        }
        if let Some((_, elifs)) = self.indents.last_mut() {
            match word {
                "elif" => {
                    *elifs += 1;
                    self.elifs += 1;
                }
                "else" => {}
                _ => {
                    self.elifs -= *elifs;
                    *elifs = 0;
                }
            }
        }
        if self.indents.len() > INDENTS + 1 {
            return Err(TooDeep::Indents);
        }
        let depth = self.elifs + self.indents.len();
        self.deepest = self.deepest.max(depth);
        if depth > CHAIN { Err(TooDeep::Chain) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexical::tokens;
    use super::*;

    fn check(text: &str) -> Result<(), TooDeep> {
        measure(text, &tokens(text)).map(drop)
    }

    #[test]
    fn what_nests_is_counted() {
        assert_eq!(check(&"(".repeat(201)), Err(TooDeep::Brackets));
        assert_eq!(check(&format!("x = {}1{}", "(".repeat(150), ")".repeat(150))), Ok(()));
        assert_eq!(check(&format!("x = {}1", "-".repeat(6000))), Err(TooDeep::Chain));
        assert_eq!(check(&format!("x = a{}", ".b".repeat(6000))), Err(TooDeep::Chain));
        assert_eq!(check(&format!("x = a{}", "()".repeat(6000))), Err(TooDeep::Chain));
        let mut blocks = String::new();
        for depth in 0..120 {
            blocks += &format!("{}if x:\n", " ".repeat(depth));
        }
        assert_eq!(check(&blocks), Err(TooDeep::Indents));
        assert!(measure("x = f(a.b, (1))", &tokens("x = f(a.b, (1))")).unwrap() < 6);
        let elifs = "if a:\n  x\n".to_owned() + &"elif b:\n  y\n".repeat(6000);
        assert_eq!(check(&elifs), Err(TooDeep::Chain));
    }

    #[test]
    fn what_is_flat_is_not() {
        assert_eq!(check(&format!("x = [{}]", "a.b + 1, ".repeat(20_000))), Ok(()));
        assert_eq!(check(&"x = a.b(1) + 2\n".repeat(20_000)), Ok(()));
        assert_eq!(check(&"if a:\n  x\nelif b:\n  y\n".repeat(6000)), Ok(()));
    }
}
