//! A transfer between ranks, and the division of a buffer.

/// A transfer between ranks of a communicator, by their numbers in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Transfer {
    /// Its number among all possible transfers of the exchange.
    pub index: u64,
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
}

/// \[bytes\] of `count` parts of n from part `first` on.
pub(super) fn parts(bytes: u64, n: u32, first: u32, count: u32) -> u64 {
    let end = |part: u32| (u128::from(bytes) * u128::from(part) / u128::from(n)) as u64;
    end(first + count) - end(first)
}
