//! GOAL as text, as read by `txt2bin.re` of LogGOPSim (commit 76451de) and ATLAHS (8837294).
//!
//! ```text
//! file  = "num_ranks" INT { "rank" INT "{" { [ stmt ] NL } "}" }
//! stmt  = [ IDENT ":" ] op | IDENT "requires" IDENT | IDENT "irequires" IDENT
//! op    = "send" INT "b" "to"   INT          [ "tag" INT ]          [ "cpu" INT ] [ "nic" INT ]
//!       | "recv" INT "b" "from" (INT | "-1") [ "tag" (INT | "-1") ] [ "cpu" INT ] [ "nic" INT ]
//!       | "calc" INT [ "cpu" INT ]
//! IDENT = [a-zA-Z][a-zA-Z0-9_]*, of its rank; comments from "//" to the end of the line and from "/*" to "*/"
//! ```
//!
//! Ranks come in order, each once, and the last ends the file. That reader keeps the first of two operations with one label
//! silently; here the second is an error.

use super::{Seen, time_ps};
use crate::error::ImportError;
use crate::schedule::{ANY, Act, MOST_RANKS, Program};
use crate::source::Head;
use std::collections::HashMap;

/// Returns whether a file has this kind: the first text beside comments is `num_ranks` and a number.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let mut comment = false;
    for line in lines {
        let mut rest = line.trim();
        if comment {
            let Some((_, after)) = rest.split_once("*/") else { continue };
            (comment, rest) = (false, after.trim());
        }
        if rest.is_empty() || rest.starts_with("//") {
            continue;
        }
        if rest.starts_with("/*") {
            comment = !rest.contains("*/");
            continue;
        }
        return rest.split_whitespace().next() == Some("num_ranks");
    }
    false
}

/// The programs of all ranks; messages call the file `file`.
pub fn parse(file: &str, text: &str) -> Result<(Vec<Program>, Seen), ImportError> {
    let mut reader = Reader { tokens: Tokens { file, rest: text, line: 1, peeked: None }, seen: Seen::default() };
    reader.skip_lines()?;
    reader.expect("num_ranks")?;
    let ranks: u32 = reader.number("a number of ranks")?;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(reader.error(format!("a schedule has 1 to {MOST_RANKS} ranks, not {ranks}")));
    }
    let mut programs = Vec::new();
    for rank in 0..ranks {
        reader.skip_lines()?;
        if reader.tokens.peek()?.is_none() {
            let reason = format!("the file ends after {rank} ranks, and num_ranks says {ranks}");
            return Err(reader.error(reason).hint("give a rank without operations as `rank N { }`"));
        }
        reader.expect("rank")?;
        let given: u32 = reader.number("a number of a rank")?;
        if given != rank {
            return Err(reader
                .error(format!("rank {given} stands where rank {rank} should"))
                .hint("ranks come in order, each once"));
        }
        reader.expect("{")?;
        programs.push(reader.rank()?);
    }
    reader.skip_lines()?;
    match reader.tokens.next()? {
        None => Ok((programs, reader.seen)),
        Some(word) => Err(reader.error("stands behind the last rank").value(word)),
    }
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    seen: Seen,
}

