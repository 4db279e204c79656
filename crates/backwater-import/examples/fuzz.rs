//! `fuzz FILE KIND COUNT [SEED [FILE…]]`: imports COUNT mutations of a file as a kind, together with unchanged other
//! files; KIND is then a family. It prints how many were read, and ends with a panic.

use backwater_import::{Memory, Options, Source, import, mutation};

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, kind, count, seed @ ..] = words.as_slice() else {
        return Err("fuzz FILE KIND COUNT [SEED [FILE…]]".into());
    };
    let number = |word: &String| word.parse::<u64>().map_err(|error| format!("{word}: {error}"));
    let (count, first) = (number(count)?, seed.first().map_or(Ok(0), number)?);
    let original = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let options = Options { format: Some(kind.clone()), ..Options::default() };
    let beside: Vec<Source> = seed.iter().skip(1).map(Source::file).collect();
    let (mut read, mut refused) = (0u64, 0u64);
    for seed in first..first + count {
        let source = Source::octets("it", mutation::of(&original, seed));
        let sources = std::iter::once(source).chain(beside.iter().cloned()).collect();
        match import(sources, "it", &options, &mut Memory::default()) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    println!("{file}: {read} read, {refused} refused, from seed {first}");
    Ok(())
}
