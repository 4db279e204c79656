//! Any mutation of a file is read or refused.

use crate::{FIXTURES, fixture};
use backwater_import::{Memory, Options, Source, import, mutation};

/// Mutations of each fixture: octets, numbers, words, lines. `cargo run --example fuzz` tries millions.
const EACH: u64 = 300;

#[test]
fn mutated_files_are_read_or_refused() {
    for (path, kind) in FIXTURES {
        let original = fixture(path);
        for seed in 0..EACH {
            let octets = mutation::of(&original, seed);
            let options = Options { format: Some((*kind).to_owned()), ..Options::default() };
            // The import neither panics nor gives an empty reason.
            if let Err(error) = import(vec![Source::octets(*path, octets)], "it", &options, &mut Memory::default()) {
                assert!(!error.reason.is_empty(), "{path}, seed {seed}");
            }
        }
    }
}
