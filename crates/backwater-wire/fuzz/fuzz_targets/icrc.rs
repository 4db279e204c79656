#![no_main]

use backwater_wire::roce::icrc;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let _ = icrc(octets);
});
