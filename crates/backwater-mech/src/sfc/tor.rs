//! A switch's handling of messages for its attached hosts: none, if they obey themselves; otherwise it acts for them.

use super::cache::Cache;
use super::config::{AtSource, Params};
use super::isolation::Isolation;
use super::proxy::Proxy;
use super::wire::Message;
use backwater_net::hooks::{Fate, IsolationQueue, Place, SwitchCx, SwitchShape, Token};
use backwater_net::packet::{Class, FlowRef, HostId, Packet};

/// The actor.
#[derive(backwater_derive::State)]
enum Actor {
    Host {
        #[state(fixed)]
        class: Class,
        #[state(fixed)]
        size: u32,
    },
    Proxy(#[state(within)] Proxy),
    Isolation(#[state(within)] Isolation),
}

#[derive(backwater_derive::State)]
pub(super) struct Tor {
    #[state(within)]
    actor: Actor,
    #[state(within)]
    cache: Option<Cache>,
    /// Packets must be examined before they join a queue: checked for each packet.
    #[state(fixed)]
    watches: bool,
    /// Packets that join a queue must be examined: also checked for each packet.
    follows: bool,
}

impl Tor {
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> Tor {
        let actor = match params.at_source {
            AtSource::Host => Actor::Host { class: Class(params.message_class), size: params.message_size.0 as u32 },
            AtSource::Proxy => Actor::Proxy(Proxy::new(params.signal.style(params.quanta), params.priorities())),
            AtSource::Isolation => Actor::Isolation(Isolation::new(params, shape.max_frame)),
        };
        let watches = params.cache || params.at_source == AtSource::Isolation;
        Tor { actor, cache: params.cache.then(Cache::default), watches, follows: false }
    }

    /// Takes a message for `source`, if that is attached here and this switch acts for it. `flow` may have ended, and is then unknown: the
    /// message still applies to the source's class.
    #[cold]
    pub(super) fn take(
        &mut self,
        cx: &mut SwitchCx<'_>,
        source: HostId,
        flow: Option<FlowRef>,
        message: Message,
    ) -> Fate {
        if cx.attached(source).is_none() {
            return Fate::Passed;
        }
        // arXiv 2305.00538: caching near the source.
        if let Some(cache) = &mut self.cache {
            for (other, flow, message) in cache.remember(source, flow, message, cx.now()) {
                self.notify_source(cx, other, flow, message);
            }
        }
        match self.actor {
            Actor::Host { .. } => Fate::Passed,
            Actor::Proxy(_) | Actor::Isolation(_) => {
                self.notify_source(cx, source, flow, message);
                Fate::Consumed
            }
        }
    }

    /// Notifies an attached host, or acts for it.
    fn notify_source(&mut self, cx: &mut SwitchCx<'_>, source: HostId, flow: Option<FlowRef>, message: Message) {
        match &mut self.actor {
            Actor::Host { class, size } => cx.route(source, *class, message.frame(flow, *size)),
            Actor::Isolation(isolation) => isolation.take(cx, source, flow, message),
            Actor::Proxy(proxy) => {
                if let Some(port) = cx.attached(source) {
                    proxy.take(cx, port, message);
                }
            }
        }
    }

    /// Returns whether packets must be examined before they join a queue.
    #[inline(always)]
    pub(super) fn watches(&self) -> bool {
        self.watches
    }

    /// Returns the isolation queue of an attached host's packet, if it must wait.
    #[inline(never)]
    pub(super) fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        let src = pkt.data()?.src;
        if cx.shape().ports[usize::from(at.ingress.0)].host != Some(src) {
            return None;
        }
        if let Some(cache) = &mut self.cache {
            for (source, flow, message) in cache.look_up(src, pkt, at.class, cx.now()) {
                self.notify_source(cx, source, flow, message);
            }
        }
        match &mut self.actor {
            Actor::Isolation(isolation) => {
                let isolation_queue = isolation.divert(cx, at, pkt);
                self.follows = isolation.follows();
                isolation_queue
            }
            Actor::Host { .. } | Actor::Proxy(_) => None,
        }
    }

    /// Returns whether packets that join a queue must be examined.
    #[inline(always)]
    pub(super) fn follows(&self) -> bool {
        self.follows
    }

    #[cold]
    pub(super) fn joined(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if let Actor::Isolation(isolation) = &mut self.actor {
            isolation.joined(cx, at, pkt);
            self.follows = isolation.follows();
        }
    }

    pub(super) fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        if let Actor::Isolation(isolation) = &mut self.actor {
            isolation.on_timer(cx, token);
        }
    }
}
