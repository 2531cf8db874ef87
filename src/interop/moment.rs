//! Moments as recordings write them: text with or without a zone, seconds, milliseconds, nanoseconds.

use serde_json::Value;

use crate::step::Millis;

/// Reads a moment from an ISO 8601 text (no zone means UTC) or a number of seconds, milliseconds, microseconds
/// or nanoseconds since the epoch, told apart by size.
pub fn moment(value: &Value) -> Option<Millis> {
    match value {
        Value::String(text) => text_moment(text),
        Value::Number(number) => number.as_f64().and_then(epoch),
        _ => None,
    }
}

/// A length of time in seconds, as microseconds.
pub fn seconds_us(value: &Value) -> Option<u64> {
    let seconds = value.as_f64()?;
    (seconds.is_finite() && (0.0..1e12).contains(&seconds)).then_some((seconds * 1e6) as u64)
}

fn text_moment(text: &str) -> Option<Millis> {
    let text = text.trim();
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return civil.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_millisecond());
    }
    text.parse::<f64>().ok().and_then(epoch)
}

/// The sizes leave no doubt for any date from 1973 to 5138.
fn epoch(number: f64) -> Option<Millis> {
    if !number.is_finite() || number < 1e8 {
        return None;
    }
    let millis = match number {
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n if n < 1e20 => n / 1e6,
        _ => return None,
    };
    Some(millis as Millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_way_of_writing_one_moment_is_that_moment() {
        let want = Some(1_756_860_439_293);
        for value in [
            json!("2025-09-03T00:47:19.293Z"),
            json!("2025-09-03T00:47:19.293"),
            json!("2025-09-03T02:47:19.293+02:00"),
            json!("2025-09-03 00:47:19.293"),
            json!(1_756_860_439.293),
            json!(1_756_860_439_293_i64),
            json!("1756860439293000000"),
        ] {
            assert_eq!(moment(&value), want, "{value}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for value in [json!("soon"), json!(""), json!(3), json!(null), json!(-1e300), json!("nan"), json!("1e999")] {
            assert_eq!(moment(&value), None, "{value}");
        }
    }
}
