//! Numbers as read by ns-3: decimals, data rates and times. All are exact: no value passes through binary fractions.

/// Rate in b/s and delay in ps of all links of a tier.
pub type Tier = (u64, u64);

/// A decimal such as `2.001`, `1e-3` or `25000000000.0` times 10^`scale`, rounded down to a whole number. `None`: no such number, or more
/// than a `u64` can hold.
pub fn decimal(text: &str, scale: i32) -> Option<u64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.strip_prefix('+').unwrap_or(whole);
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = || whole.bytes().chain(fraction.bytes()).map(|b| u64::from(b - b'0'));
    // The number of digits before the point of the result.
    let before = whole.len() as i64 + i64::from(exponent) + i64::from(scale);
    let mut value = 0u64;
    for digit in digits().take(before.max(0) as usize) {
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    for _ in digits().count() as i64..before {
        if value == 0 {
            break;
        }
        value = value.checked_mul(10)?;
    }
    Some(value)
}

/// A number and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let exponent = |(at, c): (usize, char)| {
        matches!(c, 'e' | 'E') && text[at + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+')
    };
    let number = |(at, c): (usize, char)| {
        c.is_ascii_digit()
            || matches!(c, '.' | '+' | '-') && (at == 0 || c == '.' || text[..at].ends_with(['e', 'E']))
            || exponent((at, c))
    };
    let end = text.char_indices().find(|one| !number(*one)).map_or(text.len(), |(at, _)| at);
    text.split_at(end)
}

/// A data rate of ns-3 in b/s: `100Gbps`, `40Mb/s`, or bare b/s.
pub fn rate(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let (prefix, per_unit) = match unit {
        "" => ("", 1),
        _ => match unit.strip_suffix("bps").or_else(|| unit.strip_suffix("b/s")) {
            Some(prefix) => (prefix, 1),
            None => (unit.strip_suffix("Bps").or_else(|| unit.strip_suffix("B/s"))?, 8),
        },
    };
    let (power, binary) = match prefix {
        "" => (0, 1),
        "k" | "K" => (3, 1),
        "M" => (6, 1),
        "G" => (9, 1),
        "T" => (12, 1),
        "Ki" => (0, 1u64 << 10),
        "Mi" => (0, 1 << 20),
        "Gi" => (0, 1 << 30),
        _ => return None,
    };
    decimal(number, power)?.checked_mul(binary)?.checked_mul(per_unit)
}

/// A time of ns-3 in ps: `1000ns`, `0.001ms`, or bare seconds.
pub fn time(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let power = match unit {
        "" | "s" => 12,
        "ms" => 9,
        "us" => 6,
        "ns" => 3,
        "ps" => 0,
        "fs" => -3,
        _ => return None,
    };
    decimal(number, power)
}

/// A share from 0 to 1.
pub fn share(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal("2.000000013", 12), Some(2_000_000_013_000));
        assert_eq!(decimal("2", 12), Some(2_000_000_000_000));
        assert_eq!(decimal("25000000000.0", 0), Some(25_000_000_000));
        assert_eq!(decimal("1e-3", 6), Some(1000));
        assert_eq!(decimal("1.5E2", 0), Some(150));
        assert_eq!(decimal(".5", 1), Some(5));
        assert_eq!(decimal("0.0000001", 3), Some(0));
        assert_eq!(decimal("0e999999999", 0), Some(0));
        assert_eq!(decimal("18446744073709551615", 0), Some(u64::MAX));
        for wrong in ["", ".", "-1", "nan", "1e", "1e99", "18446744073709551616", "1.2.3", "0x10"] {
            assert_eq!(decimal(wrong, 0), None, "{wrong}");
        }
    }

    #[test]
    fn rates_and_times_have_units() {
        assert_eq!(rate("100Gbps"), Some(100_000_000_000));
        assert_eq!(rate("40Mb/s"), Some(40_000_000));
        assert_eq!(rate("2.5Gbps"), Some(2_500_000_000));
        assert_eq!(rate("25000000000.0"), Some(25_000_000_000));
        assert_eq!(rate("1KiBps"), Some(8192));
        assert_eq!(rate("1e9bps"), Some(1_000_000_000));
        assert_eq!(time("1000ns"), Some(1_000_000));
        assert_eq!(time("0.001ms"), Some(1_000_000));
        assert_eq!(time("3.33us"), Some(3_330_000));
        assert_eq!(time("0.0005ms"), Some(500_000));
        assert_eq!(time("0.000025ms"), Some(25_000));
        assert_eq!(time("2"), Some(2_000_000_000_000));
        for wrong in ["", "Gbps", "1Xbps", "-1Gbps", "1 Gbps", "ns", "1h"] {
            assert_eq!((rate(wrong), time(wrong)), (None, None), "{wrong}");
        }
    }
}
