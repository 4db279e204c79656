//! Frames of congestion management in Ethernet, octet by octet.
//!
//! Each format has one file. The file declares the *layout*, a `#[repr(C)]` struct of big-endian fields in the order,
//! at the offset and in the width of the frame. `Layout::ref_from_prefix` (of the [`zerocopy`] crate) is a checked view
//! of octets, without a copy. The file also declares a small *value*, with `parse` and `emit`, in the units that people
//! use.
//!
//! ```
//! use backwater_wire::{pfc::Pfc, Emit, Parse};
//!
//! let mut pfc = Pfc::default();
//! pfc.quanta[3] = Some(65535);
//! let mut octets = [0; 64];
//! let length = pfc.emit(&mut octets)?;
//! assert_eq!(octets[..6], [0x01, 0x01, 0x00, 0x08, 0x00, 0x00]);
//! assert_eq!(Pfc::parse(&octets[..length])?, pfc);
//! # Ok::<(), backwater_wire::Error>(())
//! ```
//!
//! | format | module | defined by | certain |
//! |---|---|---|---|
//! | Ethernet II, VLAN tag | [`ethernet`] | IEEE 802.3 clause 3, IEEE 802.1Q clause 9 | all |
//! | IPv4, IPv6, UDP | [`ip`] | RFC 791, RFC 8200, RFC 768 | all |
//! | BTH, RETH, AETH, CNP, ICRC | [`roce`] | InfiniBand specification, volume 1, clause 9 and annex A17 | all |
//! | destination option of a Fast CNP | [`fast_cnp`] | draft-xiao-rtgwg-rocev2-fast-cnp-05, draft | that it has this address; type, place and padding are this project's choice |
//! | UET: RUD request, ACK, NACK, control packet | [`uet`] | UE specification 1.0, section 3.5, as Wireshark and XDP2 have it | order and width of fields; units and the place of credit in a control packet are this project's choice |
//! | PAUSE | [`pause`] | IEEE 802.3 annex 31B | all |
//! | PFC | [`pfc`] | IEEE 802.3 annex 31D (802.1Qbb) | all |
//! | CN-TAG, CNM | [`qcn`] | IEEE 802.1Q clause 33 (802.1Qau) | all; position of the priority and the unit of 64 octets from memory |
//! | CIM | [`cim`] | IEEE 802.1Qcz clause 49 | the set of fields; not the first two octets |
//! | SFC pause of Tofino 2 | [`sfc_pause`] | p4lang/open-p4studio, 2025 | all; that the version is 0 follows from its never being set |
//! | SFCM | [`sfcm`] | P802.1Qdw, draft | nothing is published: this project's choice |
//! | BCN message, RLT tag | [`bcn`] | Bergamasco, 2005 to 2007 | the set of fields; the octets are this project's choice |
//! | LLDP TLVs for CN and CI | [`lldp`] | IEEE 802.1Q annex D | CN all; CI the set of fields |
//!
//! [`pcapng`] writes captures, and [`capture`] reads them, whole or broken. [`sample`] has a frame of each format.
//! These three, `ip::Datagram` and `Emit::append` need the feature `std`, which is on by default. The rest neither
//! needs `std` nor allocates. Nothing panics on any input. Reserved bits are sent as zero and ignored on receipt; the
//! view keeps them.

#![no_std]
#![deny(missing_docs)]

#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod address;
pub mod bcn;
#[cfg(feature = "std")]
pub mod capture;
pub mod cim;
mod error;
pub mod ethernet;
pub mod fast_cnp;
pub mod frame;
pub mod ip;
pub mod lldp;
mod octets;
pub mod pause;
#[cfg(feature = "std")]
pub mod pcapng;
pub mod pfc;
pub mod qcn;
pub mod roce;
#[cfg(feature = "std")]
pub mod sample;
pub mod sfc_pause;
pub mod sfcm;
pub mod uet;

pub use error::Error;
pub use octets::{Emit, Parse};
