//! What a run looked like when it was open last, to have something on the screen while a large one is read.
//!
//! It is a picture, not a record: whoever shows it says that it is being checked ([`Snapshot::checking`]), nothing is
//! decided by it, and a run whose picture is lost or can't be read opens as it would without.

use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::shared::sharing;
use super::{Edge, Snapshot, StepRow};
use crate::run::STORE_DIR;

/// Smaller runs are read before anyone could look at a picture.
const WORTH_IT: usize = 300;
/// The largest picture that is read, unpacked; one of 10,000 steps has some 5 MB.
const LARGEST: u64 = 64 << 20;
/// How hard it is packed: a little, since both ways are waited for.
const LEVEL: i32 = 1;

#[derive(Serialize, Deserialize)]
struct Face {
    reweave: String,
    steps: Vec<Arc<StepRow>>,
    edges: Arc<[Edge]>,
}

fn place(dir: &Path) -> PathBuf {
    dir.join(STORE_DIR).join("face")
}

/// Whether there is a picture of the run in `dir`.
pub(super) fn is_kept(dir: &Path) -> bool {
    place(dir).exists()
}

/// The run in `dir` as it looked when it was open last.
pub(super) fn read(dir: &Path) -> Option<Snapshot> {
    let path = place(dir);
    fs::symlink_metadata(&path).ok().filter(|found| found.is_file() && found.len() <= LARGEST)?;
    let mut text = Vec::new();
    let file = zstd::stream::read::Decoder::new(fs::File::open(path).ok()?).ok()?;
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    let face: Face = sharing(|| serde_json::from_slice(&text)).ok()?;
    let steps = face.steps.len();
    let sound = face.reweave == env!("CARGO_PKG_VERSION")
        && face.edges.iter().all(|edge| edge.from < edge.to && edge.to < steps)
        && face.steps.is_sorted_by(|a, b| a.id < b.id);
    let (steps, edges) = (face.steps, face.edges);
    sound.then(|| Snapshot { dir: dir.to_owned(), steps, edges, checking: true, ..Snapshot::default() })
}

/// Keeps how a run looks. What can't be written is missed by nobody.
pub(super) fn keep(dir: &Path, snapshot: &Snapshot) {
    let path = place(dir);
    if snapshot.steps.len() < WORTH_IT {
        let _ = fs::remove_file(path);
        return;
    }
    let reweave = env!("CARGO_PKG_VERSION").to_owned();
    let face = Face { reweave, steps: snapshot.steps.clone(), edges: Arc::clone(&snapshot.edges) };
    // Whole or not at all: two may be at it.
    let Some(home) = path.parent() else { return };
    let Ok(mut new) = tempfile::NamedTempFile::new_in(home) else { return };
    if write(&face, &mut new).is_ok() {
        let _ = new.persist(path);
    }
}

/// Writes it as it is made: the text of a large run would be the largest thing that is held.
fn write(face: &Face, to: &mut impl Write) -> std::io::Result<()> {
    let packed = zstd::stream::write::Encoder::new(BufWriter::new(to), LEVEL)?;
    let mut text = BufWriter::with_capacity(64 << 10, packed);
    serde_json::to_writer(&mut text, face)?;
    text.into_inner()?.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::EdgeKind;

    fn row(id: usize) -> Arc<StepRow> {
        Arc::new(StepRow {
            duration_us: Some(1),
            reads: vec!["x".into()],
            ..StepRow::fresh(format!("{id:04}").parse().unwrap())
        })
    }

    #[test]
    fn a_large_run_is_known_again_and_says_that_it_is_being_checked() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(STORE_DIR)).unwrap();
        let edge = Edge { from: 0, to: 1, names: ["x".into()].into(), kind: EdgeKind::Data };
        let mut run = Snapshot { steps: (0..WORTH_IT).map(row).collect(), edges: [edge].into(), ..Snapshot::default() };
        keep(dir.path(), &run);
        let face = read(dir.path()).unwrap();
        assert!(face.checking);
        assert_eq!((&face.steps, &face.edges), (&run.steps, &run.edges));
        let names = face.steps.iter().filter_map(|row| row.reads.first()).collect::<Vec<_>>();
        assert!(names.windows(2).all(|pair| Arc::ptr_eq(pair[0], pair[1])), "a name is held once");
        run.steps.pop();
        keep(dir.path(), &run);
        assert!(read(dir.path()).is_none(), "a small run needs none");
    }

    #[test]
    fn a_picture_that_is_none_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(STORE_DIR)).unwrap();
        assert!(read(dir.path()).is_none());
        let version = env!("CARGO_PKG_VERSION");
        for text in [
            "{}".to_owned(),
            format!(r#"{{"reweave":"{version}","steps":[],"edges":[{{"from":0,"to":9,"names":[],"kind":"data"}}]}}"#),
            r#"{"reweave":"0.0.0","steps":[],"edges":[]}"#.to_owned(),
        ] {
            fs::write(place(dir.path()), zstd::bulk::compress(text.as_bytes(), LEVEL).unwrap()).unwrap();
            assert!(read(dir.path()).is_none(), "{text}");
            fs::write(place(dir.path()), text).unwrap();
            assert!(read(dir.path()).is_none());
        }
    }
}
