//! Errors of formats.

use core::fmt;

/// The reason why octets are not the expected format, or why a value does not fit into octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The octets end too early.
    Short {
        /// The format, such as `CNM`.
        frame: &'static str,
        /// \[octets\] The length needed.
        needs: usize,
        /// \[octets\] The length present.
        has: usize,
    },
    /// A field has a forbidden value.
    Field {
        /// The format.
        frame: &'static str,
        /// The field, as the standard names it.
        field: &'static str,
        /// \[octets\] Where the field begins, from the beginning of the format.
        offset: usize,
        /// Its value.
        value: u64,
        /// The allowed values.
        expected: &'static str,
    },
    /// The destination is too small.
    Room {
        /// The format.
        frame: &'static str,
        /// \[octets\] The length needed.
        needs: usize,
        /// \[octets\] The length present.
        has: usize,
    },
}

impl Error {
    /// Returns the error of a field with a forbidden value.
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
