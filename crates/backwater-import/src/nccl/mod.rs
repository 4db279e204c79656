//! Topologies of NCCL (NVIDIA/nccl, commit 5067397, `src/graph/xml.cc` and `topo.cc`): the PCI tree of a server, its GPUs, NICs and
//! NVLinks, as written by `NCCL_TOPO_DUMP_FILE` and read by `NCCL_TOPO_FILE`; and those of RCCL (ROCm/rccl, commit 29e8452), which have
//! xGMI links.
//!
//! | NCCL | here |
//! |---|---|
//! | `gpu`, or `pci` of class 0x03 or 0x12 | a host, in the order of `dev` in each server |
//! | `nvlink` to a switch | a link to the NVLink switch of the server |
//! | `nvlink` or `xgmi` to a GPU | a link between hosts |
//! | `net`, or `pci` of class 0x02 | links to a leaf, one for each GPU that uses it ([`nearest`]) |
//! | `cpu`, `pci`, `link_speed`, `link_width` | which NICs are the nearest |
//!
//! A file describes one server and no network. The caller gives the number of servers; the network is a leaf for each port of a server.

mod nearest;
mod pci;
mod servers;
mod system;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::graph::Fabric;
use crate::note::NoteKind;
use crate::scenario_writer::ScenarioWriter;
use crate::source::Head;
use crate::units::{rate, time};
use crate::xml::{Known, Xml};
use nearest::Path;
use servers::{NETWORK_PS, NVLINK_PS, NvLinks, Port};
use system::System;

/// Topologies of NCCL.
pub static FAMILY: Family = Family {
    name: "nccl",
    about: "NCCL, the collective library, and RCCL",
    kinds: &[Kind { name: "nccl-topology", about: "a topology: the GPUs, NICs and NVLinks of a server", recognise }],
    beside: &[],
    uses: &["--servers"],
    combine,
};

/// Default number of servers.
const SERVERS: u32 = 2;

fn recognise(head: &Head) -> bool {
    let text = head.lines().join("\n");
    text.trim_start().starts_with('<') && text.contains("<system") && text.contains("<cpu") && text.contains("numaid")
}

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let [(_, source)] = given.files.as_slice() else {
        return Err(ImportError::new("several topologies").hint("import them one by one"));
    };
    let file = source.name();
    let text = source.text()?;
    let xml = Xml::parse(file, &text)?;
    // First, since misspelt names are also missing.
    attributes(&xml, file, work);
    let system = system::parse(&xml, file, work.notes)?;
    let used = if system.nics.is_empty() { vec![] } else { nearest::nics(&system) };
    let ports = servers::ports(&system, &used);
    let nvlinks = servers::nvlinks(&system, file, work.notes)?;
    let servers = count(&system, &nvlinks, file, work)?;
    let lines: Vec<u64> = system.gpus.iter().map(|gpu| gpu.line).collect();
    let graph = servers::graph(servers, system.gpus.len() as u32, &ports, &nvlinks, &lines)
        .map_err(|error| error.file(file).line(lines[0]))?;
    let mut writer = ScenarioWriter::new();
    let whose = if system.version == 1 { "NCCL" } else { "RCCL" };
    writer.remark(&format!(
        "{}: a topology of {whose}, {servers} servers of {} GPUs.",
        source.file_name(),
        lines.len()
    ));
    chosen(&system, &used, &ports, file, work, &mut writer);
    work.title(source.file_name(), &mut writer);
    Fabric::of(&graph).write(&graph, &mut writer);
    writer.head("[switch]").key("buffer_per", "none");
    if used.iter().any(|(nics, _)| nics.len() > 1) {
        writer.head("[nic]").key_because("link", "least-loaded", "channels take turns with the NICs of their GPU");
        let text = "nic.link: each flow of a GPU takes the least loaded of its NICs; channels of NCCL take turns";
        work.notes.differs(file, None, text);
    }
    assumed(&ports, &nvlinks, servers, file, work);
    Ok(writer)
}

/// Attributes by which NCCL does more than this importer: the element, the attributes, and their meaning here.
const OF_LESS: [(&str, &[&str], &str); 7] = [
    ("cpu", &["numaid", "arch", "vendor", "familyid", "modelid"], NEAREST),
    ("pci", &["busid", "class", "link_speed", "link_width"], NEAREST),
    ("gpu", &["rank", "gdr"], "here they say which GPUs take part and which NICs each uses"),
    ("gpu", &["sm", "gcn"], "here they say how fast links within the server are"),
    ("nvlink", &["target", "tclass", "count"], LINKS),
    ("xgmi", &["target", "tclass", "count"], LINKS),
    ("net", &["dev", "gdr"], NEAREST),
];
const NEAREST: &str = "here they only say which NICs each GPU uses";
const LINKS: &str = "here they only say which links a GPU has and how fast they are";

/// Attributes without consequences, and why.
const OF_NOTHING: [(&str, &[&str], &str); 6] = [
    ("system", &["version"], WITHOUT_EFFECT),
    ("cpu", &["affinity"], WITHOUT_EFFECT),
    ("cpu", &["host_hash"], "a file has one server here, whatever that is called"),
    ("pci", &["vendor", "device", "subsystem_vendor", "subsystem_device"], WITHOUT_EFFECT),
    ("gpu", &["arch"], WITHOUT_EFFECT),
    ("net", &["latency", "port", "guid", "maxconn", "coll"], "NCCL tunes by them"),
];
const WITHOUT_EFFECT: &str = "nothing follows from them here";

/// Attributes that are read completely.
const READ: [(&str, &[&str]); 2] = [("gpu", &["dev"]), ("net", &["name", "speed", "net"])];

