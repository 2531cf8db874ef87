//! An engine on the side: other sources tried, or a state had again, where nothing of the run can be touched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use super::contents::{KEPT, is_fifo};
use super::disk::make_fifo;
use super::line::Node;
use super::protocol::AsideHead;
use super::root::scratch;
use super::task::{EngineError, Goal, Report, Settings, StopHandle, Task};
use super::vault::{MemoryVault, Vault};
use super::walk::Engine;
use super::wall;
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
    place: SidePlace,
}

/// Places for runs on the side that a wall leaves open.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots(Arc<Mutex<BTreeSet<usize>>>);

/// A place for a run on the side; empty again once it is dropped.
#[derive(Debug)]
struct SidePlace {
    kept: Kept,
    copy: PathBuf,
    /// A copy of the run's temporary directory, and where it is to be seen.
    tmp: Option<(PathBuf, PathBuf)>,
}

#[derive(Debug)]
enum Kept {
    Slot {
        slots: Slots,
        number: usize,
    },
    /// All of them are taken.
    Made {
        _copy: TempDir,
    },
}

/// Most bytes of the temporary directory that are copied for a run on the side.
const TEMPORARY: u64 = 64 << 20;

impl Slots {
    fn take(&self, base: Option<&TempDir>, tmp: &Path) -> Result<SidePlace, EngineError> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (0..wall::SLOTS).find(|number| !taken.contains(number));
        let (Some(number), Some(base)) = (free, base) else {
            let made = scratch()?;
            let copy = made.path().to_owned();
            return Ok(SidePlace { kept: Kept::Made { _copy: made }, copy, tmp: None });
        };
        taken.insert(number);
        let (copy, own) = wall::slot(base.path(), number);
        let place = SidePlace {
            kept: Kept::Slot { slots: self.clone(), number },
            copy,
            // One that everybody shares is none of the run's.
            tmp: (tmp != std::env::temp_dir()).then(|| (own, tmp.to_owned())),
        };
        place.empty();
        if let Some((own, tmp)) = &place.tmp
            && size(tmp) <= TEMPORARY
        {
            // What can't be copied is not there for the run on the side.
            let _ = copy_run(tmp, own);
        }
        Ok(place)
    }
}

impl SidePlace {
    fn copy(&self) -> &Path {
        &self.copy
    }

    /// Whether it was there before any wall was put up.
    fn is_prepared(&self) -> bool {
        matches!(self.kept, Kept::Slot { .. })
    }

    fn empty(&self) {
        for directory in std::iter::once(&self.copy).chain(self.tmp.as_ref().map(|(own, _)| own)) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                // What is left is in the way of the next one, which then says so.
                let _ = if path.is_dir() && !path.is_symlink() {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                };
            }
        }
    }
}

impl Drop for SidePlace {
    fn drop(&mut self) {
        if let Kept::Slot { slots, number } = &self.kept {
            self.empty();
            slots.0.lock().unwrap_or_else(PoisonError::into_inner).remove(number);
        }
    }
}

/// Bytes in a directory, as far as it matters whether they are more than are copied.
fn size(directory: &Path) -> u64 {
    let mut all = 0;
    let mut todo = vec![directory.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                todo.push(entry.path());
            } else {
                all += meta.len();
            }
            if all > TEMPORARY {
                return all;
            }
        }
    }
    all
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
        self.place.copy()
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
        self.root()?;
        let dir = self.settings().dir.clone();
        let place = self.slots.take(self.base.as_deref(), &self.tmp)?;
        let borrowed = copy_run(&dir, place.copy())?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let through = |inner: &String| (text(&dir.join(inner)), text(&place.copy().join(inner)));
        let borrowed: Vec<(String, String)> = borrowed.iter().map(through).collect();
        let mut places = vec![(text(place.copy()), text(&dir))];
        if let Some((own, tmp)) = &place.tmp {
            places.push((text(own), text(tmp)));
        }
        let copy = text(place.copy());
        let head = AsideHead { copy: &copy, places: &places, borrowed: &borrowed };
        let (root, info) = self.root_with_info()?;
        let (root, refused) = root.fork_aside(&head, None)?;
        let mut nodes = Vec::new();
        let (main, nearest) = self.root_and_nearest(tasks)?;
        // A directory that was made after the wall was put up is behind it. One that works in a copy must not reach the
        // run, which a process of the run's own may.
        if let Some(node) =
            nearest.filter(|node| place.is_prepared() && refused.is_none() || node.process.warden.is_none())
        {
            // One that a step has ended is as good as none.
            if let Ok((process, refused_too)) = node.process.fork_aside(&head, Some(main))
                && refused_too.is_some() == refused.is_some()
            {
                let (line, ran) = (node.line.clone(), node.ran.clone());
                nodes.push(Node { process, state: node.state.clone(), line, ran, degraded: false, private: 0 });
            }
        }
        let isolation = refused.map_or(Isolation::Kernel, |why| Isolation::Copy { why });
        let vault: Arc<dyn Vault> = Arc::new(Layered { below: Arc::clone(&self.vault), own: MemoryVault::default() });
        let dir = match &isolation {
            Isolation::Kernel => self.settings().dir.as_path().to_owned(),
            Isolation::Copy { .. } => place.copy().to_owned(),
        };
        let settings = Settings { dir, vault: Arc::clone(&vault), ..self.settings().clone() };
        let disk = self.disk.beside(place.copy(), vault);
        let mut engine = self.branch(settings, disk, (root, info), nodes);
        if matches!(isolation, Isolation::Copy { .. }) {
            engine.own_files = self.own_files.beside(place.copy(), &self.settings().dir);
            engine.guard = self.guard.beside(place.copy());
        }
        Ok(Aside { engine, isolation, place })
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
    let mut folders: Vec<(PathBuf, fs::Permissions)> = Vec::new();
    folders.extend(fs::metadata(dir).map(|meta| (copy.to_owned(), meta.permissions())));
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
                // What is in it is no step's business; a listing shows that it is there.
                fs::create_dir(copy.join(&inner)).map_err(failed)?;
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
                folders.push((to, meta.permissions()));
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
            } else if is_fifo(&meta) {
                make_fifo(&to).map_err(failed)?;
            }
        }
    }
    // Last, since one may be closed to who makes the copy.
    for (folder, permissions) in folders.into_iter().rev() {
        let _ = fs::set_permissions(folder, permissions);
    }
    Ok(borrowed)
}
