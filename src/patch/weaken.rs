//! What makes tests pass without making the code right: asserts that go or loosen, wider tolerances, other
//! seeds, broader `except`, and the like.
//!
//! Found in the changed lines of a patch by their words. It is a lens for a reviewer, not a verdict: a change
//! may be right, but it must not go unseen.

use std::fmt;

use serde::Serialize;

use super::review::{FileReview, Line, Review, Run};
use super::shorten;
use crate::run::parse_header;
use crate::step::Kind;

/// How a patch weakens what checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weakened {
    /// A test is deleted.
    TestGone,
    /// A test is skipped or expected to fail.
    TestSkipped,
    /// An assert is gone.
    AssertGone,
    /// An assert holds for more than before.
    AssertLoosened,
    /// A tolerance is wider.
    Tolerance,
    /// A random generator is seeded otherwise.
    Seed,
    /// An `except` catches more than before, or swallows what it catches.
    Except,
    /// Warnings are silenced.
    Warnings,
    /// A limit on time or depth is raised.
    Limit,
    /// A missing value gets a default instead of an error.
    Default,
}

impl Weakened {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::TestGone => "deletes a test",
            Self::TestSkipped => "skips a test",
            Self::AssertGone => "removes an assert",
            Self::AssertLoosened => "loosens an assert",
            Self::Tolerance => "widens a tolerance",
            Self::Seed => "changes a seed",
            Self::Except => "catches more errors",
            Self::Warnings => "silences warnings",
            Self::Limit => "raises a limit",
            Self::Default => "puts a default where an error was",
        }
    }
}

/// One place where a patch weakens something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weakening {
    /// How.
    pub how: Weakened,
    /// The file.
    pub path: String,
    /// 1-based line of the file before the patch.
    pub line: usize,
    /// The line that shows it, as it was or as it comes; hostile.
    pub text: String,
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{}: {})", self.how.words(), self.path, self.line, self.text)
    }
}

/// Where a patch weakens what checks it, in the order of the patch.
pub fn weakenings(review: &Review) -> Vec<Weakening> {
    let mut found = Vec::new();
    for file in &review.files {
        let mut lens = Lens { file, found: &mut found };
        if file.deleted && is_test(file) {
            lens.add(Weakened::TestGone, 0, &file.path);
            continue;
        }
        for run in file.hunks.iter().flat_map(|hunk| &hunk.runs) {
            lens.run(run);
        }
    }
    found
}

/// Whether a file is a test by its header or its name.
fn is_test(file: &FileReview) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let stem = name.trim_end_matches(".py").trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    let header = file.base.as_deref().is_some_and(|text| parse_header(text).header.kind == Kind::Test);
    header || stem.starts_with("test_") || stem == "test" || stem.ends_with("_test")
}

struct Lens<'a> {
    file: &'a FileReview,
    found: &'a mut Vec<Weakening>,
}

