//! Calls that are made once: what was asked, and what they gave.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row, params};

use super::key::Key;
use super::writer::{Durability, Receipt};
use super::{Reader, Store, StoreError};
use crate::step::{Digest, Millis, StepId, Tokens};

/// A call as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCall {
    /// Digest of all that was asked.
    pub key: Digest,
    /// Whether its answer is unpacked by a worker, and so must carry the user's mark.
    pub packed: bool,
    /// The step that made it first.
    pub step: StepId,
    /// The name of the function.
    pub name: String,
    /// What was asked; hostile.
    pub question: Vec<u8>,
    /// What it gave; hostile.
    pub answer: Vec<u8>,
    /// When.
    pub at: Millis,
    /// How long it took, in milliseconds.
    pub took_ms: i64,
    /// The model that answered, as it says.
    pub model: Option<String>,
    /// The agent's own id of the call.
    pub call: Option<String>,
    /// Tokens that it cost, as the agent says.
    pub tokens: Option<Tokens>,
}

impl KeptCall {
    /// Digest of the answer.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.answer)
    }
}

impl Store {
    /// Keeps what a call gave, in place of what was kept under its key.
    ///
    /// ```
    /// use reweave::step::Digest;
    /// use reweave::store::{KeptCall, Key, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// // In earnest it is `Key::of_user`.
    /// let (store, key) = (Store::open(dir.path())?, Key::new([7; 32]));
    /// let call = KeptCall {
    ///     key: Digest::of("question"), packed: false, step: "a".parse().unwrap(), name: "ask".into(),
    ///     question: b"{}".to_vec(), answer: b"{\"result\": 1}".to_vec(), at: 1_000, took_ms: 5,
    ///     model: None, call: None, tokens: None,
    /// };
    /// store.keep_call(Some(&key), call.clone()).wait()?;
    /// assert_eq!(store.kept_call(Some(&key), &call.key)?, Some(call.clone()));
    /// store.drop_calls(&[call.key], 2_000).wait()?;
    /// assert_eq!(store.kept_call(Some(&key), &call.key)?, None);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn keep_call(&self, key: Option<&Key>, call: KeptCall) -> Receipt<()> {
        let digest = call.digest();
        let mac = key.filter(|_| call.packed).map(|key| *mac(key, &call.key, &digest).as_bytes());
        self.submit(Durability::Normal, move |write| {
            let (question, answer) = (write.content(&call.question)?, write.content(&call.answer)?);
            write
                .sql
                .prepare_cached("UPDATE call SET dropped = ? WHERE key = ? AND dropped IS NULL")?
                .execute(params![call.at, call.key.as_bytes()])?;
            let kind = if call.packed { "packed" } else { "text" };
            let tokens =
                |of: fn(&Tokens) -> u64| call.tokens.as_ref().map(|t| i64::try_from(of(t)).unwrap_or(i64::MAX));
            write
                .sql
                .prepare_cached(
                    "INSERT INTO call (key, kind, step, name, question, answer, digest, at, took_ms, model, call,
                                       tokens_in, tokens_out, mac)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    call.key.as_bytes(),
                    kind,
                    call.step.as_str(),
                    call.name,
                    question,
                    answer,
                    digest.as_bytes(),
                    call.at,
                    call.took_ms,
                    call.model,
                    call.call,
                    tokens(|t| t.input),
                    tokens(|t| t.output),
                    mac,
                ])?;
            Ok(())
        })
    }

    /// Lets go of what was kept under these keys: who makes the calls again asks again.
    pub fn drop_calls(&self, keys: &[Digest], at: Millis) -> Receipt<()> {
        let keys = keys.to_vec();
        self.submit(Durability::Full, move |write| {
            for key in &keys {
                write
                    .sql
                    .prepare_cached("UPDATE call SET dropped = ? WHERE key = ? AND dropped IS NULL")?
                    .execute(params![at, key.as_bytes()])?;
            }
            Ok(())
        })
    }
}

