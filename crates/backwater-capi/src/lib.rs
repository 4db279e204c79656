//! Backwater's network for programs in C and C++. `include/backwater.h` is the interface, and documents it; each function here is one
//! of its functions, around [`backwater::Live`].
//!
//! Three things make misuse an error, and never undefined: a run is a number that is never used twice (`runs`), every pointer is tested
//! for null and used within the call only (`memory`), and a panic ends the run with an error (`calls`).

mod calls;
mod fault;
mod memory;
mod open;
mod runs;

use crate::calls::{call, with};
use crate::fault::Fault;
use crate::memory::{out, slots, text};
pub use crate::open::Options;
use crate::runs::Run;
use backwater::What;
use backwater_engine::Time;
use std::ffi::c_char;

/// `BW_API_VERSION`.
pub const API_VERSION: u32 = 1;

/// `BW_CLASS_DEFAULT`.
pub const CLASS_DEFAULT: u32 = u32::MAX;

/// `bw_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// \[ps\] — when
    pub at_ps: u64,
    /// The caller's name for it.
    pub token: u64,
    /// `BW_SENT` and others.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
}

/// `bw_link_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// \[b/s\] — of the port
    pub rate_bps: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// \[octets\] — sent
    pub tx_bytes: u64,
    /// Data frames sent with a mark.
    pub marked_frames: u64,
    /// Frames that arrived and found no memory.
    pub dropped_frames: u64,
    /// \[ps\] — paused
    pub paused_ps: u64,
    /// \[octets\] — that waited at once
    pub max_waiting_bytes: u64,
    /// The node that sends.
    pub from_node: u32,
    /// The node that receives.
    pub to_node: u32,
    /// The port at the first.
    pub port: u32,
    /// 0.
    pub reserved: u32,
}

/// `bw_totals`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages sent.
    pub messages: u64,
    /// Those that have ended.
    pub ended: u64,
    /// Frames put on a link.
    pub hops: u64,
    /// Frames dropped.
    pub drops: u64,
    /// A hash of all arrivals.
    pub fingerprint: u64,
}

/// See `bw_api_version` of the header.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn bw_api_version() -> u32 {
    API_VERSION
}

/// See `bw_error` of the header.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn bw_error() -> *const c_char {
    calls::last_error()
}

/// See `bw_hosts` of the header.
///
/// # Safety
/// `hosts` is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_hosts(run: u64, hosts: *mut u32) -> i32 {
    with(run, |run| {
        let number = run.live.hosts();
        unsafe { out("hosts", hosts, number) }
    })
}

/// See `bw_host` of the header.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `host` is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_host(run: u64, name: *const c_char, host: *mut u32) -> i32 {
    with(run, |run| {
        let name = unsafe { text("name", name) }?;
        let found = run.live.host(name);
        let number = found
            .ok_or_else(|| Fault::argument("name", format!("there is no host `{name}`"), "hosts are h0, h1, …"))?;
        unsafe { out("host", host, number) }
    })
}

/// See `bw_send` of the header.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn bw_send(
    run: u64,
    source: u32,
    destination: u32,
    bytes: u64,
    traffic_class: u32,
    delay_ps: u64,
    token: u64,
) -> i32 {
    with(run, |run| {
        // A class beyond 8 bits is as unknown as the largest of 8 bits.
        let class = (traffic_class != CLASS_DEFAULT).then(|| u8::try_from(traffic_class).unwrap_or(u8::MAX));
        let sent = run.live.send(source, destination, bytes, class, Time(delay_ps), token);
        sent.map(|_| ()).map_err(|error| run.fault(error))
    })
}

/// See `bw_timer` of the header.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn bw_timer(run: u64, at_ps: u64, token: u64) -> i32 {
    with(run, |run| run.live.timer(Time(at_ps), token).map_err(|error| run.fault(error)))
}

/// See `bw_now` of the header.
///
/// # Safety
/// `now_ps` is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_now(run: u64, now_ps: *mut u64) -> i32 {
    with(run, |run| {
        let now = run.live.now().as_ps();
        unsafe { out("now_ps", now_ps, now) }
    })
}

/// See `bw_step` of the header.
///
/// # Safety
/// `events` is null, or points to memory for `capacity` events; `count` is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_step(
    run: u64,
    until_ps: u64,
    events: *mut Event,
    capacity: usize,
    count: *mut usize,
) -> i32 {
    with(run, |run| {
        // Before time passes: otherwise events of this step would be lost.
        unsafe { out("count", count, 0) }?;
        let events = unsafe { slots("events", events, capacity) }?;
        let taken = run.step(Time(until_ps), events)?;
        unsafe { out("count", count, taken) }
    })
}