impl Lens<'_> {
    fn add(&mut self, how: Weakened, line: usize, text: &str) {
        self.found.push(Weakening {
            how,
            path: self.file.path.clone(),
            line: line + 1,
            text: shorten(text.trim(), 120),
        });
    }

    fn run(&mut self, run: &Run) {
        let side = |lines: &[Line]| lines.iter().map(|line| code(&line.text).to_owned()).collect::<Vec<String>>();
        let (old, new) = (side(&run.old), side(&run.new));
        self.tests(run, &old, &new);
        self.asserts(run, &old, &new);
        self.numbers(run, &old, &new);
        self.handlers(run, &old, &new);
        let appears = |words: &[&str]| {
            let has = |line: &&String| words.iter().any(|word| line.contains(word));
            new.iter().find(has).filter(|_| !old.iter().any(|line| has(&line)))
        };
        if let Some(line) = appears(&["filterwarnings(", "simplefilter(", "disable_warnings("]) {
            self.add(Weakened::Warnings, run.at, line);
        }
        if let Some(line) = appears(&["setrecursionlimit("]) {
            self.add(Weakened::Limit, run.at, line);
        }
        if let Some(line) = appears(&["errors=\"ignore\"", "errors='ignore'", "errors=\"coerce\"", "errors='coerce'"]) {
            self.add(Weakened::Default, run.at, line);
        }
        for line in &new {
            let defaulted = gets(line).find(|key| {
                let plain = |old: &String| old.contains(&format!("[{key}]")) || old.contains(&format!(".pop({key})"));
                old.iter().any(plain)
            });
            if defaulted.is_some() {
                self.add(Weakened::Default, run.at, line);
            }
        }
    }

    fn tests(&mut self, run: &Run, old: &[String], new: &[String]) {
        for (offset, line) in old.iter().enumerate() {
            let name = test_name(line);
            if let Some(name) = name
                && !new.iter().any(|line| test_name(line) == Some(name))
            {
                self.add(Weakened::TestGone, run.at + offset, line);
            }
        }
        let skips = [
            "mark.skip",
            "mark.xfail",
            "pytest.skip(",
            "pytest.xfail(",
            "unittest.skip",
            "expectedFailure",
            "SkipTest",
            "skipTest(",
        ];
        for line in new {
            if skips.iter().any(|word| line.contains(word)) && !old.contains(line) {
                self.add(Weakened::TestSkipped, run.at, line);
            }
        }
    }

    fn asserts(&mut self, run: &Run, old: &[String], new: &[String]) {
        let of = |lines: &[String]| {
            lines
                .iter()
                .enumerate()
                .filter(|(_, line)| is_assert(line))
                .map(|(at, line)| (at, line.trim().to_owned()))
                .collect::<Vec<_>>()
        };
        let (mut before, mut after) = (of(old), of(new));
        // An assert that only moved is not gone.
        before.retain(|(_, line)| !self.comes(line));
        let mut changed = Vec::new();
        for (at, line) in before {
            match after.iter().position(|(_, other)| *other == line) {
                Some(place) => {
                    after.remove(place);
                }
                None => changed.push((at, line)),
            }
        }
        for (index, (at, line)) in changed.iter().enumerate() {
            match after.get(index) {
                None => self.add(Weakened::AssertGone, run.at + at, line),
                Some((_, other)) if is_looser(line, other) => self.add(Weakened::AssertLoosened, run.at + at, other),
                Some(_) => {}
            }
        }
    }

    /// Whether a line is among those that come anywhere in the file.
    fn comes(&self, text: &str) -> bool {
        let mut new = self.file.hunks.iter().flat_map(|hunk| &hunk.runs).flat_map(|run| &run.new);
        new.any(|line| code(&line.text).trim() == text)
    }

    /// Numbers behind the names of tolerances, seeds and limits.
    fn numbers(&mut self, run: &Run, old: &[String], new: &[String]) {
        const WIDER: [&str; 12] = [
            "rtol",
            "atol",
            "tol",
            "rel_tol",
            "abs_tol",
            "rel",
            "abs",
            "tolerance",
            "delta",
            "epsilon",
            "eps",
            "threshold",
        ];
        const FINER: [&str; 3] = ["places", "decimal", "significant"];
        const LIMITS: [&str; 4] = ["timeout", "max_iter", "retries", "time_limit"];
        for line in new {
            for (name, value) in settings(line) {
                let before =
                    old.iter().flat_map(|line| settings(line)).find(|(other, _)| *other == name).map(|(_, v)| v);
                let how = match (before, value) {
                    (Some(before), value) if before == value => continue,
                    (Some(before), value) => {
                        let (a, b) = (before.parse::<f64>(), value.parse::<f64>());
                        let grows = matches!((&a, &b), (Ok(a), Ok(b)) if b > a);
                        let shrinks = matches!((&a, &b), (Ok(a), Ok(b)) if b < a);
                        if (WIDER.contains(&name) && grows) || (FINER.contains(&name) && shrinks) {
                            Weakened::Tolerance
                        } else if is_seed(name) {
                            Weakened::Seed
                        } else if LIMITS.contains(&name) && (grows || value == "None") {
                            Weakened::Limit
                        } else {
                            continue;
                        }
                    }
                    _ => continue,
                };
                self.add(how, run.at, line);
            }
            for (name, value) in calls(line).filter(|(name, _)| is_seed(name)) {
                let before = old.iter().flat_map(|line| calls(line)).find(|(other, _)| *other == name);
                if before.is_some_and(|(_, before)| before != value) {
                    self.add(Weakened::Seed, run.at, line);
                }
            }
        }
        for (offset, line) in old.iter().enumerate() {
            let gone = |name: &str| !new.iter().any(|line| line.contains(name));
            let seeds = calls(line).map(|(name, _)| name).chain(settings(line).map(|(name, _)| name));
            if let Some(_name) = seeds.filter(|name| is_seed(name)).find(|name| gone(name)) {
                self.add(Weakened::Seed, run.at + offset, line);
            }
        }
    }

    fn handlers(&mut self, run: &Run, old: &[String], new: &[String]) {
        let narrowest = old.iter().filter_map(|line| breadth(line)).max();
        for (offset, line) in new.iter().enumerate() {
            let Some(breadth) = breadth(line) else { continue };
            let swallows = new.get(offset + 1).is_some_and(|body| matches!(body.trim(), "pass" | "continue" | "..."));
            let swallowed = old.iter().zip(old.iter().skip(1)).any(|(head, body)| {
                self::breadth(head).is_some() && matches!(body.trim(), "pass" | "continue" | "...")
            });
            if (breadth > 1 && narrowest.is_none_or(|before| breadth > before)) || (swallows && !swallowed) {
                self.add(Weakened::Except, run.at, line);
            }
        }
    }
}

