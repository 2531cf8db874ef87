//! A step's file to its id, kind, header and text.

use std::fs::{self, Metadata};
use std::path::Path;
use std::sync::Arc;

use super::header::parse_header;
use super::problem::ProblemKind;
use super::read::{ReadFault, fault, read_within};
use super::source::{Encoding, decode_python, decode_shell};
use super::stamp::Stamp;
use super::step_file::StepFile;
use crate::step::{Digest, Header, Kind, StepId};

/// The largest text that is read as a step, in bytes. The longest source in CPython's library is a fortieth of it; what
/// is larger is data.
pub const STEP_LIMIT: u64 = 16 << 20;

/// Whether a file of this name is a step.
pub(super) fn is_step_name(name: &str) -> bool {
    id_of(name).is_some()
}

/// A path in the run without the ending that makes it a step's, and whether that is `.sh`.
fn id_of(path: &str) -> Option<(&str, bool)> {
    let (bare, shell) = match path.strip_suffix(".py") {
        Some(bare) => (bare, false),
        None => (path.strip_suffix(".sh")?, true),
    };
    (!bare.is_empty() && !bare.ends_with('/')).then_some((bare, shell))
}

impl StepFile {
    /// A step's file as it would be if these bytes lay at `path`, which is relative to the run; nothing where no
    /// file at that path is a step's.
    pub fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        let mut file = named(path).ok()?;
        file.take(bytes);
        file.take_header();
        Some(file)
    }

    fn take(&mut self, bytes: &[u8]) {
        self.digest = Digest::of(bytes);
        let shell = self.path.extension().is_some_and(|ending| ending == "sh");
        match if shell { decode_shell(bytes) } else { decode_python(bytes) } {
            Ok((source, encoding)) => (self.source, self.encoding) = (source.into(), encoding),
            Err(error) => {
                self.source = String::from_utf8_lossy(bytes).into();
                self.fault = Some(ProblemKind::NotText(error));
            }
        }
    }

    fn take_header(&mut self) {
        let parsed = parse_header(&self.source);
        if parsed.says_kind && self.kind != Kind::Shell {
            self.kind = parsed.header.kind;
        }
        self.header = parsed.header;
        self.header.kind = self.kind;
        self.header_problems = parsed.problems;
    }
}

/// A step's file by its path alone, with no text yet.
fn named(path: &Path) -> Result<StepFile, ReadFault> {
    let text = path.to_str().ok_or(ReadFault::Problem(ProblemKind::NameNotUtf8))?;
    let (bare, shell) = id_of(text).ok_or(ReadFault::Gone)?;
    let id: StepId =
        bare.parse().map_err(|error: crate::step::InvalidStepId| ReadFault::Problem(ProblemKind::NoId(error.why)))?;
    let kind = match (shell, id.name().starts_with("test_")) {
        (true, _) => Kind::Shell,
        (false, true) => Kind::Test,
        (false, false) => Kind::Step,
    };
    Ok(StepFile {
        id,
        path: path.to_owned(),
        kind,
        header: Header::default(),
        source: Arc::from(""),
        digest: Digest::of(b""),
        encoding: Encoding::UTF8,
        fault: None,
        header_problems: Vec::new(),
    })
}

/// Reads a step's file.
pub(super) fn read_step(root: &Path, path: &Path) -> Result<(StepFile, Stamp), ReadFault> {
    let mut file = named(path)?;
    let unread = |found: &Metadata| Digest::of(format!("not read: {:?}", Stamp::of(found).settled()));
    let stamp = match read_within(root, path, STEP_LIMIT) {
        Ok((bytes, found)) => {
            file.take(&bytes);
            Stamp::of(&found)
        }
        Err(ReadFault::TooLarge(found)) => {
            file.fault = Some(ProblemKind::TooLarge { bytes: found.len(), limit: STEP_LIMIT });
            file.digest = unread(&found);
            Stamp::of(&found)
        }
        Err(ReadFault::Problem(kind @ ProblemKind::Unreadable(_))) => {
            // It keeps its place in the run: a step that is left out would change what the others see.
            let found = fs::metadata(root.join(path)).map_err(|error| fault(&error))?;
            file.fault = Some(kind);
            file.digest = unread(&found);
            Stamp::of(&found)
        }
        Err(other) => return Err(other),
    };
    file.take_header();
    Ok((file, stamp))
}
