//! Sizes and rates as types, and the only conversions between them and time.

use backwater_engine::Time;
use backwater_engine::quantity::{self, QuantityError, Unit};
use backwater_engine::time::quantity_text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::iter::Sum;
use std::ops::RangeInclusive;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A number of octets. Written `"400 KB"`; KB = 1000 B, KiB = 1024 B.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Bytes(pub u64);

/// Bits per second. Written `"200 Gb/s"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

const SIZES: &[Unit] = &[
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const RATES: &[Unit] = &[
    ("b/s", 1),
    ("Kb/s", 1_000),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
];

impl Bytes {
    /// No octets.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any buffer: "no limit".
    pub const MAX: Bytes = Bytes(u64::MAX);
    /// Largest size that a scenario or a table may give. Sums of several fit.
    pub const MOST: Bytes = Bytes(1_000_000_000_000_000_000);
    /// `self - other`, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// The size times a factor, rounded down. A size above 2^63 bytes, which no memory has, counts as that.
    #[inline(always)]
    pub fn times(self, factor: f64) -> Bytes {
        // Converting a signed number takes one instruction, an unsigned one takes a dozen.
        Bytes((factor * self.0.min(i64::MAX as u64) as i64 as f64).max(0.0) as i64 as u64)
    }

    /// \[bytes\] Possible cells of a memory.
    pub const CELLS: RangeInclusive<u64> = 1..=65_536;
    /// The memory that a frame of this size takes in cells of `cell`, at least 1 B.
    #[inline(always)]
    pub fn in_cells(self, cell: Bytes) -> Bytes {
        if cell.0 <= 1 { self } else { Bytes(self.0.div_ceil(cell.0).saturating_mul(cell.0)) }
    }

    /// Returns the threshold at a port of `rate` that corresponds to this one at a `reference` rate: in proportion, rounded down. Without a
    /// reference it is the same at all ports.
    pub fn at_rate(self, rate: Rate, reference: Option<Rate>) -> Bytes {
        let Some(reference) = reference else { return self };
        let scaled = u128::from(self.0) * u128::from(rate.0) / u128::from(reference.0.max(1));
        Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl Rate {
    /// Highest rate that a scenario may give.
    pub const MOST: Rate = Rate(1_000_000_000_000_000);

    /// A rate of `n` Gb/s.
    pub const fn gbps(n: u64) -> Rate {
        Rate(n * 1_000_000_000)
    }

    /// Time to serialise `size` at this rate, rounded up to a whole picosecond: `8 size / R`. [`Time::NEVER`] at rate 0.
    pub fn time_for(self, size: Bytes) -> Time {
        if self.0 == 0 {
            return Time::NEVER;
        }
        let bits_ps = u128::from(size.0) * 8_000_000_000_000;
        Time(u64::try_from(bits_ps.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }

    /// Octets that fit into `span` at this rate, rounded down.
    pub fn bytes_in(self, span: Time) -> Bytes {
        Bytes(u64::try_from(u128::from(span.0) * u128::from(self.0) / 8_000_000_000_000).unwrap_or(u64::MAX))
    }

    /// This rate times `factor`, rounded to the nearest b/s.
    pub fn scale(self, factor: f64) -> Rate {
        Rate((self.0 as f64 * factor).round() as u64)
    }
}

/// Serialisation times on one link: exact, and one multiplication if the rate divides 8 Tb/s, as all Ethernet rates do.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Serialiser {
    rate: Rate,
    /// 0: not a whole number, or rounded down to a clock.
    ps_per_byte: u32,
    /// \[ps\] 0: exact.
    clock: u32,
}

impl Serialiser {
    /// For a link of `rate`. Times are rounded down to whole multiples of `clock` (at most 4 ms), if given.
    pub fn new(rate: Rate, clock: Option<Time>) -> Serialiser {
        let clock = clock.map_or(0, |clock| u32::try_from(clock.0).unwrap_or(u32::MAX));
        let exact = clock == 0 && rate.0 != 0 && 8_000_000_000_000u64.is_multiple_of(rate.0);
        let ps_per_byte = if exact { u32::try_from(8_000_000_000_000 / rate.0).unwrap_or(0) } else { 0 };
        Serialiser { rate, ps_per_byte, clock }
    }

    /// The link's rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Time that `octets` take on the link.
    #[inline(always)]
    pub fn time(&self, octets: u32) -> Time {
        if self.ps_per_byte != 0 {
            Time(u64::from(self.ps_per_byte) * u64::from(octets))
        } else {
            self.time_cut_off(octets)
        }
    }

    #[cold]
    fn time_cut_off(&self, octets: u32) -> Time {
        let exact = self.rate.time_for(Bytes(u64::from(octets)));
        match u64::from(self.clock) {
            0 => exact,
            clock => Time(exact.0 - exact.0 % clock),
        }
    }
}

macro_rules! arithmetic {
    ($t:ident) => {
        impl Add for $t {
            type Output = $t;
            fn add(self, rhs: $t) -> $t {
                $t(self.0 + rhs.0)
            }
        }
        impl AddAssign for $t {
            fn add_assign(&mut self, rhs: $t) {
                self.0 += rhs.0;
            }
        }
        impl Sub for $t {
            type Output = $t;
            fn sub(self, rhs: $t) -> $t {
                $t(self.0 - rhs.0)
            }
        }
        impl SubAssign for $t {
            fn sub_assign(&mut self, rhs: $t) {
                self.0 -= rhs.0;
            }
        }
        impl Mul<u64> for $t {
            type Output = $t;
            fn mul(self, rhs: u64) -> $t {
                $t(self.0 * rhs)
            }
        }
        impl Sum for $t {
            fn sum<I: Iterator<Item = $t>>(iter: I) -> $t {
                $t(iter.map(|x| x.0).sum())
            }
        }
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$t, D::Error> {
                if !d.is_human_readable() {
                    return u64::deserialize(d).map($t);
                }
                Cow::<'_, str>::deserialize(d)?.parse().map_err(de::Error::custom)
            }
        }
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                if s.is_human_readable() { s.collect_str(self) } else { self.0.serialize(s) }
            }
        }
    };
}
arithmetic!(Bytes);
arithmetic!(Rate);

fn decimal(f: &mut fmt::Formatter<'_>, n: u64, units: [&str; 5]) -> fmt::Result {
    let step = if n == 0 { 0 } else { (n.ilog10() / 3).min(4) };
    write!(f, "{} {}", quantity_text(n, 1000u64.pow(step)), units[step as usize])
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(f, self.0, ["B", "KB", "MB", "GB", "TB"])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(f, self.0, ["b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s"])
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        quantity::parse(text, "size", SIZES, "400 KB").map(Bytes)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        quantity::parse(text, "rate", RATES, "200 Gb/s").map(Rate)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "size (B, KB = 1000 B, MB, GB; KiB = 1024 B, MiB, GiB)",
            "x-most": Bytes::MOST.to_string(), "examples": ["400 KB"], "pattern": r"^\s*[0-9_]*\.?[0-9_]+\s*(B|[kKMGT]B|[KMG]iB)\s*$" })
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "rate (b/s, Kb/s, Mb/s, Gb/s, Tb/s)",
            "x-most": Rate::MOST.to_string(), "examples": ["200 Gb/s"], "pattern": r"^\s*[0-9_]*\.?[0-9_]+\s*([kKMGT]?b/s|[kMG]?bps)\s*$" })
    }
    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_is_exact_or_rounds_up() {
        assert_eq!(Rate::gbps(200).time_for(Bytes(4064)), Time(162_560));
        assert_eq!(Serialiser::new(Rate::gbps(200), None).time(4064), Time(162_560));
        assert_eq!(Serialiser::new(Rate(3_000_000_000), None).time(1), Time(2_667));
        // 41.92 ns
        assert_eq!(Serialiser::new(Rate::gbps(200), Some(Time::ns(1))).time(1048), Time::ns(41));
        assert_eq!(Rate(0).time_for(Bytes(1)), Time::NEVER);
        assert_eq!(Rate::gbps(200).bytes_in(Time::us(6)), Bytes(150_000));
    }

    #[test]
    fn bits_and_bytes_are_not_confused() {
        assert_eq!("400 KB".parse(), Ok(Bytes(400_000)));
        assert_eq!("400 KiB".parse(), Ok(Bytes(409_600)));
        assert!("400 Kb".parse::<Bytes>().unwrap_err().hint.contains("did you mean `KB`"));
        assert!("200 GB/s".parse::<Rate>().unwrap_err().hint.contains("did you mean `Gb/s`"));
        assert_eq!(Bytes(409_600).to_string(), "409.6 KB");
        assert_eq!(Rate::gbps(200).to_string(), "200 Gb/s");
    }
}
