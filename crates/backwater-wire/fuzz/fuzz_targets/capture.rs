#![no_main]

use backwater_wire::capture::{Item, read};
use backwater_wire::frame::{Frame, Numbers};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let _ = read(octets, |item| {
        if let Item::Frame(captured) = item {
            let _ = Frame::parse(captured.octets, &Numbers::default());
        }
    });
});
