//! What can be wrong with a topology or a path.

use std::fmt;

/// Why a topology cannot be built. Links are numbered from 0 in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// A count that has to be at least 1 is 0.
    None {
        /// What is counted.
        what: String,
    },
    /// More than can be numbered or held.
    TooMany {
        /// What is counted.
        what: String,
        /// How many there would be.
        got: u64,
        /// How many there may be.
        most: u64,
    },
    /// Some that have to be shared out evenly and cannot be.
    Uneven {
        /// What is shared out.
        what: String,
        /// How many there are.
        got: u64,
        /// Who shares them.
        among: String,
        /// How many share.
        by: u64,
    },
    /// Two nodes of one name.
    NameTwice {
        /// The name.
        name: String,
    },
    /// A link to a node that does not exist.
    UnknownNode {
        /// The link.
        link: usize,
        /// The name that it gives.
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
    /// A port number that leaves holes.
    PortBeyond {
        /// The node.
        node: String,
        /// The port.
        port: u16,
        /// How many links the node has.
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
    /// What is no port number.
    NoPort {
        /// The link.
        link: usize,
        /// The end of it: `a` or `b`.
        end: char,
        /// What was given.
        port: String,
    },
    /// A link with two delays.
    DelaysDiffer {
        /// The link.
        link: usize,
    },
    /// NVLink domains that do not fit to the network.
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
    /// What may help.
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

    /// The link at fault, where it is one.
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

/// Why a path cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// A node that does not exist.
    UnknownNode {
        /// The name given.
        name: String,
    },
    /// Two nodes in a row that no link joins.
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
    /// A node that is passed twice.
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
