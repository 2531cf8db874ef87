//! One run of one version of a step, and what was seen of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Answered, Digest, Millis, Name, Pairs, Reason, StepId, VersionNumber};

/// Which execution: a number within the run's store, counting up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(pub i64);

/// One run of one version of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// Which step.
    pub step: StepId,
    /// Which version of it.
    pub version: VersionNumber,
    /// When it began.
    pub started: Millis,
    /// How long the step's own code took, in microseconds.
    pub duration_us: u64,
    /// Why it was executed.
    pub why: Vec<Reason>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it printed.
    pub output: Output,
    /// What it showed: the value of a last expression, and what it displayed along the way.
    pub displays: Vec<Display>,
    /// The error that ended it.
    pub error: Option<StepError>,
    /// What it used and changed: the ground on which it may be kept.
    pub observation: Observation,
    /// What it did outside its namespace.
    pub effects: Vec<Effect>,
}

impl Execution {
    /// An execution of `version` of `step` that began at `started`, reached its end at once and did nothing.
    pub fn new(step: StepId, version: VersionNumber, started: Millis) -> Self {
        Self {
            step,
            version,
            started,
            duration_us: 0,
            why: Vec::new(),
            outcome: Outcome::Done,
            output: Output::default(),
            displays: Vec::new(),
            error: None,
            observation: Observation::default(),
            effects: Vec::new(),
        }
    }

    /// How many bytes it printed and showed.
    pub fn shown_bytes(&self) -> usize {
        let printed = self.output.chunks.iter().map(|chunk| chunk.text.len());
        let forms = |shown: &Display| shown.repr.len() + shown.mime.values().map(String::len).sum::<usize>();
        printed.chain(self.displays.iter().map(forms)).sum()
    }

    /// The same without what it printed and showed.
    #[must_use]
    pub fn unshown(&self) -> Self {
        Self {
            step: self.step.clone(),
            version: self.version,
            started: self.started,
            duration_us: self.duration_us,
            why: self.why.clone(),
            outcome: self.outcome,
            output: Output::default(),
            displays: Vec::new(),
            error: self.error.clone(),
            observation: self.observation.clone(),
            effects: self.effects.clone(),
        }
    }
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// To its end.
    Done,
    /// With an exception, a limit or the death of its process: see the error.
    Failed,
    /// Stopped by a person.
    Interrupted,
    /// Not executed: recorded elsewhere and imported.
    Recorded,
}

/// Where bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// Text from one stream, as it came. Bytes that are not UTF-8 were replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// From where.
    pub stream: Stream,
    /// What. Hostile: may hold control sequences.
    pub text: String,
}

/// What a step printed, in the order in which it came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The pieces, both streams mixed.
    pub chunks: Vec<Chunk>,
    /// How many bytes were left out of the middle because of the limit.
    pub dropped: u64,
}

impl Output {
    /// All text of one stream.
    pub fn text(&self, stream: Stream) -> String {
        self.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| chunk.text.as_str()).collect()
    }

    /// Whether `words` are printed to one of the streams, also where they came in two pieces.
    pub fn says(&self, words: &str) -> bool {
        let most = words.chars().count();
        [Stream::Stdout, Stream::Stderr].into_iter().any(|stream| {
            let mut joint = String::new();
            self.chunks.iter().filter(|chunk| chunk.stream == stream).any(|chunk| {
                let head = joint.len();
                joint.extend(chunk.text.chars().take(most));
                let found = joint.contains(words) || chunk.text.contains(words);
                let all = joint.len() - head == chunk.text.len();
                joint = last_chars(if all { &joint } else { &chunk.text }, most).to_owned();
                found
            })
        })
    }

    /// Whether nothing was printed.
    pub fn is_empty(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.text.is_empty())
    }
}

/// A value that was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Display {
    /// Its `repr`, or `text/plain`. Hostile, like all output.
    pub repr: String,
    /// Other forms by MIME type: `text/html` as text, `image/png` in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mime: BTreeMap<String, String>,
    /// Whether it is the value of the step's last expression.
    #[serde(default)]
    pub last: bool,
}

/// The error that ended a step, taken from the exception object, never from text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepError {
    /// Bare name of the class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Module of the class.
    pub module: String,
    /// Names of the class and its bases, most derived first, with modules: `builtins.KeyError`.
    pub bases: Vec<String>,
    /// `str(e)`; hostile.
    pub message: String,
    /// 1-based line in the step at which it left the step's code.
    pub line: Option<u32>,
    /// 1-based column (in characters) there, and the one after its end, where the interpreter says so.
    pub columns: Option<(u32, u32)>,
    /// Where a syntax error ends: 1-based line and column.
    pub end: Option<(u32, u32)>,
    /// The step whose file the innermost frame of step code is in (a function may stand in another step).
    pub step: Option<StepId>,
    /// The failed step of which this one is only a consequence.
    pub caused_by: Option<StepId>,
    /// The frames, outermost first, those of the worker left out.
    pub stack: Vec<StackLine>,
    /// Attributes of the exception that help to explain it: `name`, `obj_type`, `key`, `filename`…
    pub attributes: BTreeMap<String, String>,
    /// Notes added to the exception.
    pub notes: Vec<String>,
    /// The exception that it was raised from or while handling.
    pub context: Option<Box<StepError>>,
}

