//! A small generator of texts and choices, the same for the same seed.

/// SplitMix64 (Steele, Lea and Flood 2014): enough for tests, and no dependency.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Lines that look like code, some of them often the same.
const LINES: [&str; 24] = [
    "",
    "x = 1",
    "x += 1",
    "    return x",
    "def f(x):",
    "def g(y):",
    "    y = f(x)",
    "total += v",
    "    total += v",
    "# note",
    "-- dash",
    "++ plus",
    "-x",
    "+x",
    "@@ at",
    "\ttab",
    "  trailing  ",
    "print('é – ü')",
    "...",
    "```",
    "=======",
    "--- a",
    "+++ b",
    "\\ back",
];

/// A text of up to `most` lines; now and then with CRLF, without a final newline or empty.
pub fn text(random: &mut Random, most: usize) -> String {
    let count = random.below(most + 1);
    let crlf = random.one_in(8);
    let mixed = random.one_in(12);
    let unique = random.one_in(2);
    let mut text = String::new();
    for index in 0..count {
        text.push_str(random.pick(&LINES));
        if unique && random.one_in(2) {
            text.push_str(&format!("  # {index}"));
        }
        let cr = if mixed { random.one_in(2) } else { crlf };
        text.push_str(if cr { "\r\n" } else { "\n" });
    }
    if random.one_in(5) {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

/// `text` with a few lines changed, removed, added or moved.
pub fn edited(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(5) {
        let at = random.below(lines.len() + 1);
        match random.below(6) {
            0 if at < lines.len() => {
                lines.remove(at);
            }
            1 if at < lines.len() => {
                let ending = if lines[at].ends_with("\r\n") { "\r\n" } else { "\n" };
                lines[at] = format!("{}{ending}", random.pick(&LINES));
            }
            2 if at < lines.len() => {
                let line = lines.remove(at);
                let to = random.below(lines.len() + 1);
                lines.insert(to, line);
            }
            3 => {
                for _ in 0..random.below(4) {
                    lines.insert(at, format!("{}\n", random.pick(&LINES)));
                }
            }
            4 if at < lines.len() => {
                let copy = lines[at].clone();
                lines.insert(at, copy);
            }
            _ => lines.insert(at, format!("new {}\n", random.below(100))),
        }
    }
    let last = lines.len().saturating_sub(1);
    for (index, line) in lines.iter_mut().enumerate() {
        if index < last && !line.ends_with('\n') {
            line.push('\n');
        }
    }
    let mut text = lines.concat();
    if random.one_in(6) {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

/// How often a test is repeated: the number in the environment, or what is fit for every run.
pub fn times(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
