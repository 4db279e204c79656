//! A user's own mechanisms, which `build.rs` finds; the tree has none. They follow all others in the registry.

include!(concat!(env!("OUT_DIR"), "/own.rs"));
