//! Times and sizes as people write them.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use toml::de::DeValue;

use super::toml_text;

/// An amount of memory: bytes, or a share of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Between 0 and 1, of what the setting says.
    Share(f64),
    /// Whichever of the two is less.
    Least {
        /// Bytes.
        bytes: u64,
        /// Between 0 and 1.
        share: f64,
    },
}

impl Size {
    /// In bytes, where `whole` is what a share is of.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of memory needs no more than 53 bits"
            )]
            Self::Share(share) => (whole as f64 * share) as u64,
            Self::Least { bytes, share } => bytes.min(Self::Share(share).of(whole)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&bytes_text(*bytes)),
            Self::Share(share) => write!(f, "{}%", (share * 1000.0).round() / 10.0),
            Self::Least { bytes, share } => {
                write!(f, "{} or {}, whichever is less", Self::Bytes(*bytes), Self::Share(*share))
            }
        }
    }
}

/// Bytes as people read them: `512 B`, `64 MB`, `1.5 GB`, by powers of 1024.
pub fn bytes_text(bytes: u64) -> String {
    let mut unit = 1_u64;
    let mut name = "B";
    for (next, next_name) in [(1 << 10, "KB"), (1 << 20, "MB"), (1 << 30, "GB"), (1 << 40, "TB")] {
        if bytes >= next {
            (unit, name) = (next, next_name);
        }
    }
    let tenths = bytes.saturating_mul(10) / unit;
    if tenths.is_multiple_of(10) || unit == 1 {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    }
}

/// A time as people read it: `90s`, `1.5s`, `2m`, `1h`.
pub fn duration_text(time: Duration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() != 0 {
        format!("{}s", time.as_secs_f64())
    } else if seconds != 0 && seconds.is_multiple_of(3600) {
        format!("{}h", seconds / 3600)
    } else if seconds != 0 && seconds.is_multiple_of(60) {
        format!("{}m", seconds / 60)
    } else {
        format!("{seconds}s")
    }
}

/// A positive time: seconds, or a text with `ms`, `s`, `m` or `h`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * scale).ok().filter(|time| !time.is_zero())
}

/// A size: bytes, or a text with `KB`, `MB`, `GB`, `TB` (also `KiB` and so on, the same by powers of 1024), or a
/// share such as `80%`.
pub fn parse_size(text: &str) -> Option<Size> {
    let (number, unit) = split(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "%" if number > 0.0 && number <= 100.0 => return Some(Size::Share(number / 100.0)),
        "" | "b" => 1_u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes that people write are far below 2^53 of their unit, and the bound is checked"
    )]
    let bytes = (number * scale as f64) as u64;
    (bytes > 0 && number * (scale as f64) < 1e18).then_some(Size::Bytes(bytes))
}

/// A time from a TOML value.
pub(super) fn seconds(value: &DeValue<'_>) -> Option<Duration> {
    match value {
        DeValue::String(text) => parse_duration(text),
        other => Duration::try_from_secs_f64(toml_text::number(other)?).ok().filter(|time| !time.is_zero()),
    }
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok().filter(|n: &f64| n.is_finite())?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds) in [("30", 30.0), ("1.5s", 1.5), ("250ms", 0.25), ("2m", 120.0), ("1 h", 3600.0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "0", "-1", "1d", "s", "inf", "1e400", "99999999999999999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(
            ["90s", "2m", "1h", "1.5s"].map(|t| duration_text(parse_duration(t).unwrap())),
            ["90s", "2m", "1h", "1.5s"]
        );
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, size) in [
            ("512", Size::Bytes(512)),
            ("64MB", Size::Bytes(64 << 20)),
            ("1.5 GiB", Size::Bytes(3 << 29)),
            ("80%", Size::Share(0.8)),
        ] {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        for text in ["", "0", "-1", "1XB", "101%", "0%", "9999999999TB"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
        assert_eq!([512, 64 << 20, 3 << 29, 1500].map(bytes_text), ["512 B", "64 MB", "1.5 GB", "1.4 KB"]);
        assert_eq!(Size::Share(0.8).of(1000), 800);
        assert_eq!(Size::Share(0.8).to_string(), "80%");
        let least = Size::Least { bytes: 1 << 30, share: 0.5 };
        assert_eq!((least.of(1 << 40), least.of(1 << 30)), (1 << 30, 1 << 29));
        assert_eq!(least.to_string(), "1 GB or 50%, whichever is less");
    }
}
