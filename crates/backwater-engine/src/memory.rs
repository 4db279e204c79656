//! Memory that is asked for, but not needed.

use std::cell::Cell;

thread_local! {
    static OPTIONAL: Cell<bool> = const { Cell::new(false) };
}

/// Asks for memory that the system may refuse: an allocator that ends the process in such a case returns null here, see [`is_optional`].
pub fn optional<T>(ask: impl FnOnce() -> T) -> T {
    OPTIONAL.set(true);
    let given = ask();
    OPTIONAL.set(false);
    given
}

/// Returns whether this thread can do without the memory that it asks for.
pub fn is_optional() -> bool {
    OPTIONAL.get()
}

#[cfg(test)]
mod tests {
    use super::{is_optional, optional};

    #[test]
    fn memory_is_optional_within_a_call_alone() {
        assert!(optional(is_optional));
        assert!(!is_optional());
    }
}
