//! Mechanisms of a user's own become part of the registry: each file `NAME.rs` in the directory that `BACKWATER_MECHANISMS` names is a
//! mechanism `NAME`, whose type has the same name in camel case. `backwater new mechanism` writes such a directory.

use std::path::{Path, PathBuf};
use std::{env, fs};

const DIRECTORY: &str = "BACKWATER_MECHANISMS";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={DIRECTORY}");
    let own = match env::var_os(DIRECTORY) {
        Some(directory) => own(Path::new(&directory))?,
        None => Vec::new(),
    };
    let mut text = String::new();
    for (name, path) in &own {
        text += &format!("#[path = {path:?}]\npub mod {name};\n");
    }
    text += "macro_rules! with_own {\n    ($($built_in:tt)*) => {\n        crate::stack::mechanisms! {\n            $($built_in)*\n";
    for (name, _) in &own {
        text += &format!("            {name} => crate::own::{name}::{},\n", camel(name));
    }
    text += "        }\n    };\n}\npub(crate) use with_own;\n";
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?).join("own.rs");
    fs::write(&out, text).map_err(|e| format!("{}: {e}", out.display()))
}

/// Names of mechanisms and their files, by name: a mechanism's place in the registry must not depend on the order of a directory.
fn own(directory: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let problem = |e: std::io::Error| format!("{DIRECTORY} = {}: {e}", directory.display());
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(problem)? {
        let path = fs::canonicalize(entry.map_err(problem)?.path()).map_err(problem)?;
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
            return Err(format!(
                "{}: a mechanism's name has small letters, digits and `_`, and begins with a letter",
                path.display()
            ));
        }
        found.push((name, path));
    }
    found.sort();
    Ok(found)
}

/// `my_law` as `MyLaw`.
fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}
