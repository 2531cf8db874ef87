//! The header that an imported step carries.

use super::recorder::Origin;
use crate::step::StepId;

/// Most characters of the line for people.
const LONGEST_SUMMARY: usize = 90;

/// A `# /// step` block that says who wrote the step: `agent`, of `origin` what is known, and the
/// steps that it needs.
pub fn header(agent: Option<&str>, origin: &Origin, needs: &[StepId]) -> String {
    let mut lines: Vec<String> = agent.map(|agent| format!("agent = {}", quoted(agent))).into_iter().collect();
    for (key, value) in [("model", &origin.model), ("call", &origin.call)] {
        if let Some(value) = value {
            lines.push(format!("{key} = {}", quoted(value)));
        }
    }
    if !needs.is_empty() {
        let needs: Vec<String> = needs.iter().map(|step| quoted(step.as_str())).collect();
        lines.push(format!("needs = [{}]", needs.join(", ")));
    }
    if let Some(summary) = origin.reason.as_deref().and_then(summary) {
        lines.push(format!("summary = {}", quoted(&summary)));
    }
    let body: String = lines.iter().map(|line| format!("# {line}\n")).collect();
    format!("# /// step\n{body}# ///\n")
}

/// A TOML string on one line.
pub fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's, but for DEL, which TOML wants escaped too.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// The first line of a text that says something, cut between words.
fn summary(text: &str) -> Option<String> {
    let line =
        text.lines().map(|line| line.trim().trim_start_matches(['#', '*', ' '])).find(|line| !line.is_empty())?;
    if line.chars().count() <= LONGEST_SUMMARY {
        return Some(line.to_owned());
    }
    let cut: String = line.chars().take(LONGEST_SUMMARY).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    Some(format!("{}…", cut.get(..end).unwrap_or(&cut)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::parse_header;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_a_log_says_the_header_is_read_back(
            agent in "\\PC{0,20}", model in any::<Option<String>>(), call in any::<Option<String>>(), reason in any::<Option<String>>(),
        ) {
            let origin = Origin { model, call, reason, ..Origin::default() };
            let parsed = parse_header(&header(Some(&agent), &origin, &[]));
            prop_assert_eq!(parsed.problems, vec![]);
            prop_assert_eq!(parsed.header.agent, Some(agent));
            prop_assert_eq!(parsed.header.model, origin.model);
            prop_assert_eq!(parsed.header.call, origin.call);
        }
    }

    #[test]
    fn a_summary_is_one_line_cut_between_words() {
        assert_eq!(summary("\n ## First\nsecond"), Some("First".to_owned()));
        assert_eq!(summary(" \n"), None);
        let long = summary(&"word ".repeat(40)).unwrap();
        assert!(long.ends_with("word…") && long.chars().count() <= LONGEST_SUMMARY + 1);
    }
}
