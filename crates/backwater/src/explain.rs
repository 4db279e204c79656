//! What a key means, from the schema of scenario files.

use crate::error::ScenarioError;
use serde::Serialize;

/// What a key means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explain {
    /// Dotted key, canonical.
    pub key: String,
    /// What it is.
    pub meaning: String,
    /// Kind of quantity and its units.
    pub unit: Option<String>,
    /// Value where none is given.
    pub default: Option<String>,
    /// What it may be.
    pub range: Option<String>,
    /// Where the default or the parameter comes from.
    pub source: Option<String>,
    /// Other names of the key.
    pub aliases: Vec<String>,
    /// Of a table: its keys and what they are.
    pub children: Vec<(String, String)>,
}

/// Explains a dotted key such as `pfc.xoff`.
pub fn explain(_key: &str) -> Result<Explain, ScenarioError> {
    Err(ScenarioError::new("not yet written"))
}

/// The JSON Schema of a scenario file.
pub fn schema() -> String {
    String::new()
}
