//! Which steps are listed: words that a step must answer to.

use crate::step::{Kind, Status};
use crate::workbench::StepRow;

/// What a person typed, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Status(Status),
    Trouble,
    Kind(Kind),
    Agent(String),
    Reads(String),
    Writes(String),
    Variable(String),
    Name(String),
}

/// What can be typed, for the prompt.
pub const SYNTAX: &str = "name, stale, failed, todo, kind:test, agent:NAME, reads:VAR, writes:VAR, var:VAR";

impl Filter {
    /// Understands words set apart by blanks; `None` when there are none. A step must answer to all of them, where
    /// several statuses or several kinds stand for any of these.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<Word> = text.split_whitespace().map(word).collect();
        (!words.is_empty()).then(|| Self { text: text.trim().to_owned(), words })
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a step is listed.
    pub fn takes(&self, row: &StepRow) -> bool {
        let mut status: Option<bool> = None;
        let mut kind: Option<bool> = None;
        let any = |so_far: &mut Option<bool>, now: bool| *so_far = Some(so_far.unwrap_or(false) || now);
        for word in &self.words {
            let reads = |name: &str| row.reads.iter().any(|n| &**n == name);
            let writes = |name: &str| row.writes.iter().any(|n| &**n == name);
            let holds = match word {
                Word::Status(wanted) => {
                    any(&mut status, row.status == *wanted);
                    continue;
                }
                Word::Trouble => {
                    any(&mut status, row.status != Status::Fresh);
                    continue;
                }
                Word::Kind(wanted) => {
                    any(&mut kind, row.kind == *wanted);
                    continue;
                }
                Word::Agent(name) => row.agent.as_ref().is_some_and(|agent| contains(agent, name)),
                Word::Reads(name) => reads(name),
                Word::Writes(name) => writes(name),
                Word::Variable(name) => reads(name) || writes(name),
                Word::Name(part) => {
                    contains(row.id.as_str(), part) || row.summary.as_ref().is_some_and(|s| contains(s, part))
                }
            };
            if !holds {
                return false;
            }
        }
        status.unwrap_or(true) && kind.unwrap_or(true)
    }
}

fn word(text: &str) -> Word {
    let kinds = [Kind::Step, Kind::Test, Kind::Artifact, Kind::Module, Kind::Shell];
    if let Some((key, value)) = text.split_once(':') {
        match key {
            "agent" => return Word::Agent(value.to_owned()),
            "reads" => return Word::Reads(value.to_owned()),
            "writes" => return Word::Writes(value.to_owned()),
            "var" => return Word::Variable(value.to_owned()),
            "kind" => {
                if let Some(kind) = kinds.into_iter().find(|kind| kind.to_string() == value) {
                    return Word::Kind(kind);
                }
            }
            _ => {}
        }
    }
    let statuses = [Status::Never, Status::Fresh, Status::Stale, Status::Running, Status::Failed, Status::Blocked];
    match statuses.into_iter().find(|status| status.word() == text) {
        Some(status) => Word::Status(status),
        None if text == "todo" => Word::Trouble,
        None => Word::Name(text.to_owned()),
    }
}

/// Whether `text` holds `part`; capitals in `part` must be met, small letters meet both.
pub fn contains(text: &str, part: &str) -> bool {
    if part.chars().any(char::is_uppercase) {
        return text.contains(part);
    }
    let Some(&first) = part.as_bytes().first() else { return true };
    if !part.is_ascii() {
        return text.to_lowercase().contains(part);
    }
    // Without a copy of the text: it may be large.
    let (bytes, part) = (text.as_bytes(), part.as_bytes());
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), bytes)
        .any(|at| bytes.get(at..at + part.len()).is_some_and(|found| found.eq_ignore_ascii_case(part)))
}
