//! The content of a database for one switch: ports, memory, thresholds.

use super::buffers::{Pool, Profile};
use super::ports::Port;
use super::qos::{Watchdog, Wred};

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Hardware SKU; may be empty.
    pub hwsku: String,
    /// Name of the switch.
    pub hostname: String,
    /// Ports that are up, in order.
    pub ports: Vec<Port>,
    /// Classes that are lossless at some port: PFC keeps them, and their priority group has headroom.
    pub lossless: Vec<u8>,
    /// DSCPs of each class.
    pub dscps: [Vec<u8>; 8],
    /// Priority group of each class.
    pub group_of: [u8; 8],
    /// Queue of each class.
    pub queue_of: [u8; 8],
    /// Pools.
    pub pools: Vec<Pool>,
    /// Profiles.
    pub profiles: Vec<Profile>,
    /// WRED profiles that mark.
    pub wreds: Vec<Wred>,
    /// The watchdog.
    pub watchdog: Option<Watchdog>,
    /// The ports with exactly this watchdog.
    pub watched: Vec<bool>,
    /// Weights of the queues by class: 0 is served first.
    pub weights: Option<[u64; 8]>,
    /// The used settings of the database, line by line.
    pub reported: Vec<String>,
}

impl Config {
    /// The profile of a name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The priority group of a class.
    pub fn group(&self, class: u8) -> u8 {
        self.group_of.get(usize::from(class)).copied().unwrap_or(class)
    }

    /// The profile of a priority group, if it has headroom.
    pub fn headroom_of(&self, port: &Port, group: u8) -> Option<&Profile> {
        let name = port.groups.get(usize::from(group))?.as_deref()?;
        self.profile(name).filter(|profile| profile.is_lossless())
    }

    /// Returns whether a class is lossless at a port: PFC keeps it, and its priority group has headroom.
    pub fn is_lossless(&self, port: &Port, class: u8) -> bool {
        port.pfc.contains(&class) && self.headroom_of(port, self.group(class)).is_some()
    }

    /// Returns the WRED profile by which a port marks a class, if any.
    pub fn wred(&self, port: &Port, class: u8) -> Option<&Wred> {
        let name = port.wred.get(usize::from(class))?.as_deref()?;
        self.wreds.iter().find(|wred| wred.name == name)
    }
}
