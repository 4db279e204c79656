//! Memory for the core, and a one-line message if the system refuses it.
//!
//! If memory is refused, Rust prints a stack trace, which does not help a user who has set a limit.

use backwater_engine::memory::is_optional;
use std::alloc::{GlobalAlloc, Layout};
use std::io::{self, IsTerminal, Write};

#[cfg(target_os = "linux")]
use tikv_jemallocator::Jemalloc as Source;

#[cfg(not(target_os = "linux"))]
use std::alloc::System as Source;

/// The command's exit status after a failure, as `FAILED` of `backwater.cli`.
const FAILED: i32 = 1;

/// Shows a cursor that a line of progress has hidden (ECMA-48, DEC private mode 25).
const CURSOR: &str = "\x1b[?25h";

/// The allocator. It uses huge pages for a run of a large network, because `.cargo/config.toml` compiles it to do so.
pub struct Memory;

/// The allocator that supplies the memory. Both kinds are values without content, so one name serves for both.
const SOURCE: Source = Source;

// SAFETY: every call is passed on unchanged, and its result is returned unchanged, or the process ends.
#[expect(unsafe_code, reason = "an allocator cannot be written without it")]
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        given(unsafe { SOURCE.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        given(unsafe { SOURCE.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        given(unsafe { SOURCE.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { SOURCE.dealloc(at, layout) }
    }
}

#[inline]
fn given(at: *mut u8, bytes: usize) -> *mut u8 {
    if at.is_null() && !is_optional() {
        refused(bytes);
    }
    at
}

/// Reports that memory was refused, and ends the process: without memory, no thread can go on or clean up.
#[cold]
#[expect(unsafe_code, reason = "the standard library has no end of a process that runs nothing any more")]
fn refused(bytes: usize) -> ! {
    unsafe extern "C" {
        fn _exit(code: i32) -> !;
    }
    let mut out = io::stderr().lock();
    let cursor = if out.is_terminal() { CURSOR } else { "" };
    // No output is left to report this failure.
    let _ = reported(&mut out, cursor, bytes);
    // SAFETY: it takes a number and does not return.
    unsafe { _exit(FAILED) }
}

/// Writes the message without taking memory.
fn reported(out: &mut impl Write, cursor: &str, bytes: usize) -> io::Result<()> {
    writeln!(out, "{cursor}error: out of memory: the system refuses {bytes} B more")?;
    writeln!(out, "hint: is there a limit, as of `ulimit -v`? A smaller network, or fewer runs at a time, needs less")
}
