//! Input files, and the place of tables.

use crate::error::ImportError;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Octets of a file by which its kind is recognised.
const HEAD: u64 = 64 << 10;

/// The byte order mark in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Largest file that is read completely. Kinds with larger ones read them as streams.
const LARGEST: u64 = 4 << 30;

/// A file to be imported. It is opened for each reading: there may be a thousand.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Path(PathBuf),
    Octets(Arc<[u8]>),
}

impl Source {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Source {
        let path = path.into();
        Source { name: path.display().to_string(), content: Content::Path(path) }
    }

    /// Octets that messages call `name`.
    pub fn octets(name: impl Into<String>, octets: impl Into<Arc<[u8]>>) -> Source {
        Source { name: name.into(), content: Content::Octets(octets.into()) }
    }

    /// Returns its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name without directories.
    pub fn file_name(&self) -> &str {
        base_name(&self.name)
    }

    /// A file that this one names, relative to its own directory. `None` for octets, which have no directory.
    pub fn beside(&self, name: &str) -> Option<Source> {
        match &self.content {
            Content::Path(path) => Some(Source::file(path.parent().unwrap_or(Path::new("")).join(name))),
            Content::Octets(_) => None,
        }
    }

    /// Returns whether the name exists.
    pub fn is_there(&self) -> bool {
        match &self.content {
            Content::Path(path) => path.exists(),
            Content::Octets(_) => true,
        }
    }

    /// Its octets as a stream, without the byte order mark that some editors put before a text.
    pub fn open(&self) -> Result<Box<dyn Read + '_>, ImportError> {
        let mut stream = self.stream()?;
        let mut first = Vec::new();
        stream.by_ref().take(MARK.len() as u64).read_to_end(&mut first).map_err(|error| self.unreadable(&error))?;
        if first == MARK {
            first.clear();
        }
        Ok(Box::new(io::Cursor::new(first).chain(stream)))
    }

    fn stream(&self) -> Result<Box<dyn Read + '_>, ImportError> {
        match &self.content {
            Content::Octets(octets) => Ok(Box::new(&octets[..])),
            Content::Path(path) => {
                let file = self.about(path).and_then(|_| File::open(path).map_err(|error| self.unreadable(&error)))?;
                Ok(Box::new(BufReader::new(file)))
            }
        }
    }

    /// Returns the metadata of a name. It must be a regular file: a pipe may never yield anything, and a device may have no end.
    fn about(&self, path: &Path) -> Result<Metadata, ImportError> {
        let about = std::fs::metadata(path).map_err(|error| self.unreadable(&error))?;
        if about.is_dir() {
            return Err(self.error("this is a directory").hint("name the files in it"));
        }
        if !about.is_file() {
            return Err(self
                .error("not a regular file")
                .hint("it is read more than once: put its content into a file"));
        }
        Ok(about)
    }

    /// All its octets.
    pub fn read(&self) -> Result<Vec<u8>, ImportError> {
        let long = match &self.content {
            Content::Path(path) => self.about(path)?.len(),
            Content::Octets(octets) => octets.len() as u64,
        };
        if long > LARGEST {
            return Err(self.error(format!("larger than {LARGEST} B")).hint("split it"));
        }
        self.up_to(LARGEST)
    }

    /// Its text.
    pub fn text(&self) -> Result<String, ImportError> {
        String::from_utf8(self.read()?).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..good].iter().filter(|b| **b == b'\n').count() as u64;
            self.error(format!("not text: octet {good} is not UTF-8")).line(line)
        })
    }

    /// Returns the part by which its kind is recognised.
    pub fn head(&self) -> Result<Head, ImportError> {
        let mut octets = self.up_to(HEAD + 1)?;
        let whole = octets.len() as u64 <= HEAD;
        octets.truncate(HEAD as usize);
        Ok(Head { name: self.file_name().to_owned(), octets, whole, lines: OnceCell::new() })
    }

    /// An error about it.
    pub fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(&self.name)
    }

    fn up_to(&self, most: u64) -> Result<Vec<u8>, ImportError> {
        let mut octets = Vec::new();
        self.open()?.take(most).read_to_end(&mut octets).map_err(|error| self.unreadable(&error))?;
        Ok(octets)
    }

    fn unreadable(&self, error: &io::Error) -> ImportError {
        match error.kind() {
            io::ErrorKind::NotFound => self.error("there is no such file"),
            io::ErrorKind::PermissionDenied => self.error("the file may not be read").hint("check its permissions"),
            _ => self.error(format!("the file cannot be read: {error}")),
        }
    }
}

/// A file's name without directories.
pub fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// The beginning of a file.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its name without directories: a hint if the content is ambiguous, never a proof.
    pub name: String,
    /// Its first octets, 64 KiB at most.
    pub octets: Vec<u8>,
    /// True if that is the whole file.
    pub whole: bool,
    /// Its lines, once a kind has used them: each of some twenty kinds does.
    lines: OnceCell<Vec<String>>,
}

impl Head {
    /// Its lines as text, empty if it is not text. The last line may be cut unless [`whole`](Head::whole).
    pub fn lines(&self) -> &[String] {
        self.lines.get_or_init(|| self.split())
    }

    fn split(&self) -> Vec<String> {
        let text = match std::str::from_utf8(&self.octets) {
            Ok(text) => text,
            // The cut may split a character.
            Err(error) if !self.whole && self.octets.len() - error.valid_up_to() < 4 => {
                std::str::from_utf8(&self.octets[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Vec::new(),
        };
        if text.contains('\0') {
            return Vec::new();
        }
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if !self.whole {
            lines.pop();
        }
        lines
    }
}

/// The place in which an import creates its tables.
pub trait Place {
    /// A new file of this name, beside the scenario.
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Write + Send>>;
}

/// A directory.
#[derive(Debug)]
pub struct Folder(
    /// Its path. It exists.
    pub PathBuf,
);

impl Place for Folder {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(io::BufWriter::new(File::create(self.0.join(name))?)))
    }
}

/// Files in memory, by name; for tests and fuzzing.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Memory {
    /// The text of a file; empty without such a file.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.octets(name)).into_owned()
    }

    /// The octets of a file; none if there is no such file.
    pub fn octets(&self, name: &str) -> Vec<u8> {
        self.0.lock().map_or_else(|_| Vec::new(), |files| files.get(name).cloned().unwrap_or_default())
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().map_or_else(|_| Vec::new(), |files| files.keys().cloned().collect())
    }
}

impl Place for Memory {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn Write + Send>> {
        if let Ok(mut files) = self.0.lock() {
            files.insert(name.to_owned(), Vec::new());
        }
        Ok(Box::new(InMemory { files: self.clone(), name: name.to_owned() }))
    }
}

struct InMemory {
    files: Memory,
    name: String,
}

impl Write for InMemory {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if let Ok(mut files) = self.files.0.lock() {
            files.entry(self.name.clone()).or_default().extend_from_slice(octets);
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_refused_before_it_is_read() {
        let zero = Source::file("/dev/zero");
        for error in [zero.read().map(drop), zero.head().map(drop), zero.text().map(drop)] {
            assert_eq!(error.unwrap_err().reason, "not a regular file");
        }
    }
}
