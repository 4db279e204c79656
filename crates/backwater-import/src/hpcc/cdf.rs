//! A distribution of flow sizes: lines of octets and the share of flows that are not larger, in per cent (HPCC) or as a fraction
//! (conweave-ns3). The first share is 0, the last 100 or 1.

use crate::error::ImportError;
use crate::source::Head;

/// A distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Octets and per cent in a scenario's form: octets grow from line to line, per cents do not fall.
    pub points: Vec<(u64, f64)>,
    /// The first line with a second share for the same size: a step, which begins at the octet before.
    pub steps: Option<u64>,
}

/// Largest size: binary fractions are exact up to it.
const LARGEST: f64 = 9e15;

fn pair(line: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [octets, share] = words.as_slice() else { return None };
    Some((octets.parse().ok()?, share.parse().ok()?))
}

/// Returns whether a file is a distribution: only lines of two numbers, the second from 0 to 100 or 1 and never falling.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let pairs: Option<Vec<(f64, f64)>> =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| pair(line)).collect();
    let Some(pairs) = pairs.filter(|pairs| pairs.len() > 1 && head.whole) else { return false };
    let last = pairs.last().map_or(0.0, |pair| pair.1);
    pairs.first().is_some_and(|pair| pair.1 == 0.0)
        && (last == 100.0 || last == 1.0)
        && pairs.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1)
}

/// Reads a distribution; messages call it `file`.
pub fn parse(file: &str, text: &str) -> Result<Cdf, ImportError> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut steps = None;
    let filled = || (1u64..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let last = filled().last().and_then(|(_, line)| pair(line)).map(|pair| pair.1);
    let scale = match last {
        Some(100.0) => 1.0,
        Some(1.0) => 100.0,
        _ => {
            let hint = "the second number of the last line is 100 (per cent) or 1 (a fraction)";
            return Err(ImportError::new("does not end with all flows").file(file).hint(hint));
        }
    };
    for (number, line) in filled() {
        let fail = |reason: &str| ImportError::new(reason).file(file).line(number).value(line.trim());
        let Some((octets, share)) = pair(line) else { return Err(fail("is not a size and a share")) };
        if !(0.0..=LARGEST).contains(&octets) {
            return Err(fail("is not a size from 0 to 9e15 B"));
        }
        // Ten digits exceed those of all such files, and hide the rounding error of a fraction times 100.
        let percent = (share * scale * 1e10).round() / 1e10;
        if !(0.0..=100.0).contains(&percent) {
            return Err(fail("is not a share from 0 to all"));
        }
        if points.is_empty() && percent != 0.0 {
            return Err(fail("the first share is not 0"));
        }
        let octets = octets as u64;
        let before = points.len().checked_sub(2).and_then(|at| points.get(at)).map(|point| point.0);
        if let Some((last, share)) = points.last_mut() {
            if octets < *last || percent < *share {
                return Err(fail("is less than what stands before it"));
            }
            if octets == *last {
                if percent == *share {
                    continue;
                }
                steps = steps.or(Some(number));
                // The step begins an octet earlier, unless it already does.
                if before.is_none_or(|before| before + 1 < *last) && *last > 0 {
                    *last -= 1;
                } else {
                    *share = percent;
                    continue;
                }
            }
        }
        points.push((octets, percent));
    }
    match points.len() {
        0 | 1 => Err(ImportError::new("a distribution has two lines at least").file(file)),
        _ => Ok(Cdf { points, steps }),
    }
}

impl Cdf {
    /// Its lines: octets and per cent.
    pub fn text(&self) -> String {
        self.points.iter().map(|(octets, percent)| format!("{octets} {percent}\n")).collect()
    }
}
