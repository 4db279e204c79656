//! Limits on a flow's bytes in flight: its window, and its controller's permission.

use super::Interface;
use crate::model::hooks::{FlowHooks, FlowSide, NicSide};
use crate::model::host::flow::NO_CONTROLLER;
use crate::model::node::NodeCx;
use crate::units::Bytes;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// \[bytes\] Most that a flow may have unacknowledged now.
    #[inline(always)]
    pub(crate) fn flow_window(&self, slot: u32) -> u64 {
        let flow = self.node.sending(slot as usize);
        if !self.world.rules.transport.window_scaling || flow.window == u64::MAX || flow.controller == NO_CONTROLLER {
            return flow.window;
        }
        let Some(c) = self.node.controller(flow.controller) else { return flow.window };
        let rate = c.side.rate().map_or(c.shape.line.0, |rate| rate.0.min(c.shape.line.0));
        let scaled = (u128::from(flow.window) * u128::from(rate) / u128::from(c.shape.line.0.max(1))) as u64;
        scaled.max(self.world.rules.least_window())
    }

    /// Returns whether a flow may retransmit though its window is full.
    #[cold]
    pub(super) fn may_retransmit(&self, slot: u32) -> bool {
        let flow = self.node.sending(slot as usize);
        if !flow.has_retransmissions() {
            return false;
        }
        let Some(c) = self.node.controller(flow.controller) else { return false };
        let window = c.side.retransmission_window().map_or(u64::MAX, |window| window.0);
        flow.in_flight(u64::from(self.world.rules.payload)) < window.min(self.flow_window(slot))
    }

    /// Returns whether the flow's controller permits its next frame.
    #[inline(always)]
    pub(super) fn may_send_next(&self, slot: u32) -> bool {
        if !self.world.rules.hooks.flow.has(FlowHooks::MAY_SEND) {
            return true;
        }
        let retransmission = self.node.sending(slot as usize).has_retransmissions();
        self.may_send(slot, self.next_size(slot), retransmission)
    }

    /// Returns whether the flow's controller permits a frame of `next` bytes now, new or retransmitted.
    #[cold]
    pub(super) fn may_send(&self, slot: u32, next: u64, retransmission: bool) -> bool {
        let flow = self.node.sending(slot as usize);
        let Some(c) = self.node.controller(flow.controller) else { return true };
        c.side.may_send(Bytes(flow.in_flight(u64::from(self.world.rules.payload))), Bytes(next), retransmission)
    }

    /// Returns whether a flow's window is full.
    pub(super) fn is_full(&self, slot: u32) -> bool {
        let flow = self.node.sending(slot as usize);
        let own = self.node.controller(flow.controller).and_then(|c| c.side.window());
        let own = own.map_or(u64::MAX, |window| window.0.max(self.world.rules.least_window()));
        flow.in_flight(u64::from(self.world.rules.payload)) >= own.min(self.flow_window(slot))
    }

    /// \[bytes\] of a flow's next frame
    #[cold]
    fn next_size(&self, slot: u32) -> u64 {
        let flow = self.node.sending(slot as usize);
        let lost = flow.transport.as_ref().and_then(|sender| sender.common.lost.first().copied());
        let (offset, step) = (lost.unwrap_or(flow.sent), u64::from(self.world.rules.payload));
        let own = flow.messages().map(|all| all.payload_at(offset, step));
        let left = own.unwrap_or_else(|| flow.available.saturating_sub(offset).min(step));
        left + u64::from(self.world.rules.header(flow.left))
    }
}
