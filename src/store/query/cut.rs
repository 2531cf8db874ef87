//! The run as it stood at one moment: for every step its version and its last execution.

use crate::step::{Digest, ExecutionId, Outcome, StepId, VersionNumber};
use crate::store::execution::outcome;
use crate::store::names::unpack;
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
    pub(crate) output: i64,
    pub(crate) reads: Vec<u32>,
    pub(crate) writes: Vec<u32>,
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

/// The columns of an execution in a cut, after those of its step.
const RUN: &str = "e.id, e.version, e.outcome, e.output, r.names, w.names, e.written";

impl Reader {
    /// The steps that were there right after event `seq` (now, if `None`), in the order of the run.
    pub(crate) fn cut(&self, seq: Option<i64>) -> Result<Vec<CutStep>, StoreError> {
        let sql = self.sql_now();
        // Now, each line knows its newest version and execution; for the past they are looked for.
        let text = match seq {
            None => format!(
                "SELECT line.id, line.path, line.head, v.source, {RUN}
                 FROM line JOIN version v ON v.line = line.id AND v.number = line.head
                 LEFT JOIN execution e ON e.id = line.latest
                 LEFT JOIN nameset r ON r.id = e.reads LEFT JOIN nameset w ON w.id = e.writes
                 WHERE line.live AND ?1 IS NULL"
            ),
            Some(_) => format!(
                "SELECT line.id,
                        (SELECT path FROM path WHERE path.line = line.id AND since <= ?1 ORDER BY since DESC LIMIT 1),
                        v.number, v.source, {RUN}
                 FROM line
                 JOIN version v ON v.line = line.id
                      AND v.seq = (SELECT MAX(seq) FROM version WHERE line = line.id AND seq <= ?1)
                 LEFT JOIN execution e ON e.line = line.id
                      AND e.seq = (SELECT MAX(seq) FROM execution WHERE line = line.id AND seq <= ?1)
                 LEFT JOIN nameset r ON r.id = e.reads LEFT JOIN nameset w ON w.id = e.writes
                 WHERE v.source IS NOT NULL"
            ),
        };
        let mut query = sql.prepare_cached(&text)?;
        let mut rows = query.query([seq])?;
        let mut steps = Vec::new();
        let damaged = |error: rusqlite::types::FromSqlError| StoreError::damaged(error.to_string());
        while let Some(row) = rows.next()? {
            let run = match row.get::<_, Option<i64>>(4)? {
                None => None,
                Some(id) => Some(CutRun {
                    id: ExecutionId(id),
                    version: VersionNumber(row.get(5)?),
                    outcome: outcome(row.get_ref(6)?.as_str().map_err(damaged)?)?,
                    output: row.get(7)?,
                    reads: unpack(row.get_ref(8)?.as_blob().map_err(damaged)?).collect(),
                    writes: unpack(row.get_ref(9)?.as_blob().map_err(damaged)?).collect(),
                    written: row.get(10)?,
                }),
            };
            steps.push(CutStep {
                line: row.get(0)?,
                step: row.get_ref(1)?.as_str().map_err(damaged)?.parse()?,
                version: VersionNumber(row.get(2)?),
                source: Digest::from_bytes(row.get(3)?),
                run,
            });
        }
        steps.sort_unstable_by(|a, b| a.step.cmp(&b.step));
        Ok(steps)
    }
}
