//! What packets carry for a mechanism beside their headers, such as in-band telemetry.
//!
//! Attachments lie beside the packets, by the packets' places. A packet without one pays nothing, and one that ends takes nothing back:
//! what is left in its place has the identity of a packet that is gone, and no packet that comes there has the same.

use crate::slab::Ix;

/// Words of an attachment: 128 octets, which hold the three words of a hop for five hops, and one more.
pub const WORDS: usize = 16;

/// What one packet carries for the mechanism that attaches it. Its octets on the wire are another matter
/// ([`crate::hooks::Profile::overhead`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment(pub [u64; WORDS]);

/// The attachments of all packets in flight.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Attachments {
    /// By the packet's place, with the packet's identity.
    of: Vec<Option<(u64, Attachment)>>,
}

impl Attachments {
    /// The packet at `ix`, whose identity is `uid`, sets out with an attachment.
    pub fn put(&mut self, ix: Ix, uid: u64, attachment: Attachment) {
        let at = ix as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, None);
        }
        self.of[at] = Some((uid, attachment));
    }

    /// What the packet at `ix` carries, if it carries something.
    pub fn get_mut(&mut self, ix: Ix, uid: u64) -> Option<&mut Attachment> {
        let (of, attachment) = self.of.get_mut(ix as usize)?.as_mut()?;
        (*of == uid).then_some(attachment)
    }

    /// A copy of that.
    pub fn get(&self, ix: Ix, uid: u64) -> Option<Attachment> {
        let (of, attachment) = self.of.get(ix as usize)?.as_ref()?;
        (*of == uid).then_some(*attachment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place is given to another packet when the one before has gone, by whatever way: what that one carried is not found any more.
    #[test]
    fn what_a_packet_carried_goes_with_it() {
        let mut all = Attachments::default();
        assert_eq!(all.get(3, 0), None, "nothing is there that was never put");
        all.put(3, 70, Attachment([1; WORDS]));
        assert_eq!(all.get(3, 70), Some(Attachment([1; WORDS])));
        assert_eq!((all.get(3, 71), all.get(2, 70), all.get(9, 70)), (None, None, None));
        if let Some(carried) = all.get_mut(3, 70) {
            carried.0[0] = 5;
        }
        assert_eq!(all.get(3, 70).map(|carried| carried.0[..2].to_vec()), Some(vec![5, 1]));
        all.put(3, 71, Attachment::default());
        assert_eq!((all.get(3, 70), all.get(3, 71)), (None, Some(Attachment::default())));
    }
}
