//! The content of a file: CPUs, PCI devices below them, and the GPUs and NICs among these.
//!
//! ```text
//! system = cpu { cpu }            cpu = { pci | nic }
//! pci    = { pci } | gpu | nic | nothing, by its class
//! gpu    = { nvlink | xgmi | c2c }       nic = { net }
//! ```
//!
//! A file for `NCCL_TOPO_FILE` may omit `gpu` and `nic`, and NCCL then queries the machine: the class decides what a device is.

use super::pci::{Class, LOCAL_BPS, between_cpus, busid, class, lane, port_for};
use crate::error::ImportError;
use crate::note::Notes;
use crate::xml::{Xml, below};
use roxmltree::Node;
use std::collections::BTreeMap;

/// Most GPUs, and most NICs, that NCCL reads (`NCCL_TOPO_MAX_NODES`).
const MOST: usize = 640;

/// Deepest nesting of bridges; machines have three or four.
const DEEPEST: usize = 64;

/// Most NVLinks of a GPU; real ones have 18 at most.
const MOST_NVLINKS: u32 = 1000;

/// Fastest NIC, in Mb/s.
const FASTEST_MBPS: i64 = 100_000_000;

/// A server.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Version of the format: 1 is NCCL's, 2 RCCL's.
    pub version: i64,
    /// CPUs, bridges and devices, each after its parent.
    pub places: Vec<Place>,
    /// In the order of their numbers.
    pub gpus: Vec<Gpu>,
    /// In the order of the file.
    pub nics: Vec<Nic>,
}

/// Something in the tree of PCI.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its parent. `None`: it is a CPU.
    pub above: Option<usize>,
    /// Rate to its parent, or for a CPU to other CPUs, in b/s.
    pub bps: u64,
}

/// A GPU.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// Its line.
    pub line: u64,
    /// Its PCI address.
    pub busid: String,
    /// The number of the address.
    pub id: u64,
    /// Its number among those of the server.
    pub dev: u32,
    /// Its place.
    pub place: usize,
    /// True if NICs may read its memory.
    pub direct: bool,
    /// Generation, ten times the compute capability; in RCCL's files the number of compute units.
    pub sm: Option<u32>,
    /// Generation of an AMD GPU: `gfx942`.
    pub gcn: Option<String>,
    /// NVLinks and xGMI links to others.
    pub nvlinks: Vec<NvLink>,
}

/// NVLinks or xGMI links of a GPU to one device.
#[derive(Clone, Debug)]
pub struct NvLink {
    /// Its line.
    pub line: u64,
    /// Their number.
    pub count: u32,
    /// The number of the device's busid.
    pub target: Option<u64>,
    /// The class of the device.
    pub kind: Class,
    /// True if they are xGMI links.
    pub xgmi: bool,
}

/// A network interface: a port of a NIC.
#[derive(Clone, Debug)]
pub struct Nic {
    /// Its line.
    pub line: u64,
    /// Its name, or the PCI address of its device.
    pub name: String,
    /// Its place.
    pub place: usize,
    /// Rate of its port in b/s.
    pub bps: u64,
    /// True if it may read memory of GPUs.
    pub direct: bool,
}

/// Reads a file.
pub fn parse(xml: &Xml<'_>, file: &str, notes: &mut Notes) -> Result<System, ImportError> {
    let root = xml.root();
    if root.tag_name().name() != "system" {
        return Err(xml.error(root, "<system> should stand here").value(root.tag_name().name()));
    }
    let version: i64 = xml.number(root, "version")?;
    if !(1..=2).contains(&version) {
        return Err(xml.error(root, "NCCL has version 1 alone, and RCCL version 2").value(version.to_string()));
    }
    let has = |name: &str| root.descendants().any(|node| node.tag_name().name() == name);
    let mut reading = Reading {
        xml,
        file,
        notes,
        system: System { version, ..System::default() },
        says_gpus: has("gpu"),
        says_nets: has("net"),
        lines: BTreeMap::new(),
        nets: BTreeMap::new(),
        hosts: Vec::new(),
    };
    for node in elements(root) {
        match node.tag_name().name() {
            "cpu" => reading.cpu(node)?,
            _ => reading.leave_out(node, ""),
        }
    }
    let mut system = reading.finish()?;
    system.gpus.sort_by_key(|gpu| gpu.dev);
    if let Some(pair) = system.gpus.windows(2).find(|pair| pair[0].dev == pair[1].dev) {
        let (first, second) = (pair[0].line.min(pair[1].line), pair[0].line.max(pair[1].line));
        let reason = format!("GPU {} is there already, at line {first}", pair[0].dev);
        return Err(ImportError::new(reason).file(file).line(second));
    }
    Ok(system)
}

