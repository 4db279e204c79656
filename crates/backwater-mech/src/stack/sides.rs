//! The sides of all mechanisms at one node or flow, in the registry's order. The traits define how several answers are combined
//! ([`hooks`](macro@backwater_derive::hooks)).

/// Generates `SwitchStack`, `NicStack`, `FlowStack` and `Shared`.
macro_rules! sides {
    ([$($name:ident => $mechanism:path),+]) => {
        $crate::stack::sides!(stack SwitchStack, "switch", Switch, [switch_stack, link_stack], [$($name => $mechanism),+]);
        $crate::stack::sides!(stack NicStack, "NIC", Nic, [nic_stack, link_stack], [$($name => $mechanism),+]);
        $crate::stack::sides!(stack FlowStack, "flow", Flow, [flow_stack], [$($name => $mechanism),+]);

        /// State that mechanisms share between all nodes of a run.
        #[derive(Clone, Default, backwater_derive::State)]
        pub struct Shared { $(#[state(within)] $name: <$mechanism as Mechanism>::Shared,)+ }

        impl Config {
            /// The sides at one switch.
            pub fn switch(&self, shape: &SwitchShape) -> SwitchStack {
                SwitchStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::switch(scoped.of(&shape.name, &shape.tier), shape).map(Box::new)
                }),)+ on: 0 }.counted()
            }

            /// The sides at one NIC.
            pub fn nic(&self, shape: &NicShape) -> NicStack {
                NicStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::nic(&scoped.base, shape).map(Box::new)
                }),)+ on: 0 }.counted()
            }

            /// The sides at one flow, except those of mechanisms that leave it alone.
            pub fn flow(&self, shape: &FlowShape, left: MechanismSet, shared: &Shared) -> FlowStack {
                let own = |number: Number| left & MechanismId(number as u8).bit() == 0;
                FlowStack { $($name: self.$name.as_ref().filter(|_| own(Number::$name)).and_then(|scoped| {
                    <$mechanism as Mechanism>::flow(&scoped.base, shape, &shared.$name).map(Box::new)
                }),)+ on: 0 }.counted()
            }
        }

        impl FlowStack {
            /// Returns whether no mechanism has a side at the flow.
            pub fn is_empty(&self) -> bool {
                self.on == 0
            }
        }
    };
    (stack $stack:ident, $what:literal, $side:ident, [$($hooks:ident),+], $list:tt) => {
        $crate::stack::sides!(type $stack, $what, $side, $list);
        $($crate::stack::sides!(hooks $stack, $side, $hooks, $list);)+
    };
    (hooks $stack:ident, $side:ident, $hooks:ident, [$($name:ident => $mechanism:path),+]) => {
        backwater_net::$hooks!($stack; $($name: Number::$name as u8, attaches::<$mechanism>(), <$mechanism as Mechanism>::$side;)+);
    };
    (type $stack:ident, $what:literal, $side:ident, [$($name:ident => $mechanism:path),+]) => {
        #[doc = concat!("The sides of all mechanisms at one ", $what, ". Boxed: which of them there are is asked of every frame, and must not")]
        /// be spread over as many cache lines as there are mechanisms.
        #[derive(backwater_derive::State)]
        pub struct $stack {
            $(#[state(within)] $name: Option<Box<<$mechanism as Mechanism>::$side>>,)+
            #[state(fixed)] on: MechanismSet,
        }

        impl $stack {
            /// With `on` as its sides are.
            fn counted(self) -> $stack {
                let on = 0 $(| MechanismSet::from(self.$name.is_some()) << Number::$name as u8)+;
                $stack { on, ..self }
            }
        }
    };
}

pub(crate) use sides;