/// A line without its comment, as far as quotes are closed before it.
fn code(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return line.get(..at).unwrap_or(line).trim_end(),
            _ => {}
        }
    }
    line.trim_end()
}

fn test_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?;
    rest.starts_with("test").then(|| rest.split('(').next().unwrap_or(rest))
}

fn is_assert(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("assert ") || line.starts_with("assert(") || line.contains(".assert") || line.contains("assert_")
}

/// Whether `new` holds for more than `old` by its shape.
fn is_looser(old: &str, new: &str) -> bool {
    let always = |line: &str| matches!(line.trim_start_matches("assert").trim(), "True" | "(True)" | "1" | "not False");
    let strength = |line: &str| {
        if always(line) {
            0
        } else if line.contains(" is not None") || line.contains("assertIsNotNone") || line.contains("isinstance(") {
            1
        } else if line.contains(" in ") || line.contains(" >= ") || line.contains(" <= ") || line.contains("assertIn") {
            2
        } else if line.contains(" > ") || line.contains(" < ") || line.contains(" != ") {
            3
        } else if line.contains("approx(")
            || line.contains("isclose(")
            || line.contains("allclose(")
            || line.contains("lmost")
        {
            4
        } else if line.contains(" == ") || line.contains(" is ") || line.contains("assertEqual") {
            5
        } else {
            3
        }
    };
    strength(new) < strength(old)
        || (new.contains(" or ") && !old.contains(" or "))
        || (old.contains(" and ") && !new.contains(" and "))
}

