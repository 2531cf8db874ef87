//! Asking a program: a question on its standard input, the answer on its standard output, no shell in between.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Largest answer that is taken, in bytes.
const LARGEST: usize = 4 << 20;

/// What is kept of standard error, in bytes: the last.
const SAID: usize = 16 << 10;

/// How often it is looked whether to stop, or whether the program ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long output may take to come after the program ended.
const LATE: Duration = Duration::from_secs(2);

/// A program that answers questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The longest that it may take.
    pub timeout: Option<Duration>,
    /// Where it runs.
    pub dir: PathBuf,
}

/// What a program answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its standard output; hostile.
    pub text: Vec<u8>,
    /// The end of its standard error; hostile.
    pub said: String,
    /// How long it took.
    pub took: Duration,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// There is no program.
    #[error("no agent is named")]
    NoProgram,
    /// It could not be started.
    #[error("{program} can't be started: {why}")]
    NotStarted {
        /// Which.
        program: String,
        /// Why.
        why: String,
    },
    /// It took too long.
    #[error("it gave no answer in {} s", .0.as_secs_f64())]
    TooSlow(Duration),
    /// It answered more than is taken.
    #[error("its answer is over {} MB", LARGEST >> 20)]
    TooLong,
    /// It ended with an error.
    #[error("it ended with {status}{}{said}", if .said.is_empty() { "" } else { ": " })]
    Failed {
        /// How it ended.
        status: String,
        /// The last line of its standard error; hostile.
        said: String,
    },
    /// It answered nothing.
    #[error("it answered nothing")]
    Empty,
    /// A person stopped it.
    #[error("it was stopped")]
    Stopped,
}

enum Heard {
    Answer(Vec<u8>, bool),
    Said(Vec<u8>),
}

impl AgentCommand {
    /// Asks, and waits for the answer, until `stop` is set. Whatever the program started in its process group is ended
    /// with it.
    ///
    /// # Errors
    /// When there is no answer in time and size.
    pub fn ask(&self, question: &[u8], stop: &AtomicBool) -> Result<Answer, NoAnswer> {
        let (program, arguments) = self.words.split_first().ok_or(NoAnswer::NoProgram)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let started = Instant::now();
        let child = command
            .spawn()
            .map_err(|error| NoAnswer::NotStarted { program: program.clone(), why: error.to_string() })?;
        let mut running = Running(child);
        let heard = running.listen(question.to_vec());
        let status = self.wait(&mut running, started, stop, &heard);
        running.end();
        let (status, early) = status?;
        let (mut text, mut said) = (None, String::new());
        let late = Instant::now() + LATE;
        let rest = std::iter::from_fn(|| heard.recv_timeout(late.saturating_duration_since(Instant::now())).ok());
        for heard in early.into_iter().chain(rest) {
            match heard {
                Heard::Answer(_, true) => return Err(NoAnswer::TooLong),
                Heard::Answer(bytes, false) => text = Some(bytes),
                Heard::Said(bytes) => said = String::from_utf8_lossy(&bytes).into_owned(),
            }
        }
        if !status.success() {
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            return Err(NoAnswer::Failed { status: status.to_string(), said: last.trim().to_owned() });
        }
        match text {
            Some(text) if !text.trim_ascii().is_empty() => Ok(Answer { text, said, took: started.elapsed() }),
            _ => Err(NoAnswer::Empty),
        }
    }

    /// Asks several questions at once, each of a process of its own; the answers are in the order of the questions.
    pub fn ask_all(&self, questions: &[Vec<u8>], stop: &AtomicBool) -> Vec<Result<Answer, NoAnswer>> {
        thread::scope(|scope| {
            let asked: Vec<_> =
                questions.iter().map(|question| scope.spawn(move || self.ask(question, stop))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap_or(Err(NoAnswer::Empty))).collect()
        })
    }

    /// The name of the program, without the way to it.
    pub fn name(&self) -> &str {
        self.words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default()
    }

    /// Waits until the program ends. Gives what was heard until then.
    fn wait(
        &self,
        running: &mut Running,
        started: Instant,
        stop: &AtomicBool,
        heard: &Receiver<Heard>,
    ) -> Result<(ExitStatus, Vec<Heard>), NoAnswer> {
        let mut early = Vec::new();
        loop {
            match heard.recv_timeout(LOOK) {
                Ok(Heard::Answer(_, true)) => return Err(NoAnswer::TooLong),
                Ok(heard) => early.push(heard),
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
                Err(RecvTimeoutError::Timeout) => {}
            }
            match running.0.try_wait() {
                Ok(Some(status)) => return Ok((status, early)),
                Ok(None) => {}
                Err(error) => return Err(NoAnswer::Failed { status: error.to_string(), said: String::new() }),
            }
            if stop.load(Ordering::SeqCst) {
                return Err(NoAnswer::Stopped);
            }
            if let Some(most) = self.timeout.filter(|most| started.elapsed() >= *most) {
                return Err(NoAnswer::TooSlow(most));
            }
        }
    }
}

/// A program that was started, ended with all of its group when it is let go of.
struct Running(Child);

impl Running {
    fn listen(&mut self, question: Vec<u8>) -> Receiver<Heard> {
        let (tell, heard) = mpsc::channel();
        if let Some(mut input) = self.0.stdin.take() {
            // A program that reads nothing leaves a full pipe: the thread ends with the program.
            thread::spawn(move || drop(input.write_all(&question)));
        }
        if let Some(output) = self.0.stdout.take() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut text = Vec::new();
                let read = output.take(LARGEST as u64 + 1).read_to_end(&mut text);
                let over = read.is_ok() && text.len() > LARGEST;
                drop(tell.send(Heard::Answer(text, over)));
            });
        }
        if let Some(mut output) = self.0.stderr.take() {
            thread::spawn(move || {
                let (mut said, mut piece) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = output.read(&mut piece) {
                    said.extend_from_slice(piece.get(..count).unwrap_or_default());
                    let over = said.len().saturating_sub(SAID);
                    said.drain(..over);
                }
                drop(tell.send(Heard::Said(said)));
            });
        }
        heard
    }

    fn end(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // A group that is gone needs no signal.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Splits a command line into words as a shell would, with quotes and backslashes and nothing else.
///
/// # Errors
/// When a quote is not closed.
///
/// ```
/// use reweave::agent::words;
/// assert_eq!(words(r#"ask --model "big one" it\ all"#)?, ["ask", "--model", "big one", "it all"]);
/// assert!(words("ask 'it").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote {open} is not closed in {text:?}"));
    }
    words.extend(word);
    Ok(words)
}
