//! The `# /// step` block of a step's file: a TOML text in comments, in the manner of PEP 723.

use std::path::{Component, Path};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::toml_text::{self, Fault, describe};
use super::units;
use crate::step::{Header, Kind, StepId};

/// Something wrong in a header. The rest of the header counts all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct HeaderProblem {
    /// 1-based line in the step's file.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// A header as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedHeader {
    /// What could be read of it; all defaults where there is no block.
    pub header: Header,
    /// Whether the block itself says what sort of step it is.
    pub says_kind: bool,
    /// What could not.
    pub problems: Vec<HeaderProblem>,
}

const KEYS: [&str; 9] = ["kind", "needs", "produces", "agent", "model", "call", "allow", "timeout", "summary"];

/// Reads the header of a step's text.
///
/// The block starts at a line `# /// step` and ends at the next line `# ///`; between them each line is `#` alone or
/// starts with `# `. Unlike PEP 723's pattern, which takes the last `# ///` of a run of comments, the first one ends
/// the block: comments written right below a header are no part of it.
pub fn parse_header(source: &str) -> ParsedHeader {
    let mut parsed = ParsedHeader::default();
    // Most steps have no header, and some are long.
    if !source.contains("# /// step") {
        return parsed;
    }
    let mut lines = source.lines().enumerate();
    let Some((start, _)) = lines.find(|(_, line)| is_opening(line)) else { return parsed };
    // One line of TOML for each line of the block, so that lines are told by counting.
    let mut toml = String::new();
    let mut closed = false;
    for (_, line) in lines.by_ref() {
        if line.trim_end() == "# ///" {
            closed = true;
            break;
        }
        match line.strip_prefix('#') {
            Some("") => {}
            Some(rest) if rest.starts_with(' ') => toml.push_str(rest.get(1..).unwrap_or_default()),
            _ => break,
        }
        toml.push('\n');
    }
    if !closed {
        parsed.say(start + 1, "the step block is not closed: end it with a line `# ///`");
        return parsed;
    }
    if let Some((second, _)) = lines.find(|(_, line)| is_opening(line)) {
        parsed.say(second + 1, format!("a second step block: only the one on line {} counts", start + 1));
    }
    let (table, faults) = toml_text::parse(&toml);
    for Fault { line, message } in faults {
        parsed.say(start + 1 + line, message);
    }
    read(&table, &toml, start + 1, &mut parsed);
    parsed
}

fn is_opening(line: &str) -> bool {
    line.trim_end() == "# /// step"
}

impl ParsedHeader {
    fn say(&mut self, line: usize, message: impl Into<String>) {
        self.problems.push(HeaderProblem { line, message: message.into() });
    }
}

/// Takes what the table says into `parsed`; line 1 of `toml` is line `above + 1` of the file.
fn read(table: &DeTable<'_>, toml: &str, above: usize, parsed: &mut ParsedHeader) {
    let line = |span: std::ops::Range<usize>| above + toml_text::line(toml, span);
    for (key, value) in table {
        let at = line(value.span());
        let name: &str = key.get_ref();
        let result = match name {
            "kind" => kind(value).map(|kind| {
                parsed.says_kind = true;
                parsed.header.kind = kind;
            }),
            "needs" => strings(value).and_then(|list| {
                let ids = list.iter().map(|text| step_id(text)).collect::<Result<_, _>>()?;
                parsed.header.needs = ids;
                Ok(())
            }),
            "produces" => strings(value).and_then(|list| {
                list.iter().try_for_each(|path| inside(path))?;
                parsed.header.produces = list;
                Ok(())
            }),
            "allow" => strings(value).map(|list| parsed.header.allow = list),
            "timeout" => units::seconds(value.get_ref())
                .map(|time| parsed.header.timeout = Some(time.as_secs_f64()))
                .ok_or_else(|| format!("timeout is {}: give seconds, or a text such as \"2m\"", describe(value))),
            "agent" => string(value).map(|text| parsed.header.agent = Some(text)),
            "model" => string(value).map(|text| parsed.header.model = Some(text)),
            "call" => string(value).map(|text| parsed.header.call = Some(text)),
            "summary" => string(value).map(|text| parsed.header.summary = Some(text)),
            unknown => {
                parsed.say(
                    line(key.span()),
                    match toml_text::nearest(unknown, KEYS) {
                        Some(near) => format!("unknown key {unknown:?}: did you mean {near:?}?"),
                        None => format!("unknown key {unknown:?}: known are {}", KEYS.join(", ")),
                    },
                );
                continue;
            }
        };
        if let Err(message) = result {
            let message = if message.starts_with(name) { message } else { format!("{name}: {message}") };
            parsed.say(at, message);
        }
    }
    parsed.problems.sort_by_key(|problem| problem.line);
}

fn string(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    let text = value.get_ref().as_str().ok_or_else(|| format!("{} is not a text in quotes", describe(value)))?;
    Ok(text.to_owned())
}

fn strings(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    match value.get_ref() {
        DeValue::String(text) => Err(format!("write a list: [{:?}]", &**text)),
        DeValue::Array(items) => items.iter().map(string).collect(),
        _ => Err(format!("{} is not a list of texts", describe(value))),
    }
}

fn kind(value: &Spanned<DeValue<'_>>) -> Result<Kind, String> {
    const KINDS: [Kind; 4] = [Kind::Step, Kind::Test, Kind::Artifact, Kind::Module];
    let text = string(value)?;
    KINDS.into_iter().find(|kind| kind.to_string() == text).ok_or_else(|| match text.as_str() {
        "shell" => "a shell step is a file that ends in .sh".to_owned(),
        _ => format!("{text:?} is no kind of step: known are step, test, artifact, module"),
    })
}

