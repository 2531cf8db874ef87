//! How an execution stands in a row: names as numbers, digests as bytes, the rest as JSON in two blobs.
//!
//! A step's executions mostly read and write the same names, and only the digests differ. So the names are a set
//! that is kept once, the digests stand in its order, and only what is unusual is spelled out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::names::Subject;
use super::query::content_digest;
use crate::step::{Digest, Display, Effect, Execution, Name, Observation, Output, StepError, Written};

/// What is kept of an execution beside its plain columns.
pub(crate) struct Record {
    /// The names read, then the paths.
    pub(crate) reads: Vec<Subject>,
    /// The names written, then the paths.
    pub(crate) writes: Vec<Subject>,
    /// A digest for each of `writes`, zeros where it was deleted or has none.
    pub(crate) written: Vec<u8>,
    /// A digest for each name read, zeros where it was absent; their number before, a [`Body`] after.
    pub(crate) body: Vec<u8>,
    /// A [`Shown`].
    pub(crate) shown: Vec<u8>,
}

/// What is not names and digests.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StepError>,
    /// The observation without reads and writes.
    rest: Observation,
    /// What was written and shares something, or can't be carried.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    odd: BTreeMap<Name, Written>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<Effect>,
}

/// What was printed and shown. It changes where the rest does not, and is not needed to decide what may be kept.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Shown {
    pub(crate) output: Output,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) displays: Vec<Display>,
}

/// Where a digest would stand.
const NONE: [u8; 32] = [0; 32];

fn bytes(digest: Option<Digest>) -> [u8; 32] {
    digest.map_or(NONE, |digest| *digest.as_bytes())
}

impl Record {
    /// What to keep of `execution`.
    pub(crate) fn of(execution: &Execution) -> Result<Self, StoreError> {
        let observation = &execution.observation;
        let name = |name: &Name| Subject::Name(name.clone());
        let file = |path: &String| Subject::file(path);
        let reads = observation.reads.keys().map(name).chain(observation.files_read.keys().map(file)).collect();
        let writes = observation.writes.keys().map(name).chain(observation.files_written.keys().map(file)).collect();
        let values = observation.writes.values().map(|value| bytes(value.as_ref().map(|value| value.digest)));
        let files = observation.files_written.values().map(|file| bytes(content_digest(&file.after)));
        let written = values.chain(files).flatten().collect();
        let odd = observation.writes.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let odd = odd.filter(|(name, value)| **value != Written::alone(name, value.digest));
        let mut rest = observation.clone();
        rest.reads.clear();
        rest.writes.clear();
        let rest = Body {
            error: execution.error.clone(),
            rest,
            odd: odd.map(|(name, value)| (name.clone(), value.clone())).collect(),
            effects: execution.effects.clone(),
        };
        let count = u32::try_from(observation.reads.len())
            .map_err(|_| StoreError::Refused { why: "an execution read too many names to be kept".into() })?;
        let mut body = Vec::with_capacity(observation.reads.len() * 32 + 512);
        body.extend_from_slice(&count.to_le_bytes());
        body.extend(observation.reads.values().flat_map(|digest| bytes(*digest)));
        serde_json::to_writer(&mut body, &rest)?;
        let shown = Shown { output: execution.output.clone(), displays: execution.displays.clone() };
        Ok(Self { reads, writes, written, body, shown: serde_json::to_vec(&shown)? })
    }
}

/// What comes back of a record: the error, the observation, the effects.
pub(crate) fn restore(
    reads: &[Subject],
    writes: &[Subject],
    written: &[u8],
    body: &[u8],
) -> Result<(Option<StepError>, Observation, Vec<Effect>), StoreError> {
    let damaged = || StoreError::damaged("an execution's record was cut off");
    let (count, body) = body.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = (u32::from_le_bytes(*count) as usize).checked_mul(32).ok_or_else(damaged)?;
    let (found, rest) = body.split_at_checked(length).ok_or_else(damaged)?;
    let Body { error, rest: mut observation, mut odd, effects } = serde_json::from_slice(rest)?;
    let digest = |bytes: &[u8]| {
        let bytes: [u8; 32] = bytes.try_into().unwrap_or(NONE);
        (bytes != NONE).then(|| Digest::from_bytes(bytes))
    };
    let name = |subject: &Subject| match subject {
        Subject::Name(name) => Some(name.clone()),
        Subject::File(_) => None,
    };
    observation.reads = reads.iter().map_while(name).zip(found.chunks_exact(32).map(digest)).collect();
    observation.writes = writes
        .iter()
        .map_while(name)
        .zip(written.chunks_exact(32).map(digest))
        .map(|(name, digest)| {
            let value = digest.map(|digest| odd.remove(&name).unwrap_or_else(|| Written::alone(&name, digest)));
            (name, value)
        })
        .collect();
    Ok((error, observation, effects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{FileContent, FileWrite, StepId, VersionNumber};
    use proptest::prelude::*;

    /// Executions with names and files of all sorts.
    fn executions() -> impl Strategy<Value = Execution> {
        let name = "[a-c@é]{1,3}";
        let digest = proptest::option::of(any::<u8>().prop_map(|byte| Digest::of([byte])));
        let written = (any::<u8>(), 0..3_u8).prop_map(|(byte, odd)| {
            let mut written = Written::alone("?", Digest::of([byte]));
            match odd {
                0 => written.members.push("other".into()),
                1 => written.uncarryable = Some("a generator".into()),
                _ => {}
            }
            written
        });
        let reads = proptest::collection::btree_map(name, digest, 0..5);
        let writes = proptest::collection::btree_map(name, proptest::option::of(written), 0..5);
        let files = proptest::collection::btree_map("[a-c/]{1,3}", any::<bool>(), 0..3);
        (reads, writes, files, any::<bool>()).prop_map(|(reads, writes, files, failed)| {
            let step: StepId = "a".parse().unwrap();
            let mut execution = Execution::new(step, VersionNumber(1), 5);
            let observation = &mut execution.observation;
            observation.reads = reads.into_iter().map(|(name, digest)| (name.into(), digest)).collect();
            for (name, value) in writes {
                let value = value.map(|mut value| {
                    if value.members.len() == 1 && value.uncarryable.is_none() {
                        value.members = vec![name.as_str().into()];
                    }
                    value
                });
                observation.writes.insert(name.into(), value);
            }
            for (path, there) in files {
                let content =
                    if there { FileContent::File { digest: Digest::of("x"), mode: None } } else { FileContent::Absent };
                observation.files_read.insert(path.clone(), content.clone());
                observation
                    .files_written
                    .insert(path, FileWrite { before: FileContent::Present { mode: None }, after: content });
            }
            observation.doubts = failed.then(|| "why".to_owned()).into_iter().collect();
            execution.error = failed.then(|| StepError { type_name: "E".into(), ..StepError::default() });
            execution
        })
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(execution in executions()) {
            let record = Record::of(&execution).unwrap();
            let (error, observation, effects) =
                restore(&record.reads, &record.writes, &record.written, &record.body).unwrap();
            prop_assert_eq!(error, execution.error);
            prop_assert_eq!(observation, execution.observation);
            prop_assert_eq!(effects, execution.effects);
        }

        #[test]
        fn what_was_cut_off_is_damage_and_no_more(execution in executions(), keep in 0.0..1.0_f64) {
            let mut record = Record::of(&execution).unwrap();
            record.body.truncate((record.body.len() as f64 * keep) as usize);
            prop_assert!(restore(&record.reads, &record.writes, &record.written, &record.body).is_err());
        }
    }
}
