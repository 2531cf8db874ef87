//! A one-off interpreter process that judges sources and runs none of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::analysis::{Judge, Judgement, Node, PythonParser, PythonVersion, Question, SyntaxError, Tree, Unavailable};

/// What runs in the interpreter.
const SCRIPT: &str = include_str!("pyast.py");

/// The longest that all questions of one call may take together.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The longest that all answers of one call may be, in bytes.
const ANSWER_LIMIT: u64 = 1 << 30;

/// Asks an interpreter's own parser. Each call starts a process, asks all its questions and ends the process;
/// the process imports nothing of the run's.
#[derive(Debug, Clone)]
pub struct InterpreterParser {
    python: PathBuf,
}

#[derive(Deserialize)]
struct Hello {
    version: (u8, u8),
}

#[derive(Deserialize)]
struct Answer {
    error: Option<Refusal>,
    nodes: Option<Vec<Node>>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
    line: u32,
    column: u32,
}

impl InterpreterParser {
    /// A parser that starts the interpreter `python`: a path, or a name that is looked up in `PATH`.
    pub fn new(python: impl Into<PathBuf>) -> Self {
        Self { python: python.into() }
    }

    /// The interpreter's version.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn version(&self) -> Result<PythonVersion, Unavailable> {
        self.ask(&[]).map(|(version, _)| version)
    }

    /// Whether the interpreter finds a module of the top level, which is not imported for that. `None` where it can't
    /// be asked, or the name is none.
    pub fn finds(&self, module: &str) -> Option<bool> {
        if module.is_empty() || !module.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let script = "import importlib.util, sys; print(importlib.util.find_spec(sys.argv[1]) is not None)";
        let mut command = Command::new(&self.python);
        // Not in the run's directory: its files are not to be found in place of modules.
        command.args(["-c", script, module]).current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
        let answer = command.output().ok().filter(|answer| answer.status.success())?;
        match String::from_utf8_lossy(&answer.stdout).trim() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    fn fail(&self, why: impl std::fmt::Display) -> Unavailable {
        Unavailable(format!("{}: {why}", self.python.display()))
    }

    fn ask(&self, questions: &[Question<'_>]) -> Result<(PythonVersion, Vec<Judgement>), Unavailable> {
        let mut input = Vec::new();
        for question in questions {
            serde_json::to_writer(&mut input, question).map_err(|error| self.fail(error))?;
            input.push(b'\n');
        }
        let mut child = Command::new(&self.python)
            .args(["-I", "-S", "-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| self.fail(error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let child = Arc::new(Mutex::new(child));
        let (done, waits) = mpsc::channel::<()>();
        let watched = Arc::clone(&child);
        let watchdog = thread::spawn(move || {
            let late = waits.recv_timeout(TIME_LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
            if late && let Ok(mut child) = watched.lock() {
                let _ = child.kill();
            }
            late
        });
        // On a thread of its own: the answers must be read while the questions are still being written.
        let writer = thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&input);
            }
        });
        let answers = match stdout {
            Some(stdout) => read_answers(stdout, questions.len()),
            None => Err("its output can't be read".to_owned()),
        };
        if answers.is_err()
            && let Ok(mut child) = child.lock()
        {
            let _ = child.kill();
        }
        drop(done);
        let _ = writer.join();
        let late = watchdog.join().unwrap_or(false);
        if let Ok(mut child) = child.lock() {
            let _ = child.wait();
        }
        if late {
            return Err(self.fail(format_args!("it took longer than {} s", TIME_LIMIT.as_secs())));
        }
        answers.map_err(|why| self.fail(why))
    }
}

fn read_answers(output: impl Read, questions: usize) -> Result<(PythonVersion, Vec<Judgement>), String> {
    let mut lines = BufReader::new(output.take(ANSWER_LIMIT)).lines();
    let mut next = || match lines.next() {
        Some(Ok(line)) => Ok(line),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it ended before it had answered".to_owned()),
    };
    let hello: Hello = serde_json::from_str(&next()?).map_err(|error| error.to_string())?;
    let mut judgements = Vec::with_capacity(questions);
    for _ in 0..questions {
        let answer: Answer = serde_json::from_str(&next()?).map_err(|error| error.to_string())?;
        judgements.push(match answer.error {
            None => Judgement::Valid(answer.nodes.map(|nodes| Tree { nodes })),
            Some(Refusal { message, line, column }) => {
                Judgement::Invalid(SyntaxError { message, line, column, judged_by: Judge::Interpreter })
            }
        });
    }
    let (major, minor) = hello.version;
    Ok((PythonVersion { major, minor }, judgements))
}

impl PythonParser for InterpreterParser {
    fn parse(&self, questions: &[Question<'_>]) -> Result<Vec<Judgement>, Unavailable> {
        self.ask(questions).map(|(_, judgements)| judgements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_judged_and_their_trees_given() {
        let parser = InterpreterParser::new("python3");
        let questions = ["x = f(1)\n", "1 = x\n", "await x\n"].map(|source| Question { source, tree: true });
        let answers = parser.parse(&questions).unwrap();
        let Judgement::Valid(Some(tree)) = &answers[0] else { panic!("{:?}", answers[0]) };
        let shown: Vec<_> = tree.nodes.iter().map(|node| (node.kind.as_str(), node.start, node.end)).collect();
        assert_eq!(
            shown,
            [("Name", 0, 1), ("Name", 4, 5), ("Constant", 6, 7), ("Call", 4, 8), ("Assign", 0, 8), ("Module", 0, 0)]
        );
        let Judgement::Invalid(error) = &answers[1] else { panic!("{:?}", answers[1]) };
        assert_eq!((error.line, error.column, error.judged_by), (1, 1, Judge::Interpreter));
        assert!(matches!(answers[2], Judgement::Valid(_)), "top-level await is allowed");
        assert!(parser.version().unwrap() >= PythonVersion { major: 3, minor: 9 });
    }

    #[test]
    fn an_interpreter_that_is_none_is_named() {
        let missing = InterpreterParser::new("/no/such/python").parse(&[]).unwrap_err().to_string();
        assert!(missing.contains("/no/such/python"), "{missing}");
        let other = InterpreterParser::new("true").version().unwrap_err().to_string();
        assert!(other.contains("ended before"), "{other}");
    }
}