impl<'a> Reader<'a> {
    fn rank(&mut self) -> Result<Program, ImportError> {
        let mut program = Program::default();
        let mut labels: HashMap<&'a str, u32> = HashMap::new();
        loop {
            let first = self.tokens.word("a statement or `}`")?;
            let line = self.tokens.line;
            match first {
                "\n" => continue,
                "}" => return Ok(program),
                "send" | "recv" | "calc" => {
                    let act = self.operation(first)?;
                    program.push(act, line);
                }
                label if is_label(label) => match self.tokens.word("`:`, `requires` or `irequires`")? {
                    ":" => {
                        let keyword = self.tokens.word("`send`, `recv` or `calc`")?;
                        let act = self.operation(keyword)?;
                        let op = program.push(act, line);
                        if let Some(before) = labels.insert(label, op) {
                            let before = program.ops[before as usize].place;
                            let reason = format!("this label is that of line {before} already");
                            return Err(self
                                .tokens
                                .at(line, reason)
                                .value(label)
                                .hint("give each operation of a rank its own"));
                        }
                    }
                    word @ ("requires" | "irequires") => {
                        let other = self.tokens.word("a label")?;
                        let of = |name: &str| {
                            labels
                                .get(name)
                                .copied()
                                .ok_or_else(|| self.tokens.at(line, "no operation above has this label").value(name))
                        };
                        let (own, other) = (of(label)?, of(other)?);
                        self.depend(&mut program, own, other, word, line)?;
                        self.end()?;
                    }
                    word => {
                        return Err(self
                            .tokens
                            .at(line, "`:`, `requires` or `irequires` should stand here")
                            .value(word));
                    }
                },
                word => {
                    let reason = "is neither `send`, `recv`, `calc`, a label nor `}`";
                    return Err(self.tokens.at(line, reason).value(word));
                }
            }
        }
    }

    fn depend(
        &mut self,
        program: &mut Program,
        own: u32,
        other: u32,
        word: &str,
        line: u64,
    ) -> Result<(), ImportError> {
        if own == other {
            return Err(self.tokens.at(line, format!("an operation that {word} itself would never begin")));
        }
        let act = program.ops[other as usize].act;
        if word == "requires" {
            if matches!(act, Act::Send { .. }) {
                self.seen.after_send.get_or_insert(Some(line));
            }
            program.after(own, other);
        } else {
            if matches!(act, Act::Compute { .. }) {
                self.seen.start_of_calc.get_or_insert(Some(line));
            }
            program.after_start(own, other);
        }
        Ok(())
    }

    /// An operation after its keyword, up to the end of its line.
    fn operation(&mut self, keyword: &str) -> Result<Act, ImportError> {
        let line = self.tokens.line;
        if keyword == "calc" {
            let number: u64 = self.number("a time in ns")?;
            let time_ps = time_ps(number)
                .ok_or_else(|| self.tokens.at(line, "longer than can be simulated").value(number.to_string()))?;
            let mut stream = 0;
            if self.tokens.peek()? == Some("cpu") {
                self.tokens.next()?;
                stream = u16::from(self.number::<u8>("a number of a cpu, 0 to 255")?);
            }
            self.end()?;
            return Ok(Act::Compute { time_ps, stream: Some(stream) });
        }
        let (direction, send) = match keyword {
            "send" => ("to", true),
            "recv" => ("from", false),
            _ => return Err(self.tokens.at(line, "`send`, `recv` or `calc` should stand here").value(keyword)),
        };
        let size = self.tokens.word("a size")?;
        let bytes = match size.strip_suffix('b') {
            Some(number) => self.parsed(number, "a size in octets, as `100b`")?,
            None => {
                let bytes = self.parsed(size, "a size in octets, as `100b`")?;
                self.expect("b")?;
                bytes
            }
        };
        self.expect(direction)?;
        let peer = self.rank_or_any(!send)?;
        let (mut tag, mut last) = (0, 0);
        while let Some(word) = self.tokens.peek()?.filter(|word| *word != "\n") {
            // Each once, in this order.
            let order = match word {
                "tag" => 1,
                "cpu" => 2,
                "nic" => 3,
                _ => 0,
            };
            if order <= last {
                let hint = "`tag`, `cpu`, `nic` follow in this order, each with a number";
                return Err(self.error("does not belong here").value(word).hint(hint));
            }
            self.tokens.next()?;
            last = order;
            match order {
                1 => tag = self.rank_or_any(!send)?,
                2 => {
                    if self.number::<u8>("a number of a cpu, 0 to 255")? > 0 {
                        self.seen.cpu.get_or_insert((Some(line), 0)).1 += 1;
                    }
                }
                _ => {
                    if self.number::<u8>("a number of a nic, 0 to 255")? > 0 {
                        self.seen.nic.get_or_insert((Some(line), 0)).1 += 1;
                    }
                }
            }
        }
        self.end()?;
        if peer == ANY || tag == ANY {
            self.seen.any.get_or_insert((Some(line), 0)).1 += 1;
        }
        Ok(if send { Act::Send { peer, tag, bytes } } else { Act::Receive { peer, tag, bytes } })
    }

