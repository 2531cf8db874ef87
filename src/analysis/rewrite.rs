//! Writes what the parser can't read as something that it can, of the same length and with the same names.
//!
//! Places in the text stay what they are, since nothing moves. What is written anew:
//!
//! - f-strings and t-strings, always: `f'{a} {d['k']:>{w}}'` becomes `(  a,  d['k'],   w,  )`. The parser
//!   knows nothing of PEP 701 and PEP 750, and its ranges within f-strings are off where lines end in `\r\n`.
//! - only where the parser refused the source ([`relax`]): defaults of type parameters (PEP 696), `except A, B:`
//!   (PEP 758), and indentation by spaces and then tabs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::lexical::{Kind, Token, tokens};

/// Writes strings with fields as tuples of the fields.
pub(super) fn rewrite<'t>(text: &'t str, tokens: &[Token]) -> Cow<'t, str> {
    if !tokens.iter().any(|token| token.kind == Kind::FormatStart) {
        return Cow::Borrowed(text);
    }
    let mut out = text.as_bytes().to_vec();
    fields_to_tuples(tokens, &mut out);
    into_text(text, out)
}

fn into_text(text: &str, out: Vec<u8>) -> Cow<'_, str> {
    // Whole characters are replaced, so this can't fail; if it did, the text as it was is as good.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn blank(out: &mut [u8], range: Range<usize>) {
    for byte in out.get_mut(range).into_iter().flatten() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

fn put(out: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = out.get_mut(at) {
        *place = byte;
    }
}

/// Strings that stand side by side are one: a chain.
#[derive(Default)]
struct Chain {
    texts: Vec<Range<usize>>,
    range: Range<usize>,
    has_fields: bool,
}

fn fields_to_tuples(tokens: &[Token], out: &mut [u8]) {
    let mut chains: Vec<Chain> = Vec::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    // The chain that ended just before, if the last token ended one.
    let mut last: Option<usize> = None;
    let mut after_comma = false;
    for token in tokens.iter().filter(|token| token.kind != Kind::Comment) {
        let mut this = None;
        match token.kind {
            Kind::Text | Kind::FormatStart => {
                let chain = last.unwrap_or_else(|| {
                    chains.push(Chain { range: token.range.clone(), ..Chain::default() });
                    chains.len() - 1
                });
                if let Some(chain) = chains.get_mut(chain) {
                    chain.texts.push(token.range.clone());
                    chain.range.end = token.range.end;
                    chain.has_fields |= token.kind == Kind::FormatStart;
                }
                if token.kind == Kind::Text {
                    this = Some(chain);
                } else {
                    open.push((chain, false));
                }
            }
            Kind::FormatEnd => {
                if let Some((chain, _)) = open.pop() {
                    if let Some(chain) = chains.get_mut(chain) {
                        chain.texts.push(token.range.clone());
                        chain.range.end = token.range.end;
                    }
                    this = Some(chain);
                }
            }
            Kind::FormatText | Kind::Conversion | Kind::Debug => blank(out, token.range.clone()),
            Kind::FieldOpen => {
                blank(out, token.range.clone());
                open.push((usize::MAX, false));
            }
            Kind::SpecStart => {
                put(out, token.range.start, if after_comma { b' ' } else { b',' });
                if let Some((_, spec)) = open.last_mut() {
                    *spec = true;
                }
            }
            Kind::FieldClose => {
                let spec = open.pop().is_some_and(|(_, spec)| spec);
                put(out, token.range.start, if spec || after_comma { b' ' } else { b',' });
            }
            _ => {}
        }
        last = this;
        if !matches!(token.kind, Kind::Conversion | Kind::Debug) {
            after_comma = token.kind == Kind::Punctuation(b',');
        }
    }
    for chain in chains.iter().filter(|chain| chain.has_fields) {
        for text in &chain.texts {
            blank(out, text.clone());
        }
        put(out, chain.range.start, b'(');
        put(out, chain.range.end.saturating_sub(1), b')');
    }
}

/// Writes newer syntax, and odd indentation, in a way that the parser takes. For sources that it refused.
pub(super) fn relax(text: &str) -> Cow<'_, str> {
    let tokens = tokens(text);
    let mut out = text.as_bytes().to_vec();
    tabs_to_spaces(text, &tokens, &mut out);
    let words: Vec<&Token> = tokens.iter().filter(|token| token.kind != Kind::Comment).collect();
    let mut at = 0;
    while at < words.len() {
        let starts = at == 0 || words.get(at - 1).is_some_and(|t| t.kind == Kind::Newline || is(text, t, ":"));
        if starts {
            match words.get(at).and_then(|token| text.get(token.range.clone())) {
                Some("except") => handler_to_union(text, words.get(at + 1..).unwrap_or_default(), &mut out),
                Some("def" | "class" | "type") => {
                    defaults_to_bounds(text, words.get(at + 1..).unwrap_or_default(), &mut out)
                }
                Some("async") if words.get(at + 1).is_some_and(|token| is(text, token, "def")) => {
                    defaults_to_bounds(text, words.get(at + 2..).unwrap_or_default(), &mut out);
                }
                _ => {}
            }
        }
        at += 1;
    }
    into_text(text, out)
}

