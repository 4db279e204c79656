//! The fields of a file by its syntax: their names, their places, and other values for them.

use std::collections::BTreeMap;
use std::ops::Range;

/// A field of a file.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, the same in all entries, lines or elements: `link.rate`, `PORT.speed`.
    pub name: String,
    /// A note uses one of these words for it.
    pub words: Vec<String>,
    /// The name, in a note, of its element, table or row; empty for a key of the whole file.
    pub owner: String,
    /// Its line, for messages.
    pub line: usize,
    /// The octets that change.
    pub range: Range<usize>,
    /// The octets to remove so that the file no longer has the field, if the syntax names each field.
    pub whole: Option<Range<usize>>,
    /// Other values, the likeliest first.
    pub others: Vec<Vec<u8>>,
}

/// The place of a field of a text, before its other values are known.
#[derive(Clone, Debug)]
struct Spot {
    name: String,
    words: Vec<String>,
    owner: String,
    range: Range<usize>,
    whole: Option<Range<usize>>,
}

/// Returns the fields of a text with their other values, including those of fields of the same name.
fn fields(text: &str, spots: Vec<Spot>) -> Vec<Field> {
    let mut same: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spot in &spots {
        let known = same.entry(spot.name.clone()).or_default();
        let value = &text[spot.range.clone()];
        if known.len() < 3 && !known.iter().any(|one| one == value) {
            known.push(value.to_owned());
        }
    }
    let field = |spot: Spot| {
        let value = &text[spot.range.clone()];
        let mut others = numbers(value);
        others.extend(same[&spot.name].iter().cloned());
        others.extend(texts(value));
        // The same number written differently is not another value.
        let number = value.parse::<f64>().ok();
        others.retain(|other| other != value && (number.is_none() || other.parse::<f64>().ok() != number));
        let line = 1 + text[..spot.range.start].matches('\n').count();
        let Spot { name, words, owner, range, whole } = spot;
        let others = others.into_iter().map(String::into_bytes).collect();
        Field { name, words, owner, line, range, whole, others }
    };
    spots.into_iter().map(field).collect()
}

/// Returns other numbers, if a value is a number, with or without a unit.
fn numbers(value: &str) -> Vec<String> {
    let end = value.find(|c: char| !matches!(c, '0'..='9' | '.' | '-')).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let all: Vec<String> = if let Ok(n) = number.parse::<i128>() {
        let flipped = if n == 0 || n == 1 { vec![1 - n] } else { vec![] };
        let others = [n + 1, n * 2, n - 1, n / 2, n * 10, 0];
        flipped.into_iter().chain(others).filter(|m| *m >= 0 || n < 0).map(|m| m.to_string()).collect()
    } else if let Ok(x) = number.parse::<f64>() {
        [x * 2.0, x / 2.0, x + 1.0, x + 0.25].map(|y| format!("{y}")).to_vec()
    } else {
        vec![]
    };
    all.into_iter().map(|number| number + unit).collect()
}

/// Returns other texts: the opposite of a word that has one, the last letter changed, a letter added.
fn texts(value: &str) -> Vec<String> {
    const OPPOSITES: [[&str; 2]; 4] = [["true", "false"], ["up", "down"], ["on", "off"], ["enable", "disable"]];
    let mut all: Vec<String> = Vec::new();
    // An option without a value is either present or absent.
    all.extend(value.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic)).map(|_| String::new()));
    for [one, other] in OPPOSITES {
        all.extend([(one, other), (other, one)].iter().filter(|pair| pair.0 == value).map(|pair| pair.1.to_owned()));
    }
    if let Some(last) = value.chars().last().filter(char::is_ascii) {
        let other = if last.is_ascii_digit() { char::from(b'0' + (last as u8 - b'0' + 1) % 10) } else { 'q' };
        all.push(format!("{}{other}", &value[..value.len() - 1]));
    }
    all.push(format!("{value}x"));
    all
}

/// Returns the words between blanks, `:`, `{`, `}` and `->`, line by line. `name` returns the name of each word of a
/// line, or nothing if it is not a value.
pub fn words(text: &str, mut name: impl FnMut(usize, &[&str]) -> Vec<Option<String>>) -> Vec<Field> {
    let mut spots = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut begin = None;
        let bytes = line.as_bytes();
        for (i, octet) in bytes.iter().enumerate() {
            let arrow = bytes[i..].starts_with(b"->") || i > 0 && bytes[i - 1..].starts_with(b"->");
            let between = octet.is_ascii_whitespace() || arrow;
            match begin {
                Some(from) if between => {
                    ranges.push(from..i);
                    begin = None;
                }
                None if !between => begin = Some(i),
                _ => {}
            }
        }
        ranges.extend(begin.map(|from| from..bytes.len()));
        let words: Vec<&str> = ranges.iter().map(|range| &line[range.clone()]).collect();
        for (range, name) in ranges.iter().zip(name(number, &words)) {
            if let Some(name) = name {
                let (owner, own) = apart(&name);
                spots.push(Spot {
                    words: vec![own],
                    owner,
                    name,
                    range: at + range.start..at + range.end,
                    whole: None,
                });
            }
        }
        at += line.len();
    }
    fields(text, spots)
}

