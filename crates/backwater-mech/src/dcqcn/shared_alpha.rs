//! One estimate of congestion for all flows of a run, as in the simulator behind the SFC-AIDC study of 2025.

use backwater_engine::State;
use backwater_engine::state::{Loader, Saver, Unfit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alpha that all flows share, as the bits of a float.
#[derive(Clone)]
pub struct SharedAlpha(Arc<AtomicU64>);

impl Default for SharedAlpha {
    fn default() -> Self {
        SharedAlpha(Arc::new(AtomicU64::new(1f64.to_bits())))
    }
}

impl State for SharedAlpha {
    fn save(&self, to: &mut Saver) {
        to.put(&self.0.load(Ordering::Relaxed));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        // In place: all flows refer to it.
        self.0.store(from.take()?, Ordering::Relaxed);
        Ok(())
    }
}

impl SharedAlpha {
    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, alpha: f64) {
        self.0.store(alpha.to_bits(), Ordering::Relaxed);
    }
}
