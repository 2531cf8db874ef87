//! Moments as people and programs read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::step::Millis;

/// A moment for programs: RFC 3339 in UTC, to the millisecond.
pub(super) fn exact(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(moment) => format!("{moment:.3}"),
        Err(_) => at.to_string(),
    }
}

/// A moment for people: in the time zone of the system, to the second.
pub(super) fn local(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(moment) => moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_exact_for_programs() {
        assert_eq!(exact(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(exact(i64::MAX), i64::MAX.to_string());
    }
}
