//! MessagePack as JSON (<https://github.com/msgpack/msgpack/blob/master/spec.md>): only what holds data.

use serde_json::{Map, Number, Value};

/// Values nested deeper than this are not read.
const DEEPEST: usize = 64;

/// The value that `bytes` hold; `None` where they are not MessagePack. Extensions stay closed: a text says how
/// large they are.
pub fn read(bytes: &[u8]) -> Option<Value> {
    Reader { rest: bytes }.value(0)
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// A big-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, size: usize) -> Option<usize> {
        usize::try_from(self.number(size)?).ok()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let mark = *self.take(1)?.first()?;
        Some(match mark {
            0x00..=0x7f => u64::from(mark).into(),
            0xe0..=0xff => i64::from(mark as i8).into(),
            0x80..=0x8f => self.map(usize::from(mark & 0x0f), depth)?,
            0x90..=0x9f => self.list(usize::from(mark & 0x0f), depth)?,
            0xa0..=0xbf => self.text(usize::from(mark & 0x1f))?,
            0xc0 => Value::Null,
            0xc2 => false.into(),
            0xc3 => true.into(),
            0xc4..=0xc6 => {
                let count = self.length(1 << (mark - 0xc4))?;
                self.take(count)?;
                format!("<{count} bytes>").into()
            }
            0xc7..=0xc9 => {
                let count = self.length(1 << (mark - 0xc7))?;
                self.closed(count)?
            }
            0xca => f64::from(f32::from_bits(self.number(4)? as u32)).into(),
            0xcb => Number::from_f64(f64::from_bits(self.number(8)?)).map_or(Value::Null, Value::Number),
            0xcc..=0xcf => self.number(1 << (mark - 0xcc))?.into(),
            0xd0 => i64::from(self.number(1)? as i8).into(),
            0xd1 => i64::from(self.number(2)? as i16).into(),
            0xd2 => i64::from(self.number(4)? as i32).into(),
            0xd3 => (self.number(8)? as i64).into(),
            0xd4..=0xd8 => self.closed(1 << (mark - 0xd4))?,
            0xd9..=0xdb => {
                let count = self.length(1 << (mark - 0xd9))?;
                self.text(count)?
            }
            0xdc | 0xdd => {
                let count = self.length(2 << (mark - 0xdc))?;
                self.list(count, depth)?
            }
            0xde | 0xdf => {
                let count = self.length(2 << (mark - 0xde))?;
                self.map(count, depth)?
            }
            0xc1 => return None,
        })
    }

    fn text(&mut self, count: usize) -> Option<Value> {
        Some(String::from_utf8_lossy(self.take(count)?).into_owned().into())
    }

    /// An extension: its type and its bytes.
    fn closed(&mut self, count: usize) -> Option<Value> {
        let sort = *self.take(1)?.first()? as i8;
        self.take(count)?;
        Some(format!("<extension {sort}, {count} bytes>").into())
    }

    fn list(&mut self, count: usize, depth: usize) -> Option<Value> {
        // The count may be a lie: nothing is set aside for it.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(self.value(depth + 1)?);
        }
        Some(Value::Array(items))
    }

    fn map(&mut self, count: usize, depth: usize) -> Option<Value> {
        let mut entries = Map::new();
        for _ in 0..count {
            let key = match self.value(depth + 1)? {
                Value::String(key) => key,
                other => other.to_string(),
            };
            entries.insert(key, self.value(depth + 1)?);
        }
        Some(Value::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn data_is_read_and_extensions_stay_closed() {
        let bytes = b"\x84\xa1n\xd3\xff\xff\xff\xff\xff\xff\xff\xfe\xa1f\xcb\x3f\xf8\0\0\0\0\0\0\xa1l\x93\xc0\xc3\xd9\x02hi\xa1x\xd4\x05\x00";
        assert_eq!(
            read(bytes),
            Some(json!({"n": -2, "f": 1.5, "l": [null, true, "hi"], "x": "<extension 5, 1 bytes>"}))
        );
        assert_eq!(read(b"\xdd\xff\xff\xff\xff"), None);
        assert_eq!(read(&[0x91; 100_000]), None);
        assert_eq!(read(b""), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall_over(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
