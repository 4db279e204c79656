//! Control frames, and their content.

use super::{Class, FlowRef, HostId};
use backwater_engine::state::{Loader, Saver, Text, Unfit, text};
use std::any::TypeId;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// The content of a control frame: any struct of plain numbers, flags and enums without fields, of at most [`Control::ROOM`] octets. It
/// derives [`TryFromBytes`], [`IntoBytes`], [`KnownLayout`] and [`Immutable`], and is `repr(C, packed)`, since padding has no value.
pub trait Message: TryFromBytes + IntoBytes + KnownLayout + Immutable + Copy + 'static {}

impl<M: TryFromBytes + IntoBytes + KnownLayout + Immutable + Copy + 'static> Message for M {}

/// A message of any type, stored in the frame itself: [`Control::carrying`] stores it, [`Control::message`] returns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    of: TypeId,
    octets: [u8; Control::ROOM],
}

/// A control frame: its kind, its length on the wire and a message that only its mechanism reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Name in result tables, such as `cnp`. Faults and captures identify frames by it, mechanisms by the type of the message.
    pub kind: &'static str,
    /// \[bytes\] Frame length including FCS.
    pub size: u32,
    /// The message's value in the table of control messages; its meaning depends on the kind.
    pub value: u64,
    /// The flow that it names.
    pub flow: Option<FlowRef>,
    /// Destination and class of the packet that caused it, if it repeats that packet's header. A host whose flow has ended finds the
    /// controller by them.
    pub about: Option<(HostId, Class)>,
    /// Entropy value: it takes the path of the flow's data with that value, or of their acknowledgements; 0: none.
    pub ev: u16,
    /// Its message.
    pub content: Content,
}

impl Control {
    /// Length of the shortest Ethernet frame with FCS (IEEE 802.3 clause 4A.4.2, minFrameSize 512 bit), bytes.
    pub const MIN_FRAME: u32 = 64;

    /// \[octets\] Longest message. A longer one does not compile.
    pub const ROOM: usize = 48;

    /// A frame with `message`, which names no flow and repeats no header. A frame without content has the message `()`.
    pub fn carrying<M: Message>(kind: &'static str, size: u32, value: u64, message: &M) -> Control {
        const { assert!(size_of::<M>() <= Control::ROOM, "the message is longer than Control::ROOM") };
        let mut octets = [0; Control::ROOM];
        octets[..size_of::<M>()].copy_from_slice(message.as_bytes());
        Control {
            kind,
            size,
            value,
            flow: None,
            about: None,
            ev: 0,
            content: Content { of: TypeId::of::<M>(), octets },
        }
    }

    /// Returns its message; `None`: its message is of another type.
    pub fn message<M: Message>(&self) -> Option<M> {
        let (message, _) = M::try_read_from_prefix(&self.content.octets).ok()?;
        (self.content.of == TypeId::of::<M>()).then_some(message)
    }
}

/// A control frame as it is saved, without its message.
#[derive(serde::Serialize, serde::Deserialize)]
struct Saved {
    #[serde(with = "text")]
    kind: Text,
    size: u32,
    value: u64,
    flow: Option<FlowRef>,
    about: Option<(HostId, Class)>,
    ev: u16,
}

impl Control {
    fn save(&self, to: &mut Saver) {
        let Control { kind, size, value, flow, about, ev, content } = *self;
        to.put(&Saved { kind, size, value, flow, about, ev });
        to.put_type(content.of, kind);
        to.put(&content.octets[..]);
    }

    fn load(from: &mut Loader<'_>) -> Result<Control, Unfit> {
        let Saved { kind, size, value, flow, about, ev } = from.take()?;
        let of = from.take_type()?;
        let octets = <[u8; Control::ROOM]>::try_from(from.take::<Vec<u8>>()?)
            .map_err(|octets| Unfit::new(format!("a control frame says {} B", octets.len())))?;
        Ok(Control { kind, size, value, flow, about, ev, content: Content { of, octets } })
    }
}

/// Saves and loads control frames.
pub(crate) mod controls {
    use super::{Control, Loader, Saver, Unfit};

    pub fn save<'a, C>(frames: &'a C, to: &mut Saver)
    where
        &'a C: IntoIterator<Item = &'a Control, IntoIter: ExactSizeIterator>,
    {
        let frames = frames.into_iter();
        to.put(&frames.len());
        frames.for_each(|frame| frame.save(to));
    }

    pub fn load<C: FromIterator<Control>>(frames: &mut C, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let number: usize = from.take()?;
        *frames = (0..number).map(|_| Control::load(from)).collect::<Result<C, Unfit>>()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Time;

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(u8)]
    enum Way {
        There,
        Back,
    }

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C, packed)]
    struct Reported {
        ecmp_path: Way,
        at: Time,
        class: Class,
        urgent: bool,
        rest: [u8; 37],
    }

    /// Another type with the same octets.
    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
    #[repr(C, packed)]
    struct Other([u8; 48]);

    #[test]
    fn a_frame_hands_back_what_was_put_in_to_who_knows_the_type() {
        let reported =
            Reported { ecmp_path: Way::Back, at: Time(u64::MAX - 7), class: Class(5), urgent: true, rest: [0xA5; 37] };
        assert_eq!(size_of::<Reported>(), Control::ROOM);
        for reported in [reported, Reported { ecmp_path: Way::There, urgent: false, ..reported }] {
            let frame = Control::carrying("said", 64, 9, &reported);
            assert_eq!(frame.message(), Some(reported));
            assert_eq!((frame.message::<Other>(), frame.message::<()>()), (None, None));
            assert_eq!((frame.kind, frame.size, frame.value, frame.flow, frame.about), ("said", 64, 9, None, None));
        }
        assert_eq!(Control::carrying("nothing", 64, 0, &()).message(), Some(()));
    }
}