    fn rank_or_any(&mut self, any: bool) -> Result<u32, ImportError> {
        let word = self.tokens.word("a number")?;
        if word == "-1" {
            let reason = "-1 is for receives: a send has a receiver and a tag of its own";
            return if any { Ok(ANY) } else { Err(self.error(reason).value(word)) };
        }
        let number: u32 = self.parsed(word, "a number")?;
        // The result of txt2bin for -1.
        if number == ANY && !any { Err(self.error("too large").value(word)) } else { Ok(number) }
    }

    fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, ImportError> {
        let word = self.tokens.word(what)?;
        self.parsed(word, what)
    }

    fn parsed<N: std::str::FromStr>(&self, word: &str, what: &str) -> Result<N, ImportError> {
        // Signs are no digits.
        let digits = word.bytes().all(|octet| octet.is_ascii_digit());
        word.parse().ok().filter(|_| digits).ok_or_else(|| self.error(format!("is not {what}")).value(word))
    }

    fn expect(&mut self, word: &str) -> Result<(), ImportError> {
        let found = self.tokens.word(&format!("`{word}`"))?;
        if found == word { Ok(()) } else { Err(self.error(format!("`{word}` should stand here")).value(found)) }
    }

    /// The end of a line, which ends a statement.
    fn end(&mut self) -> Result<(), ImportError> {
        match self.tokens.peek()? {
            None | Some("\n") => Ok(()),
            Some(word) => Err(self.error("the line should end here").value(word)),
        }
    }

    fn skip_lines(&mut self) -> Result<(), ImportError> {
        while self.tokens.peek()? == Some("\n") {
            self.tokens.next()?;
        }
        Ok(())
    }

    fn error(&self, reason: impl Into<String>) -> ImportError {
        self.tokens.at(self.tokens.line, reason)
    }
}

fn is_label(word: &str) -> bool {
    word.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && word.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_')
}

/// Words, `:`, `{`, `}` and ends of lines, without comments.
struct Tokens<'a> {
    file: &'a str,
    rest: &'a str,
    /// Line of the last token.
    line: u64,
    peeked: Option<Option<&'a str>>,
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> Result<Option<&'a str>, ImportError> {
        match self.peeked {
            Some(token) => Ok(token),
            None => {
                let token = self.read()?;
                self.peeked = Some(token);
                Ok(token)
            }
        }
    }

    fn next(&mut self) -> Result<Option<&'a str>, ImportError> {
        let token = match self.peeked.take() {
            Some(token) => token,
            None => self.read()?,
        };
        // The end of a line belongs to it.
        self.line += u64::from(token == Some("\n"));
        Ok(token)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ImportError> {
        let line = self.line;
        self.next()?.ok_or_else(|| self.at(line, format!("the file ends where {what} should stand")))
    }

    fn read(&mut self) -> Result<Option<&'a str>, ImportError> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            if self.rest.starts_with("//") {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.at(self.line, "a comment without its end").hint("`*/` ends it"));
                };
                self.line += comment[..end].bytes().filter(|octet| *octet == b'\n').count() as u64;
                self.rest = &comment[end + 2..];
            } else {
                break;
            }
        }
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let length = match first {
            '\n' | ':' | '{' | '}' => 1,
            _ => {
                let end = |c: char| c.is_whitespace() || matches!(c, ':' | '{' | '}');
                self.rest.find(end).unwrap_or(self.rest.len()).max(first.len_utf8())
            }
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(token))
    }

    fn at(&self, line: u64, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(self.file).line(line)
    }
}
