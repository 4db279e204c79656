//! Gives the core an identity: a hash of its sources. Results of an earlier run are resumed only by the core that wrote them, and the
//! package's version does not change with every line of code.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// FNV-1a, 64 bits: offset basis and prime (Fowler, Noll and Vo).
const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0100_0000_01B3;

fn main() -> Result<(), String> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let root = own.ancestors().nth(2).ok_or("the crate lies in no workspace")?;
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    files.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    for entry in fs::read_dir(root.join("crates")).map_err(|e| e.to_string())? {
        let krate = entry.map_err(|e| e.to_string())?.path();
        files.push(krate.join("Cargo.toml"));
        collect(&krate.join("src"), &mut files)?;
        // For a directory cargo also sees added and removed files.
        println!("cargo::rerun-if-changed={}", krate.join("src").display());
        println!("cargo::rerun-if-changed={}", krate.join("Cargo.toml").display());
    }
    // A user's own mechanisms make another core.
    println!("cargo::rerun-if-env-changed=BACKWATER_MECHANISMS");
    let mechanisms = env::var_os("BACKWATER_MECHANISMS").map(PathBuf::from);
    if let Some(mechanisms) = &mechanisms {
        println!("cargo::rerun-if-changed={}", mechanisms.display());
        collect(mechanisms, &mut files)?;
    }
    // By name, so that the order of a directory does not matter.
    files.sort();
    let mut hash = BASIS;
    for path in files.iter().filter(|path| path.is_file()) {
        // The same on every machine.
        let beside = mechanisms.as_ref().and_then(|mechanisms| path.strip_prefix(mechanisms).ok());
        let name = beside.or(path.strip_prefix(root).ok()).unwrap_or(path);
        let content = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        for byte in name.to_string_lossy().bytes().chain([0]).chain(content).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=BACKWATER_BUILD={hash:016x}");
    Ok(())
}

/// All files below a directory.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if !directory.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(directory).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