/// One frame of a traceback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackLine {
    /// The step in whose file it is, if any.
    pub step: Option<StepId>,
    /// The file as Python names it.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// Name of the function.
    pub function: String,
    /// The line of source, trimmed.
    pub text: String,
    /// Short forms of the local or global names that the line uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// What the line saw, where it is a step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saw: Option<Box<Saw>>,
}

/// What a line that raised saw. All of it is hostile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Saw {
    /// The expression that raised, where the interpreter says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The names in the statement, and what they held.
    pub names: BTreeMap<String, Seen>,
    /// The expression whose key, index or attribute is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// What that held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_seen: Option<Seen>,
    /// The attributes that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receiver_has: Vec<String>,
    /// The parameters of what was called with a keyword argument that it does not take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<String>,
}

/// A value in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Bare name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its text, cut.
    pub repr: String,
    /// Its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub len: Option<u64>,
    /// Its shape, for an array or a frame: `3×4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Its keys or columns, as Python writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Where the name is: `local`, `parameter` or `global`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// Whether it stands in the expression that raised.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub within: bool,
}

/// What an execution used and changed.
///
/// A name that starts with `@` stands for hidden state: `@random`, `@cwd`, `@env:HOME`, `@math.q` for an
/// attribute set on a module. It is compared and carried like any other name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// Digest of the step's text.
    pub source: Option<Digest>,
    /// Digest of the code, so that comments cost nothing; of one that makes functions, with where they stand; `None` or
    /// one that no code has where the step has seen its own text.
    pub code: Option<Digest>,
    /// What the step was called then, where that shows: in the place of the code that it left, or in what it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<StepId>,
    /// The interpreter that ran it.
    pub interpreter: Option<String>,
    /// How that was started: digest of the seed, the variables that it reads as it starts, and the rules of the reweave
    /// that recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Digest>,
    /// What it came by as the run began, of what is neither the steps' nor a file: variables (`@env:HOME`), all of the
    /// environment (`@env:`), those that libraries read (`@libraries`), where the run lies (`@cwd`), how nice it is
    /// (`@nice`), what it may take (`@limits`) and do (`@policy`).
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub surroundings: Pairs<Name, Option<Digest>>,
    /// Packages that it could use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<Package>,
    /// Every name that it, or a function that it could reach, names: with the digest of the name's whole
    /// component, or `None` where the name was absent.
    pub reads: Pairs<Name, Option<Digest>>,
    /// Names that it may have bound and that were there neither before nor after: it can take away what is there
    /// (`except ... as name`, `del`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<Name>,
    /// Of a step that could see where code stands (in tracebacks and warnings, by `inspect`): for those of `reads` that hold
    /// code, a digest that tells where it stood.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub places: Pairs<Name, Digest>,
    /// Present when the code could look at the namespace as a whole: the names that were there, sorted or, with
    /// `saw_order`, in the order in which they came to be there.
    pub saw_names: Option<Vec<Name>>,
    /// Whether the code could see that order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub saw_order: bool,
    /// Names that came to be there, or went and came again, in that order; left out where only one came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<Name>,
    /// For hidden state that was looked at as a whole, by the start of its names (`@env:`): a digest of all
    /// that was there.
    pub saw_prefixes: Pairs<String, Digest>,
    /// Names bound, changed or (with `None`) deleted.
    pub writes: Pairs<Name, Option<Written>>,
    /// Those of `writes` that the step neither used nor bound: they changed only because another name left
    /// their component, or came to own a definition. With what their bytes were kept under before.
    pub incidental: Pairs<Name, Option<Digest>>,
    /// Those of `writes` that were bound to another object, not only changed in place.
    pub rebound: Vec<Name>,
    /// Names bound anew, with what the bytes of the component that they left are kept under: other names may share
    /// something with it, or hold a definition by its name.
    pub left: Pairs<Name, Digest>,
    /// Of a failed step whose changes were undone: the names that it would have made or changed.
    pub undone: Vec<Name>,
    /// Files looked at, with what was there. Paths are relative to the run where they are inside.
    pub files_read: BTreeMap<String, FileContent>,
    /// Files changed: what was there before, and what after.
    pub files_written: BTreeMap<String, FileWrite>,
    /// Why it can't be told whether what it used is another now, if so: it is run again each time.
    pub doubts: Vec<String>,
    /// What it consulted that no record can tell again: the clock, entropy, the network.
    pub nondeterministic: Vec<String>,
    /// What it asked, and what it was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
    /// The calls that it made whose answers are kept, in the order in which they began. The answers are inputs of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallFrame>,
}

