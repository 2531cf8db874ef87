//! What a step prints, kept within a limit: the head and the tail, the middle counted.

use std::collections::VecDeque;

use crate::step::{Chunk, Output, Stream};

/// Collects the output of one execution.
#[derive(Debug)]
pub(super) struct Capture {
    limit: u64,
    head: Vec<Chunk>,
    head_size: u64,
    tail: VecDeque<Chunk>,
    tail_size: u64,
    dropped: u64,
    /// Bytes of a character that has not come whole yet, for each stream.
    partial: [Vec<u8>; 2],
}

impl Capture {
    /// Keeps at most `limit` bytes: half of them from the start, half from the end.
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            head: Vec::new(),
            head_size: 0,
            tail: VecDeque::new(),
            tail_size: 0,
            dropped: 0,
            partial: [Vec::new(), Vec::new()],
        }
    }

    /// Takes bytes as they came; gives what can be shown of them, if anything.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) -> Option<Chunk> {
        let [stdout, stderr] = &mut self.partial;
        let partial = match stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
        };
        partial.extend_from_slice(bytes);
        let whole = whole_characters(partial);
        let rest = partial.split_off(whole);
        let ready = std::mem::replace(partial, rest);
        (!ready.is_empty()).then(|| self.keep(stream, String::from_utf8_lossy(&ready).into_owned()))
    }

    fn keep(&mut self, stream: Stream, text: String) -> Chunk {
        let size = text.len() as u64;
        let chunk = Chunk { stream, text };
        if self.tail.is_empty() && self.head_size + size <= self.limit / 2 {
            self.head_size += size;
            append(&mut self.head, &chunk);
        } else {
            self.tail_size += size;
            self.tail.push_back(chunk.clone());
            while self.tail_size > self.limit / 2 && self.tail.len() > 1 {
                if let Some(old) = self.tail.pop_front() {
                    self.tail_size -= old.text.len() as u64;
                    self.dropped += old.text.len() as u64;
                }
            }
        }
        chunk
    }

    /// All that was kept.
    pub(super) fn finish(mut self) -> Output {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let [stdout, stderr] = &mut self.partial;
            let rest = std::mem::take(match stream {
                Stream::Stdout => stdout,
                Stream::Stderr => stderr,
            });
            if !rest.is_empty() {
                self.keep(stream, String::from_utf8_lossy(&rest).into_owned());
            }
        }
        let mut chunks = self.head;
        for chunk in self.tail {
            append(&mut chunks, &chunk);
        }
        Output { chunks, dropped: self.dropped }
    }
}

/// Joins what comes from the same stream, so that many small writes are one piece.
fn append(chunks: &mut Vec<Chunk>, chunk: &Chunk) {
    match chunks.last_mut() {
        Some(last) if last.stream == chunk.stream => last.text.push_str(&chunk.text),
        _ => chunks.push(chunk.clone()),
    }
}

/// How many of `bytes` are not the beginning of a character that is still to come.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let Some(&byte) = bytes.get(at) else { break };
        let needed = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_comes_in_two_pieces_is_one() {
        let mut capture = Capture::new(100);
        assert_eq!(capture.take(Stream::Stdout, b"a\xc3").map(|c| c.text), Some("a".into()));
        assert_eq!(capture.take(Stream::Stderr, b"x").map(|c| c.text), Some("x".into()));
        assert_eq!(capture.take(Stream::Stdout, b"\xa4").map(|c| c.text), Some("ä".into()));
        assert_eq!(capture.finish().text(Stream::Stdout), "aä");
    }

    #[test]
    fn the_middle_is_dropped_and_counted() {
        let mut capture = Capture::new(20);
        for i in 0..100 {
            capture.take(Stream::Stdout, format!("{i:03} ").as_bytes());
        }
        let output = capture.finish();
        let text = output.text(Stream::Stdout);
        assert!(text.starts_with("000 ") && text.ends_with("099 "), "{text}");
        assert_eq!(text.len() as u64 + output.dropped, 400);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut capture = Capture::new(100);
        capture.take(Stream::Stdout, b"\xff\xfeok");
        capture.take(Stream::Stdout, b"\xf0\x9f");
        assert_eq!(capture.finish().text(Stream::Stdout), "\u{fffd}\u{fffd}ok\u{fffd}");
    }
}
