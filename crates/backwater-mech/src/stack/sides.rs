//! The sides of all mechanisms at one node or flow, in the registry's order. How several answer is the traits' ([`hooks`](macro@backwater_derive::hooks)).

/// Generates `SwitchStack`, `NicStack`, `FlowStack` and `Shared`.
macro_rules! sides {
    ([$($name:ident => $mechanism:path),+]) => {
        /// The sides of all mechanisms at one switch. Boxed: which of them there are is asked of every frame, and must not be
        /// spread over as many cache lines as there are mechanisms.
        #[derive(backwater_derive::State)]
        pub struct SwitchStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Switch>>,)+ #[state(fixed)] on: Owners }

        /// The sides of all mechanisms at one NIC, boxed for the same reason.
        #[derive(backwater_derive::State)]
        pub struct NicStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Nic>>,)+ #[state(fixed)] on: Owners }

        /// The sides of all mechanisms at one flow, boxed for the same reason.
        #[derive(backwater_derive::State)]
        pub struct FlowStack { $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::Flow>>,)+ #[state(fixed)] on: Owners }

        backwater_net::switch_stack!(SwitchStack; $($name: Number::$name as u8, attaches::<$mechanism>(), <$mechanism as Mechanism>::Switch;)+);
        backwater_net::nic_stack!(NicStack; $($name: Number::$name as u8, attaches::<$mechanism>(), <$mechanism as Mechanism>::Nic;)+);
        backwater_net::flow_stack!(FlowStack; $($name: Number::$name as u8, attaches::<$mechanism>(), <$mechanism as Mechanism>::Flow;)+);

        /// State that mechanisms share between all nodes of a run.
        #[derive(Clone, Default, backwater_derive::State)]
        pub struct Shared { $(#[state(within)] $name: <$mechanism as Mechanism>::Shared,)+ }

        impl Config {
            /// The sides at one switch.
            pub fn switch(&self, shape: &SwitchShape) -> SwitchStack {
                let mut stack = SwitchStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::switch(scoped.of(&shape.name, &shape.tier), shape).map(Box::new)
                }),)+ on: 0 };
                stack.on = stack.present();
                stack
            }

            /// The sides at one NIC.
            pub fn nic(&self, shape: &NicShape) -> NicStack {
                let mut stack = NicStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::nic(&scoped.base, shape).map(Box::new)
                }),)+ on: 0 };
                stack.on = stack.present();
                stack
            }

            /// The sides at one flow, but for those of mechanisms that leave it alone.
            pub fn flow(&self, shape: &FlowShape, left: Owners, shared: &Shared) -> FlowStack {
                let own = |number: Number| left & Owner(number as u8).bit() == 0;
                let mut stack = FlowStack { $($name: self.$name.as_ref().filter(|_| own(Number::$name)).and_then(|scoped| {
                    <$mechanism as Mechanism>::flow(&scoped.base, shape, &shared.$name).map(Box::new)
                }),)+ on: 0 };
                stack.on = stack.present();
                stack
            }
        }

        impl FlowStack {
            /// Whether no mechanism has a side at the flow.
            pub fn is_empty(&self) -> bool {
                self.on == 0
            }
        }
    };
}

pub(crate) use sides;
