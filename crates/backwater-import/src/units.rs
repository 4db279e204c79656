//! Quantities in the form of scenarios: exact, in the largest unit in which they are a short decimal.

/// Largest rate of a scenario, in b/s (docs/reference.md).
pub const MOST_BPS: u64 = 1_000_000_000_000_000;
/// Largest size of a scenario, in octets (docs/reference.md).
pub const MOST_OCTETS: u64 = 1_000_000_000_000_000_000;

/// A quantity in the largest of `units` in which it needs at most three decimals; each unit has its multiple of the smallest.
fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    for (name, size) in units {
        // Three decimals: the thousandth of the unit must be whole, or the unit the smallest.
        let (whole, rest) = (value / size, value % size);
        let thousandth = (size / 1000).max(1);
        if whole > 0 && rest % thousandth == 0 {
            let decimals = if rest == 0 { String::new() } else { format!(".{:03}", rest / thousandth) };
            return format!("{whole}{} {name}", decimals.trim_end_matches('0'));
        }
    }
    units.last().map_or_else(|| value.to_string(), |(name, _)| format!("{value} {name}"))
}

/// A time, from picoseconds: `2.5 us`.
pub fn time(picoseconds: u64) -> String {
    let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1000), ("ps", 1)];
    if picoseconds == 0 { "0 s".to_owned() } else { in_largest(picoseconds, &units) }
}

/// A rate, from bits per second: `100 Gb/s`.
pub fn rate(bits_per_second: u64) -> String {
    let units = [("Tb/s", 1_000_000_000_000), ("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1000), ("b/s", 1)];
    // Rates of fabrics are usually written in Gb/s, up to many thousands.
    let from = usize::from(bits_per_second < 10_000_000_000_000);
    in_largest(bits_per_second, &units[from..])
}

/// A size, from octets: in the largest unit of which it is a whole number, `4 MiB`, `75 KB`, `4086 B`.
pub fn size(octets: u64) -> String {
    const UNITS: [(&str, u64); 6] =
        [("GB", 1_000_000_000), ("GiB", 1 << 30), ("MB", 1_000_000), ("MiB", 1 << 20), ("KB", 1000), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| octets > 0 && octets.is_multiple_of(*size)) {
        Some((name, size)) => format!("{} {name}", octets / size),
        None => format!("{octets} B"),
    }
}

/// A size without binary units, from octets: `75 KB`, `4086 B`. `check` regards a mixture of KB and KiB as a mistake.
pub fn decimal(octets: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000)];
    match UNITS.iter().find(|(_, size)| octets > 0 && octets.is_multiple_of(*size)) {
        Some((name, size)) => format!("{} {name}", octets / size),
        None => format!("{octets} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_and_short() {
        assert_eq!(
            [time(0), time(1), time(1000), time(2_500_000), time(1_234_567)],
            ["0 s", "1 ps", "1 ns", "2.5 us", "1234.567 ns"]
        );
        assert_eq!([rate(100_000_000_000), rate(25), rate(400_500_000_000)], ["100 Gb/s", "25 b/s", "400.5 Gb/s"]);
        let sizes = [size(4 << 20), size(75_000), size(1048), size(20_000_768), size(2_000_000), size(4096), size(0)];
        assert_eq!([decimal(4 << 20), decimal(75_000), decimal(0)], ["4194304 B", "75 KB", "0 B"]);
        assert_eq!(sizes, ["4 MiB", "75 KB", "1048 B", "19532 KiB", "2 MB", "4 KiB", "0 B"]);
    }
}