impl Observation {
    /// The names whose value it hangs on, with the digest of the component that each was in; `None` where the name was
    /// absent.
    pub fn names_used(&self) -> impl Iterator<Item = (&Name, Option<Digest>)> {
        let reads = self.reads.iter().map(|(name, digest)| (name, *digest));
        reads.chain(self.unset.iter().map(|name| (name, None)))
    }
}

/// A package as it was when a step could use it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Package {
    /// The name that it is imported by.
    pub name: String,
    /// Its version, as far as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What an installer wrote beside it (`name-version.dist-info`), or the package's own directory or file.
    pub place: String,
    /// Whether a step put the directory that it lies in on the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
    /// What tells the package's own files from others, where no installer vouches for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Digest>,
}

/// A call that a step made and whose answer is kept: a frame under the step, or under the call that made it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallFrame {
    /// The name of the function; hostile.
    pub name: String,
    /// Its arguments in short; hostile.
    pub shown: String,
    /// The call that made it, by its place among the step's calls; `None` for one that the step made itself.
    pub parent: Option<usize>,
    /// What was asked, one after the other: more than once where an answer was of a wrong type, or had others called
    /// first; nothing where the function has a body of its own.
    pub rounds: Vec<CallRound>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRound {
    /// Digest of all that was asked.
    pub key: Digest,
    /// Digest of the answer.
    pub answer: Digest,
    /// Whether it was asked then, and not known before.
    #[serde(default)]
    pub asked: bool,
}

/// The last `count` characters of a text.
fn last_chars(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

/// The value of a name after a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Digest of the component that the name is in.
    pub digest: Digest,
    /// Where there is code in it: a digest that tells where in its file that stands as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<Digest>,
    /// The names of the component, itself included, sorted.
    pub members: Vec<Name>,
    /// Definitions that its values refer to by name: whoever has the name has the use of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<Name>,
    /// Why it can't be carried into another process, if so.
    pub uncarryable: Option<String>,
}

impl Written {
    /// A value that shares nothing with any other name.
    pub fn alone(name: &str, digest: Digest) -> Self {
        Self { digest, placed: None, members: vec![name.into()], refs: Vec::new(), uncarryable: None }
    }

    /// What its bytes are kept under.
    pub fn key(&self) -> Digest {
        self.placed.unwrap_or(self.digest)
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FileContent {
    /// Nothing.
    Absent,
    /// A file of this content.
    File {
        /// Digest of its bytes.
        digest: Digest,
        /// Its permissions (the lower bits of `st_mode`), if they are other than those of a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A directory with this listing.
    Directory {
        /// Digest of its sorted entries.
        listing: Digest,
    },
    /// A directory, whatever it holds.
    Present {
        /// Its permissions, if they are other than those of a new directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link {
        /// Where to.
        target: String,
    },
    /// Too large to keep, or of a kind that is not kept.
    External {
        /// Size and modification time, or why.
        mark: String,
    },
}

/// A file before and after a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrite {
    /// Before.
    pub before: FileContent,
    /// After.
    pub after: FileContent,
}

/// Something that a step did outside its namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Read a file.
    Read {
        /// Its path.
        path: String,
    },
    /// Wrote, made or truncated a file.
    Write {
        /// Its path.
        path: String,
    },
    /// Removed a file or directory.
    Delete {
        /// Its path.
        path: String,
    },
    /// Renamed a file.
    Rename {
        /// From.
        from: String,
        /// To.
        to: String,
    },
    /// Started a process.
    Process {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Opened a connection.
    Connect {
        /// Address.
        address: String,
    },
    /// Looked up a host's name.
    Resolve {
        /// The name.
        host: String,
    },
    /// Read a variable of the environment.
    GetEnv {
        /// The variable.
        variable: String,
    },
    /// Changed the environment.
    SetEnv {
        /// The variable.
        variable: String,
    },
    /// Loaded a native library outside the interpreter's packages.
    Load {
        /// Its path.
        path: String,
    },
    /// Imported a module for the first time.
    Import {
        /// Its name.
        module: String,
    },
    /// Was kept from an effect.
    Refused {
        /// The kind of effect, as in `[policy]`.
        area: String,
        /// On what.
        target: String,
        /// By whom.
        why: String,
    },
    /// Changed what is the run's own, as a step's file is; it was put back.
    PutBack {
        /// What it did.
        what: String,
        /// Why it could not be put back, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Was given leave for an effect that the policy asks about.
    Granted {
        /// The kind of effect, as in `[policy]`.
        area: String,
        /// On what.
        target: String,
        /// For how long.
        why: String,
    },
    /// Ran while nothing enforced a part of the policy.
    Unguarded {
        /// Which, and why.
        what: String,
    },
    /// Left a thread, a process or a descriptor behind.
    Left {
        /// What.
        what: String,
    },
}
