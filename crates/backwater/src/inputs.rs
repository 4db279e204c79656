//! Inputs that a scenario's caller has read: rows of flow tables, and operations of jobs. Also the largest text that is read at once.

use backwater_engine::Time;
use backwater_net::workload::caller::Wanted;
use backwater_net::workload::graph::Operations;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest scenario file \[bytes\]. Longer ones are flow tables, which have files of their own.
pub const LARGEST: u64 = 16 << 20;

/// Opens a file that a scenario names. It must be a regular one: a pipe may never yield anything, and a device may have no end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

/// Returns whether a name leads to a pipe that this process was given open, as by a shell's `<(...)`: then a process writes to it. Opening
/// a pipe by another name may wait forever.
pub(crate) fn is_open_pipe(path: &Path, about: &std::fs::Metadata) -> bool {
    let given = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == Path::new("/dev/stdin");
    given && !about.is_dir() && !is_device(about)
}

#[cfg(unix)]
fn is_device(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    about.file_type().is_char_device() || about.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &std::fs::Metadata) -> bool {
    false
}

/// Returns the problem with the name of a file to be opened. `None`: it leads to a regular file.
pub(crate) fn wrong(path: &Path) -> Option<String> {
    let name = path.display();
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => None,
        Ok(_) => Some(format!("`{name}` is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(format!("there is no file `{name}`")),
        Err(error) => Some(format!("`{name}` cannot be read: {error}")),
    }
}

/// Reads such a file completely, at most [`LARGEST`] bytes.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    if file.metadata()?.len() > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {LARGEST} B")));
    }
    io::read_to_string(file)
}

/// One row of a flow table that the caller has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFlow {
    /// Identity, unique in the run.
    pub id: u64,
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// \[bytes\] Payload.
    pub bytes: u64,
    /// When it starts.
    pub start: Time,
    /// Class of its data. `None`: the group's.
    pub class: Option<u8>,
    /// Names of the nodes to pass, separated by blanks; hosts may be left out. `None`: ECMP.
    pub path: Option<String>,
    /// The same for its acknowledgements, from the receiver on. `None`: by `ack.path`.
    pub ack_path: Option<String>,
    /// Number of the link by which it leaves a host with several. `None`: the host chooses.
    pub link: Option<u16>,
}

/// Rows that the caller has read.
#[derive(Clone)]
pub(crate) struct InputRows {
    pub of: RowsOf,
    pub rows: Arc<[TableFlow]>,
}

/// Operations that the caller has read, and the absolute path of their file.
pub(crate) type InputOperations = (PathBuf, Arc<Operations>);

/// The owner of rows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum RowsOf {
    /// Every group whose table is the file at this absolute path.
    File(PathBuf),
    /// A group of their own, of this label.
    Label(String),
    /// The messages that the caller sends while the run is in progress ([`crate::Live`]): there are no rows beforehand.
    Caller(OfCaller),
}

/// The group of a caller's messages.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OfCaller {
    pub label: String,
    /// All messages from one host to another follow each other on one connection.
    pub kept: bool,
    pub wanted: Wanted,
}

/// Returns whether a flow table is Parquet, by its name.
pub(crate) fn is_parquet(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"))
}

/// The absolute path of a flow table.
pub(crate) fn place_of(base_dir: &Path, file: &str) -> PathBuf {
    let path = base_dir.join(file);
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_refused_before_it_is_read() {
        // Its length is 0, and it never ends.
        let zero = Path::new("/dev/zero");
        for refused in [open(zero).map(drop), text(zero).map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string()),
                (io::ErrorKind::InvalidInput, "not a regular file".to_owned())
            );
        }
        assert_eq!(text(Path::new("/nowhere/at/all")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_a_name_leads_to_is_said() {
        let wrong = |name: &str| wrong(Path::new(name));
        assert_eq!(wrong("/dev/zero").as_deref(), Some("`/dev/zero` is not a regular file"));
        assert_eq!(wrong("/dev").as_deref(), Some("`/dev` is not a regular file"));
        assert_eq!(wrong("/nowhere/at/all").as_deref(), Some("there is no file `/nowhere/at/all`"));
        assert_eq!(wrong("/proc/self/maps"), None);
    }

    #[test]
    fn what_is_read_whole_has_a_bound() {
        let path = std::env::temp_dir().join(format!("backwater-given-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        // A hole: it uses no space.
        file.set_len(LARGEST + 1).unwrap();
        let error = text(&path).unwrap_err();
        file.set_len(LARGEST).unwrap();
        let whole = text(&path).map(|text| text.len() as u64);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((error.kind(), whole.unwrap()), (io::ErrorKind::FileTooLarge, LARGEST));
    }
}
