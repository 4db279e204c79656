//! `[nic]`: the hosts' interfaces, and what differs at some of them.

use super::hosts::Hosts;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::NicParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network interfaces of the hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// What is the same at all of them.
    #[serde(flatten)]
    pub params: NicParams,
    /// Queues for the class `queue_class`, each a DSCP and a priority that can be paused by itself on the way to the switch; a flow takes the first that is not paused, or else the last, and stays in it.
    #[serde(default = "one_queue")]
    #[schemars(range(min = 1, max = 8))]
    #[schemars(extend("x-source" = "SFC proxy contribution 2025 (IEEE P802.1Qdw), CI on the NIC: 4; default: choice"))]
    pub queues: u8,
    /// Class that has several queues. Its own priority is that of the first; the others take those that nothing else uses, counted upwards from it and after 7 from 0.
    #[serde(default = "default_queue_class")]
    #[schemars(range(min = 0, max = 7))]
    #[schemars(extend("x-source" = "choice: RoCEv2 deployments commonly use 3"))]
    pub queue_class: u8,
    /// Whether `one` mechanism may decide about the rate of flows, two being refused, or several may, and a flow sends at the `least` of their rates.
    #[serde(default)]
    #[schemars(extend("x-source" = "choice: one; interfaces that have DCQCN and QCN limit a flow by both"))]
    pub rate_limiters: RateLimiters,
    /// Other values for some hosts, a `[[nic.at]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<NicAt>,
}

fn one_queue() -> u8 {
    1
}

fn default_queue_class() -> u8 {
    3
}

impl Default for Nic {
    fn default() -> Nic {
        Nic {
            params: NicParams::default(),
            queues: one_queue(),
            queue_class: default_queue_class(),
            rate_limiters: RateLimiters::default(),
            at: Vec::new(),
        }
    }
}

/// Other values for some hosts; of several that name a host the last counts.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct NicAt {
    /// Hosts that have these values.
    #[param(source = "Backwater's own")]
    pub hosts: Hosts,
    /// Time between the arrival of a forwarded control message at these hosts and its effect. Absent: that of all hosts.
    #[param(range_text = "0 s to 100 ms", source = "Backwater's own")]
    pub control_delay: Option<Time>,
    /// Time that the interfaces of these hosts take to issue a message. Absent: that of all hosts.
    #[param(range_text = "0 s to 100 ms", source = "Backwater's own")]
    pub issue: Option<Time>,
}

/// How many mechanisms may decide about the rate of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimiters {
    /// One at most.
    #[default]
    One,
    /// Any number: the least of their rates counts. Each knows its own rate only.
    Least,
}