fn elements<'b, 'a: 'b>(node: Node<'b, 'a>) -> impl Iterator<Item = Node<'b, 'a>> {
    node.children().filter(Node::is_element)
}

struct Reading<'r, 'a> {
    xml: &'r Xml<'a>,
    file: &'r str,
    notes: &'r mut Notes,
    system: System,
    /// True if the file lists the participating GPUs; otherwise all devices of their class participate.
    says_gpus: bool,
    /// The same for NICs.
    says_nets: bool,
    /// The line of each device on PCI.
    lines: BTreeMap<u64, u64>,
    /// For each `<net>` by its number the line and the name.
    nets: BTreeMap<i64, (u64, String)>,
    /// For each CPU its server and its number.
    hosts: Vec<(String, i64)>,
}

impl<'b, 'a: 'b> Reading<'_, 'a> {
    fn leave_out(&mut self, node: Node<'_, '_>, why: &str) {
        let text = format!("<{}>{why}", node.tag_name().name());
        self.notes.ignored(self.file, Some(self.xml.line(node)), text);
    }

    fn place(&mut self, above: Option<usize>, bps: u64) -> usize {
        self.system.places.push(Place { above, bps });
        self.system.places.len() - 1
    }

    fn cpu(&mut self, cpu: Node<'b, 'a>) -> Result<(), ImportError> {
        let number: i64 = self.xml.number(cpu, "numaid")?;
        let host = cpu.attribute("host_hash").unwrap_or_default().to_owned();
        if self.hosts.iter().any(|(other, _)| *other != host) {
            let error = self.xml.error(cpu, "a CPU of another server, as host_hash says").value(host);
            return Err(error.hint("give the topology of one server; --servers N says how many there are"));
        }
        if self.hosts.iter().any(|(_, other)| *other == number) {
            return Err(self.xml.error(cpu, format!("the CPU of numaid {number} is there already")));
        }
        self.hosts.push((host, number));
        let reported = |name: &str| cpu.attribute(name).unwrap_or_default();
        let [family, model] = ["familyid", "modelid"].map(|name| self.xml.optional::<u32>(cpu, name));
        let bps = between_cpus(reported("arch"), reported("vendor"), family?.unwrap_or(0), model?.unwrap_or(0));
        let place = self.place(None, bps);
        for node in elements(cpu) {
            match node.tag_name().name() {
                "pci" => self.pci(node, place, 1)?,
                "nic" => {
                    let own = self.place(Some(place), LOCAL_BPS);
                    self.nets(node, own)?;
                }
                _ => self.leave_out(node, ""),
            }
        }
        Ok(())
    }

    fn pci(&mut self, pci: Node<'b, 'a>, above: usize, depth: usize) -> Result<(), ImportError> {
        if depth > DEEPEST {
            return Err(self.xml.error(pci, format!("more than {DEEPEST} bridges, each below another")));
        }
        let name = pci.attribute("busid").ok_or_else(|| self.xml.error(pci, "<pci> has no busid"))?;
        let number = busid(name).ok_or_else(|| {
            self.xml.error(pci, "is no busid of <pci>").value(name).hint("as 0000:10:1c.0, of hexadecimal digits")
        })?;
        if let Some(line) = self.lines.insert(number, self.xml.line(pci)) {
            return Err(self.xml.error(pci, format!("busid is there already, at line {line}")).value(name));
        }
        let bps = self.rate(pci)?;
        let place = self.place(Some(above), bps);
        let inside = |name| below(pci, name).next();
        let kind = match (inside("nic"), inside("gpu"), pci.attribute("class")) {
            (Some(_), ..) => Class::Nic,
            (_, Some(_), _) => Class::Gpu,
            (_, _, Some(reported)) => class(reported),
            _ if inside("pci").is_some() => Class::Bridge,
            _ => {
                let error = self.xml.error(pci, "<pci> has no class: NCCL asks the machine what it is").value(name);
                return Err(error.hint("give what NCCL writes with NCCL_TOPO_DUMP_FILE, or add class=\"0x030200\""));
            }
        };
        match kind {
            Class::Gpu => self.gpu(pci, (name, number), place),
            Class::Nic => self.nic(pci, name, place, bps),
            Class::NvSwitch | Class::Cpu => Ok(()),
            Class::Bridge => {
                for node in elements(pci) {
                    match node.tag_name().name() {
                        "pci" => self.pci(node, place, depth + 1)?,
                        _ => self.leave_out(node, ""),
                    }
                }
                Ok(())
            }
        }
    }

    /// Rate to the next bridge, by NCCL's calculation.
    fn rate(&mut self, pci: Node<'_, '_>) -> Result<u64, ImportError> {
        let width = self.xml.optional::<i64>(pci, "link_width")?;
        let speed = pci.attribute("link_speed").filter(|speed| !speed.is_empty());
        let lanes = match width {
            None | Some(0) => 16,
            Some(width @ 1..=32) => width as u64,
            Some(width) => {
                let error = self.xml.error(pci, "is no link_width of <pci>").value(width.to_string());
                return Err(error.hint("1 to 32 lanes, or 0: not known"));
            }
        };
        if matches!(width, None | Some(0)) || speed.is_none() {
            let text = "link_speed or link_width are not said: 8 GT/s and 16 lanes, as NCCL does";
            self.notes.assumed(self.file, Some(self.xml.line(pci)), text);
        }
        Ok(lanes * lane(speed.unwrap_or_default()) * 100_000_000)
    }

    fn gpu(&mut self, pci: Node<'b, 'a>, name: (&str, u64), place: usize) -> Result<(), ImportError> {
        let all: Vec<Node<'b, 'a>> = below(pci, "gpu").collect();
        for node in elements(pci).filter(|node| node.tag_name().name() != "gpu") {
            self.leave_out(node, " below a GPU");
        }
        let Some(gpu) = all.first().copied() else {
            if self.says_gpus {
                self.leave_out(pci, " of a GPU that no <gpu> says to take part");
            } else {
                // Its number is known when all GPUs are.
                self.add_gpu(pci, name, place, None, Vec::new())?;
            }
            return Ok(());
        };
        for other in &all[1..] {
            self.leave_out(*other, ": ranks that share a GPU are one here");
        }
        if gpu.attribute("rank").is_none() {
            self.leave_out(gpu, " without a rank, which takes no part");
            return Ok(());
        }
        let nvlinks = self.nvlinks(gpu)?;
        self.add_gpu(gpu, name, place, Some(gpu), nvlinks)
    }

    fn add_gpu(
        &mut self,
        at: Node<'b, 'a>,
        (name, id): (&str, u64),
        place: usize,
        reported: Option<Node<'b, 'a>>,
        nvlinks: Vec<NvLink>,
    ) -> Result<(), ImportError> {
        if self.system.gpus.len() >= MOST {
            return Err(self.xml.error(at, format!("more than {MOST} GPUs")));
        }
        let line = self.xml.line(at);
        let mut own =
            Gpu { line, busid: name.to_owned(), id, dev: 0, place, direct: true, sm: None, gcn: None, nvlinks };
        if let Some(gpu) = reported {
            self.ranks(gpu)?;
            own.dev = self.xml.number(gpu, "dev")?;
            own.sm = self.xml.optional(gpu, "sm")?;
            own.gcn = gpu.attribute("gcn").map(architecture);
            own.direct = self.xml.optional::<i64>(gpu, "gdr")? != Some(0);
        }
        self.system.gpus.push(own);
        Ok(())
    }

    /// The ranks of a GPU: RCCL's files may have several, `0,1`.
    fn ranks(&mut self, gpu: Node<'b, 'a>) -> Result<(), ImportError> {
        let reported = gpu.attribute("rank").unwrap_or_default();
        if reported.split(',').any(|rank| rank.trim().parse::<i64>().is_err()) {
            return Err(self.xml.error(gpu, "is no rank of <gpu>").value(reported));
        }
        if reported.contains(',') {
            self.leave_out(gpu, ": ranks that share a GPU are one here");
        }
        Ok(())
    }

    fn nvlinks(&mut self, gpu: Node<'b, 'a>) -> Result<Vec<NvLink>, ImportError> {
        let mut all: Vec<NvLink> = Vec::new();
        for node in elements(gpu) {
            match node.tag_name().name() {
                name @ ("nvlink" | "xgmi") => {
                    let count: u32 = self.xml.number(node, "count")?;
                    let before: u32 = all.iter().map(|link| link.count).sum();
                    if count == 0 || count > MOST_NVLINKS - before {
                        let reason = format!("count: a GPU has 1 to {MOST_NVLINKS} links in all");
                        return Err(self.xml.error(node, reason).value(count.to_string()));
                    }
                    let reported = node.attribute("tclass");
                    let kind = class(reported.ok_or_else(|| self.xml.error(node, format!("<{name}> has no tclass")))?);
                    let target = node.attribute("target").and_then(busid);
                    if target.is_none() && kind == Class::Gpu {
                        let error = self.xml.error(node, format!("<{name}> to a GPU has no target that is a busid"));
                        return Err(error.value(node.attribute("target").unwrap_or_default()));
                    }
                    all.push(NvLink { line: self.xml.line(node), count, target, kind, xgmi: name == "xgmi" });
                }
                "c2c" => self.leave_out(node, ": links of a GPU to its CPU's memory"),
                _ => self.leave_out(node, ""),
            }
        }
        Ok(all)
    }

    fn nic(&mut self, pci: Node<'b, 'a>, name: &str, place: usize, bps: u64) -> Result<(), ImportError> {
        for node in elements(pci).filter(|node| node.tag_name().name() != "nic") {
            self.leave_out(node, " below a NIC");
        }
        if below(pci, "nic").next().is_some() {
            return below(pci, "nic").try_for_each(|nic| self.nets(nic, place));
        }
        if self.says_nets {
            self.leave_out(pci, " of a NIC that no <net> says to take part");
            return Ok(());
        }
        let line = self.xml.line(pci);
        let port = port_for(bps);
        let text = format!(
            "rates of NICs: that of a port as fast as its PCI link, {} by NCCL's reckoning; \
             <nic><net name=\"…\" dev=\"0\" speed=\"N\"/></nic> in its <pci> says another one, in Mb/s",
            crate::units::rate(bps)
        );
        self.notes.assumed(self.file, Some(line), text);
        self.add_nic(pci, Nic { line, name: name.to_owned(), place, bps: port, direct: true })
    }

    fn nets(&mut self, nic: Node<'b, 'a>, place: usize) -> Result<(), ImportError> {
        for net in elements(nic) {
            if net.tag_name().name() != "net" {
                self.leave_out(net, "");
                continue;
            }
            if net.attribute("dev").is_none() || self.xml.optional::<i64>(net, "net")? == Some(0) {
                self.leave_out(net, " without a dev or with net=\"0\", which NCCL does not send by");
                continue;
            }
            let (line, dev) = (self.xml.line(net), self.xml.number(net, "dev")?);
            let name = net.attribute("name").or(net.attribute("dev")).unwrap_or_default().to_owned();
            if let Some((other, known)) = self.nets.get(&dev) {
                if *known != name {
                    return Err(self.xml.error(net, format!("<net> {dev} is there already, at line {other}")));
                }
                // NCCL writes a NIC that is below no bridge once for each CPU.
                self.leave_out(net, " that is there already");
                continue;
            }
            self.nets.insert(dev, (line, name.clone()));
            let mbps = match self.xml.optional::<i64>(net, "speed")?.unwrap_or(0) {
                ..=0 => {
                    let text = "speed of a <net> is not said: 10 Gb/s, as NCCL does";
                    self.notes.assumed(self.file, Some(line), text);
                    10_000
                }
                mbps @ 1..=FASTEST_MBPS => mbps as u64,
                mbps => {
                    let error = self.xml.error(net, "is no speed of <net>").value(mbps.to_string());
                    return Err(error.hint(format!("Mb/s, {FASTEST_MBPS} at most")));
                }
            };
            let direct = self.xml.optional::<i64>(net, "gdr")?.unwrap_or(0) != 0;
            self.add_nic(net, Nic { line, name, place, bps: mbps * 1_000_000, direct })?;
        }
        Ok(())
    }

    fn add_nic(&mut self, at: Node<'_, '_>, nic: Nic) -> Result<(), ImportError> {
        if self.system.nics.len() >= MOST {
            return Err(self.xml.error(at, format!("more than {MOST} NICs")));
        }
        self.system.nics.push(nic);
        Ok(())
    }

    /// GPUs without numbers in the file are numbered in the order of PCI, which is NVML's order.
    fn finish(mut self) -> Result<System, ImportError> {
        if self.system.gpus.is_empty() {
            let error = ImportError::new("there is no GPU").file(self.file).line(self.xml.line(self.xml.root()));
            return Err(error.hint("a GPU is a <pci> of class 0x03…, and <gpu> in it has a rank if any <gpu> is there"));
        }
        if !self.says_gpus {
            self.system.gpus.sort_by_key(|gpu| gpu.id);
            (0..).zip(&mut self.system.gpus).for_each(|(number, gpu)| gpu.dev = number);
            let first = self.system.gpus.iter().map(|gpu| gpu.line).min();
            self.notes.assumed(self.file, first, "numbers of GPUs, in the order of their busid");
        }
        Ok(self.system)
    }
}

/// An architecture by its current name: RCCL's older files have `910` for `gfx90a`, and otherwise the digits alone.
fn architecture(reported: &str) -> String {
    match reported.trim() {
        "910" => "gfx90a".to_owned(),
        digits if !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit()) => format!("gfx{digits}"),
        name => name.chars().take(16).collect(),
    }
}
