//! A line cut into words, numbers, times, addresses and the like.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Tolerance, Volatile};

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Token<'l> {
    /// What sort of piece it is.
    pub sort: Sort,
    /// As it stands.
    pub text: &'l str,
}

/// What sort of piece a token is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sort {
    /// Anything that must be the same.
    Word,
    /// A gap between words.
    Gap,
    /// A number.
    Number(f64),
    /// Something volatile, which need only be of the same sort.
    Volatile(Volatile),
}

/// Most specific first: what stands earlier wins where two begin at one place.
const PATTERN: &str = r#"(?x)
    (?P<id> \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b )
  | (?P<path> (?: /tmp | /var/tmp | /var/folders | /private/var | /dev/shm ) (?: /[^\s'",:;)\]>]+ )+
            | [A-Za-z]:\\[^\s'"]*\\Temp\\[^\s'"]*
            | (?: [A-Za-z]: )? (?: [/\\][\w.+~@-]+ )* [/\\] (?: site-packages | dist-packages | lib/python3\.\d+ ) [/\\]
            | (?: /[\w.+~@-]+ )+ / (?P<kept> [\w.+~@-]+\.py ) \b
            | <ipython-input-[^>]*> | \bipykernel_\d+ )
  | (?P<time> \b\d{4}-\d{2}-\d{2} (?: [T\ ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)? (?: Z | [+-]\d{2}:?\d{2} )? )?
            | \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\ +(?:\d{1,2}\ +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*
              (?:\ +\d{1,2})?(?:,?\ +\d{4})?(?:\ +\d{1,2}:\d{2}(?::\d{2})?)?(?:\ +(?:[A-Z]{3,4}\ +)?\d{4})?
            | \b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?\b (?: \ ?[AaPp]\.?[Mm]\b )? )
  | (?P<address> \b0x[0-9a-fA-F]{4,}\b )
  | (?P<duration> (?: \d+(?:\.\d+)? (?: [eE][+-]?\d+ )? \s? (?: ns | [µμu]s | ms | s | secs? | seconds? | mins? | minutes? | hrs? | hours? | h )\b \s? )+
                | \b\d+(?:\.\d+)?\s?(?: it/s | s/it )\b )
  | (?P<number> \b (?: nan | NaN | inf | Infinity ) \b
              | (?: \d+ (?: \.\d* )? | \.\d+ ) (?: [eE][+-]?\d+ )? )
  | (?P<gap> \s+ )
"#;

static TOKENS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(PATTERN).unwrap_or_else(|error| unreachable!("the pattern is tested: {error}")));

/// The pieces of a line, none left out.
pub fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut next = 0;
    for captures in TOKENS.captures_iter(line) {
        let Some(whole) = captures.get(0) else { continue };
        push_word(&mut found, line, next, whole.start());
        let is = |name: &str| captures.name(name).is_some();
        let sort = if is("gap") {
            Sort::Gap
        } else if is("number") {
            Sort::Number(whole.as_str().parse().unwrap_or(f64::NAN))
        } else if let Some(kept) = captures.name("kept") {
            // Of a source file, where it lies is volatile and its name is not.
            found.push(Token {
                sort: Sort::Volatile(Volatile::Path),
                text: line.get(whole.start()..kept.start()).unwrap_or_default(),
            });
            found.push(Token { sort: Sort::Word, text: kept.as_str() });
            next = whole.end();
            continue;
        } else {
            let volatile = [
                ("id", Volatile::Identifier),
                ("path", Volatile::Path),
                ("time", Volatile::Time),
                ("address", Volatile::Address),
                ("duration", Volatile::Duration),
            ];
            volatile.iter().find(|(name, _)| is(name)).map_or(Sort::Word, |(_, what)| Sort::Volatile(*what))
        };
        found.push(Token { sort, text: whole.as_str() });
        next = whole.end();
    }
    push_word(&mut found, line, next, line.len());
    found
}

fn push_word<'l>(found: &mut Vec<Token<'l>>, line: &'l str, from: usize, to: usize) {
    let text = line.get(from..to).unwrap_or_default();
    if !text.is_empty() {
        found.push(Token { sort: Sort::Word, text });
    }
}

/// What is volatile between two lines, or `None` where they differ.
pub fn alike(old: &str, new: &str, tolerance: &Tolerance) -> Option<Vec<Volatile>> {
    if old == new {
        return Some(Vec::new());
    }
    let direct = paired(&tokens(old), &tokens(new), tolerance);
    if direct.is_some() {
        return direct;
    }
    let (bare_old, bare_new) = (unwrapped(old), unwrapped(new));
    let other_notation = matches!((&bare_old, &bare_new), (Cow::Owned(_), _) | (_, Cow::Owned(_)));
    let (sorted_old, sorted_new) = (sets_sorted(&bare_old), sets_sorted(&bare_new));
    let other_order = matches!((&sorted_old, &sorted_new), (Cow::Owned(_), _) | (_, Cow::Owned(_)));
    let extra = [(other_notation, Volatile::Notation), (other_order, Volatile::SetOrder)];
    let extra: Vec<Volatile> = extra.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    if extra.is_empty() || extra.iter().any(|what| tolerance.strict.contains(what)) {
        return None;
    }
    let mut volatile = paired(&tokens(&sorted_old), &tokens(&sorted_new), tolerance)?;
    volatile.extend(extra);
    Some(volatile)
}

/// The same value written otherwise, and how it is written without that: numpy 2's scalars; classes and objects, which
/// IPython writes in a way of its own; the shape that numpy 2.2 adds where an array is shown in part.
static NOTATIONS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\bnp\.(?:(?:float|int|uint|complex|str|bool|long)\w*\(([^()]*)\)|(True|False)_\b)", "$1$2"),
        (r"<class '([\w.<>]+)'>", "$1"),
        (r"<([\w.]+) object at ", "<$1 at "),
        (r"\], shape=\([\d, ]*\)", "]"),
    ]
    .into_iter()
    .map(|(pattern, plain)| {
        (Regex::new(pattern).unwrap_or_else(|error| unreachable!("the pattern is tested: {error}")), plain)
    })
    .collect()
});

