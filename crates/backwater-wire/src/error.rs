//! What can be wrong with octets.

use core::fmt;

/// Why octets are not the frame that they were taken for, or a value cannot be put into octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The octets end too early.
    Short {
        /// The format, such as `CNM`.
        frame: &'static str,
        /// \[octets\] How many it takes.
        needs: usize,
        /// \[octets\] How many there are.
        has: usize,
    },
    /// A field holds what it must not.
    Field {
        /// The format.
        frame: &'static str,
        /// The field, as the standard names it.
        field: &'static str,
        /// \[octets\] Where the field begins, from the beginning of the format.
        offset: usize,
        /// What it holds.
        value: u64,
        /// What it may hold.
        expected: &'static str,
    },
    /// The place to write to is too small.
    Room {
        /// The format.
        frame: &'static str,
        /// \[octets\] How many it takes.
        needs: usize,
        /// \[octets\] How many there are.
        has: usize,
    },
}

impl Error {
    /// A field that holds what it must not.
    pub(crate) fn field(
        frame: &'static str,
        field: &'static str,
        offset: usize,
        value: u64,
        expected: &'static str,
    ) -> Error {
        Error::Field { frame, field, offset, value, expected }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Short { frame, needs, has } => {
                write!(
                    f,
                    "{frame}: {has} octets, but it takes at least {needs}; the frame was cut off or is another one"
                )
            }
            Error::Field { frame, field, offset, value, expected } => {
                write!(f, "{frame}: {field} at octet {offset} is {value} (0x{value:x}); expected {expected}")
            }
            Error::Room { frame, needs, has } => {
                write!(f, "{frame}: it takes {needs} octets, but there is room for {has}; give a longer slice")
            }
        }
    }
}

impl core::error::Error for Error {}
