//! The smallest scenario, as far as greedy steps lead, in which the same law does not hold.

use super::case::Case;
use serde_json::{Value as Json, json};

/// Removes parts, and halves numbers, as long as `fails` returns true.
pub fn shrink(case: Case, fails: &mut dyn FnMut(&Case) -> bool, most: usize) -> Case {
    let (mut best, mut tries) = (case, 0);
    loop {
        let mut smaller = false;
        let mut at = 0;
        // Tables come before their contents, so the largest parts go first.
        while at < best.keys().len() && tries < most {
            let key = best.keys()[at].clone();
            let mut found = false;
            for candidate in steps(&best, &key) {
                tries += 1;
                if fails(&candidate) {
                    (best, found, smaller) = (candidate, true, true);
                    break;
                }
            }
            at += usize::from(!found);
        }
        if !smaller || tries >= most {
            return best;
        }
    }
}

/// Returns simpler scenarios at a key: without it, or with less.
fn steps(case: &Case, key: &str) -> Vec<Case> {
    let mut all = Vec::new();
    let mut without = case.clone();
    if without.remove(key) {
        all.push(without);
    }
    let mut less = |value: Json| {
        let mut changed = case.clone();
        if changed.set(key, value) {
            all.push(changed);
        }
    };
    match case.get(key) {
        Some(Json::Number(number)) => match number.as_i64() {
            Some(n) if n != 0 && n.abs() > 1 => less(json!(n / 2)),
            _ => {}
        },
        Some(Json::String(text)) => {
            if let Some((number, unit)) = text.split_once(' ')
                && let Ok(number) = number.parse::<u64>()
                && number > 1
            {
                for n in [round(number), number / 2, number - number / 8] {
                    if n > 0 && n < number {
                        less(json!(format!("{n} {unit}")));
                    }
                }
            }
        }
        _ => {}
    }
    all
}

/// One digit and zeros.
fn round(number: u64) -> u64 {
    let power = 10u64.pow(number.ilog10());
    number / power * power
}
