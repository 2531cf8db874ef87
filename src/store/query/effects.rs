//! What steps did outside their namespace, over all executions that are kept.

use super::super::execution::Recorded;
use crate::step::{Effect, ExecutionId, Millis, StepId, VersionNumber};
use crate::store::{Reader, StoreError};

/// Which effects are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectFilter {
    /// Of this step alone.
    pub step: Option<StepId>,
    /// Of these kinds ([`Effect::kind`]) or areas ([`Effect::area`]); of all where there are none.
    pub kinds: Vec<String>,
    /// On this path or what is below it, this host, this program, this variable.
    pub target: Option<String>,
    /// Of every execution that is kept, not of each step's last one alone.
    pub history: bool,
}

/// An effect, and whose it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Did {
    /// Of which step, by its present id.
    pub step: StepId,
    /// Of which execution.
    pub execution: ExecutionId,
    /// Of which version.
    pub version: VersionNumber,
    /// When that began.
    pub started: Millis,
    /// What was done.
    pub effect: Effect,
}

impl EffectFilter {
    /// All words for kinds and areas.
    pub const KINDS: [&'static str; 19] = [
        "read",
        "write",
        "delete",
        "rename",
        "process",
        "network",
        "connect",
        "resolve",
        "environment",
        "get_env",
        "set_env",
        "native",
        "load",
        "import",
        "refused",
        "granted",
        "put_back",
        "unguarded",
        "left",
    ]; // fmt: skip

    /// Whether an effect is asked for.
    pub fn takes(&self, effect: &Effect) -> bool {
        let area = effect.area();
        let kind = self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == effect.kind() || area == Some(kind));
        kind && self.target.as_ref().is_none_or(|target| effect.is_on(target))
    }
}

impl Reader {
    /// Effects by step, in the order of the run and of what happened; at most `limit` executions of a step are looked
    /// at, newest first.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::Store;
    /// use reweave::store::query::EffectFilter;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "1_load".parse().unwrap();
    /// let version = store.record_version(&step, b"", &Provenance::new(Author::Person, 1))?;
    /// let mut execution = Execution::new(step, version, 2);
    /// execution.effects = vec![Effect::Write { path: "out/a.csv".into() }, Effect::Resolve { host: "pypi.org".into() }];
    /// store.record_execution(execution.into()).wait()?;
    /// let found = |kinds: &[&str], target: Option<&str>| {
    ///     let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    ///     store.effects(&EffectFilter { kinds, target: target.map(Into::into), ..EffectFilter::default() }, 10)
    /// };
    /// assert_eq!(found(&[], None)?.len(), 2);
    /// assert_eq!(found(&["network"], None)?[0].effect.to_string(), "looked up pypi.org");
    /// assert_eq!(found(&[], Some("out"))?[0].effect.to_string(), "wrote out/a.csv");
    /// assert_eq!(found(&["network"], Some("out"))?, []);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn effects(&self, filter: &EffectFilter, limit: usize) -> Result<Vec<Did>, StoreError> {
        let steps: Vec<StepId> = match &filter.step {
            Some(step) => vec![step.clone()],
            None => self.latest()?.into_iter().map(|latest| latest.step).collect(),
        };
        let limit = if filter.history { limit } else { 1 };
        let mut found = Vec::new();
        for step in steps {
            for Recorded { id, execution, .. } in self.executions(&step, limit)? {
                let effects = execution.effects.iter().filter(|effect| filter.takes(effect));
                found.extend(effects.map(|effect| Did {
                    step: step.clone(),
                    execution: id,
                    version: execution.version,
                    started: execution.started,
                    effect: effect.clone(),
                }));
            }
        }
        Ok(found)
    }
}
