//! Whole networks with the tests' own mechanisms only, in one binary.

mod actors;
mod connections;
mod control_delay;
mod edges;
mod giving_way;
mod hooks;
mod hosts;
mod isolation_queues;
mod issue;
mod latency;
mod levels;
mod losses;
mod own;
mod queue_pairs;
mod queueing;
mod returned;
mod rud;
mod several_links;
mod transport;
