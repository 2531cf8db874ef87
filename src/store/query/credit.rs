//! What became of what agents, models and calls proposed.

use std::collections::BTreeMap;

use crate::step::StepId;
use crate::store::{Reader, StoreError};

/// The account of one agent, model or call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credit {
    /// Patches that it proposed.
    pub proposed: usize,
    /// Of these, accepted, whether or not reverted later.
    pub accepted: usize,
    /// Of these, taken back.
    pub reverted: usize,
    /// Turned down.
    pub rejected: usize,
    /// Not decided on yet.
    pub open: usize,
    /// Texts of steps that it wrote, by patches or otherwise.
    pub versions: usize,
    /// Tests that accepted patches made pass, by each patch's last trial.
    pub tests_fixed: Vec<StepId>,
    /// Tests that accepted patches made fail.
    pub tests_broken: Vec<StepId>,
}

impl Reader {
    /// The account of each agent, by name; reweave's own rules stand under `rule:` and their name.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Proposal, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let proposal = Proposal {
    ///     state: PatchState::Proposed,
    ///     title: "fix".into(),
    ///     provenance: Provenance::new(Author::Agent("fixer".into()), 1),
    ///     text: b"...".to_vec(),
    ///     files: vec![],
    ///     problems: vec![],
    /// };
    /// let patch = store.insert_patch(&proposal)?.id();
    /// store.set_patch_state(patch, PatchState::Accepted, None, 2)?;
    /// let credit = store.by_agent()?;
    /// assert_eq!((credit["fixer"].proposed, credit["fixer"].accepted), (1, 1));
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn by_agent(&self) -> Result<BTreeMap<String, Credit>, StoreError> {
        self.credit("CASE author WHEN 'agent' THEN author_name WHEN 'rule' THEN 'rule:' || author_name END")
    }

    /// The account of each model, by name.
    ///
    /// ```
    /// use reweave::step::*;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let by = Provenance { model: Some("m-1".into()), ..Provenance::new(Author::Agent("fixer".into()), 1) };
    /// store.record_version(&"a".parse().unwrap(), b"x = 1", &by)?;
    /// assert_eq!(store.by_model()?["m-1"].versions, 1);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn by_model(&self) -> Result<BTreeMap<String, Credit>, StoreError> {
        self.credit("model")
    }

    /// The account of each call, by the producer's id.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn by_call(&self) -> Result<BTreeMap<String, Credit>, StoreError> {
        self.credit("call")
    }

    /// `who` is an expression over the columns of provenance.
    fn credit(&self, who: &str) -> Result<BTreeMap<String, Credit>, StoreError> {
        let _now = self.snapshot()?;
        let sql = self.sql_now();
        let mut accounts: BTreeMap<String, Credit> = BTreeMap::new();
        let mut query = sql.prepare_cached(&format!(
            "SELECT {who}, state, (SELECT fixed || char(10) || broken FROM trial WHERE trial.patch = patch.id ORDER BY id DESC LIMIT 1)
             FROM patch WHERE ({who}) IS NOT NULL"
        ))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let credit = accounts.entry(row.get(0)?).or_default();
            let state = crate::store::patch::state(&row.get::<_, String>(1)?)?;
            credit.proposed += 1;
            credit.open += usize::from(state.is_open());
            let counter = match state.word() {
                "accepted" => &mut credit.accepted,
                "rejected" => &mut credit.rejected,
                "reverted" => {
                    credit.reverted += 1;
                    &mut credit.accepted
                }
                _ => continue,
            };
            *counter += 1;
            if state.word() != "rejected"
                && let Some(tests) = row.get::<_, Option<String>>(2)?
                && let Some((fixed, broken)) = tests.split_once('\n')
            {
                credit.tests_fixed.extend(serde_json::from_str::<Vec<StepId>>(fixed)?);
                credit.tests_broken.extend(serde_json::from_str::<Vec<StepId>>(broken)?);
            }
        }
        let mut query = sql.prepare_cached(&format!(
            "SELECT {who}, COUNT(*) FROM version WHERE ({who}) IS NOT NULL AND source IS NOT NULL GROUP BY 1"
        ))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let count: i64 = row.get(1)?;
            accounts.entry(row.get(0)?).or_default().versions = usize::try_from(count).unwrap_or(usize::MAX);
        }
        for credit in accounts.values_mut() {
            for tests in [&mut credit.tests_fixed, &mut credit.tests_broken] {
                tests.sort_unstable();
                tests.dedup();
            }
        }
        Ok(accounts)
    }
}
