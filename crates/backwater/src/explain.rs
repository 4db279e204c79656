//! The meaning of keys, from the schema of scenario files.

use crate::error::{ScenarioError, nearest};
use crate::schema::{published, root};
use crate::tree::{Kind, LABELS, kind_of, shown, some_of, split_key};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The meaning of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explain {
    /// Dotted key, canonical.
    pub key: String,
    /// Its meaning.
    pub meaning: String,
    /// Its symbol in the source.
    pub symbol: Option<String>,
    /// Kind of quantity and its units.
    pub unit: Option<String>,
    /// The default value; `absent` without one.
    pub default: Option<String>,
    /// Its range.
    pub range: Option<String>,
    /// The source of the default or the parameter.
    pub source: Option<String>,
    /// Other names of the key.
    pub aliases: Vec<String>,
    /// For a table: its keys and their meanings; for a choice: its values.
    #[serde(serialize_with = "as_map")]
    pub children: Vec<(String, String)>,
}

impl Explain {
    /// Returns whether this is one of the values of a choice.
    fn has_value(&self, value: &str) -> bool {
        self.unit.as_deref() == Some(CHOICE)
            && (self.children.iter().any(|(name, _)| name == value)
                || self.range.iter().flat_map(|range| range.split(", ")).any(|name| name == value))
    }
}

/// The text in place of a choice's unit.
const CHOICE: &str = "one of the values below";

fn as_map<S: Serializer>(children: &[(String, String)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(children.iter().map(|(k, v)| (k, v)))
}

/// The JSON Schema of a scenario file.
pub fn schema() -> String {
    serde_json::to_string_pretty(&published()).unwrap_or_default()
}

/// Explains a dotted key such as `pfc.xoff`; an empty key is the whole file.
pub fn explain(key: &str) -> Result<Explain, ScenarioError> {
    // A label may contain anything; it is then quoted, as for `--set`.
    let quoted = key.contains(['"', '\'']).then(|| split_key(key)).flatten();
    let bare = || key.split('.').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
    let steps: Vec<String> = quoted.unwrap_or_else(bare);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut at = At::root();
    for (i, step) in steps.iter().enumerate() {
        // Entries of lists and variants have names from the file.
        let free = step.parse::<usize>().is_ok() || at.path == ["variant"];
        let child = at.child(step);
        // So do entries with a label, if one of their keys follows: `flow.incast.size`.
        let holds_none = |child: &At| child.entries().is_none() && child.names().is_empty();
        let label = i + 1 < steps.len() && at.labelled() && child.as_ref().is_none_or(holds_none);
        let (free, child) = if label { (true, None) } else { (free, child) };
        at = match child {
            Some(next) => next,
            None => match at.entries().filter(|_| free) {
                Some(entries) => At { schema: Cow::Borrowed(entries), ..at },
                None => return Err(unknown(key, &at, &steps[i..])),
            },
        };
    }
    Ok(at.explain())
}

/// Every key of a scenario, tables before their keys. Variants repeat all others and are left out.
pub fn keys() -> &'static [String] {
    static KEYS: OnceLock<Vec<String>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let mut out = Vec::new();
        collect(&At::root(), &mut out);
        out
    })
}

/// What is known of each of [`keys`].
fn explained() -> &'static [(&'static String, Explain)] {
    static EXPLAINED: OnceLock<Vec<(&String, Explain)>> = OnceLock::new();
    EXPLAINED.get_or_init(|| keys().iter().filter_map(|key| Some((key, explain(key).ok()?))).collect())
}

fn collect(at: &At, out: &mut Vec<String>) {
    for name in at.names() {
        let Some(child) = at.child(name) else { continue };
        out.push(child.path.join("."));
        if child.path != ["variant"] {
            collect(&child, out);
        }
    }
}

/// A place in the schema.
struct At {
    path: Vec<String>,
    /// A part of the whole schema; a separate one if several forms are shown as one choice.
    schema: Cow<'static, Json>,
    required: bool,
}

impl At {
    /// The whole file.
    fn root() -> At {
        At { path: Vec::new(), schema: Cow::Borrowed(root()), required: true }
    }

