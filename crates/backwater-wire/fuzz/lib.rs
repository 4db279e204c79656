//! The fuzz target of every value.

pub use libfuzzer_sys;

/// A target: octets are read or refused. A value that was read can be written, and is read back equal.
#[macro_export]
macro_rules! parser {
    ($value:ty) => {
        use backwater_wire::{Emit, Parse};

        $crate::libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
            let Ok(value) = <$value as Parse>::parse(octets) else { return };
            let mut written = Vec::new();
            value.append(&mut written).expect("what was read can be written");
            assert_eq!(<$value as Parse>::parse(&written), Ok(value));
        });
    };
}