/// See `bw_links` of the header.
///
/// # Safety
/// `links` is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_links(run: u64, links: *mut u32) -> i32 {
    with(run, |run| {
        let number = run.ports.len() as u32;
        unsafe { out("links", links, number) }
    })
}

/// See `bw_link` of the header.
///
/// # Safety
/// `counters` is null, or points to memory for them.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_link(run: u64, link: u32, counters: *mut LinkCounters) -> i32 {
    with(run, |run| {
        let counted = run.link(link)?;
        unsafe { out("counters", counters, counted) }
    })
}

/// See `bw_node_name` of the header.
///
/// # Safety
/// `name` is null, or points to memory for `capacity` octets.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_node_name(run: u64, node: u32, name: *mut c_char, capacity: usize) -> i32 {
    with(run, |run| {
        let room = unsafe { slots("name", name.cast::<u8>(), capacity) }?;
        let nodes = &run.live.graph().nodes;
        let node = nodes.get(node as usize).ok_or_else(|| {
            let hint = format!("nodes are 0 to {}", nodes.len().saturating_sub(1));
            Fault::argument("node", format!("there is no node {node}"), &hint)
        })?;
        memory::copy("capacity", &node.name, room)
    })
}

/// See `bw_count` of the header.
///
/// # Safety
/// `totals` is null, or points to memory for them.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_count(run: u64, totals: *mut Totals) -> i32 {
    with(run, |run| {
        let (progress, (messages, ended)) = (run.live.progress(), run.live.counts());
        let (hops, drops, fingerprint) = (progress.hops, progress.drops, run.live.fingerprint());
        unsafe { out("totals", totals, Totals { messages, ended, hops, drops, fingerprint }) }
    })
}

/// See `bw_save` of the header.
///
/// # Safety
/// `path` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_save(run: u64, path: *const c_char) -> i32 {
    with(run, |run| {
        let path = unsafe { text("path", path) }?;
        run.save(path)
    })
}

/// See `bw_close` of the header.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn bw_close(run: u64) -> i32 {
    call(|| {
        let closed = runs::take(run)?;
        calls::of_run(&closed, |run| run.live.close().map_err(|error| Fault::of(&error)))
    })
}

impl Run {
    /// Steps, unless events of the last step have not been taken. Returns the number of events.
    fn step(&mut self, until: Time, events: &mut [Event]) -> Result<usize, Fault> {
        if self.taken >= self.live.occurred().len() {
            self.taken = 0;
            self.live.step(until).map(drop).map_err(|error| self.fault(error))?;
        }
        let left = &self.live.occurred()[self.taken..];
        if events.is_empty() && !left.is_empty() {
            return Err(Fault::argument(
                "capacity",
                "there is no room for an event".into(),
                "give room for one at least",
            ));
        }
        let number = left.len().min(events.len());
        for (event, occurred) in events.iter_mut().zip(left) {
            let kind = match occurred.what {
                What::Sent => 0,
                What::Delivered => 1,
                What::Acknowledged => 2,
                What::Failed => 3,
                What::Timer => 4,
            };
            *event = Event { at_ps: occurred.at.as_ps(), token: occurred.token, kind, reserved: 0 };
        }
        self.taken += number;
        Ok(number)
    }

    fn link(&self, link: u32) -> Result<LinkCounters, Fault> {
        let found = self.ports.get(link as usize).and_then(|(node, port)| self.live.port(*node, *port));
        let row = found.ok_or_else(|| {
            let hint = format!("links are 0 to {}", self.ports.len().saturating_sub(1));
            Fault::argument("link", format!("there is no link {link}"), &hint)
        })?;
        Ok(LinkCounters {
            rate_bps: row.rate_bps,
            tx_frames: row.stats.tx_frames,
            tx_bytes: row.stats.tx_bytes,
            marked_frames: row.stats.marked_frames,
            dropped_frames: row.stats.drop_frames,
            paused_ps: row.stats.paused_ps,
            max_waiting_bytes: row.stats.max_egress_bytes,
            from_node: row.node.0,
            to_node: row.peer.0,
            port: row.port.0.into(),
            reserved: 0,
        })
    }

    fn save(&self, path: &str) -> Result<(), Fault> {
        if self.taken < self.live.occurred().len() {
            let reason = "events of the last step have not been taken".into();
            return Err(Fault::argument("run", reason, "call bw_step until it has returned them all"));
        }
        let saved = self.live.save().map_err(|error| self.fault(error))?;
        open::write(path, &saved)
    }
}
