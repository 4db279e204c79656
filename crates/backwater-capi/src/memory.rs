//! Memory of the caller. Each pointer is tested for null, and used within the call only.

use crate::fault::Fault;
use std::ffi::{CStr, c_char};

fn null(name: &str) -> Fault {
    Fault::argument(name, "is a null pointer".into(), "pass memory for it")
}

/// The text at a pointer.
///
/// # Safety
/// The pointer is null, or the text there ends with a zero and lives as long as it is used.
#[allow(unsafe_code)]
pub unsafe fn text<'a>(name: &str, at: *const c_char) -> Result<&'a str, Fault> {
    if at.is_null() {
        return Err(null(name));
    }
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| Fault::argument(name, "is no UTF-8 text".into(), "encode it in UTF-8"))
}

/// The same, where null stands for nothing.
///
/// # Safety
/// As [`text`].
#[allow(unsafe_code)]
pub unsafe fn maybe_text<'a>(name: &str, at: *const c_char) -> Result<Option<&'a str>, Fault> {
    if at.is_null() { Ok(None) } else { unsafe { text(name, at) }.map(Some) }
}

/// The octets at a pointer.
///
/// # Safety
/// The pointer is null, or so many octets there may be read as long as they are used.
#[allow(unsafe_code)]
pub unsafe fn octets<'a>(name: &str, at: *const c_char, length: usize) -> Result<&'a [u8], Fault> {
    if at.is_null() {
        return Err(null(name));
    }
    if length > isize::MAX as usize {
        return Err(Fault::argument(
            name,
            format!("{length} octets are more than a program can have"),
            "pass its length",
        ));
    }
    Ok(unsafe { std::slice::from_raw_parts(at.cast(), length) })
}

/// Writes a value to a pointer.
///
/// # Safety
/// The pointer is null, or the value may be written there.
#[allow(unsafe_code)]
pub unsafe fn out<T>(name: &str, at: *mut T, value: T) -> Result<(), Fault> {
    if at.is_null() {
        return Err(null(name));
    }
    unsafe { at.write(value) };
    Ok(())
}

/// The places at a pointer, each filled with the default.
///
/// # Safety
/// The pointer is null, or so many values may be written there.
#[allow(unsafe_code)]
pub unsafe fn slots<'a, T: Copy + Default>(name: &str, at: *mut T, capacity: usize) -> Result<&'a mut [T], Fault> {
    if capacity == 0 {
        return Ok(&mut []);
    }
    if at.is_null() {
        return Err(null(name));
    }
    if capacity > isize::MAX as usize / size_of::<T>().max(1) {
        let hint = "pass the number of places";
        return Err(Fault::argument(name, format!("{capacity} places are more than a program can have"), hint));
    }
    Ok(unsafe { std::slice::from_raw_parts_mut(at, capacity) })
}

/// Copies a text and a zero behind it; a text that is too long is cut at a character.
pub fn copy(name: &str, text: &str, to: &mut [u8]) -> Result<(), Fault> {
    let Some(room) = to.len().checked_sub(1) else {
        return Err(Fault::argument(name, "there is no room for a text".into(), "give room for its zero at least"));
    };
    let end = (0..=text.len().min(room)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    to[..end].copy_from_slice(&text.as_bytes()[..end]);
    to[end] = 0;
    Ok(())
}
