//! The run as it stood at one moment: for every step its version and its last execution.

use std::sync::Arc;

use crate::step::{Digest, ExecutionId, Outcome, StepId, VersionNumber};
use crate::store::execution::outcome;
use crate::store::{Reader, StoreError};

/// A step in a cut.
pub(crate) struct CutStep {
    pub(crate) line: i64,
    pub(crate) step: StepId,
    pub(crate) version: VersionNumber,
    pub(crate) source: Digest,
    pub(crate) run: Option<CutRun>,
}

/// The last execution of a step in a cut.
pub(crate) struct CutRun {
    pub(crate) id: ExecutionId,
    pub(crate) version: VersionNumber,
    pub(crate) outcome: Outcome,
    pub(crate) output: Digest,
    pub(crate) reads: Arc<[u32]>,
    pub(crate) writes: Arc<[u32]>,
    written: Vec<u8>,
}

impl CutRun {
    /// What was written: names with the digest of each, `None` where it was deleted or has none.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u32, Option<Digest>)> + '_ {
        self.writes.iter().copied().zip(self.written.chunks_exact(32)).map(|(name, bytes)| {
            let bytes: [u8; 32] = bytes.try_into().unwrap_or_default();
            (name, (bytes != [0; 32]).then(|| Digest::from_bytes(bytes)))
        })
    }

    /// Whether what it wrote stands for the steps after it.
    pub(crate) fn stands(&self) -> bool {
        matches!(self.outcome, Outcome::Done | Outcome::Recorded)
    }
}

/// From this many steps on, reading all sets of names at once is faster than asking for each.
const MANY: usize = 500;

impl Reader {
    /// The steps that were there right after event `seq` (now, if `None`), in the order of the run.
    pub(crate) fn cut(&self, seq: Option<i64>) -> Result<Vec<CutStep>, StoreError> {
        let sql = self.sql_now();
        // A line knows its present id, version and execution; what it had before is looked for in indices that hold
        // all that is asked of them.
        let latest = match seq {
            None => "line.latest",
            Some(_) => "(SELECT id FROM execution WHERE line = line.id AND seq <= ?1 ORDER BY seq DESC LIMIT 1)",
        };
        let version = |column: &str| {
            format!(
                "(SELECT {column} FROM version v WHERE v.line = line.id AND v.seq <= ?1 ORDER BY v.seq DESC LIMIT 1)"
            )
        };
        let mut query = sql.prepare_cached(&format!(
            "SELECT line.id,
                    CASE WHEN named <= ?1 THEN line.path
                         ELSE (SELECT p.path FROM path p WHERE p.line = line.id AND since <= ?1 ORDER BY since DESC LIMIT 1)
                    END,
                    CASE WHEN head_seq <= ?1 THEN head ELSE {} END,
                    CASE WHEN head_seq <= ?1 THEN line.source ELSE {} END,
                    e.id, e.version, e.outcome, e.output, e.reads, e.writes, e.written
             FROM line LEFT JOIN execution e ON e.id = {latest}",
            version("number"),
            version("source"),
        ))?;
        let mut rows = query.query([seq.unwrap_or(i64::MAX)])?;
        let mut steps: Vec<CutStep> = Vec::new();
        let mut sets = Vec::new();
        let damaged = |error: rusqlite::types::FromSqlError| StoreError::damaged(error.to_string());
        while let Some(row) = rows.next()? {
            let Some(source) = row.get::<_, Option<[u8; 32]>>(3)?.map(Digest::from_bytes) else {
                // It was not there yet, or not any more.
                continue;
            };
            let run = match row.get::<_, Option<i64>>(4)? {
                None => None,
                Some(id) => {
                    sets.push((steps.len(), row.get::<_, i64>(8)?, row.get::<_, i64>(9)?));
                    Some(CutRun {
                        id: ExecutionId(id),
                        version: VersionNumber(row.get(5)?),
                        outcome: outcome(row.get_ref(6)?.as_str().map_err(damaged)?)?,
                        output: Digest::from_bytes(row.get(7)?),
                        reads: Arc::default(),
                        writes: Arc::default(),
                        written: row.get(10)?,
                    })
                }
            };
            steps.push(CutStep {
                line: row.get(0)?,
                step: row.get_ref(1)?.as_str().map_err(damaged)?.parse()?,
                version: VersionNumber(row.get(2)?),
                source,
                run,
            });
        }
        if sets.len() >= MANY {
            self.read_sets_at_once()?;
        }
        for (place, reads, writes) in sets {
            if let Some(run) = steps.get_mut(place).and_then(|step| step.run.as_mut()) {
                run.reads = self.nameset(reads)?;
                run.writes = self.nameset(writes)?;
            }
        }
        // Rows mostly come in the order of the run already, since that is how steps are recorded.
        steps.sort_by(|a, b| a.step.cmp(&b.step));
        Ok(steps)
    }
}