fn step_id(text: &str) -> Result<StepId, String> {
    let bare = text.strip_suffix(".py").or_else(|| text.strip_suffix(".sh"));
    match bare {
        Some(bare) => Err(format!("a step's id has no ending: write {bare:?}")),
        None => text.parse().map_err(|error: crate::step::InvalidStepId| error.to_string()),
    }
}

fn inside(path: &str) -> Result<(), String> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if plain && !path.is_empty() {
        Ok(())
    } else {
        Err(format!("{path:?} is not a path within the run: write it relative to the run's directory, without `..`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(source: &str) -> String {
        parse_header(source).problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_whole_header_is_read() {
        let source = "#!/usr/bin/env python3\n# /// step\n# kind = \"test\"\n# needs = [\"01_load\", \"02/a\"]\n\
                      # produces = [\n#   \"out/model.json\",\n# ]\n#\n# agent = \"fitter\"\n# model = \"m-1\"\n\
                      # call = \"c7\"\n# allow = [\"network\"]\n# timeout = \"1m\"\n# summary = \"checks the fit\"\n# ///\n\
                      # not = a header any more\nx = 1\n";
        let parsed = parse_header(source);
        assert_eq!(parsed.problems, []);
        assert!(parsed.says_kind);
        let header = parsed.header;
        assert_eq!(header.kind, Kind::Test);
        assert_eq!(header.needs.iter().map(StepId::as_str).collect::<Vec<_>>(), ["01_load", "02/a"]);
        assert_eq!(header.produces, ["out/model.json"]);
        assert_eq!((header.agent.as_deref(), header.model.as_deref()), (Some("fitter"), Some("m-1")));
        assert_eq!((header.call.as_deref(), header.timeout), (Some("c7"), Some(60.0)));
        assert_eq!((header.allow, header.summary.as_deref()), (vec!["network".to_owned()], Some("checks the fit")));
    }

    #[test]
    fn a_step_without_a_block_has_a_plain_header() {
        assert_eq!(parse_header("x = 1\n"), ParsedHeader::default());
        assert_eq!(parse_header("x = '# /// step'\n"), ParsedHeader::default());
        assert_eq!(parse_header("# /// script\n# dependencies = []\n# ///\n"), ParsedHeader::default());
    }

    #[test]
    fn line_ends_of_windows_are_line_ends() {
        let parsed = parse_header("# /// step\r\n# summary = \"x\"\r\n# ///\r\ny = 1\r\n");
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.header.summary.as_deref(), Some("x"));
    }

    #[test]
    fn every_problem_has_its_line_and_the_rest_counts() {
        let source = "x = 1\n# /// step\n# kind = \"tset\"\n# neds = []\n# needs = [\"a.py\"]\n# produces = [\"../x\"]\n\
                      # timeout = -3\n# agent = 4\n# allow = \"network\"\n# summary = \"kept\"\n# ///\n# /// step\n# ///\n";
        insta::assert_snapshot!(problems(source), @r#"
        line 3: kind: "tset" is no kind of step: known are step, test, artifact, module
        line 4: unknown key "neds": did you mean "needs"?
        line 5: needs: a step's id has no ending: write "a"
        line 6: produces: "../x" is not a path within the run: write it relative to the run's directory, without `..`
        line 7: timeout is -3: give seconds, or a text such as "2m"
        line 8: agent: 4 is not a text in quotes
        line 9: allow: write a list: ["network"]
        line 12: a second step block: only the one on line 2 counts
        "#);
        assert_eq!(parse_header(source).header.summary.as_deref(), Some("kept"));
    }

    #[test]
    fn a_block_that_is_not_closed_or_not_toml_says_so() {
        insta::assert_snapshot!(problems("# /// step\n# kind = \"test\"\nx = 1\n"), @"line 1: the step block is not closed: end it with a line `# ///`");
        let broken = parse_header("# /// step\n# kind = \n# summary = \"kept\"\n# ///\n");
        assert_eq!(broken.problems.first().map(|problem| problem.line), Some(2));
        assert_eq!(broken.header.summary.as_deref(), Some("kept"));
        assert!(problems("# /// step\n# kind = \"shell\"\n# ///\n").contains("ends in .sh"));
    }

    #[test]
    fn a_hostile_block_costs_neither_the_stack_nor_the_run() {
        for deep in ["[", "{a=", "a."] {
            let source = format!("# /// step\n# summary = \"kept\"\n# x = {}\n# ///\n", deep.repeat(100_000));
            let parsed = parse_header(&source);
            assert!(!parsed.problems.is_empty());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it_and_every_problem_is_in_the_block(
            lines in proptest::collection::vec("(# )?[a-z]{0,8} ?=? ?[\\[\\]{}\"',.0-9a-zé-]{0,12}", 0..8),
            ending in proptest::sample::select(vec!["\n", "\r\n"]),
        ) {
            let body = lines.iter().map(|line| format!("# {line}{ending}")).collect::<String>();
            let source = format!("x = 1{ending}# /// step{ending}{body}# ///{ending}y = 2{ending}");
            for problem in parse_header(&source).problems {
                proptest::prop_assert!((2..=lines.len() + 3).contains(&problem.line), "{}", problem);
            }
        }
    }
}