/// The line with each value in its plain notation.
fn unwrapped(line: &str) -> Cow<'_, str> {
    NOTATIONS.iter().fold(Cow::Borrowed(line), |line, (pattern, plain)| match pattern.replace_all(&line, *plain) {
        Cow::Borrowed(_) => line,
        Cow::Owned(new) => Cow::Owned(new),
    })
}

fn paired(old: &[Token<'_>], new: &[Token<'_>], tolerance: &Tolerance) -> Option<Vec<Volatile>> {
    // A gap at the end of a line, or before a sign, comes and goes with the width of numbers.
    let (old, new) = (signed(old), signed(new));
    if old.len() != new.len() {
        return None;
    }
    let mut volatile = Vec::new();
    for (a, b) in old.iter().zip(&new) {
        if a.text == b.text {
            continue;
        }
        let what = match (a.sort, b.sort) {
            (Sort::Number(x), Sort::Number(y)) if near(x, y, &a.text, &b.text, tolerance) => Volatile::Number,
            (Sort::Volatile(a), Sort::Volatile(b)) if a == b => a,
            (Sort::Gap, Sort::Gap) => Volatile::Spacing,
            _ => return None,
        };
        if tolerance.strict.contains(&what) {
            return None;
        }
        volatile.push(what);
    }
    Some(volatile)
}

/// A piece of a line whose sign, if it has one, is part of its number.
struct Signed<'t> {
    sort: Sort,
    text: Cow<'t, str>,
}

/// Puts a minus before a number to the number, where it is no operator.
fn signed<'t>(tokens: &[Token<'t>]) -> Vec<Signed<'t>> {
    let mut out: Vec<Signed<'t>> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (Sort::Number(value), Some(last)) = (token.sort, out.last_mut())
            && last.sort == Sort::Word
            && let Some(rest) = last.text.strip_suffix('-')
            && (rest.is_empty() || rest.ends_with(['(', '[', '{', ',', '=', ':', '*', '/', ' ']))
        {
            let rest = rest.to_owned();
            if rest.is_empty() {
                out.pop();
            } else {
                last.text = Cow::Owned(rest);
            }
            out.push(Signed { sort: Sort::Number(-value), text: Cow::Owned(format!("-{}", token.text)) });
            continue;
        }
        out.push(Signed { sort: token.sort, text: Cow::Borrowed(token.text) });
    }
    out
}

/// Whether two numbers are near enough. Whole numbers are counts: they must be equal.
fn near(x: f64, y: f64, a: &str, b: &str, tolerance: &Tolerance) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    let whole = |text: &str| text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    if whole(a) && whole(b) {
        return x == y;
    }
    if x == y {
        return true;
    }
    // Printed with few digits, a number may be off by half of its last.
    let digits = |text: &str| text.split(['e', 'E']).next().and_then(|t| t.split_once('.')).map_or(0, |(_, d)| d.len());
    let scientific = a.contains(['e', 'E']) || b.contains(['e', 'E']);
    let last = if scientific { 0.0 } else { 10f64.powi(-i32::try_from(digits(a).min(digits(b))).unwrap_or(0)) };
    let rounded = digits(a) != digits(b) && (x - y).abs() <= last * 0.500_001;
    (x - y).abs() <= tolerance.absolute.max(tolerance.relative * x.abs().max(y.abs())) || rounded
}

/// The line with the members of each set in order.
fn sets_sorted(line: &str) -> Cow<'_, str> {
    if !line.contains('{') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut changed = false;
    while let Some(at) = rest.find('{') {
        let (before, inside) = rest.split_at(at);
        out.push_str(before);
        let Some(members) = members(inside) else {
            out.push('{');
            rest = inside.get(1..).unwrap_or_default();
            continue;
        };
        let mut sorted: Vec<&str> = members.iter().map(|member| member.trim()).collect();
        sorted.sort_unstable();
        changed = true;
        out.push_str(&format!("{{{}}}", sorted.join(", ")));
        let length = members.iter().map(|member| member.len() + 1).sum::<usize>() + 1;
        rest = inside.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    if changed { Cow::Owned(out) } else { Cow::Borrowed(line) }
}

