//! A scenario as read: a tree into which variants and overrides are merged until it is resolved.

use crate::changes::{self, Changes, Merged, Setting, Skipped, Variants};
use crate::check::{Checked, Draft};
use crate::error::{ScenarioError, nearest};
use crate::inputs::{self, InputOperations, InputRows, LARGEST, OfCaller, RowsOf, TableFlow, is_parquet, place_of};
use crate::layout::Layout;
use crate::planned::Planned;
use crate::resolved;
use crate::schema;
use crate::tree::{self, Conform, Layer, Misfit, Node, Origin, SourceText, TomlTable, Value, conform};
use backwater_net::workload::graph::Operations;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario; every change gives a new one.
#[derive(Clone)]
pub struct Scenario {
    source: Arc<SourceText>,
    base_dir: PathBuf,
    /// Everything in the file except the variants.
    file: Arc<Node>,
    variants: Arc<Variants>,
    changes: Changes,
    /// The file with all changes.
    root: Node,
    skipped: Vec<Skipped>,
    refused: Option<ScenarioError>,
    tables: Vec<InputRows>,
    operations: Vec<InputOperations>,
}

impl Scenario {
    /// Reads TOML. Messages call the text `origin`; paths in it are relative to `base_dir`.
    pub fn from_text(text: &str, origin: &str, base_dir: &Path) -> Result<Scenario, ScenarioError> {
        if text.len() as u64 > LARGEST {
            return Err(too_large(text.len() as u64).file(origin));
        }
        let source = Arc::new(SourceText::new(origin, text));
        if let Some((at, c)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
            let reason = format!("not text: it holds the control character U+{:04X}", u32::from(c));
            return Err(ScenarioError { reason, ..source.place(at..at + 1) }.hint("a scenario is a TOML text file"));
        }
        let mut table = tree::parse(&source, &Layer::File)?;
        let variants = variants_of(&mut table, &source)?;
        let mut root =
            Node { value: Value::Table(table), origin: Origin { layer: Layer::File, key: 0..0, value: 0..0 } };
        conform(&mut root, schema::root(), &mut Vec::new(), &Conform::layer(&source, false))
            .map_err(|error| resolved::called(error, &root))?;
        Ok(Scenario {
            source,
            base_dir: base_dir.to_owned(),
            file: Arc::new(root.clone()),
            variants: Arc::new(variants),
            changes: Changes::default(),
            root,
            skipped: Vec::new(),
            refused: None,
            tables: Vec::new(),
            operations: Vec::new(),
        })
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
        let name = path.display().to_string();
        let text = read(path).map_err(|error| error.file(&name))?;
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Scenario::from_text(&text, &name, base).map_err(|error| {
            if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
                return error;
            }
            error.hint(format!(
                "a scenario is a TOML file, which names such a table: [[flow]] table = \"{name}\" for flows, or pattern = \"matrix\" \
                 and matrix = \"{name}\" for weights; `backwater explain flow.table` and `flow.matrix` tell its columns"
            ))
        })
    }

    /// Merges `[variant.NAME]` over the file and earlier variants, below mechanisms that are switched on and settings. It is an error if
    /// the variant does not exist, or if its tables are invalid: an invalid variant does not affect others.
    pub fn with_variant(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let Some(variant) = self.variants.get(name) else {
            let names: Vec<&str> = self.variants.keys().map(String::as_str).collect();
            let hint = match (nearest(name, names.iter().copied()), names.is_empty()) {
                (_, true) => "the file has no [variant.NAME] tables".to_owned(),
                (Some(near), _) => format!("did you mean `{near}`? there are: {}", names.join(", ")),
                (None, _) => format!("there are: {}", names.join(", ")),
            };
            let error = ScenarioError::new(format!("there is no variant `{name}`")).file(self.source.name());
            return Err(error.value(name).key("variant").hint(hint));
        };
        variant.as_ref().map_err(ScenarioError::clone)?;
        self.changed(|changes| changes.variants.push(name.to_owned()))
    }

    /// Switches a mechanism on, whatever file and variants contain: with their values for it, or else its defaults.
    pub fn with_mechanism(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let name = changes::mechanism(name)?;
        self.changed(|changes| changes.with.push(name))
    }

    /// Overrides one dotted key; `value` is TOML text, and a bare word or quantity is a string.
    ///
    /// A key of a mechanism does not switch it on: if the mechanism is off, [`Scenario::check`] refuses the key. For the mechanism itself
    /// `true` and `false` switch it on and off, before all other settings.
    pub fn with_set(&self, key: &str, value: &str) -> Result<Scenario, ScenarioError> {
        self.with_setting(key, value, false)
    }

    /// The same, but skipped if the key's mechanism is off: [`Scenario::skipped`] then lists it.
    pub fn with_set_where_on(&self, key: &str, value: &str) -> Result<Scenario, ScenarioError> {
        self.with_setting(key, value, true)
    }

    fn with_setting(&self, key: &str, value: &str, where_on: bool) -> Result<Scenario, ScenarioError> {
        let text = format!("{key}={value}");
        let error = || ScenarioError {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
            ..ScenarioError::default().file(format!("--set {text}"))
        };
        if text.len() as u64 > LARGEST {
            return Err(too_large(text.len() as u64).file("--set"));
        }
        let steps = tree::split_key(key).ok_or_else(|| {
            ScenarioError { reason: format!("`{key}` is not a dotted key"), ..error() }.hint(
                "as in --set switch.buffer=\"16 MB\"; a label with blanks or dots is quoted, and the shell takes quotes away unless \
                 they are within others: --set 'flow.\"h3 to h0\".size=16 MB'",
            )
        })?;
        if steps.first().is_some_and(|s| s == "variant") {
            let reason = "variants are chosen, not set".to_owned();
            return Err(
                ScenarioError { reason, ..error() }.hint("choose it with --variant NAME; a sweep takes several")
            );
        }
        let layer = Layer::Set(text.as_str().into());
        let origin = Origin { layer: layer.clone(), key: 0..0, value: 0..0 };
        let mut node = match tree::parse_value(value.trim(), &layer) {
            Some(Ok(node)) => node,
            Some(Err(wrong)) => return Err(ScenarioError { reason: wrong.reason, hint: wrong.hint, ..error() }),
            None => Node { value: Value::Text(value.trim().to_owned()), origin: origin.clone() },
        };
        for step in steps.into_iter().rev() {
            node = Node { value: Value::Table(TomlTable::from_iter([(step, node)])), origin: origin.clone() };
        }
        conform(&mut node, schema::root(), &mut Vec::new(), &Conform::layer(&self.source, true))?;
        let setting = Setting { key: key.to_owned(), value: value.trim().to_owned(), node, where_on };
        self.changed(|changes| changes.settings.push(setting))
    }

    fn changed(&self, change: impl FnOnce(&mut Changes)) -> Result<Scenario, ScenarioError> {
        let mut changes = self.changes.clone();
        change(&mut changes);
        let merged = changes.over(&self.file, &self.variants, &self.source);
        let Merged { root, skipped, refused } = merged.map_err(|misfit| self.misfit(misfit))?;
        Ok(Scenario { changes, root, skipped, refused, ..self.clone() })
    }

    fn misfit(&self, misfit: Misfit) -> ScenarioError {
        let Misfit { path, origin, names } = misfit;
        let (name, list) = (path.last().map_or("", String::as_str), path[..path.len() - 1].join("."));
        let near = nearest(name, names.iter().map(String::as_str)).map(|n| format!("did you mean `{n}`? "));
        let known = if names.is_empty() { "there are none".into() } else { format!("there are: {}", names.join(", ")) };
        let error = ScenarioError { key: Some(path.join(".")), ..origin.error_at_key(&self.source) };
        let reason = format!("`{list}` has no entry `{name}`");
        ScenarioError { reason, ..error }.hint(format!("{}{known}", near.unwrap_or_default()))
    }

    /// Adds the rows of a table as a separate group `label`, beside the groups of the file.
    pub fn with_flows(&self, label: &str, rows: Arc<[TableFlow]>) -> Scenario {
        self.with_rows(RowsOf::Label(label.to_owned()), rows)
    }

    /// Adds the rows of a Parquet file, for all groups with this table; `path` is from [`Scenario::flow_table`].
    pub fn with_table(&self, path: &Path, rows: Arc<[TableFlow]>) -> Scenario {
        self.with_rows(RowsOf::File(path.to_owned()), rows)
    }

    /// Adds the group of the messages that the caller sends while the run is in progress.
    pub(crate) fn with_caller(&self, of: OfCaller) -> Scenario {
        self.with_rows(RowsOf::Caller(of), Arc::new([]))
    }

    fn with_rows(&self, of: RowsOf, rows: Arc<[TableFlow]>) -> Scenario {
        let mut changed = self.clone();
        changed.tables.push(InputRows { of, rows });
        changed
    }

    /// Adds the operations of a Parquet file, for all jobs with this table; `path` is from [`Scenario::operation_table`].
    pub fn with_operations(&self, path: &Path, operations: Arc<Operations>) -> Scenario {
        let mut changed = self.clone();
        changed.operations.push((path.to_owned(), operations));
        changed
    }

    /// Names of its variants.
    pub fn variants(&self) -> Vec<String> {
        self.variants.keys().cloned().collect()
    }

    /// Settings of mechanisms that are off, which therefore have no effect.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The text that it was read from, without changes.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Its title; empty if it has none.
    pub fn title(&self) -> String {
        let title = self.root.table().and_then(|t| t.get("title")).and_then(Node::text);
        title.unwrap_or_default().to_owned()
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        match self.root.table().and_then(|t| t.get("seed")).map(|n| &n.value) {
            Some(Value::Integer(seed)) => u64::try_from(*seed).unwrap_or(1),
            _ => 1,
        }
    }

    /// The absolute path of a Parquet flow table that must still be read and passed to [`Scenario::with_table`]; others may follow.
    pub fn flow_table(&self) -> Option<PathBuf> {
        let groups = self.root.table()?.get("flow")?.list()?;
        let files = groups.iter().filter_map(|group| group.table()?.get("table")?.text());
        let mut paths = files.filter(|file| is_parquet(file)).map(|file| place_of(&self.base_dir, file));
        paths.find(|path| !self.tables.iter().any(|read| matches!(&read.of, RowsOf::File(own) if own == path)))
    }

    /// The absolute path of a Parquet table of operations that must still be read and passed to [`Scenario::with_operations`]; others may
    /// follow.
    pub fn operation_table(&self) -> Option<PathBuf> {
        let jobs = self.root.table()?.get("job")?.list()?;
        let files = jobs.iter().filter_map(|job| job.table()?.get("operations")?.text());
        let mut paths = files.filter(|file| is_parquet(file)).map(|file| place_of(&self.base_dir, file));
        paths.find(|path| !self.operations.iter().any(|(of, _)| of == path))
    }

    /// Merges everything, plans it and checks it, except tables of flows and of operations, which [`build`](crate::build) reads.
    pub fn check(&self) -> Result<Checked, ScenarioError> {
        Checked::new(self.planned()?)
    }

    /// As [`Scenario::check`], but values that mechanisms need may be missing: a request for advice may be about the missing value.
    pub fn draft(&self) -> Result<Draft, ScenarioError> {
        Draft::new(self.planned()?)
    }

    fn planned(&self) -> Result<Planned, ScenarioError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let resolved =
            resolved::resolve(self.root.clone(), self.source.clone(), &self.base_dir, &self.tables, &self.operations)?;
        Planned::new(Layout::new(resolved)?)
    }
}

