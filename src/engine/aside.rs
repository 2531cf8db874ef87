//! An engine on the side: other sources tried, or a state had again, where nothing of the run can be touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::disk::KEPT;
use super::line::Node;
use super::protocol::AsideHead;
use super::task::{EngineError, Goal, Report, Settings, StopHandle, Task};
use super::vault::{MemoryVault, Vault};
use super::walk::{Engine, scratch};
use crate::step::{Digest, StepId, Variable};

/// How a side run is kept from the run's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// Its processes see a copy where the run's directory is: whatever path a step uses, it finds the copy.
    Kernel,
    /// The kernel refuses that, for the reason given. It works in a copy under another path: a step that
    /// names the run's directory absolutely reaches the run itself.
    Copy {
        /// Why.
        why: String,
    },
}

/// A second engine that starts from what the first one holds and shares nothing that can be changed with it:
/// its processes are forks of the first one's, its files are copies, and what it makes is forgotten with it.
#[derive(Debug)]
pub struct Aside {
    engine: Engine,
    isolation: Isolation,
    /// The copy of the run's directory. After the engine: its processes go first.
    copy: TempDir,
}

impl Aside {
    /// As [`Engine::update`], on the side. `held` of the tasks may be the run's own: what holds is not run again.
    ///
    /// # Errors
    /// As [`Engine::update`].
    pub fn update(&mut self, tasks: &[Task], goal: &Goal, report: &mut dyn FnMut(Report)) -> Result<(), EngineError> {
        self.engine.update(tasks, goal, report)
    }

    /// As [`Engine::state`], on the side.
    ///
    /// # Errors
    /// As [`Engine::state`].
    pub fn state(
        &mut self,
        tasks: &[Task],
        goal: &Goal,
        at: &StepId,
        names: &[String],
    ) -> Result<Vec<Variable>, EngineError> {
        self.engine.state(tasks, goal, at, names)
    }

    /// What stops [`Aside::update`] from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.engine.stop_handle()
    }

    /// How it is kept from the run's files.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Where the copy of the run's directory is, as long as this lives.
    pub fn directory(&self) -> &Path {
        self.copy.path()
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }
}

impl Engine {
    /// An engine on the side for `tasks`: those of the run, perhaps with other sources. It starts from the
    /// latest state that this engine holds and that those sources lead to.
    ///
    /// # Errors
    /// When the interpreter can't be started, or the run's files can't be copied.
    pub fn aside(&mut self, tasks: &[Task]) -> Result<Aside, EngineError> {
        let copy = scratch()?;
        let borrowed = copy_run(self.settings().dir.as_path(), copy.path())?;
        let shown = copy.path().to_string_lossy().into_owned();
        let head = AsideHead { copy: &shown, borrowed: &borrowed };
        let (root, info) = self.root_with_info()?;
        let (root, refused) = root.fork_aside(&head)?;
        let mut nodes = Vec::new();
        if let Some(node) = self.nearest(tasks) {
            let (process, _) = node.process.fork_aside(&head)?;
            nodes.push(Node { process, state: node.state.clone(), line: node.line.clone(), ran: node.ran.clone() });
        }
        let isolation = refused.map_or(Isolation::Kernel, |why| Isolation::Copy { why });
        let vault: Arc<dyn Vault> = Arc::new(Layered { below: Arc::clone(&self.vault), own: MemoryVault::default() });
        let dir = match &isolation {
            Isolation::Kernel => self.settings().dir.as_path().to_owned(),
            Isolation::Copy { .. } => copy.path().to_owned(),
        };
        let settings = Settings { dir, vault: Arc::clone(&vault), ..self.settings().clone() };
        let disk = self.disk.beside(copy.path(), vault);
        let engine = self.branch(settings, disk, (root, info), nodes);
        Ok(Aside { engine, isolation, copy })
    }
}

/// What was made on the side over what the run keeps.
#[derive(Debug)]
struct Layered {
    below: Arc<dyn Vault>,
    own: MemoryVault,
}

impl Vault for Layered {
    fn put_value(&self, component: &Digest, pickle: &[u8]) {
        self.own.put_value(component, pickle);
    }

    fn value(&self, component: &Digest) -> Option<Vec<u8>> {
        self.own.value(component).or_else(|| self.below.value(component))
    }

    fn has_value(&self, component: &Digest) -> bool {
        self.own.has_value(component) || self.below.has_value(component)
    }

    fn put_blob(&self, content: &[u8]) -> Digest {
        self.own.put_blob(content)
    }

    fn blob(&self, content: &Digest) -> Option<Vec<u8>> {
        self.own.blob(content).or_else(|| self.below.blob(content))
    }

    fn put_note(&self, name: &str, note: &[u8]) {
        self.own.put_note(name, note);
    }

    fn note(&self, name: &str) -> Option<Vec<u8>> {
        self.own.note(name).or_else(|| self.below.note(name))
    }
}

/// Copies the run's files to `copy`. Returns the paths in it that are only places, through which the original
/// is to show: environments, repositories and files too large to copy.
fn copy_run(dir: &Path, copy: &Path) -> Result<Vec<String>, EngineError> {
    let mut borrowed = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(inner) = todo.pop() {
        let from = dir.join(&inner);
        let failed = |error: std::io::Error| EngineError {
            what: format!("{} can't be copied for a run on the side: {error}", from.display()),
            hint: Some("a run on the side works on a copy of the run's directory, in TMPDIR".into()),
        };
        for entry in fs::read_dir(&from).map_err(failed)?.flatten() {
            let name = entry.file_name();
            let inner = inner.join(&name);
            if inner == Path::new(".reweave") || inner == Path::new("patches") {
                continue;
            }
            let (from, to) = (dir.join(&inner), copy.join(&inner));
            let failed = |error: std::io::Error| EngineError {
                what: format!("{} can't be copied for a run on the side: {error}", from.display()),
                hint: Some("a run on the side works on a copy of the run's directory, in TMPDIR".into()),
            };
            let Ok(meta) = fs::symlink_metadata(&from) else { continue };
            if meta.is_symlink() {
                let target = fs::read_link(&from).map_err(failed)?;
                #[cfg(unix)]
                std::os::unix::fs::symlink(target, &to).map_err(failed)?;
            } else if meta.is_dir() {
                fs::create_dir(&to).map_err(failed)?;
                if name == ".git" || from.join("pyvenv.cfg").exists() {
                    borrowed.push(inner.to_string_lossy().into_owned());
                } else {
                    todo.push(inner);
                }
            } else if meta.is_file() && meta.len() > KEPT {
                fs::File::create(&to).map_err(failed)?;
                borrowed.push(inner.to_string_lossy().into_owned());
            } else if meta.is_file() {
                match fs::copy(&from, &to) {
                    Ok(_) => {}
                    // A file that may not be read is not there for a step either.
                    Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => continue,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(failed(error)),
                }
                if let (Ok(time), Ok(file)) = (meta.modified(), fs::File::options().append(true).open(&to)) {
                    // A step may look at the time; a file whose time can't be set keeps a new one.
                    let _ = file.set_modified(time);
                }
            }
        }
    }
    Ok(borrowed)
}
