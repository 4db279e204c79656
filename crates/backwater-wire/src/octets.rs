//! Conversions between octets and values.

use crate::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A value that can be read from octets.
pub trait Parse<'a>: Sized {
    /// Reads the value from the beginning of `octets`. Octets after it, such as padding, are ignored.
    ///
    /// # Errors
    /// [`Error::Short`] if octets are missing; [`Error::Field`] if a field has a forbidden value.
    fn parse(octets: &'a [u8]) -> Result<Self, Error>;
}

/// A value that can be written as octets.
pub trait Emit {
    /// \[octets\] Returns its length.
    fn length(&self) -> usize;

    /// Writes the value to the beginning of `octets`, and returns its length, [`Emit::length`]. It writes every octet
    /// of that length.
    ///
    /// # Errors
    /// [`Error::Room`] if `octets` is shorter; [`Error::Field`] if a field cannot hold its value. Nothing is written
    /// then.
    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error>;

    /// Appends the value to `octets`.
    ///
    /// # Errors
    /// [`Error::Field`] if a field cannot hold its value. Nothing is appended then.
    #[cfg(feature = "std")]
    fn append(&self, octets: &mut std::vec::Vec<u8>) -> Result<(), Error> {
        let before = octets.len();
        octets.resize(before + self.length(), 0);
        let written = octets.get_mut(before..).map(|place| self.emit(place));
        if !matches!(written, Some(Ok(_))) {
            octets.truncate(before);
        }
        written.map_or(Ok(()), |result| result.map(|_| ()))
    }
}

/// Returns the checked view of a layout at the beginning of `octets`, and the octets after it.
pub(crate) fn view<'a, L>(frame: &'static str, octets: &'a [u8]) -> Result<(&'a L, &'a [u8]), Error>
where
    L: FromBytes + KnownLayout + Immutable + Unaligned,
{
    L::ref_from_prefix(octets).map_err(|_| Error::Short { frame, needs: size_of::<L>(), has: octets.len() })
}

/// Returns the first `length` octets.
pub(crate) fn first<'a>(
    frame: &'static str,
    before: usize,
    octets: &'a [u8],
    length: usize,
) -> Result<&'a [u8], Error> {
    octets.get(..length).ok_or(Error::Short { frame, needs: before + length, has: before + octets.len() })
}

/// Writes parts one after the other, then zeros up to `length`.
pub(crate) fn write(frame: &'static str, octets: &mut [u8], parts: &[&[u8]], length: usize) -> Result<usize, Error> {
    let taken = parts.iter().map(|part| part.len()).sum::<usize>();
    let needs = taken.max(length);
    let has = octets.len();
    let target = octets.get_mut(..needs).ok_or(Error::Room { frame, needs, has })?;
    target.fill(0);
    let mut at = 0;
    for part in parts {
        if let Some(place) = target.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
        at += part.len();
    }
    Ok(needs)
}

/// Returns the octets of a layout.
pub(crate) fn raw<L: IntoBytes + Immutable>(layout: &L) -> &[u8] {
    layout.as_bytes()
}
