//! Asking the memory for what will soon be needed.

use std::slice;

/// Asks for the cache line in which `what` begins, and does not wait for it. Nothing is read: it may hold anything.
#[inline(always)]
pub fn fetch<T>(what: &T) {
    prefetch_index::prefetch_index(slice::from_ref(what), 0);
}
