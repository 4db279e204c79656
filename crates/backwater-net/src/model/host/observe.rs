//! Reports of a host to probes: why flows wait at their source and at a slow receiver.

use super::flow::Status;
use super::{Interface, PORT};
use crate::model::hooks::{FlowSide, NicSide};
use crate::model::node::NodeCx;
use crate::model::packet::CLASSES;
use crate::model::probe::account::{Cause, Stand};
use crate::model::probe::waits::AtSource;
use crate::model::slab::Ix;
use backwater_engine::Time;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// A flow begins at its source, after it has waited while others were issued.
    #[cold]
    pub(crate) fn begin_waits(&mut self, slot: u32, waited: Time) {
        let (group, reference) = (self.node.sending(slot as usize).group, self.node.reference(slot));
        let port = self.global(PORT);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if waits.groups.get(group as usize) == Some(&true) {
            let mut stand = Stand::new(reference, true, self.world.now.since(waited));
            if waited > Time::ZERO {
                stand.pass(port, Cause::Issue, self.world.now);
            }
            waits.stands[port as usize].push(stand);
        }
    }

    /// Returns why a flow, not its port, does not send; and the queue of its interface that its next packet will join.
    pub(crate) fn cause_at_source(&self, stand: &Stand) -> Option<AtSource> {
        let flow = self.node.sending(self.node.find_sending(stand.flow)?);
        let queue = flow.ds.dscp().priority().0;
        let cause = match flow.status {
            Status::Pacing => Some(Cause::Rate),
            Status::WindowLimited => Some(Cause::Window),
            Status::GateClosed if self.ports[usize::from(PORT)].open & (1 << (queue % CLASSES as u8)) != 0 => {
                Some(Cause::HeldAtSource(crate::model::port::first_owner(flow.shut)))
            }
            Status::Idle if stand.sent == flow.packets => Some(Cause::Acknowledgements),
            Status::Ready | Status::GateClosed | Status::Idle | Status::NotIssued => None,
        };
        let fetching = self.world.rules.nic.feed_rate.is_some() && self.node.host.fetches_until >= self.world.now;
        Some(AtSource { cause, queue, fetching })
    }

    /// A frame has arrived at a host. A slow receiver takes it later.
    #[cold]
    pub(crate) fn arrive_waits(&mut self, pkt: Ix) {
        let Some(waits) = &mut self.world.probes.waits else { return };
        let Some((account, since)) = waits.carried.remove(&pkt) else { return };
        if self.node.host.rx.is_some() && since != self.world.now {
            waits.carried.insert(pkt, (account, self.world.now));
            return;
        }
        let flow = self.world.slab[pkt].pkt.flow;
        if let Some(at) = self.node.find_delivered(flow)
            && self.node.receiving(at).last_byte == Time::NEVER
        {
            waits.latest.insert(flow, (account, self.world.now));
        }
    }

    /// A slow receiver takes a frame.
    pub(crate) fn receive_waits(&mut self, pkt: Ix) {
        let from = self.ports[usize::from(PORT)].peer;
        let Some(waits) = &mut self.world.probes.waits else { return };
        if let Some((account, since)) = waits.carried.get_mut(&pkt) {
            account.add(from, Cause::Receiver, self.world.now - *since);
            *since = self.world.now;
            self.arrive_waits(pkt);
        }
    }
}
