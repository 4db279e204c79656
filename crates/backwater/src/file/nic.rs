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
    /// Values for all interfaces.
    #[serde(flatten)]
    pub params: NicParams,
    /// Number of queues for the class `queue_class`. Each has a DSCP and a priority that can be paused separately. A flow joins the first
    /// queue that is not paused, or else the last one, and stays in it.
    #[param(default = 1, bounds = 1..=8, source = "SFC proxy contribution 2025 (IEEE P802.1Qdw), CI on the NIC: 4; default: choice")]
    pub queues: u8,
    /// Class that has several queues. Its first queue has its own priority; the others use priorities that are free, counted upwards from
    /// it and after 7 from 0.
    #[param(default = 3, bounds = 0..=7, source = "choice: RoCEv2 deployments commonly use 3")]
    pub queue_class: u8,
    /// Whether only `one` mechanism may control the rates of flows (two are an error), or several may, and a flow sends at the `least` of
    /// their rates.
    #[param(default = RateLimiters::One, source = "choice: one; interfaces that have DCQCN and QCN limit a flow by both")]
    pub rate_limiters: RateLimiters,
    /// Other values for some hosts, a `[[nic.at]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<NicAt>,
}

/// Other values for some hosts; if several entries name a host, the last one applies.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct NicAt {
    /// Hosts that the values apply to.
    #[param(source = "Backwater's own")]
    pub hosts: Hosts,
    /// Time from the arrival of a forwarded control message at these hosts until it takes effect. Absent: that of all hosts.
    #[param(range_text = "0 s to 100 ms", source = "Backwater's own")]
    pub control_delay: Option<Time>,
    /// Time that the interfaces of these hosts take to issue a message. Absent: that of all hosts.
    #[param(range_text = "0 s to 100 ms", source = "Backwater's own")]
    pub issue: Option<Time>,
}

/// Number of mechanisms that may control the rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimiters {
    /// One at most.
    One,
    /// Any number: a flow sends at the least of their rates. Each mechanism knows only its own rate.
    Least,
}
