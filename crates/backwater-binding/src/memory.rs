//! Memory for the core, and one sentence where the system refuses it.
//!
//! Rust ends a program whose memory is refused with a trace of its stack, which says nothing to whoever has set the limit.

use std::alloc::{GlobalAlloc, Layout};
use std::io::{self, IsTerminal, Write};

#[cfg(target_os = "linux")]
use tikv_jemallocator::Jemalloc as Source;

#[cfg(not(target_os = "linux"))]
use std::alloc::System as Source;

/// What the command ends with where something went wrong, as `FAILED` of `backwater.cli`.
const FAILED: i32 = 1;

/// Shows a cursor that a line of progress has hidden (ECMA-48, DEC private mode 25).
const CURSOR: &str = "\x1b[?25h";

/// The allocator. A run of a large network lies in huge pages, which `.cargo/config.toml` asks of it when it is compiled.
pub struct Memory;

/// Where memory is from: a name for it, since both kinds are values without content.
const SOURCE: Source = Source;

// SAFETY: every call is passed on as it came, and what comes back is given as it is, or the process ends.
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
    if at.is_null() {
        refused(bytes);
    }
    at
}

/// Says that memory was refused, and ends the process: no thread can go on, and none may be asked to clean up without memory.
#[cold]
#[expect(unsafe_code, reason = "the standard library has no end of a process that runs nothing any more")]
fn refused(bytes: usize) -> ! {
    unsafe extern "C" {
        fn _exit(code: i32) -> !;
    }
    let mut out = io::stderr().lock();
    let cursor = if out.is_terminal() { CURSOR } else { "" };
    // Nobody is left who could be told that this failed.
    let _ = reported(&mut out, cursor, bytes);
    // SAFETY: it takes a number and does not come back.
    unsafe { _exit(FAILED) }
}

/// Writes the sentence, which takes no memory.
fn reported(out: &mut impl Write, cursor: &str, bytes: usize) -> io::Result<()> {
    writeln!(out, "{cursor}error: out of memory: the system refuses {bytes} B more")?;
    writeln!(out, "hint: is there a limit, as of `ulimit -v`? A smaller network, or fewer runs at a time, needs less")
}