fn too_large(bytes: u64) -> ScenarioError {
    ScenarioError::new(format!("{bytes} bytes are too many for a scenario, {LARGEST} are possible"))
        .hint("many flows belong in a flow table: [[flow]] table = \"flows.parquet\"")
}

fn read(path: &Path) -> Result<String, ScenarioError> {
    let wrong = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => ScenarioError::new("there is no such file").hint(
            "`backwater new FILE` writes a scenario to start from, `backwater new --from NAME` a copy of an example",
        ),
        std::io::ErrorKind::PermissionDenied => {
            ScenarioError::new("the file may not be read").hint("check its permissions")
        }
        _ => ScenarioError::new(format!("the file cannot be read: {e}")),
    };
    let about = std::fs::metadata(path).map_err(wrong)?;
    if about.is_dir() {
        return Err(ScenarioError::new("this is a directory").hint("name the scenario file in it"));
    }
    if !about.is_file() && !inputs::is_open_pipe(path, &about) {
        return Err(
            ScenarioError::new("this is not a regular file").hint("name a regular file; a shell's <(...) is read, too")
        );
    }
    if about.len() > LARGEST {
        return Err(too_large(about.len()));
    }
    let mut bytes = Vec::new();
    // A pipe has no length.
    File::open(path).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(wrong)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ScenarioError { reason: format!("longer than {LARGEST} bytes"), ..too_large(0) });
    }
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..good].iter().filter(|b| **b == b'\n').count();
        let error =
            ScenarioError::new(format!("not text: byte {good} is not UTF-8")).hint("a scenario is a TOML text file");
        ScenarioError { line: Some(line), ..error }
    })
}

