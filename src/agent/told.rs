//! What an answer says besides the patch: whose it is, what it cost.

use serde_json::Value;

use crate::step::Tokens;

/// Longest id of a call or name of a model that is kept, in characters.
const LONGEST: usize = 200;

/// Longest cost that is kept, in bytes of JSON.
const LARGEST_COST: usize = 2_000;

/// An answer, taken apart. Everything in it is hostile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// The patch, in any format.
    pub patch: Vec<u8>,
    /// What the call cost, as the agent says it.
    pub cost: Option<Value>,
    /// The agent's own id of the call.
    pub call: Option<String>,
    /// The model that was used.
    pub model: Option<String>,
    /// Tokens read and written.
    pub tokens: Option<Tokens>,
}

impl Told {
    /// What an answer that is no patch says besides: the id of the call, the model, the tokens.
    pub fn beside(text: &[u8]) -> Self {
        let Ok(Value::Object(mut told)) = serde_json::from_slice::<Value>(text) else { return Self::default() };
        let mut word = |key: &str| Some(told.remove(key)?.as_str()?.chars().take(LONGEST).collect::<String>());
        let (call, model) = (word("call"), word("model"));
        let tokens = told.remove("tokens").and_then(|tokens| serde_json::from_value(tokens).ok());
        Self { call, model, tokens, ..Self::default() }
    }

    /// An answer may be the patch alone, or `{"patch": text, "cost": …, "call": text, "model": text, "tokens":
    /// {"input": n, "output": n}}`, all but the patch optional.
    ///
    /// ```
    /// use reweave::agent::Told;
    /// let told = Told::read(br#"{"patch": "--- a\n", "call": "c1"}"#.to_vec());
    /// assert_eq!((told.patch.as_slice(), told.call.as_deref()), (b"--- a\n".as_slice(), Some("c1")));
    /// assert_eq!(Told::read(b"--- a\n".to_vec()).patch, b"--- a\n");
    /// ```
    pub fn read(text: Vec<u8>) -> Self {
        let alone = |text| Self { patch: text, ..Self::default() };
        let Ok(Value::Object(mut told)) = serde_json::from_slice::<Value>(&text) else { return alone(text) };
        let Some(Value::String(patch)) = told.remove("patch") else { return alone(text) };
        let mut word = |key: &str| Some(told.remove(key)?.as_str()?.chars().take(LONGEST).collect::<String>());
        let (call, model) = (word("call"), word("model"));
        Self {
            patch: patch.into_bytes(),
            call,
            model,
            tokens: told.remove("tokens").and_then(|tokens| serde_json::from_value(tokens).ok()),
            cost: told.remove("cost").filter(|cost| cost.to_string().len() <= LARGEST_COST),
        }
    }
}
