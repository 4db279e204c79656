#![no_main]

use backwater_wire::frame::{Frame, Numbers};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let _ = Frame::parse(octets, &Numbers::default()).map(|frame| frame.message.name());
});
