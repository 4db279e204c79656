//! Files with mistakes, for tests: a fixture with a few octets, numbers, words or lines changed, as a function of the seed.

/// False numbers for counts, offsets and sizes.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "2",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "1e308",
    "nan",
    "0.5",
];

/// A generator of sufficient quality for choosing mistakes (SplitMix64, Steele et al., OOPSLA 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// The octets with one to four mistakes.
pub fn of(octets: &[u8], seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut octets = octets.to_vec();
    for _ in 0..=dice.below(4) {
        mistake(&mut octets, &mut dice);
    }
    octets
}

fn mistake(octets: &mut Vec<u8>, dice: &mut Dice) {
    let length = octets.len();
    match dice.below(9) {
        0 => {
            if let Some(octet) = octets.get_mut(dice.below(length)) {
                *octet ^= 1 << dice.below(8);
            }
        }
        1 => octets.truncate(dice.below(length + 1)),
        2 => {
            let (from, to) = span(length, dice);
            drop(octets.drain(from..to));
        }
        3 => {
            let (from, to) = span(length, dice);
            let copy: Vec<u8> = octets.get(from..to).unwrap_or_default().to_vec();
            drop(octets.splice(from..from, copy));
        }
        4 | 5 => {
            let (from, to) = word(octets, dice);
            drop(octets.splice(from..to, NUMBERS[dice.below(NUMBERS.len())].bytes()));
        }
        6 => {
            let (first, second) = (word(octets, dice), word(octets, dice));
            let other: Vec<u8> = octets.get(second.0..second.1).unwrap_or_default().to_vec();
            drop(octets.splice(first.0..first.1, other));
        }
        7 => {
            let at = dice.below(length + 1);
            let octet = [b' ', b'\t', b'\n', 0, 0xff, b'"', b'{', b'-'][dice.below(8)];
            octets.insert(at, octet);
        }
        _ => {
            let lines: Vec<&[u8]> = octets.split_inclusive(|octet| *octet == b'\n').collect();
            let (from, to) = (dice.below(lines.len()), dice.below(lines.len()));
            let mut lines = lines;
            if from < lines.len() && to < lines.len() {
                lines.swap(from, to);
            }
            *octets = lines.concat();
        }
    }
}

/// Some octets in a row, up to 64.
fn span(length: usize, dice: &mut Dice) -> (usize, usize) {
    let from = dice.below(length + 1);
    (from, (from + dice.below(64)).min(length))
}

/// A number or a word: letters and digits in a row.
fn word(octets: &[u8], dice: &mut Dice) -> (usize, usize) {
    let start = dice.below(octets.len() + 1);
    let part = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b'.' || *octet == b'-';
    let from = start + octets.iter().skip(start).take_while(|octet| !part(octet)).count();
    let to = from + octets.iter().skip(from).take_while(|octet| part(octet)).count();
    (from, to)
}