/// Takes `[variant.NAME]` out of the table and checks each by itself.
fn variants_of(table: &mut TomlTable, source: &SourceText) -> Result<Variants, ScenarioError> {
    let Some(node) = table.shift_remove("variant") else { return Ok(Variants::new()) };
    let error = node.origin.error_at_key(source).key("variant");
    let Value::Table(variants) = node.value else {
        return Err(ScenarioError { reason: "needs tables".into(), ..error }.hint("write [variant.NAME]"));
    };
    let of = |(name, node): (String, Node)| {
        let variant = variant_of(&name, node, source);
        (name, variant)
    };
    Ok(variants.into_iter().map(of).collect())
}

fn variant_of(name: &str, mut variant: Node, source: &SourceText) -> Result<Node, ScenarioError> {
    let mut path = vec!["variant".to_owned(), name.to_owned()];
    relabel(&mut variant, &Layer::Variant(name.into()));
    if let Some(inner) = variant.table().and_then(|t| t.get("variant")) {
        let error = inner.origin.error_at_key(source).key(path.join("."));
        return Err(ScenarioError { reason: "a variant has no variants".into(), ..error });
    }
    conform(&mut variant, schema::root(), &mut path, &Conform::layer(source, true))?;
    Ok(variant)
}

fn relabel(node: &mut Node, layer: &Layer) {
    node.origin.layer = layer.clone();
    match &mut node.value {
        Value::Table(table) => table.values_mut().for_each(|n| relabel(n, layer)),
        Value::List(list) => list.iter_mut().for_each(|n| relabel(n, layer)),
        _ => {}
    }
}
