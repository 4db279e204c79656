//! A discrete-event kernel that has never heard of packets.
//!
//! Time is a whole number of picoseconds ([`Time`]); events are ordered by their content, never by who inserted them first
//! ([`queue::EventQueue`]); random numbers come from named streams ([`rng::stream`]); a run is summarised by the fingerprint of its
//! trajectory ([`fingerprint::Fingerprint`]). The state of a run can be saved and loaded ([`state::State`]).
//!
//! Nothing here concerns networks, files or users.

mod fetch;
pub mod fingerprint;
pub mod memory;
pub mod quantity;
pub mod queue;
pub mod rng;
pub mod state;
pub mod time;

pub use fetch::fetch;
pub use fingerprint::Fingerprint;
pub use queue::EventQueue;
pub use rng::Rng;
pub use state::State;
pub use time::Time;