/// The members of the set that `text` begins with; `None` if it is a dictionary or does not close.
fn members(text: &str) -> Option<Vec<&str>> {
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut from = 1;
    let mut members = Vec::new();
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == open => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    members.push(text.get(from..at)?);
                    return (members.len() > 1).then_some(members);
                }
            }
            ':' if depth == 1 => return None,
            ',' if depth == 1 => {
                members.push(text.get(from..at)?);
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: &str, new: &str) -> Option<Vec<Volatile>> {
        alike(old, new, &Tolerance::default())
    }

    #[test]
    fn what_means_nothing_is_told_by_what_it_is() {
        use Volatile::*;
        for (old, new, want) in [
            ("<Axes at 0x7f01aa>", "<Axes at 0x7fff>", Some(vec![Address])),
            ("0.1234567", "0.12345671", Some(vec![Number])),
            ("0.1234", "0.12340001", Some(vec![Number])),
            ("array([ 1. , -2.5])", "array([ 1. , -2.5000000001])", Some(vec![Number])),
            ("0.12", "0.13", None),
            ("1 item", "2 items", None),
            ("100", "101", None),
            ("-1.5", "1.5", None),
            ("nan 1", "nan  1", Some(vec![Spacing])),
            ("took 1.25 s", "took 980 ms", Some(vec![Duration])),
            ("14.8 µs ± 1.2 µs per loop", "9 µs ± 300 ns per loop", Some(vec![Duration, Duration])),
            ("at 2024-01-02 03:04:05.678", "at 2026-11-28T01:02:03Z", Some(vec![Time])),
            ("Sat Nov 28 00:23:11 2026", "Sun Jan  3 04:05:06 2021", Some(vec![Time])),
            ("/tmp/tmpab12/x.csv", "/tmp/tmpzz99/x.csv", Some(vec![Path])),
            ("/usr/lib/python3.9/site-packages/a.py:3: W", "/opt/x/site-packages/a.py:3: W", Some(vec![Path])),
            ("File \"/home/a/b/run.py\"", "File \"/home/c/run.py\"", Some(vec![Path])),
            ("File \"/home/a/b/run.py\"", "File \"/home/a/b/walk.py\"", None),
            ("{'b', 'a'} {1: 2}", "{'a', 'b'} {1: 2}", Some(vec![SetOrder])),
            ("{'b': 1, 'a': 2}", "{'a': 2, 'b': 1}", None),
            ("{3, 1.0000001}", "{1.0000002, 3}", Some(vec![Number, SetOrder])),
            (
                "id 123e4567-e89b-12d3-a456-426614174000",
                "id 00000000-e89b-12d3-a456-426614174000",
                Some(vec![Identifier]),
            ),
            ("(1.5, True)", "(np.float64(1.5), np.True_)", Some(vec![Notation])),
            ("np.float64(1.5)", "np.float64(2.5)", None),
            ("numpy.ndarray", "<class 'numpy.ndarray'>", Some(vec![Notation])),
            ("<a.Line at 0x1fb4a3>", "<a.Line object at 0x7f53>", Some(vec![Address, Notation])),
            ("[7, ..., 9]])", "[7, ..., 9]], shape=(76, 10))", Some(vec![Notation])),
            ("a b", "a  c", None),
        ] {
            assert_eq!(found(old, new), want, "{old} | {new}");
        }
    }

    #[test]
    fn what_is_asked_for_counts() {
        let tolerance = Tolerance { strict: vec![Volatile::Address, Volatile::SetOrder], ..Tolerance::default() };
        assert_eq!(alike("0x7f01aa", "0x7fff00", &tolerance), None);
        assert_eq!(alike("{1, 2}", "{2, 1}", &tolerance), None);
        assert_eq!(alike("{1, 2}", "{2, 1}", &Tolerance::default()), Some(vec![Volatile::SetOrder]));
    }

    proptest::proptest! {
        #[test]
        fn nothing_of_a_line_is_left_out(line in "\\PC{0,80}") {
            let together: String = tokens(&line).iter().map(|token| token.text).collect();
            proptest::prop_assert_eq!(together, line);
        }

        #[test]
        fn a_line_is_alike_to_itself_and_alikeness_goes_both_ways(old in "[-0-9a-z {},.:x'/]{0,30}", new in "[-0-9a-z {},.:x'/]{0,30}") {
            let tolerance = Tolerance::default();
            proptest::prop_assert_eq!(alike(&old, &old, &tolerance), Some(vec![]));
            proptest::prop_assert_eq!(alike(&old, &new, &tolerance).is_some(), alike(&new, &old, &tolerance).is_some());
        }
    }
}