    /// The keys here, of every form; a choice has no keys.
    fn tables(&self) -> Vec<&'static Map<String, Json>> {
        match self.schema {
            Cow::Borrowed(schema) => tables_of(schema),
            Cow::Owned(_) => Vec::new(),
        }
    }

    /// Returns the schema of a list's entries, or of those of a table with free names.
    fn entries(&self) -> Option<&'static Json> {
        let Cow::Borrowed(schema) = self.schema else { return None };
        let schema = some_of(schema);
        let free = schema.get("additionalProperties").filter(|s| s.is_object());
        schema.get("items").or(free)
    }

    /// Returns whether it is a list whose entries can be named by a label.
    fn labelled(&self) -> bool {
        some_of(&self.schema).get("items").is_some()
            && self.tables().iter().any(|table| LABELS.iter().any(|label| table.contains_key(*label)))
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.tables().into_iter().flat_map(|table| table.keys().map(String::as_str)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the kinds of a table that have a key, if not all do.
    fn forms_with(&self, key: &str) -> Option<String> {
        let Cow::Borrowed(schema) = self.schema else { return None };
        let schema = some_of(schema);
        let Kind::Tagged(forms) = kind_of(schema.get("items").map_or(schema, some_of)) else { return None };
        let has = |form: &Map<String, Json>| form.get("properties").is_some_and(|own| own.get(key).is_some());
        let with: Vec<String> =
            forms.iter().filter(|(_, form)| has(form)).map(|(name, _)| format!("`{name}`")).collect();
        (with.len() < forms.len()).then(|| with.join(", "))
    }

    /// A key here, by its name or an alias.
    fn child(&self, step: &str) -> Option<At> {
        let tables = self.tables();
        let own = |(name, s): &(&String, &Json)| *name == step || s.get("x-alias").is_some_and(|a| a == step);
        let found: Vec<(&String, &Json)> = tables.into_iter().filter_map(|t| t.iter().find(own)).collect();
        let (name, schema) = *found.first()?;
        let several = name == "kind" && found.len() > 1;
        let schema = if several { Cow::Owned(self.kinds()) } else { Cow::Borrowed(schema) };
        let holder = some_of(&self.schema);
        let holder = holder.get("items").map_or(holder, some_of);
        let lists = std::iter::once(holder).chain(holder.get("oneOf").and_then(Json::as_array).into_iter().flatten());
        let required = lists.filter_map(|s| s.get("required")?.as_array()).flatten().any(|r| r == name.as_str());
        Some(At { path: self.path.iter().cloned().chain([name.clone()]).collect(), schema, required })
    }

    /// `kind` of a table with several forms.
    fn kinds(&self) -> Json {
        let schema = some_of(&self.schema);
        let holder = schema.get("items").map_or(schema, some_of);
        let forms = holder.get("oneOf").and_then(Json::as_array).into_iter().flatten();
        let forms = forms.filter_map(|form| {
            let name = form.pointer("/properties/kind/const")?;
            Some(serde_json::json!({ "const": name, "description": form.get("description") }))
        });
        serde_json::json!({
            "description": "Which form the table has.", "oneOf": forms.collect::<Vec<_>>(), "x-source": "Backwater's own",
        })
    }

    fn explain(&self) -> Explain {
        let outer = self.schema.as_ref();
        let schema = some_of(outer);
        let text = |key: &str| {
            let value = outer.get(key).or_else(|| schema.get(key))?;
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let items = schema.get("items").map(some_of);
        let kind = kind_of(schema);
        let of_each = || items?.get("x-unit")?.as_str().map(|unit| format!("a list, of each {unit}"));
        let unit = text("x-unit").or_else(of_each);
        let default = match outer.get("default").or_else(|| schema.get("default")) {
            Some(value) if !value.is_object() => Some(plain(value)),
            Some(_) => schema.get("additionalProperties").filter(|free| free.is_object()).map(|_| "empty".into()),
            None if self.required && !matches!(kind, Kind::Table(_)) && !self.path.is_empty() => {
                Some("none: must be given".into())
            }
            None => None,
        };
        Explain {
            key: self.path.join("."),
            meaning: text("description").unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
            symbol: text("x-symbol"),
            unit: unit.or_else(|| unit_of(&kind)),
            default,
            range: text("x-range")
                .or_else(|| range(schema))
                .or_else(|| items.and_then(range).map(|r| format!("each {r}"))),
            source: text("x-source"),
            aliases: text("x-alias").into_iter().collect(),
            children: self.children(&kind),
        }
    }

    fn children(&self, kind: &Kind<'_>) -> Vec<(String, String)> {
        if let Kind::Choice(_) = kind {
            let forms = some_of(&self.schema).get("oneOf").and_then(Json::as_array).into_iter().flatten();
            let form = |form: &Json| {
                let about = form.get("description").and_then(Json::as_str).unwrap_or_default();
                Some((form.get("const")?.as_str()?.to_owned(), about.to_owned()))
            };
            return forms.filter_map(form).collect();
        }
        let about = |name| {
            let meaning = self.child(name).map(|c| c.explain().meaning).unwrap_or_default();
            match self.forms_with(name) {
                Some(forms) => format!("{meaning} Of {forms}."),
                None => meaning,
            }
        };
        self.names().into_iter().map(|name| (name.to_owned(), about(name))).collect()
    }
}

fn tables_of(schema: &'static Json) -> Vec<&'static Map<String, Json>> {
    let schema = some_of(schema);
    match kind_of(schema) {
        Kind::Table(properties) => vec![properties],
        Kind::Tagged(forms) => forms.into_iter().filter_map(|(_, f)| f.get("properties")?.as_object()).collect(),
        Kind::List(_) => schema.get("items").map(some_of).map_or(Vec::new(), tables_of),
        _ => Vec::new(),
    }
}

/// Returns the text in place of a unit.
fn unit_of(kind: &Kind<'_>) -> Option<String> {
    let text = match kind {
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Bool => "true or false",
        Kind::Text => "text",
        Kind::Choice(_) => CHOICE,
        Kind::Table(_) | Kind::Tagged(_) => return None,
        Kind::List(items) => match kind_of(items) {
            Kind::Integer => "a list of whole numbers",
            Kind::Text => "a list of texts",
            _ => return None,
        },
        _ => return None,
    };
    Some(text.into())
}

/// A value as people write it: 1, not 1.0.
fn plain(value: &Json) -> String {
    let text = shown(value);
    match text.strip_suffix(".0") {
        Some(whole) if value.is_f64() => whole.to_owned(),
        _ => text,
    }
}

fn range(schema: &Json) -> Option<String> {
    if let Kind::Choice(names) = kind_of(schema) {
        return Some(names.join(", "));
    }
    let bound = |key: &str| schema.get(key).map(plain);
    let least = bound("x-min").or_else(|| bound("minimum"));
    match (least, bound("maximum")) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

fn unknown(asked: &str, at: &At, rest: &[&str]) -> ScenarioError {
    let here = at.path.join(".");
    let reason = match here.is_empty() {
        true => format!("there is no key `{asked}`"),
        false => format!("`{here}` has no key `{}`", rest.first().unwrap_or(&"")),
    };
    // The whole key first: a key at the wrong table is a frequent mistake.
    let all = keys();
    let last = rest.last().copied().unwrap_or_default();
    let mut same_name = all.iter().map(String::as_str).filter(|k| k.rsplit('.').next() == Some(last));
    // Without the names that entries have from the file.
    let plain = at.path.iter().map(String::as_str).chain(rest.iter().copied()).collect::<Vec<_>>().join(".");
    let key = if at.path.is_empty() { asked } else { plain.as_str() };
    let near = nearest(key, same_name.clone()).or_else(|| same_name.next());
    let near = near.or_else(|| nearest(key, all.iter().map(String::as_str)));
    let of_root = explained().iter().filter(|_| at.path.is_empty());
    let holders: Vec<&String> = of_root.filter(|(_, about)| about.has_value(asked)).map(|(key, _)| *key).collect();
    let hint = match near {
        _ if !holders.is_empty() => {
            let named: Vec<String> = holders.iter().map(|key| format!("`{key}`")).collect();
            format!("it is a value of {}: explain that", named.join(", "))
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", at.names().join(", ")),
    };
    ScenarioError { value: Some(asked.into()), reason, ..ScenarioError::default() }.hint(hint)
}
