//! Errors in a topology or a path.

use std::fmt;

/// The reason why a topology cannot be built. Links are numbered from 0 in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// A count that has to be at least 1 is 0.
    None {
        /// The counted things.
        what: String,
    },
    /// A count that cannot be numbered or held.
    TooMany {
        /// The counted things.
        what: String,
        /// The count.
        got: u64,
        /// The largest permitted count.
        most: u64,
    },
    /// Things that must be distributed evenly and cannot be.
    Uneven {
        /// The distributed things.
        what: String,
        /// Their number.
        got: u64,
        /// The recipients.
        among: String,
        /// The number of recipients.
        by: u64,
    },
    /// Two nodes with the same name.
    NameTwice {
        /// The name.
        name: String,
    },
    /// A link to a node that does not exist.
    UnknownNode {
        /// The link.
        link: usize,
        /// The name in the link.
        name: String,
    },
    /// A link from a node to itself.
    Loop {
        /// The link.
        link: usize,
        /// The node.
        name: String,
    },
    /// A link of rate 0.
    NoRate {
        /// The link.
        link: usize,
    },
    /// Two links at one port.
    PortTwice {
        /// The node.
        node: String,
        /// The port.
        port: u16,
        /// The links.
        links: [usize; 2],
    },
    /// A port number that leaves gaps.
    PortBeyond {
        /// The node.
        node: String,
        /// The port.
        port: u16,
        /// The number of the node's links.
        links: usize,
        /// The link that demands the port.
        link: usize,
    },
    /// A host without a link.
    HostLinks {
        /// The host.
        name: String,
    },
    /// A name that no node can have.
    NoName {
        /// The node, numbered from 0.
        node: usize,
        /// The name.
        name: String,
    },
    /// A text that is no port number.
    NoPort {
        /// The link.
        link: usize,
        /// The end of it: `a` or `b`.
        end: char,
        /// The given text.
        port: String,
    },
    /// A link with two different delays.
    DelaysDiffer {
        /// The link.
        link: usize,
    },
    /// NVLink domains that do not fit the network.
    NvLink(Box<GraphError>),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::None { what } => write!(f, "there have to be {what}, but their number is 0"),
            GraphError::TooMany { what, got, most } => write!(f, "{got} {what} are too many, {most} are possible"),
            GraphError::Uneven { what, got, among, by } => {
                write!(f, "{got} {what} cannot be shared out evenly among {by} {among}")
            }
            GraphError::NameTwice { name } => write!(f, "two nodes are called `{name}`"),
            GraphError::UnknownNode { link, name } => {
                write!(f, "link {link} names the node `{name}`, which does not exist")
            }
            GraphError::Loop { link, name } => write!(f, "link {link} joins `{name}` to itself"),
            GraphError::NoRate { link } => write!(f, "link {link} has rate 0"),
            GraphError::PortTwice { node, port, links: [first, second] } => {
                write!(f, "port {port} of `{node}` is used twice, by link {first} and by link {second}")
            }
            GraphError::PortBeyond { node, port, links, link } => {
                write!(f, "link {link} names port {port} of `{node}`, which has {links} link{}", plural(*links))
            }
            GraphError::HostLinks { name } => write!(f, "host `{name}` has no link"),
            GraphError::NoName { name, .. } => write!(f, "`{name}` is no name of a node"),
            GraphError::NoPort { port, .. } => write!(f, "`{port}` is no port number"),
            GraphError::DelaysDiffer { .. } => {
                f.write_str("the delay differs between the two directions of the link, and a link here has one delay")
            }
            GraphError::NvLink(error) => error.fmt(f),
        }
    }
}

impl GraphError {
    /// Returns a hint.
    pub fn hint(&self) -> String {
        match self {
            GraphError::None { .. } => "give at least 1".to_owned(),
            GraphError::TooMany { .. } => "make the network smaller".to_owned(),
            GraphError::Uneven { by, .. } => format!("a multiple of {by}, or another wiring"),
            GraphError::NameTwice { .. } => "give every node a name of its own".to_owned(),
            GraphError::UnknownNode { .. } => "list every node that a link names, hosts included".to_owned(),
            GraphError::Loop { .. } => "a link joins two different nodes".to_owned(),
            GraphError::NoRate { .. } => "for a link that fails, use a fault".to_owned(),
            GraphError::PortTwice { .. } => "leave port numbers out where they do not matter".to_owned(),
            GraphError::PortBeyond { links, .. } => {
                format!("a node's ports are numbered without holes, here 0 to {}", links.saturating_sub(1))
            }
            GraphError::HostLinks { .. } => "a host has a link or several".to_owned(),
            GraphError::NoName { .. } => "a name has no blanks, commas and colons".to_owned(),
            GraphError::NoPort { .. } => "a port is written node:number, as in \"leaf0:3\"".to_owned(),
            GraphError::DelaysDiffer { .. } => "give one value".to_owned(),
            GraphError::NvLink(error) => error.hint(),
        }
    }

    /// The faulty link, if the error concerns one.
    pub fn link(&self) -> Option<usize> {
        match self {
            GraphError::UnknownNode { link, .. }
            | GraphError::Loop { link, .. }
            | GraphError::NoRate { link }
            | GraphError::NoPort { link, .. }
            | GraphError::DelaysDiffer { link }
            | GraphError::PortBeyond { link, .. }
            | GraphError::PortTwice { links: [_, link], .. } => Some(*link),
            _ => None,
        }
    }
}

impl std::error::Error for GraphError {}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// The reason why a path is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// A node that does not exist.
    UnknownNode {
        /// The name given.
        name: String,
    },
    /// Two consecutive nodes that no link joins.
    NoLink {
        /// The first.
        from: String,
        /// The second.
        to: String,
    },
    /// A host in the middle: hosts do not forward.
    ThroughHost {
        /// The host.
        name: String,
    },
    /// A node that occurs twice.
    Twice {
        /// The node.
        name: String,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::UnknownNode { name } => write!(f, "the path names the node `{name}`, which does not exist"),
            PathError::NoLink { from, to } => write!(f, "the path goes from `{from}` to `{to}`, which no link joins"),
            PathError::ThroughHost { name } => {
                write!(f, "the path goes through the host `{name}`, and hosts do not forward")
            }
            PathError::Twice { name } => write!(f, "the path passes `{name}` twice"),
        }
    }
}

impl std::error::Error for PathError {}