/// Returns the attributes of elements.
pub fn xml(text: &str) -> Vec<Field> {
    let mut spots = Vec::new();
    let mut rest = 0;
    while let Some(open) = text[rest..].find('<') {
        let begin = rest + open + 1;
        let end = begin + text[begin..].find('>').unwrap_or(text.len() - begin);
        rest = end;
        let element: String = text[begin..end].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if element.is_empty() {
            continue;
        }
        let mut at = begin + element.len();
        while let Some(equals) = text[at..end].find("=\"") {
            let attribute = text[at..at + equals].trim().to_owned();
            let value = at + equals + 2;
            let close = value + text[value..].find('"').unwrap_or(0);
            let name = format!("{element}.{attribute}");
            let whole = Some(at..close + 1);
            spots.push(Spot {
                name,
                words: vec![attribute],
                owner: format!("<{element}>"),
                range: value..close,
                whole,
            });
            at = close + 1;
        }
    }
    fields(text, spots)
}

/// Splits a field's name at its dot: the owner, and the name itself.
pub fn apart(name: &str) -> (String, String) {
    let (owner, own) = name.rsplit_once('.').unwrap_or(("", name));
    // A section that a file has once need not be named.
    let owner = if ["head", "list"].contains(&owner) { "" } else { owner };
    (owner.to_owned(), own.to_owned())
}

/// Returns the scalars of JSON. From the keys that lead to a scalar, `name` returns its name, the words of a note, and
/// the note's name of its object.
pub fn json(text: &str, name: impl Fn(&[String]) -> (String, Vec<String>, String)) -> Vec<Field> {
    let mut spots = Vec::new();
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, objects: Vec::new() };
    while scanner.skip() {
        scanner.value(&mut Vec::new(), &mut |path, range, key| {
            let (name, words, owner) = name(path);
            let whole = key.map(|key| entry(text, key, range.end));
            spots.push(Spot { name, words, owner, range, whole });
        });
    }
    fields(text, spots)
}

/// Returns the objects of JSON: the keys that lead to each, the place of its first key, and whether it is empty.
pub fn objects(text: &str) -> Vec<(Vec<String>, usize, bool)> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, objects: Vec::new() };
    while scanner.skip() {
        scanner.value(&mut Vec::new(), &mut |_, _, _| {});
    }
    let empty = |at: usize| text[at..].trim_start().starts_with('}');
    scanner.objects.into_iter().map(|(path, at)| (path, at, empty(at))).collect()
}

/// Returns the place of an entry of an object with its comma, from the quote of its key to the end of its value.
fn entry(text: &str, key: usize, end: usize) -> Range<usize> {
    let end = end + usize::from(text[end..].starts_with('"'));
    let behind = text[end..].trim_start();
    if behind.starts_with(',') {
        return key..text.len() - behind.len() + 1;
    }
    let before = text[..key].trim_end();
    before.len() - usize::from(before.ends_with(','))..end
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// The objects so far: the keys that lead to each, and its place.
    objects: Vec<(Vec<String>, usize)>,
}

impl Scanner<'_> {
    /// Goes to the next octet that is not blank. Returns whether one exists.
    fn skip(&mut self) -> bool {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.at < self.text.len()
    }

    /// Reads a quoted text, and returns its place without the quotes.
    fn quoted(&mut self) -> Range<usize> {
        let from = self.at + 1;
        self.at = from;
        while self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        from..self.at - 1
    }

    /// Calls `found` for each scalar, with the keys that lead to it, and the place of its own key. Elements of a list
    /// have no key.
    fn value(&mut self, path: &mut Vec<String>, found: &mut impl FnMut(&[String], Range<usize>, Option<usize>)) {
        self.below(path, None, found);
    }

    fn below(
        &mut self,
        path: &mut Vec<String>,
        own: Option<usize>,
        found: &mut impl FnMut(&[String], Range<usize>, Option<usize>),
    ) {
        self.skip();
        match self.text[self.at] {
            open @ (b'{' | b'[') => {
                let close = if open == b'{' { b'}' } else { b']' };
                self.at += 1;
                if open == b'{' {
                    self.objects.push((path.clone(), self.at));
                }
                loop {
                    self.skip();
                    match self.text[self.at] {
                        b',' => self.at += 1,
                        octet if octet == close => break,
                        _ if open == b'[' => self.below(path, None, found),
                        _ => {
                            let place = self.at;
                            let key = self.quoted();
                            path.push(String::from_utf8_lossy(&self.text[key]).into_owned());
                            self.skip();
                            assert_eq!(self.text[self.at], b':');
                            self.at += 1;
                            self.below(path, Some(place), found);
                            path.pop();
                        }
                    }
                }
                self.at += 1;
            }
            b'"' => {
                let range = self.quoted();
                found(path, range, own);
            }
            _ => {
                let from = self.at;
                while self.text.get(self.at).is_some_and(|octet| !b",]} \n\r\t".contains(octet)) {
                    self.at += 1;
                }
                found(path, from..self.at, own);
            }
        }
    }
}

/// Returns numbers of fixed length with the lowest octet first. Each place is a name, an offset and a length.
pub fn numbers_at(octets: &[u8], places: Vec<(String, usize, usize)>) -> Vec<Field> {
    let field = |(name, at, length): (String, usize, usize)| {
        let value = octets[at..at + length].iter().rev().fold(0u64, |value, octet| value << 8 | u64::from(*octet));
        let most = u64::MAX >> (64 - 8 * length);
        let all = [1 - value.min(1), value.wrapping_add(1) & most, value.wrapping_mul(2) & most, value / 2, 0];
        let all = all.into_iter().filter(|other| *other != value);
        let others = all.map(|other| other.to_le_bytes()[..length].to_vec()).collect();
        let (owner, own) = apart(&name);
        Field { words: vec![own], owner, name, line: at, range: at..at + length, whole: None, others }
    };
    places.into_iter().map(field).collect()
}