fn is(text: &str, token: &Token, what: &str) -> bool {
    text.get(token.range.clone()) == Some(what)
}

/// Where tabs follow spaces consistently, CPython's comparison with tabs as one column decides alike.
fn tabs_to_spaces(text: &str, tokens: &[Token], out: &mut [u8]) {
    let mut at_start = true;
    for token in tokens {
        if at_start && token.kind != Kind::Newline {
            let bytes = text.as_bytes();
            let mut at = token.range.start;
            while at > 0 && matches!(bytes.get(at - 1), Some(b' ' | b'\t')) {
                at -= 1;
                put(out, at, b' ');
            }
        }
        at_start = matches!(token.kind, Kind::Newline | Kind::Comment) && at_start || token.kind == Kind::Newline;
    }
}

/// `except A, B:` as `except A| B:`
fn handler_to_union(text: &str, tokens: &[&Token], out: &mut [u8]) {
    let mut depth = 0usize;
    for token in tokens {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Newline => return,
            Kind::Punctuation(b':') if depth == 0 => return,
            Kind::Punctuation(b',') if depth == 0 => put(out, token.range.start, b'|'),
            Kind::Word if depth == 0 && is(text, token, "as") => return,
            _ => {}
        }
    }
}

/// `[T: B = D, *Ts = *D]` as `[T: B | D,  Ts :  D]`: a bound is looked up when a default is, that is, later.
fn defaults_to_bounds(text: &str, tokens: &[&Token], out: &mut [u8]) {
    if tokens.get(1).is_none_or(|token| !is(text, token, "[")) {
        return;
    }
    let mut depth = 0usize;
    let mut bound = false;
    let mut edits: BTreeMap<usize, u8> = BTreeMap::new();
    let mut stars: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(1) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            Kind::Newline => return,
            Kind::Punctuation(b',') if depth == 1 => {
                bound = false;
                stars.clear();
            }
            Kind::Punctuation(b':') if depth == 1 => bound = true,
            Kind::Punctuation(b'*') if depth == 1 => stars.push(token.range.start),
            Kind::Punctuation(b'=') if depth == 1 => {
                edits.insert(token.range.start, if bound { b'|' } else { b':' });
                edits.extend(stars.drain(..).map(|star| (star, b' ')));
                if let Some(next) = tokens.get(at + 1).filter(|next| next.kind == Kind::Punctuation(b'*')) {
                    edits.insert(next.range.start, b' ');
                }
            }
            _ => {}
        }
    }
    for (place, byte) in edits {
        put(out, place, byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_tuples_of_the_same_length() {
        for (text, expected) in [
            ("f'{a}'", "(  a,)"),
            ("f'{d['k']}'", "(  d['k'],)"),
            ("f'{a} {b!r:>{w}.2f}'", "(  a,  b  ,  w,    )"),
            ("x = 'é' f'{v}' 'b'", "x = (       v,    )"),
            ("f'{f'{a}'}'", "(  (  a,),)"),
            ("f'{a=}'", "(  a ,)"),
            ("f'{a,}'", "(  a, )"),
            ("t'{a:x}'", "(  a,  )"),
            ("f''", "( )"),
            ("rf'''\n{a}\n'''", "(    \n a,\n  )"),
            ("f'{a != b}' == ''", "(  a != b,) == ''"),
        ] {
            let written = rewrite(text, &tokens(text));
            assert_eq!(written, expected, "{text}");
            assert_eq!(written.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn newer_syntax_is_written_in_older() {
        for (text, expected) in [
            ("try: pass\nexcept A, B: pass\n", "try: pass\nexcept A| B: pass\n"),
            ("def f[T = int, *Ts = *X](): pass", "def f[T : int,  Ts :  X](): pass"),
            ("class A[T: int = str, **P = [int]]: pass", "class A[T: int | str,   P : [int]]: pass"),
            ("type X[T = int] = T", "type X[T : int] = T"),
            ("if x:\n  \ty = 1\n", "if x:\n   y = 1\n"),
            ("x[a:b] = c", "x[a:b] = c"),
        ] {
            assert_eq!(relax(text), expected);
        }
    }
}
