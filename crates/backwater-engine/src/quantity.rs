//! Exact reading of a decimal number with a unit, such as `"5.12 ns"` or `"400 KB"`.
//!
//! The number is kept as digits and a power of ten, so that no value passes through a float. The type that is read defines its units
//! ([`Time`](crate::Time) here, rates and sizes elsewhere).

use std::fmt;

/// A hint: why each kind has a largest value.
pub const TOO_MUCH: &str = "beyond this, sums could no longer be counted";

/// Why a text is not the expected quantity. The text names the value, the reason and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    /// The text as given.
    pub value: String,
    /// The error.
    pub reason: String,
    /// The correction.
    pub hint: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (hint: {})", self.reason, self.hint)
    }
}

impl std::error::Error for QuantityError {}

/// One unit: its spelling and how many base units it holds.
pub type Unit = (&'static str, u128);

/// Reads `text` as a decimal number followed by one of `units`; the result is in base units.
///
/// `what` names the kind of quantity for messages, `example` shows a correct one. Values that are not a whole number
/// of base units, are negative or exceed `u64` are errors.
pub fn parse(text: &str, what: &str, units: &[Unit], example: &str) -> Result<u64, QuantityError> {
    let fail = |reason: String, hint: String| QuantityError { value: text.to_owned(), reason, hint };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    if number.is_empty() || number.matches('.').count() > 1 || number == "." {
        return Err(fail(
            format!("`{text}` is not a {what}"),
            format!("write a number and a unit, as in \"{example}\""),
        ));
    }
    let Some(&(_, per_unit)) = units.iter().find(|(name, _)| *name == unit) else {
        let names: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
        let hint = match units.iter().find(|(name, _)| !name.is_empty() && name.eq_ignore_ascii_case(unit)) {
            Some((name, _)) => format!("did you mean `{name}`? spelling and case matter, since b is bit and B is byte"),
            None => format!("units of a {what}: {}; as in \"{example}\"", names.join(", ")),
        };
        let reason = if unit.is_empty() {
            format!("`{text}` has no unit")
        } else {
            format!("`{unit}` is not a unit of a {what}")
        };
        return Err(fail(reason, hint));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = format!("{whole}{fraction}");
    let too_large = || fail(format!("`{text}` is too large"), format!("a {what} is below 2^64 of its smallest unit"));
    let mantissa: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| too_large())? };
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).unwrap_or(u32::MAX)).ok_or_else(too_large)?;
    let product = mantissa.checked_mul(per_unit).ok_or_else(too_large)?;
    if product % scale != 0 {
        let base = units.iter().find(|(_, n)| *n == 1).map_or("1", |(name, _)| name);
        return Err(fail(
            format!("`{text}` is not a whole number of {base}"),
            format!("the smallest {what} is 1 {base}"),
        ));
    }
    u64::try_from(product / scale).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: &[Unit] = &[("B", 1), ("KB", 1000), ("KiB", 1024)];

    #[test]
    fn reads_exactly() {
        assert_eq!(parse("400 KB", "size", UNITS, "4 KB"), Ok(400_000));
        assert_eq!(parse("0.5KiB", "size", UNITS, "4 KB"), Ok(512));
        assert_eq!(parse("1_000 B", "size", UNITS, "4 KB"), Ok(1000));
    }

    #[test]
    fn says_what_is_wrong() {
        let reason = |t: &str| parse(t, "size", UNITS, "4 KB").unwrap_err();
        assert_eq!(reason("4 kb").hint, "did you mean `KB`? spelling and case matter, since b is bit and B is byte");
        assert_eq!(reason("4").reason, "`4` has no unit");
        assert_eq!(reason("0.0001 KB").reason, "`0.0001 KB` is not a whole number of B");
        assert_eq!(reason("-4 KB").reason, "`-4 KB` is not a size");
        assert!(reason("99999999999999999999999 KB").reason.contains("too large"));
        assert!(reason("99999999999999999999999999999999999999999999999 KB").reason.contains("too large"));
    }
}
