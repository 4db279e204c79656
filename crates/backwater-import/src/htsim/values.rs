//! Values of options on the command line.

use crate::error::ImportError;
use crate::graph::quantity;

/// The name of the command line in messages.
pub const NAME: &str = "--command";

/// A whole number of at most a million millions.
pub fn whole(word: &str) -> Result<u64, ImportError> {
    let number: u64 = word.parse().map_err(|_| ImportError::new("is not a whole number").file(NAME).value(word))?;
    if number > 1_000_000_000_000 { Err(ImportError::new("is too large").file(NAME).value(word)) } else { Ok(number) }
}

/// A number in Mb/s, in b/s.
pub fn link_speed(word: &str) -> Result<u64, ImportError> {
    scaled(word, 1e6).map_err(|error| match quantity::rate(word) {
        Some(bps) if word.parse::<f64>().is_err() => {
            error.value(format!("-linkspeed {word}")).hint(format!("in Mb/s: {}", bps as f64 / 1e6))
        }
        _ => error,
    })
}

/// A number in Mb/s or us, in millionths of the unit.
pub fn scaled(word: &str, unit: f64) -> Result<u64, ImportError> {
    let number: f64 = word.parse().map_err(|_| ImportError::new("is not a number").file(NAME).value(word))?;
    let scaled = (number * unit).round();
    // Below 2^53 every whole number is exact.
    if (0.0..9e15).contains(&scaled) {
        Ok(scaled as u64)
    } else {
        Err(ImportError::new("is out of range").file(NAME).value(word))
    }
}