/// Elements of NCCL's and RCCL's files.
const ELEMENTS: [&str; 8] = ["system", "cpu", "pci", "gpu", "nvlink", "xgmi", "nic", "net"];

/// Notes attributes with a smaller effect than in NCCL, or with no effect, and unknown ones, as far as they occur.
fn attributes(xml: &Xml<'_>, file: &str, work: &mut Work<'_>) {
    let mut say = |kind: NoteKind, (element, names, what): (&str, &[&str], &str), more: &str| {
        for node in xml.root().descendants().filter(|node| node.tag_name().name() == element) {
            for name in names.iter().filter(|name| node.attribute(**name).is_some()) {
                let text = format!("attributes of <{element}>: {what}{more}");
                work.notes.named(kind, file, Some(xml.line(node)), name, text);
            }
        }
    };
    let more = "; NCCL also searches its rings and trees by them";
    OF_LESS.into_iter().for_each(|of| say(NoteKind::Differs, of, more));
    OF_NOTHING.into_iter().for_each(|of| say(NoteKind::Ignored, of, ""));
    for element in ELEMENTS {
        let lists = OF_LESS.iter().chain(&OF_NOTHING).map(|(own, names, _)| (own, names));
        let lists = lists.chain(READ.iter().map(|(own, names)| (own, names)));
        let attributes: Vec<&[&str]> = lists.filter(|(own, _)| **own == element).map(|(_, names)| *names).collect();
        // Further elements below the others are reported where they are read.
        let below: Option<&[&str]> = ["nvlink", "xgmi", "net"].contains(&element).then_some(&[]);
        xml.note_unknown(&[Known { element, attributes: &attributes, below }], work.notes);
    }
}

/// Returns the number of servers.
fn count(system: &System, nvlinks: &NvLinks, file: &str, work: &mut Work<'_>) -> Result<u32, ImportError> {
    let fail = |reason: String, hint| Err(ImportError::new(reason).file(file).line(1).hint(hint));
    let reported = work.options.servers;
    if reported == Some(0) {
        return fail("--servers 0: there is no server".into(), "at least 1");
    }
    if system.nics.is_empty() {
        if reported.is_some_and(|servers| servers > 1) {
            return fail("several servers, and none has a NIC".into(), "a NIC is a <pci> of class 0x02…, or a <net>");
        }
        if nvlinks.carry.is_empty() {
            return fail(
                "no GPU has a NIC, an NVLink or an xGMI link".into(),
                "a NIC is a <pci> of class 0x02…, or a <net>",
            );
        }
        work.notes.assumed(file, None, "one server: it has no NIC");
        return Ok(1);
    }
    Ok(reported.unwrap_or_else(|| {
        work.notes.assumed(file, None, format!("{SERVERS} servers; --servers N says another number"));
        SERVERS
    }))
}

/// Notes which GPU uses which NICs.
fn chosen(
    system: &System,
    used: &[(Vec<usize>, Path)],
    ports: &[Port],
    file: &str,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) {
    for ((own, (nics, path)), gpu) in (0..).zip(used).zip(&system.gpus) {
        let names: Vec<&str> = nics.iter().map(|nic| system.nics[*nic].name.as_str()).collect();
        let text = format!(
            "GPU {} ({}) uses NIC {}: {}, {} by NCCL's reckoning",
            gpu.dev,
            gpu.busid,
            names.join(" and "),
            path.distance,
            rate(path.bps)
        );
        writer.remark(&format!("{text}."));
        work.notes.verdict(file, Some(gpu.line), text);
        for port in ports.iter().filter(|port| port.gpu == own && port.sharing > 1) {
            let nic = &system.nics[port.nic];
            let text = format!(
                "NIC {} serves {} GPUs: each has a link of {} to a leaf of its own, its part of {}, also when the others are idle",
                nic.name,
                port.sharing,
                rate(port.bps),
                rate(nic.bps)
            );
            work.notes.differs(file, Some(nic.line), text);
        }
    }
    let idle = (0..).zip(&system.nics).filter(|(number, _)| used.iter().all(|(nics, _)| !nics.contains(number)));
    for (_, nic) in idle {
        work.notes.ignored(file, Some(nic.line), format!("NIC {}, which no GPU uses", nic.name));
    }
}

/// Notes assumptions beside the file.
fn assumed(ports: &[Port], nvlinks: &NvLinks, servers: u32, file: &str, work: &mut Work<'_>) {
    if let [_, _, ..] = ports {
        let text = format!(
            "the network: a leaf for each of the {} ports of a server, joined by {servers} spines, so that a leaf has as much upwards \
             as downwards; {} a link",
            ports.len(),
            time(NETWORK_PS)
        );
        work.notes.assumed(file, None, text);
    } else if let [_] = ports {
        work.notes.assumed(file, None, format!("the network: one leaf; {} a link", time(NETWORK_PS)));
    }
    if nvlinks.carry.is_empty() {
        let text = "no NVLinks: the file has none between GPUs, and NCCL asks the machine for them; GPUs of a server reach each other \
                    by the network; what NCCL_TOPO_DUMP_FILE writes has NVLinks";
        work.notes.assumed(file, None, text);
    } else {
        let carry: Vec<&str> = nvlinks.carry.iter().map(String::as_str).collect();
        let text =
            format!("links within a server: {} a link, and by NCCL's reckoning {}", time(NVLINK_PS), carry.join(", "));
        work.notes.assumed(file, None, text);
        let text = "PXN, by which a GPU sends through the NIC of another GPU of its server: each uses its own NICs";
        work.notes.differs(file, None, text);
    }
    let text = "packets, switches and the control: as here by default, with buffers that hold everything and no control; PCI links \
                limit no rate";
    work.notes.assumed(file, None, text);
}