fn is_seed(name: &str) -> bool {
    matches!(
        name,
        "seed" | "random_state" | "manual_seed" | "default_rng" | "RandomState" | "set_seed" | "SEED" | "RANDOM_STATE"
    ) || name.ends_with("_seed")
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name that ends right before `at`.
fn name_before(line: &str, at: usize) -> &str {
    let before = line.get(..at).unwrap_or_default().trim_end();
    let start = before.rfind(|c| !is_name(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    before.get(start..).unwrap_or_default()
}

/// The literal that begins right behind `at`.
fn literal_after(line: &str, at: usize) -> &str {
    let after = line.get(at..).unwrap_or_default().trim_start();
    let sign = usize::from(after.starts_with('-'));
    let end = after
        .get(sign..)
        .unwrap_or_default()
        .find(|c: char| !(is_name(c) || c == '.'))
        .map_or(after.len(), |end| end + sign);
    let literal = after.get(..end).unwrap_or_default();
    // An exponent may have a sign of its own.
    match after.get(end..).filter(|_| literal.ends_with(['e', 'E'])).and_then(|rest| rest.strip_prefix(['-', '+'])) {
        Some(rest) => {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            after.get(..end + 1 + digits).unwrap_or(literal)
        }
        None => literal,
    }
}

/// `name=literal` and `name = literal` in a line.
fn settings(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices('=').filter_map(|(at, _)| {
        let alone = !line.get(at + 1..)?.starts_with('=')
            && !line.get(..at)?.ends_with(['=', '!', '<', '>', '+', '-', '*', '/']);
        let (name, value) = (name_before(line, at), literal_after(line, at + 1));
        (alone && !name.is_empty() && !value.is_empty()).then_some((name, value))
    })
}

/// `name(literal` in a line.
fn calls(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices('(').filter_map(|(at, _)| {
        let (name, value) = (name_before(line, at), literal_after(line, at + 1));
        (!name.is_empty()).then_some((name, value))
    })
}

/// The keys of `.get(key, default)` calls in a line.
fn gets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(".get(").filter_map(|(at, call)| {
        let inner = line.get(at + call.len()..)?;
        let (key, rest) = inner.split_once(',')?;
        (!rest.trim_start().starts_with(')') && !key.contains(')')).then(|| key.trim())
    })
}

/// How much an `except` line, or a `suppress`, catches: 1 named errors, 2 every `Exception`, 3 everything.
fn breadth(line: &str) -> Option<u8> {
    let line = line.trim();
    let caught = if let Some(rest) = line.strip_prefix("except") {
        let rest = rest.trim_start_matches('*');
        if !(rest.starts_with([' ', ':', '('])) {
            return None;
        }
        rest.trim_end_matches(':').split(" as ").next().unwrap_or_default().trim()
    } else {
        let (_, rest) = line.split_once("suppress(")?;
        rest.split(')').next().unwrap_or_default().trim()
    };
    let names = || caught.split(|c: char| !(is_name(c) || c == '.'));
    if caught.is_empty() || names().any(|name| name == "BaseException") {
        Some(3)
    } else if names().any(|name| name == "Exception") {
        Some(2)
    } else {
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::FileChange;

    fn found(path: &str, base: &str, result: Option<&str>) -> Vec<Weakened> {
        let change = FileChange { path: path.into(), base: Some(base.into()), result: result.map(Into::into) };
        weakenings(&Review::new(&[change])).into_iter().map(|one| one.how).collect()
    }

    #[test]
    fn what_weakens_is_found() {
        use Weakened::*;
        for (old, new, wanted) in [
            ("assert total == 3\n", "", AssertGone),
            ("assert total == 3\n", "assert total >= 3\n", AssertLoosened),
            ("assert total == 3\n", "assert total is not None\n", AssertLoosened),
            ("assert total == 3\n", "assert True\n", AssertLoosened),
            ("assert total == 3\n", "assert total == 3 or total == 4\n", AssertLoosened),
            ("assert np.allclose(a, b, rtol=1e-6)\n", "assert np.allclose(a, b, rtol=1e-2)\n", Tolerance),
            ("self.assertAlmostEqual(a, b, places=7)\n", "self.assertAlmostEqual(a, b, places=2)\n", Tolerance),
            ("random.seed(0)\n", "random.seed(42)\n", Seed),
            ("random.seed(0)\nx = 1\n", "x = 1\n", Seed),
            ("model = Forest(random_state=0)\n", "model = Forest(random_state=7)\n", Seed),
            ("rng = np.random.default_rng(1)\n", "rng = np.random.default_rng(2)\n", Seed),
            ("except KeyError:\n", "except Exception:\n", Except),
            ("x = f()\n", "try:\n    x = f()\nexcept ValueError:\n    pass\n", Except),
            ("x = f()\n", "with suppress(Exception):\n    x = f()\n", Except),
            ("def test_a():\n    pass\n", "x = 1\n", TestGone),
            ("def test_a():\n", "@pytest.mark.skip\ndef test_a():\n", TestSkipped),
            ("x = 1\n", "x = 1\nwarnings.filterwarnings('ignore')\n", Warnings),
            ("x = 1\n", "x = 1\nsys.setrecursionlimit(10**6)\n", Limit),
            ("x = d['a']\n", "x = d.get('a', 0)\n", Default),
            ("pd.to_numeric(x)\n", "pd.to_numeric(x, errors='coerce')\n", Default),
        ] {
            assert_eq!(found("s.py", old, Some(new)), [wanted], "{old}{new}");
        }
        assert_eq!(found("03_test_fit.py", "assert x\n", None), [TestGone]);
        assert_eq!(found("03_fit.py", "# /// step\n# kind = \"test\"\n# ///\nassert x\n", None), [TestGone]);
    }

    #[test]
    fn what_does_not_is_left_alone() {
        for (old, new) in [
            ("assert total == 3\n", "assert total == 4\n"),
            ("assert a\nassert b\n", "assert b\nassert a\n"),
            ("rtol = 1e-2\n", "rtol = 1e-6\n"),
            ("except Exception:\n    raise\n", "except KeyError:\n    raise\n"),
            ("x = d['a']\n", "x = d['b']\n"),
            ("x = 1\n", "try:\n    x = int(y)\nexcept ValueError:\n    x = 0\n    log(y)\n"),
            ("def test_a():\n    x\n", "def test_a():\n    y\n"),
            ("# seed(0)\n", "# seed(1)\n"),
            ("timeout = 30\n", "timeout = 10\n"),
        ] {
            assert_eq!(found("s.py", old, Some(new)), [], "{old}{new}");
        }
    }
}
