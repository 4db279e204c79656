//! Mechanisms of the tests. All are of one type, [`Own`], so that the stage is compiled for them once.

use backwater_net::Actors;
use backwater_net::hooks::{
    Absent, FlowHooks, FlowShape, FlowSide, Hooks, MechanismSet, NicShape, NicSide, RateKey, Steering, SwitchShape,
    SwitchSide,
};
use std::rc::Rc;

/// Creates the sides of a test's mechanisms; sides without a method are absent.
pub trait Makes {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(Absent)
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(Absent)
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        None
    }
    fn rate_key(&self, _: &FlowShape) -> RateKey {
        RateKey::Flow
    }
    fn steering(&self) -> Option<Steering> {
        None
    }
}

/// The mechanisms that `0` makes.
#[derive(Clone)]
pub struct Own(Rc<dyn Makes>);

/// No mechanism at all.
struct Nobody;

impl Makes for Nobody {}

impl Default for Own {
    fn default() -> Own {
        own(Nobody)
    }
}

pub type Bench = backwater_net::bench::network::Bench<Own>;

/// Most mechanisms of a test.
pub const OWNERS: u8 = 40;

pub fn own(makes: impl Makes + 'static) -> Own {
    Own(Rc::new(makes))
}

impl Actors for Own {
    type Switch = Box<dyn SwitchSide>;
    type Nic = Box<dyn NicSide>;
    type Flow = Box<dyn FlowSide>;
    type Shared = ();
    const OWNERS: usize = OWNERS as usize;
    fn shared(&self) {}
    fn switch(&self, _: &SwitchShape) -> Box<dyn SwitchSide> {
        self.0.switch()
    }
    fn nic(&self, _: &NicShape) -> Box<dyn NicSide> {
        self.0.nic()
    }
    fn flow(&self, _: &FlowShape, _: MechanismSet, (): &()) -> Option<Box<dyn FlowSide>> {
        self.0.flow()
    }
    fn rate_key(&self, shape: &FlowShape, _: MechanismSet) -> RateKey {
        self.0.rate_key(shape)
    }
    fn hooks(&self) -> Hooks {
        let flow = self.0.flow().map_or(FlowHooks::NONE, |side| side.flow_hooks());
        let (switch, nic) = (self.0.switch(), self.0.nic());
        let (switch_links, nic_links) = (switch.link_hooks(), nic.link_hooks());
        Hooks { switch: switch.switch_hooks(), switch_links, nic: nic.nic_hooks(), nic_links, flow }
    }
    fn steering(&self) -> Option<Steering> {
        self.0.steering()
    }
    fn lossless_classes(&self, _: &str, _: &str) -> u8 {
        0
    }
}