impl Reader {
    /// The digests of all answers that are kept and may be used, by the keys of their calls.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn kept_calls(&self, key: Option<&Key>) -> Result<HashMap<Digest, Digest>, StoreError> {
        let mut query = self.sql().prepare_cached("SELECT key, digest, kind, mac FROM call WHERE dropped IS NULL")?;
        let rows = query.query_map([], |row| {
            let (call, digest): (Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?);
            Ok((call, digest, row.get::<_, String>(2)?, row.get::<_, Option<Vec<u8>>>(3)?))
        })?;
        let mut kept = HashMap::new();
        for row in rows {
            let (call, digest, kind, mark) = row?;
            let (Ok(call), Ok(digest)) = (<[u8; 32]>::try_from(call), <[u8; 32]>::try_from(digest)) else { continue };
            let (call, digest) = (Digest::from_bytes(call), Digest::from_bytes(digest));
            if may_be_used(key, &kind, mark.as_deref(), &call, &digest) {
                kept.insert(call, digest);
            }
        }
        Ok(kept)
    }

    /// What is kept under a key and may be used.
    ///
    /// # Errors
    /// When the store can't be read. What is damaged or not marked right is not there.
    pub fn kept_call(&self, key: Option<&Key>, call: &Digest) -> Result<Option<KeptCall>, StoreError> {
        let query = "SELECT kind, step, name, question, answer, at, took_ms, model, call, tokens_in, tokens_out, mac
                     FROM call WHERE key = ? AND dropped IS NULL";
        let read = |row: &Row<'_>| {
            let count = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(i64::unsigned_abs));
            let tokens = match (count(9)?, count(10)?) {
                (None, None) => None,
                (input, output) => Some(Tokens { input: input.unwrap_or(0), output: output.unwrap_or(0) }),
            };
            let (kind, step): (String, String) = (row.get(0)?, row.get(1)?);
            let blobs: (i64, i64) = (row.get(3)?, row.get(4)?);
            let (name, at, took_ms) = (row.get(2)?, row.get(5)?, row.get(6)?);
            let (model, own) = (row.get(7)?, row.get(8)?);
            Ok((kind, step, blobs, row.get::<_, Option<Vec<u8>>>(11)?, (name, at, took_ms, model, own, tokens)))
        };
        let found = self.sql().prepare_cached(query)?.query_row([call.as_bytes()], read).optional()?;
        let Some((kind, step, (question, answer), mark, (name, at, took_ms, model, own, tokens))) = found else {
            return Ok(None);
        };
        let (question, answer) = match (self.blob(question), self.blob(answer)) {
            (Ok(question), Ok(answer)) => (question, answer),
            (Err(StoreError::Damaged { .. }), _) | (_, Err(StoreError::Damaged { .. })) => return Ok(None),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let Ok(step) = step.parse() else { return Ok(None) };
        if !may_be_used(key, &kind, mark.as_deref(), call, &Digest::of(&answer)) {
            return Ok(None);
        }
        let packed = kind == "packed";
        let kept = KeptCall { key: *call, packed, step, name, question, answer, at, took_ms, model, call: own, tokens };
        Ok(Some(kept))
    }
}

fn mac(key: &Key, call: &Digest, answer: &Digest) -> super::key::Mac {
    key.mac([b"call".as_slice(), call.as_bytes(), answer.as_bytes()])
}

/// A run's store may come from anywhere: what a worker unpacks counts only with the user's mark.
fn may_be_used(key: Option<&Key>, kind: &str, mark: Option<&[u8]>, call: &Digest, answer: &Digest) -> bool {
    match (kind, key, mark) {
        ("text", _, _) => true,
        ("packed", Some(key), Some(mark)) => mac(key, call, answer).is(mark),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unpacked_counts_only_with_the_users_mark() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let call = KeptCall {
            key: Digest::of("q"),
            packed: true,
            step: "a".parse().unwrap(),
            name: "draw".into(),
            question: Vec::new(),
            answer: b"a pickle".to_vec(),
            at: 1,
            took_ms: 0,
            model: None,
            call: None,
            tokens: Some(Tokens { input: 3, output: 4 }),
        };
        let (mine, other) = (Key::new([1; 32]), Key::new([2; 32]));
        store.keep_call(Some(&mine), call.clone()).wait().unwrap();
        assert_eq!(store.kept_call(Some(&mine), &call.key).unwrap(), Some(call.clone()));
        assert_eq!(store.kept_calls(Some(&mine)).unwrap().get(&call.key), Some(&call.digest()));
        for key in [Some(&other), None] {
            assert_eq!(store.kept_call(key, &call.key).unwrap(), None);
            assert!(store.kept_calls(key).unwrap().is_empty());
        }
    }
}
