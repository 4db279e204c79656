//! What the fuzz target of every value does.

pub use libfuzzer_sys;

/// A target: any octets are read or refused. What was read can be written, and is read the same again.
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
