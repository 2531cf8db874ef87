//! The root process, and the processes and engines that begin with it.

use std::sync::Arc;

use tempfile::TempDir;

use super::guard::{Grounds, real};
use super::line::Node;
use super::process::Process;
use super::protocol::RootReply;
use super::stand::leads_to;
use super::start::Place;
use super::task::{EngineError, Task};
use super::walk::Engine;
use super::wall;

impl Engine {
    pub(super) fn root_with_info(&mut self) -> Result<(&mut Process, RootReply), EngineError> {
        if self.root.is_none() {
            self.start_root()?;
        }
        match &mut self.root {
            Some((process, info)) => Ok((process, info.clone())),
            None => Err(EngineError { what: "the interpreter is gone".into(), hint: None }),
        }
    }

    fn start_root(&mut self) -> Result<(), EngineError> {
        let base = scratch()?;
        let names = base.path().join("names");
        let mut places = vec![wall::spool(base.path()), names.clone()];
        for number in 0..wall::SLOTS {
            let (copy, tmp) = wall::slot(base.path(), number);
            places.extend([copy, tmp]);
        }
        let own = base.path().join("tmp");
        self.tmp = if wall::is_open(&self.settings.policy) {
            std::env::temp_dir()
        } else {
            let (tmp, is_new) = wall::temporary(&self.settings.dir).unwrap_or_else(|| {
                places.push(own.clone());
                (own, false)
            });
            self.made_tmp = is_new;
            tmp
        };
        for place in places {
            std::fs::create_dir(&place).map_err(|error| EngineError {
                what: format!("{} can't be made: {error}", place.display()),
                hint: Some("set TMPDIR to a directory that may be written".into()),
            })?;
        }
        let protected = self.protected();
        self.set_own(&protected);
        self.guard.name_in(names);
        let head = wall::wanted(&self.settings, base.path(), &self.tmp, protected);
        if head.is_some() {
            wall::seed_matplotlib(&self.tmp.join("matplotlib"));
        }
        let environment = self.surroundings.environment();
        let place = Place { base: base.path(), tmp: &self.tmp, environment, wall: head };
        self.root = Some(Process::start(&self.settings, &place)?);
        self.base = Some(Arc::new(base));
        Ok(())
    }

    /// Paths of the run that steps may not write.
    pub(super) fn protected(&self) -> Vec<String> {
        wall::protected(&self.settings.dir, &|path| self.disk.is_tracked(path))
    }

    /// Has these be the run's own files.
    pub(super) fn set_own(&mut self, protected: &[String]) {
        self.own_files.set(protected);
        self.guard.set(protected.to_vec());
    }

    /// A fresh process, behind the wall if there is one, in the state before the first step.
    pub(super) fn line(&mut self) -> Result<Process, EngineError> {
        self.root()?;
        let (settings, tmp) = (self.settings.clone(), self.tmp.clone());
        let dirs = vec![real(&settings.dir), real(&tmp)];
        let grounds = Grounds { dirs, files: self.own_files.clone(), guard: self.guard.clone() };
        self.root()?.fork_line(&settings, grounds)
    }

    pub(super) fn root(&mut self) -> Result<&mut Process, EngineError> {
        self.root_with_info().map(|(process, _)| process)
    }

    /// The root, and the process that holds the latest state that the sources of `tasks` lead to, if one is held.
    pub(super) fn root_and_nearest(
        &mut self,
        tasks: &[Task],
    ) -> Result<(&mut Process, Option<&mut Node>), EngineError> {
        let Some((root, _)) = &mut self.root else {
            return Err(EngineError { what: "the interpreter is gone".into(), hint: None });
        };
        let nodes = self.checkpoints.iter_mut().chain(&mut self.live);
        Ok((root, nodes.filter(|node| node.can_begin() && leads_to(tasks, node)).max_by_key(|node| node.line.len())))
    }
}

pub(super) fn name_of(info: &RootReply) -> String {
    let implementation = if info.implementation == "cpython" { "CPython" } else { &info.implementation };
    format!("{implementation} {}", info.version)
}

/// A directory of the engine's own, outside the run, that only this user may look into; gone with its owner.
pub(super) fn scratch() -> Result<TempDir, EngineError> {
    tempfile::Builder::new().prefix("reweave-").tempdir().map_err(|error| EngineError {
        what: format!("no directory can be made in {}: {error}", std::env::temp_dir().display()),
        hint: Some("set TMPDIR to a directory that may be written".into()),
    })
}
