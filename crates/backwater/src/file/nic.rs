//! `[nic]`: the hosts' interfaces, and differences at some of them.

use super::hosts::Hosts;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::NicParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network interfaces of the hosts.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Nic {
    /// What is the same at all of them.
    #[serde(flatten)]
    pub params: NicParams,
    /// Queues for the class `queue_class`, each a DSCP and a priority that can be paused by itself on the way to the switch; a flow takes the first that is not paused, or else the last, and stays in it.
    #[param(default = 1, bounds = 1..=8, source = "SFC proxy contribution 2025 (IEEE P802.1Qdw), CI on the NIC: 4; default: choice")]
    pub queues: u8,
    /// Class that has several queues. Its own priority is that of the first; the others take those that nothing else uses, counted upwards from it and after 7 from 0.
    #[param(default = 3, bounds = 0..=7, source = "choice: RoCEv2 deployments commonly use 3")]
    pub queue_class: u8,
    /// Whether `one` mechanism may decide about the rate of flows, two being refused, or several may, and a flow sends at the `least` of their rates.
    #[param(default = RateLimiters::One, source = "choice: one; interfaces that have DCQCN and QCN limit a flow by both")]
    pub rate_limiters: RateLimiters,
    /// Other values for some hosts, a `[[nic.at]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<NicAt>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimiters {
    /// One at most.
    One,
    /// Any number: the least of their rates counts. Each knows its own rate only.
    Least,
}
