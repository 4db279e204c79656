//! Mechanisms of a user's own, which `build.rs` finds: none, in the tree. They come after all others in the registry.

include!(concat!(env!("OUT_DIR"), "/own.rs"));
