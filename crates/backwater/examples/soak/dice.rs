//! Random choices: scenario k of seed S always makes the same ones.

use backwater_engine::rng::{Rng, stream};
use rand::RngExt as _;

/// A stream of choices.
pub struct Dice(Rng);

impl Dice {
    /// Those of scenario `number` of a soak with `seed`, for a purpose.
    pub fn new(seed: u64, purpose: &str, number: u64) -> Dice {
        Dice(stream(seed, purpose, number))
    }

    /// Both ends included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most.max(least))
    }

    /// True with a probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    /// One of several.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.between(0, of.len() as u64 - 1) as usize]
    }

    /// One of several numbers.
    pub fn one(&mut self, of: &[u64]) -> u64 {
        of[self.between(0, of.len() as u64 - 1) as usize]
    }

    /// As often within a factor of two here as there.
    pub fn log(&mut self, least: f64, most: f64) -> f64 {
        let (low, high) = (least.ln(), most.max(least).ln());
        (low + (high - low) * self.0.random::<f64>()).exp()
    }

    /// As [`Dice::log`], whole.
    pub fn log_whole(&mut self, least: u64, most: u64) -> u64 {
        (self.log(least.max(1) as f64, most.max(1) as f64).round() as u64).clamp(least, most.max(least))
    }

    /// Some of several, in their order, at least one.
    pub fn some<T: Clone>(&mut self, of: &[T], probability: f64) -> Vec<T> {
        let mut found: Vec<T> = Vec::new();
        for one in of {
            if self.chance(probability) {
                found.push(one.clone());
            }
        }
        if found.is_empty() {
            found.extend(of.get(self.between(0, of.len().max(1) as u64 - 1) as usize).cloned());
        }
        found
    }
}
