//! Simulated time: a whole number of picoseconds.

use crate::quantity::{self, QuantityError, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A point in simulated time or a length of it, in picoseconds; 2^64 ps are 213 days.
///
/// Written in scenarios as a string with a unit: `ps`, `ns`, `us`, `ms`, `s`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Time(pub u64);

const UNITS: &[Unit] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

impl Time {
    /// The beginning of every run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "until further notice".
    pub const NEVER: Time = Time(u64::MAX);
    /// Longest time that a scenario or a table may give: 100 days. The sum of two such times fits.
    pub const MOST: Time = Time::ms(100 * 24 * 3600 * 1000);

    /// A time of `n` picoseconds.
    pub const fn ps(n: u64) -> Time {
        Time(n)
    }
    /// A time of `n` nanoseconds.
    pub const fn ns(n: u64) -> Time {
        Time(n * 1_000)
    }
    /// A time of `n` microseconds.
    pub const fn us(n: u64) -> Time {
        Time(n * 1_000_000)
    }
    /// A time of `n` milliseconds.
    pub const fn ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }
    /// The number of picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds, rounded to a float: for rates and reports, never for the order of events.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// The nearest whole number of picoseconds to `secs`; negative values are zero, beyond 2^64 ps is [`Time::NEVER`].
    pub fn from_secs_f64(secs: f64) -> Time {
        Time((secs * 1e12).round() as u64)
    }
    /// `self - other`, or zero where `other` is later.
    pub const fn since(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
    /// `self + other`; an overflow gives [`Time::NEVER`].
    pub const fn after(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, rhs: Time) -> Time {
        Time(self.0 + rhs.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, rhs: Time) {
        self.0 += rhs.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, rhs: Time) -> Time {
        Time(self.0 - rhs.0)
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, rhs: u64) -> Time {
        Time(self.0 * rhs)
    }
}

impl fmt::Display for Time {
    /// The largest unit in which the value stays exact and readable: `150 ns`, `2.4 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER {
            return f.write_str("never");
        }
        let (unit, per) = match self.0 {
            0 => ("s", 1),
            n if n < 1_000 => ("ps", 1),
            n if n < 1_000_000 => ("ns", 1_000),
            n if n < 1_000_000_000 => ("us", 1_000_000),
            n if n < 1_000_000_000_000 => ("ms", 1_000_000_000),
            _ => ("s", 1_000_000_000_000u64),
        };
        write!(f, "{} {unit}", quantity_text(self.0, per))
    }
}

/// `n / per` as an exact decimal without trailing zeros; `per` is a power of ten.
pub fn quantity_text(n: u64, per: u64) -> String {
    let (whole, rest) = (n / per, n % per);
    if rest == 0 {
        return whole.to_string();
    }
    let width = per.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Time {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Time, QuantityError> {
        quantity::parse(text, "time", UNITS, "150 ns").map(Time)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Time, D::Error> {
        if !d.is_human_readable() {
            return u64::deserialize(d).map(Time);
        }
        Cow::<'_, str>::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() { s.collect_str(self) } else { self.0.serialize(s) }
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "time (ps, ns, us, ms, s)", "x-most": Time::MOST.to_string(), "examples": ["150 ns"],
            "pattern": r"^\s*[0-9_]*\.?[0-9_]+\s*(ps|ns|us|µs|ms|s)\s*$" })
    }
    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        for text in ["150 ns", "2.4 us", "1 ps", "51.2 ns", "3.355443 ms", "12 s", "0 s"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("0.15 us".parse::<Time>().unwrap(), Time::ns(150));
    }

    #[test]
    fn picosecond_is_the_smallest() {
        assert!("0.5 ps".parse::<Time>().unwrap_err().reason.contains("whole number of ps"));
    }
}
