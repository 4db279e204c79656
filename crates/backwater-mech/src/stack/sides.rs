//! The sides of all mechanisms at one node or flow, each called in the registry's order.

/// Generates `SwitchStack`, `NicStack` and `FlowStack`.
macro_rules! sides {
    ($list:tt) => {
        $crate::stack::sides!(types $list);
        $crate::stack::sides!(switch $list);
        $crate::stack::sides!(nic $list);
        $crate::stack::sides!(flow $list);
    };
    (types [$($name:ident => $mechanism:path),+]) => {
        /// The sides of all mechanisms at one switch. Boxed: which of them there are is asked of every frame, and must not be
        /// spread over as many cache lines as there are mechanisms.
        #[derive(backwater_derive::State)]
        pub struct SwitchStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Switch>>,)+ #[state(fixed)] more: bool }

        /// The sides of all mechanisms at one NIC, boxed for the same reason.
        #[derive(backwater_derive::State)]
        pub struct NicStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Nic>>,)+ #[state(fixed)] more: bool }

        /// The sides of all mechanisms at one flow, boxed for the same reason.
        #[derive(backwater_derive::State)]
        pub struct FlowStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Flow>>,)+ #[state(fixed)] more: bool }

        /// State that mechanisms share between all nodes of a run.
        #[derive(Clone, Default, backwater_derive::State)]
        pub struct Shared { $(#[state(within)] $name: <$mechanism as Mechanism>::Shared,)+ }

        impl Config {
            /// The sides at one switch.
            pub fn switch(&self, shape: &SwitchShape) -> SwitchStack {
                let mut stack = SwitchStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::switch(scoped.of(&shape.name, &shape.tier), shape).map(Box::new)
                }),)+ more: false };
                stack.more = any_more!([$($name),+] stack);
                stack
            }

            /// The sides at one NIC.
            pub fn nic(&self, shape: &NicShape) -> NicStack {
                let mut stack = NicStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::nic(&scoped.base, shape).map(Box::new)
                }),)+ more: false };
                stack.more = any_more!([$($name),+] stack);
                stack
            }

            /// The sides at one flow, but for those of mechanisms that leave it alone.
            pub fn flow(&self, shape: &FlowShape, left: Owners, shared: &Shared) -> FlowStack {
                let keeps = |number: Number| left & Owner(number as u8).bit() == 0;
                let mut stack = FlowStack { $($name: self.$name.as_ref().filter(|_| keeps(Number::$name)).and_then(|scoped| {
                    <$mechanism as Mechanism>::flow(&scoped.base, shape, &shared.$name).map(Box::new)
                }),)+ more: false };
                stack.more = any_more!([$($name),+] stack);
                stack
            }
        }

        impl FlowStack {
            /// Whether no mechanism has a side at the flow.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$name.is_none())+
            }
        }
    };
    (switch $list:tt) => {
        impl SwitchSide for SwitchStack {
            #[inline]
            fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let choice = side.choose(cx, candidates, pkt);
                    if choice.is_some() { return choice; }
                });
                None
            }
            #[inline(always)]
            fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.steer(cx, at, pkt));
            }
            fn gives_way(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, last: &Packet) -> bool {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    if side.gives_way(cx, at, pkt, last) { return true; }
                });
                false
            }
            fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let full = side.on_full(cx, at, pkt);
                    if full != Full::Drop { return full; }
                });
                Full::Drop
            }
            #[inline(always)]
            fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_admit(cx, at, pkt));
            }
            #[inline(always)]
            fn hold(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<Lane> {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let lane = side.hold(cx, at, pkt);
                    if lane.is_some() { return lane; }
                });
                None
            }
            #[inline(always)]
            fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| SwitchSide::on_enqueue(side, cx, at, pkt));
            }
            #[inline(always)]
            fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_dequeue(cx, at, pkt));
            }
            fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
                for_sides!($list self.as_deref, |side, owner, M| if !SwitchSide::may_start(side, port, queue, pkt) {
                    return false;
                });
                true
            }
            fn on_start(
                &mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet, mut carried: Option<&mut Attachment>,
            ) {
                for_sides!($list self.as_deref_mut, |side, owner, M| {
                    let own = carried.as_deref_mut().filter(|_| M::EXTRA.attachment);
                    SwitchSide::on_start(side, &mut cx.owned_by(owner), from, pkt, own);
                });
            }
            fn on_arrive(&mut self, cx: &mut SwitchCx<'_>, from: Port, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| SwitchSide::on_arrive(side, cx, from, pkt));
            }
            fn on_sent(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| SwitchSide::on_sent(side, cx, from, pkt));
            }
            #[inline(always)]
            fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_release(cx, at, size));
            }
            #[inline(always)]
            fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_depart(cx, at));
            }
            fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let fate = SwitchSide::on_control(side, cx, from, to, frame);
                    if fate == Fate::Consumed { return fate; }
                });
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
                side_of!($list self.as_deref_mut, cx.owner(), |side| SwitchSide::on_timer(side, cx, token));
            }
            fn on_link(&mut self, cx: &mut SwitchCx<'_>, port: Port, up: bool) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| SwitchSide::on_link(side, cx, port, up));
            }
            fn keeps(&mut self, cx: &mut SwitchCx<'_>, port: Port, number: u64, size: u32) -> bool {
                let mut keeps = false;
                call_sides!($list self.as_deref_mut, cx, |side, cx| keeps |= SwitchSide::keeps(side, cx, port, number, size));
                keeps
            }
            fn takes(&mut self, cx: &mut SwitchCx<'_>, from: Port, number: u64, size: u32) -> bool {
                let mut takes = true;
                call_sides!($list self.as_deref_mut, cx, |side, cx| takes &= SwitchSide::takes(side, cx, from, number, size));
                takes
            }
            fn on_damaged(&mut self, cx: &mut SwitchCx<'_>, from: Port) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| SwitchSide::on_damaged(side, cx, from));
            }
            fn awaits(&self, of: Owner, port: Port, class: Option<Class>) -> Awaits {
                side_of!($list self.as_deref, of, |side| return side.awaits(of, port, class));
                Awaits::Unknown
            }
            fn gives_up(&self, port: Port) -> bool {
                for_sides!($list self.as_deref, |side, owner, M| if side.gives_up(port) { return true; });
                false
            }
        }

        $crate::stack::sides!(counts $list, SwitchStack, SwitchSide);
        $crate::stack::sides!(reach $list, SwitchStack, SwitchSide);
    };
    (nic $list:tt) => {
        impl NicSide for NicStack {
            fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {
                call_sides_of_flow!($list self, cx, |side, cx| side.on_flow_start(cx, incoming));
            }
            fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {
                call_sides_of_flow!($list self, cx, |side, cx| side.on_flow_end(cx, flow));
            }
            fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| NicSide::on_enqueue(side, cx, queue, pkt));
            }
            fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
                for_sides!($list self.as_deref, |side, owner, M| if !NicSide::may_start(side, port, queue, pkt) {
                    return false;
                });
                true
            }
            fn on_start(
                &mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet, mut carried: Option<&mut Attachment>,
            ) {
                for_sides!($list self.as_deref_mut, |side, owner, M| {
                    let own = carried.as_deref_mut().filter(|_| M::EXTRA.attachment);
                    NicSide::on_start(side, &mut cx.owned_by(owner), from, pkt, own);
                });
            }
            fn on_arrive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| NicSide::on_arrive(side, cx, pkt));
            }
            fn keeps(&mut self, cx: &mut NicCx<'_>, number: u64, size: u32) -> bool {
                let mut keeps = false;
                call_sides!($list self.as_deref_mut, cx, |side, cx| keeps |= NicSide::keeps(side, cx, number, size));
                keeps
            }
            fn takes(&mut self, cx: &mut NicCx<'_>, number: u64, size: u32) -> bool {
                let mut takes = true;
                call_sides!($list self.as_deref_mut, cx, |side, cx| takes &= NicSide::takes(side, cx, number, size));
                takes
            }
            fn on_damaged(&mut self, cx: &mut NicCx<'_>) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| NicSide::on_damaged(side, cx));
            }
            fn on_link(&mut self, cx: &mut NicCx<'_>, up: bool) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| NicSide::on_link(side, cx, up));
            }
            fn on_taken(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_taken(cx, pkt));
            }
            fn on_sent(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| NicSide::on_sent(side, cx, from, pkt));
            }
            #[inline]
            fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
                call_sides_of_flow!($list self, cx, |side, cx| side.on_receive(cx, pkt));
            }
            fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let fate = NicSide::on_control(side, cx, frame);
                    if fate == Fate::Consumed { return fate; }
                });
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
                side_of!($list self.as_deref_mut, cx.owner(), |side| NicSide::on_timer(side, cx, token));
            }
        }

        $crate::stack::sides!(counts $list, NicStack, NicSide);
        $crate::stack::sides!(reach $list, NicStack, NicSide);
    };
    (flow $list:tt) => {
        impl FlowSide for FlowStack {
            $crate::stack::sides!(least $list, rate, Rate);
            $crate::stack::sides!(least $list, window, Bytes);
            $crate::stack::sides!(least $list, window_again, Bytes);
            #[inline]
            fn stopped_until(&self) -> Time {
                let mut latest = Time::ZERO;
                for_sides!($list self.as_deref, |side, owner, M| latest = latest.max(side.stopped_until()));
                latest
            }
            fn permits(&self, in_flight: Bytes, next: Bytes, again: bool) -> bool {
                for_sides!($list self.as_deref, |side, owner, M| {
                    if M::EXTRA.permits && !side.permits(in_flight, next, again) { return false; }
                });
                true
            }
            fn gives_up(&mut self, number: u64, again: bool, since: Time) -> bool {
                let mut all = true;
                for_sides!($list self.as_deref_mut, |side, owner, M| {
                    if M::EXTRA.permits { all &= side.gives_up(number, again, since); }
                });
                all
            }
            #[inline]
            fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_send(cx, pkt));
            }
            fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
                for_sides!($list self.as_deref_mut, |side, owner, M| if M::EXTRA.attachment { return side.attach(pkt); });
                None
            }
            #[inline]
            fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
                for_sides!($list self.as_deref_mut, |side, owner, M| {
                    let carried = ack.carried.filter(|_| M::EXTRA.attachment);
                    side.on_ack(&mut cx.owned_by(owner), &Ack { carried, ..*ack });
                });
            }
            fn on_start(&mut self, cx: &mut FlowCx<'_>) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| FlowSide::on_start(side, cx));
            }
            fn on_end(&mut self, cx: &mut FlowCx<'_>) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_end(cx));
            }
            fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_loss(cx, loss));
            }
            fn on_starved(&mut self, cx: &mut FlowCx<'_>) {
                call_sides!($list self.as_deref_mut, cx, |side, cx| side.on_starved(cx));
            }
            fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
                call_sides!($list self.as_deref_mut, cx, |side, cx| {
                    let fate = FlowSide::on_control(side, cx, frame);
                    if fate == Fate::Consumed { return fate; }
                });
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
                side_of!($list self.as_deref_mut, cx.owner(), |side| FlowSide::on_timer(side, cx, token));
            }
        }

        $crate::stack::sides!(reach $list, FlowStack, FlowSide);
    };
    (least $list:tt, $hook:ident, $of:ty) => {
        #[inline]
        fn $hook(&self) -> Option<$of> {
            let mut least = None;
            for_sides!($list self.as_deref, |side, owner, M| if let Some(own) = side.$hook() {
                least = Some(least.map_or(own, |least: $of| least.min(own)));
            });
            least
        }
    };
    (counts $list:tt, $stack:ident, $side:ident) => {
        impl $stack {
            /// What each mechanism has counted.
            pub fn counts(&self, now: Time) -> Vec<(&'static str, Count)> {
                let mut all = Vec::new();
                for_sides!($list self.as_deref, |side, owner, M| {
                    all.extend($side::counts(side, now).into_iter().map(|count| (M::NAME, count)));
                });
                all
            }
        }
    };
    (reach $list:tt, $stack:ident, $side:ident) => {
        impl $stack {
            /// What each mechanism has done.
            pub fn tell_reach(&self, tell: &mut dyn FnMut(Owner, Reach)) {
                for_sides!($list self.as_deref, |side, owner, M| tell(owner, $side::reach(side)));
            }
        }
    };
}
pub(crate) use sides;
