//! Files that steps write, with versions of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::params;

use crate::step::{Digest, Effect, ExecutionId, Millis, StepId, VersionNumber};
use crate::store::names::{Subject, name_id};
use crate::store::{Reader, StoreError};

/// A file that a step of the run wrote, as the run stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Its path, relative to the run where it is inside; hostile.
    pub path: String,
    /// The content that the last step left that writes it; `None` where that step removed it, or where its content is
    /// not kept.
    pub content: Option<Digest>,
    /// That step.
    pub step: StepId,
    /// In which version.
    pub version: VersionNumber,
    /// By which execution.
    pub execution: ExecutionId,
    /// The steps whose last execution read it, in the order of the run.
    pub readers: Vec<StepId>,
}

/// A file of code that a step wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCode {
    /// The step.
    pub by: StepId,
    /// Digest of what it left there.
    pub content: Digest,
    /// Whether nothing tells that but its having come while the step had a program running.
    pub only_came: bool,
}

/// One version of an artifact: a content that is another than the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactVersion {
    /// Counting up from 1.
    pub number: u32,
    /// What it holds; `None` where it was removed, or where its content is not kept.
    pub content: Option<Digest>,
    /// Which step wrote it.
    pub step: StepId,
    /// In which version.
    pub version: VersionNumber,
    /// By which execution, of those that left this content in a row the first.
    pub execution: ExecutionId,
    /// When that began.
    pub at: Millis,
}

impl Reader {
    /// The files that steps of the run write, by path: which step, in which version, wrote each as it stands now, and
    /// which steps read it.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::Store;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let (write, read): (StepId, StepId) = ("1_write".parse().unwrap(), "2_read".parse().unwrap());
    /// let file = FileContent::File { digest: Digest::of("1"), mode: None };
    /// for step in [&write, &read] {
    ///     let version = store.record_version(step, b"", &Provenance::new(Author::Person, 1))?;
    ///     let mut execution = Execution::new(step.clone(), version, 2);
    ///     if *step == write {
    ///         let written = FileWrite { before: FileContent::Absent, after: file.clone() };
    ///         execution.observation.files_written.insert("out.csv".into(), written);
    ///     } else {
    ///         execution.observation.files_read.insert("out.csv".into(), file.clone());
    ///     }
    ///     store.record_execution(execution.into()).wait()?;
    /// }
    /// let artifacts = store.artifacts()?;
    /// assert_eq!((&artifacts[0].path[..], &artifacts[0].step), ("out.csv", &write));
    /// assert_eq!(artifacts[0].readers, [read]);
    /// assert_eq!(store.artifact_versions("out.csv")?[0].content, Some(Digest::of("1")));
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn artifacts(&self) -> Result<Vec<Artifact>, StoreError> {
        let _now = self.snapshot()?;
        let cut = self.cut(None)?;
        self.names_for(cut.len())?;
        let mut names = self.names.borrow_mut();
        let mut found: BTreeMap<u32, Artifact> = BTreeMap::new();
        let mut read: BTreeMap<u32, BTreeSet<&StepId>> = BTreeMap::new();
        for row in &cut {
            let Some(run) = &row.run else { continue };
            for name in run.reads.iter() {
                read.entry(*name).or_default().insert(&row.step);
            }
            for (name, content) in run.written().filter(|_| run.stands()) {
                let Subject::File(path) = names.get(self.sql_now(), name)? else { continue };
                let artifact = Artifact {
                    path: path.to_string(),
                    content,
                    step: row.step.clone(),
                    version: run.version,
                    execution: run.id,
                    readers: Vec::new(),
                };
                found.insert(name, artifact);
            }
        }
        for (name, artifact) in &mut found {
            artifact.readers = read.remove(name).unwrap_or_default().into_iter().cloned().collect();
        }
        let mut found: Vec<Artifact> = found.into_values().collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The versions of a file that steps write, newest first: each content that is another than the one before it.
    /// Executions that were cleared away take theirs with them.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn artifact_versions(&self, path: &str) -> Result<Vec<ArtifactVersion>, StoreError> {
        let Some(name) = name_id(self.sql(), &Subject::file(path))? else { return Ok(Vec::new()) };
        let mut query = self.sql_now().prepare_cached(
            "SELECT x.id, x.version, x.started, line.path, substr(x.written, m.place * 32 + 1, 32)
             FROM member m JOIN execution x ON x.writes = m.nameset JOIN line ON line.id = x.line
             WHERE m.name = ?1 AND x.outcome IN ('done', 'recorded') ORDER BY x.seq",
        )?;
        let mut rows = query.query(params![name])?;
        let mut found: Vec<ArtifactVersion> = Vec::new();
        while let Some(row) = rows.next()? {
            let bytes: [u8; 32] = row.get(4)?;
            let content = (bytes != [0; 32]).then(|| Digest::from_bytes(bytes));
            if found.last().is_some_and(|last| last.content == content) {
                continue;
            }
            found.push(ArtifactVersion {
                number: u32::try_from(found.len()).unwrap_or(u32::MAX).saturating_add(1),
                content,
                step: row.get::<_, String>(3)?.parse()?,
                version: VersionNumber(row.get(1)?),
                execution: ExecutionId(row.get(0)?),
                at: row.get(2)?,
            });
        }
        found.reverse();
        Ok(found)
    }

    /// Files that would be steps by their name, but that steps of the run wrote, and that were none before: what a step
    /// makes is its result, also where it is code.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn made_code(&self) -> Result<BTreeMap<String, MadeCode>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT 1 FROM name JOIN member m ON m.name = name.id JOIN execution x ON x.writes = m.nameset
             WHERE name.file = 1 AND (name.text LIKE '%.py' OR name.text LIKE '%.sh') LIMIT 1",
        )?;
        if !query.exists([])? {
            return Ok(BTreeMap::new());
        }
        let mut found = BTreeMap::new();
        for Artifact { path, content, step, execution, .. } in self.artifacts()? {
            let Some(id) = path.strip_suffix(".py").or_else(|| path.strip_suffix(".sh")) else { continue };
            let (Ok(id), Some(content)) = (id.parse::<StepId>(), content) else { continue };
            let made = self.artifact_versions(&path)?.last().map(|first| first.at);
            let first = self.versions(&id)?.last().map(|version| version.provenance.at);
            // It may have been seen before the execution that was making it was over.
            if made.is_some_and(|made| first.is_none_or(|first| first >= made)) {
                let told = |effect: &Effect| match effect {
                    Effect::Write { path: written } | Effect::Rename { to: written, .. } => {
                        Path::new(&path).starts_with(written)
                    }
                    _ => false,
                };
                let only_came = !self.execution(execution)?.execution.effects.iter().any(told);
                found.insert(path, MadeCode { by: step, content, only_came });
            }
        }
        Ok(found)
    }
}
