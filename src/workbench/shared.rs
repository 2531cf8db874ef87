//! Names that are read once and shared. A run names each variable where it is written, at every step that reads it and at
//! every edge; its picture of the last time is read while somebody waits for the first frame.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use foldhash::HashMap;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::step::Name;

/// Lists of names that were read so far, by the name that they hold where it is only one.
#[derive(Default)]
struct Known {
    names: HashMap<Name, Arc<[Name]>>,
}

thread_local! {
    /// What is shared while this thread reads something.
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// Does some reading, and shares names that come in it more than once.
pub(super) fn sharing<T>(read: impl FnOnce() -> T) -> T {
    KNOWN.set(Some(Known::default()));
    let found = read();
    KNOWN.set(None);
    found
}

/// A name as it was read before, in a list of its own.
fn known(name: &str) -> Option<Arc<[Name]>> {
    KNOWN.with_borrow_mut(|known| {
        let known = known.as_mut()?;
        if let Some(list) = known.names.get(name) {
            return Some(Arc::clone(list));
        }
        let name = Name::from(name);
        let list: Arc<[Name]> = [Arc::clone(&name)].into();
        known.names.insert(name, Arc::clone(&list));
        Some(list)
    })
}

struct Shared(Name);

impl<'de> Deserialize<'de> for Shared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Shared;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_str<E>(self, text: &str) -> Result<Shared, E> {
                let known = known(text).and_then(|list| list.first().cloned());
                Ok(Shared(known.unwrap_or_else(|| text.into())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// Reads a list of names.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Name>, D::Error> {
    struct Names;

    impl<'de> Visitor<'de> for Names {
        type Value = Vec<Name>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("names")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Name>, A::Error> {
            let mut names = Vec::new();
            while let Some(Shared(name)) = list.next_element()? {
                if names.is_empty() {
                    // Most lists hold one.
                    names.reserve_exact(1);
                }
                names.push(name);
            }
            Ok(names)
        }
    }

    deserializer.deserialize_seq(Names)
}

/// Reads a list of names that is shared as a whole where there is only one in it.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Name]>, D::Error> {
    let names = names(deserializer)?;
    let shared = match names.as_slice() {
        [name] => known(name),
        _ => None,
    };
    Ok(shared.unwrap_or_else(|| names.into()))
}
