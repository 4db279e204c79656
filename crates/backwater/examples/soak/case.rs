//! A scenario as a tree that can be drawn, mended and shrunk, with its files.

use backwater::{Checked, Scenario, ScenarioError};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A scenario and its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The TOML document.
    pub tree: Map<String, Json>,
    /// Text of the files beside it, by name.
    pub files: BTreeMap<String, String>,
}

impl Case {
    /// The document as TOML.
    pub fn text(&self) -> String {
        toml::to_string(&self.tree).unwrap_or_else(|error| format!("# cannot be written: {error}"))
    }

    /// Everything needed to run it, for pasting: files as comments.
    pub fn paste(&self) -> String {
        let mut text = self.text();
        for (name, content) in self.named_files() {
            text.push_str(&format!("\n# {name}\n"));
            content.lines().for_each(|line| text.push_str(&format!("#   {line}\n")));
        }
        text
    }

    /// The files that the document names.
    fn named_files(&self) -> impl Iterator<Item = (&String, &String)> {
        let text = self.text();
        self.files.iter().filter(move |(name, _)| text.contains(name.as_str()))
    }

    /// Reads and checks it, with its files in `folder`.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn resolve(&self, folder: &Folder) -> Result<Checked, ScenarioError> {
        for (name, content) in self.named_files() {
            fs::write(folder.0.join(name), content).map_err(|error| ScenarioError::new(error.to_string()))?;
        }
        Scenario::from_text(&self.text(), "soak.toml", &folder.0)?.check()
    }

    /// The value at a dotted key, whose numbers are entries of lists.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let mut steps = key.split('.');
        let first = self.tree.get(steps.next()?)?;
        steps.try_fold(first, |at, step| match at {
            Json::Object(table) => table.get(step),
            Json::Array(list) => list.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Sets the value at a dotted key below existing tables.
    pub fn set(&mut self, key: &str, value: Json) -> bool {
        match key.rsplit_once('.') {
            None => {
                self.tree.insert(key.to_owned(), value);
                true
            }
            Some((table, name)) => match self.get_mut(table) {
                Some(Json::Object(table)) => {
                    table.insert(name.to_owned(), value);
                    true
                }
                _ => false,
            },
        }
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        let mut steps = key.split('.');
        let first = self.tree.get_mut(steps.next()?)?;
        steps.try_fold(first, |at, step| match at {
            Json::Object(table) => table.get_mut(step),
            Json::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Removes a key, and lists that become empty. Returns whether the key existed.
    pub fn remove(&mut self, key: &str) -> bool {
        let Some((table, name)) = key.rsplit_once('.') else { return self.tree.shift_remove(key).is_some() };
        let empty = match self.get_mut(table) {
            Some(Json::Object(table)) => return table.shift_remove(name).is_some(),
            Some(Json::Array(list)) => match name.parse::<usize>() {
                Ok(number) if number < list.len() => {
                    list.remove(number);
                    list.is_empty()
                }
                _ => return false,
            },
            _ => return false,
        };
        if empty {
            self.remove(table);
        }
        true
    }

    /// Every key, those of tables before their contents.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for (name, value) in &self.tree {
            collect(name, value, &mut keys);
        }
        keys
    }
}

fn collect(key: &str, value: &Json, keys: &mut Vec<String>) {
    keys.push(key.to_owned());
    match value {
        Json::Object(table) => table.iter().for_each(|(name, value)| collect(&format!("{key}.{name}"), value, keys)),
        Json::Array(list) => {
            list.iter().enumerate().for_each(|(number, value)| collect(&format!("{key}.{number}"), value, keys));
        }
        _ => {}
    }
}

/// A folder for the files of scenarios, deleted with its owner.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn new(name: &str) -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("backwater-soak-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
