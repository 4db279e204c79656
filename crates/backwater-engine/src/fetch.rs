//! Prefetching: memory that will soon be needed is requested early.

use std::slice;

/// Requests the cache line in which `what` begins, without waiting for it. Nothing is read, so its content may be anything.
#[inline(always)]
pub fn fetch<T>(what: &T) {
    prefetch_index::prefetch_index(slice::from_ref(what), 0);
}
