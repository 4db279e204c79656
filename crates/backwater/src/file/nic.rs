//! `[nic]`: the hosts' interfaces, and what differs at some of them.

use super::hosts::Hosts;
use backwater_engine::Time;
use backwater_net::config::NicParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network interfaces of the hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// What is the same at all of them.
    #[serde(flatten)]
    pub params: NicParams,
    /// Whether `one` mechanism may decide about the rate of flows, two being refused, or several may, and a flow sends at the `least` of their rates.
    #[serde(default)]
    #[schemars(extend("x-source" = "choice: one; interfaces that have DCQCN and QCN limit a flow by both"))]
    pub rate_limiters: RateLimiters,
    /// Other values for some hosts, a `[[nic.at]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<NicAt>,
}

/// Other values for some hosts; of several that name a host the last counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicAt {
    /// Hosts that have these values.
    #[schemars(extend("x-source" = "Backwater's own"))]
    pub hosts: Hosts,
    /// Time between the arrival of a routed control message (BCN, CNM, CNP, SFC) at these hosts and its effect.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s to 100 ms"))]
    pub control_delay: Time,
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
