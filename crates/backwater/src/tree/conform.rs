//! Checks whether a tree has the structure of the schema: known keys, types, units, ranges. The schema is used rather than serde, because
//! only here the place of each value is known, and because alternatives must be named.

use super::scalar::{choice, number, plain, quantity};
use super::walk::{Conform, at, wrong_kind};
use super::{Layer, Node, Origin, TomlTable, Value};
use crate::error::{ScenarioError, nearest};
use crate::file::Share;
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value as Json};

/// The requirement of a schema.
pub(crate) enum Kind<'s> {
    Time,
    Size,
    Rate,
    Share,
    Choice(Vec<&'s str>),
    /// A table whose `kind` decides its keys.
    Tagged(Vec<(&'s str, &'s Map<String, Json>)>),
    Table(&'s Map<String, Json>),
    List(&'s Json),
    Integer,
    Number,
    Bool,
    Text,
    /// Several forms; the type that is read decides.
    Free,
}

/// The schema without "or nothing".
pub(crate) fn some_of(schema: &Json) -> &Json {
    let is_null = |s: &Json| s.get("type").is_some_and(|t| t == "null");
    match schema.get("anyOf").and_then(Json::as_array) {
        Some(forms) if forms.iter().any(is_null) => forms.iter().find(|s| !is_null(s)).unwrap_or(schema),
        _ => schema,
    }
}

/// Returns the requirement of `schema`.
pub(crate) fn kind_of(schema: &Json) -> Kind<'_> {
    let schema = some_of(schema);
    if let Some(choice) = choices(schema) {
        return choice;
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(many)) => many.iter().filter_map(Json::as_str).filter(|t| *t != "null").collect(),
        _ => Vec::new(),
    };
    let unit = schema.get("x-unit").and_then(Json::as_str).unwrap_or("");
    match types.as_slice() {
        ["object"] => schema.get("properties").and_then(Json::as_object).map_or(Kind::Free, Kind::Table),
        ["array"] => {
            schema.get("items").filter(|i| i.get("type").is_none_or(|t| !t.is_array())).map_or(Kind::Free, Kind::List)
        }
        ["integer"] => Kind::Integer,
        ["number"] => Kind::Number,
        ["boolean"] => Kind::Bool,
        ["string"] => match unit.split(' ').next() {
            Some("time") => Kind::Time,
            Some("size") => Kind::Size,
            Some("rate") => Kind::Rate,
            Some("share") => Kind::Share,
            _ => Kind::Text,
        },
        _ => Kind::Free,
    }
}

fn choices(schema: &Json) -> Option<Kind<'_>> {
    if let Some(names) = schema.get("enum").and_then(Json::as_array) {
        return Some(Kind::Choice(names.iter().filter_map(Json::as_str).collect()));
    }
    let forms = schema.get("oneOf").and_then(Json::as_array)?;
    let mut names = Vec::new();
    for form in forms {
        match (form.get("const"), form.get("enum")) {
            (Some(name), _) => names.extend(name.as_str()),
            (None, Some(list)) => names.extend(list.as_array().into_iter().flatten().filter_map(Json::as_str)),
            _ => {}
        }
    }
    if !names.is_empty() {
        return Some(Kind::Choice(names));
    }
    let tagged = forms.iter().filter_map(|form| {
        let name = form.pointer("/properties/kind/const")?.as_str()?;
        Some((name, form.as_object()?))
    });
    Some(Kind::Tagged(tagged.collect()))
}

/// Checks `node` against `schema`; keys given under an alias get their own name.
pub(crate) fn conform(
    node: &mut Node,
    schema: &Json,
    path: &mut Vec<String>,
    cx: &Conform<'_>,
) -> Result<(), ScenarioError> {
    let schema = some_of(schema);
    match kind_of(schema) {
        Kind::Time => quantity::<Time>(node, schema, path, cx),
        Kind::Size => quantity::<Bytes>(node, schema, path, cx),
        Kind::Rate => quantity::<Rate>(node, schema, path, cx),
        Kind::Share => match plain(node).map(|text| text.parse::<Share>()) {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(hinted(at(node, path, cx), &error)),
            None => Err(wrong_kind(node, path, cx, "a share, as in \"40 %\"")),
        },
        Kind::Choice(names) => choice(node, &names, path, cx),
        Kind::Tagged(forms) => tagged(node, &forms, path, cx),
        Kind::Table(properties) => table(node, properties, schema, path, cx),
        Kind::List(items) => list(node, items, schema, path, cx),
        Kind::Integer => number(node, schema, path, cx, true),
        Kind::Number => number(node, schema, path, cx, false),
        Kind::Bool if matches!(node.value, Value::Bool(_)) => Ok(()),
        Kind::Bool => Err(wrong_kind(node, path, cx, "true or false")),
        Kind::Text if matches!(node.value, Value::Text(_)) => Ok(()),
        Kind::Text => Err(wrong_kind(node, path, cx, "a string")),
        Kind::Free => Ok(()),
    }
}

/// Splits a message of the form `reason (hint: hint)`.
pub(crate) fn hinted(error: ScenarioError, message: &str) -> ScenarioError {
    match message.strip_suffix(')').and_then(|m| m.split_once(" (hint: ")) {
        Some((reason, hint)) => ScenarioError { reason: reason.into(), ..error }.hint(hint),
        None => ScenarioError { reason: message.into(), ..error },
    }
}

fn list(
    node: &mut Node,
    items: &Json,
    schema: &Json,
    path: &mut Vec<String>,
    cx: &Conform<'_>,
) -> Result<(), ScenarioError> {
    let (error, kind) = (at(node, path, cx), node.kind());
    let layered = node.table().is_some() && node.origin.layer != Layer::File;
    let visit = |name: String, entry: &mut Node, path: &mut Vec<String>| {
        path.push(name);
        let result = conform(entry, items, path, cx);
        path.pop();
        result
    };
    match &mut node.value {
        Value::List(list) => {
            let bound = |key| schema.get(key).and_then(Json::as_u64).map(|n| n as usize);
            if let (Some(least), Some(most)) = (bound("minItems"), bound("maxItems"))
                && !(least..=most).contains(&list.len())
            {
                let reason = format!("{} entries instead of {most}", list.len());
                return Err(ScenarioError { reason, ..error });
            }
            list.iter_mut().enumerate().try_for_each(|(i, entry)| visit(i.to_string(), entry, path))
        }
        // A layer may name single entries by label or number; merging finds them.
        Value::Table(entries) if cx.entries && matches!(kind_of(items), Kind::Table(_) | Kind::Tagged(_)) => {
            entries.iter_mut().try_for_each(|(name, entry)| visit(name.clone(), entry, path))
        }
        _ => {
            let hint = match path.as_slice() {
                [only] => format!("write [[{only}]] for each"),
                _ => "write [ … ]".to_owned(),
            };
            if layered {
                let reason = "there is no entry that could be changed".to_owned();
                return Err(ScenarioError { reason, ..error }.hint(hint));
            }
            Err(ScenarioError { reason: format!("needs a list, not {kind}"), ..error }.hint(hint))
        }
    }
}

fn tagged(
    node: &mut Node,
    forms: &[(&str, &Map<String, Json>)],
    path: &mut Vec<String>,
    cx: &Conform<'_>,
) -> Result<(), ScenarioError> {
    let Some(table) = node.table() else { return Err(wrong_kind(node, path, cx, "a table")) };
    let names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
    match table.get("kind") {
        Some(kind) => {
            path.push("kind".into());
            choice(kind, &names, path, cx)?;
            path.pop();
            let form = forms.iter().find(|(name, _)| kind.text() == Some(name));
            let Some((properties, form)) = form.and_then(|(_, f)| Some((f.get("properties")?.as_object()?, f))) else {
                return Ok(());
            };
            let form = Json::Object((*form).clone());
            if let Some(error) = of_another(node, properties, forms, path, cx) {
                return Err(error);
            }
            self::table(node, properties, &form, path, cx)
        }
        None if cx.complete => {
            let all = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let key = format!("{}.kind", path.join("."));
            let error = ScenarioError { key: Some(key), ..node.origin.error_at_key(cx.source) };
            let error = ScenarioError { reason: "is missing".into(), ..error }.hint(format!("known: {all}"));
            cx.missing.borrow_mut().push(error);
            Ok(())
        }
        None => {
            // A layer changes some keys of a table whose kind another layer gives: keys of any kind are accepted for now.
            let mut all = Map::new();
            for (_, form) in forms {
                let properties = form.get("properties").and_then(Json::as_object).into_iter().flatten();
                all.extend(properties.map(|(k, v)| (k.clone(), v.clone())));
            }
            self::table(node, &all, &Json::Null, path, cx)
        }
    }
}

/// The error for the first key that belongs to another kind of table.
fn of_another(
    node: &Node,
    properties: &Map<String, Json>,
    forms: &[(&str, &Map<String, Json>)],
    path: &[String],
    cx: &Conform<'_>,
) -> Option<ScenarioError> {
    let table = node.table()?;
    let kind = table.get("kind")?.text()?;
    table.iter().filter(|(key, _)| !properties.contains_key(*key)).find_map(|(key, child)| {
        let has = |form: &Map<String, Json>| form.get("properties").is_some_and(|own| own.get(key).is_some());
        let others: Vec<String> =
            forms.iter().filter(|(_, form)| has(form)).map(|(name, _)| format!("`{name}`")).collect();
        let all: Vec<&str> = properties.keys().map(String::as_str).filter(|name| *name != "kind").collect();
        (!others.is_empty()).then(|| {
            let path = path.iter().map(String::as_str).chain([key.as_str()]).collect::<Vec<_>>().join(".");
            let reason = format!("`{kind}` has no key `{key}`");
            let hint = format!("`{kind}` has {}; `{key}` is a key of {}", all.join(", "), others.join(", "));
            let place = child.origin.error_at_key(cx.source);
            ScenarioError { key: Some(path), value: Some(child.shown()), reason, ..place }.hint(hint)
        })
    })
}

fn table(
    node: &mut Node,
    properties: &Map<String, Json>,
    schema: &Json,
    path: &mut Vec<String>,
    cx: &Conform<'_>,
) -> Result<(), ScenarioError> {
    let (error, origin) = (wrong_kind(node, path, cx, "a table"), node.origin.clone());
    if schema.get("x-switchable").is_some() && matches!(node.value, Value::Bool(_)) {
        return Ok(());
    }
    let Some(entries) = node.table_mut() else { return Err(error) };
    rename_aliases(entries, properties, path, cx)?;
    for (key, child) in entries.iter_mut() {
        path.push(key.clone());
        match properties.get(key) {
            Some(schema) => conform(child, schema, path, cx)?,
            None => return Err(unknown(key, child, properties, path, cx)),
        }
        path.pop();
    }
    if cx.complete {
        let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
        let absent = required.filter_map(Json::as_str).filter(|key| !entries.contains_key(*key));
        cx.missing.borrow_mut().extend(absent.map(|key| missing(key, properties, path, &origin, cx)));
    }
    Ok(())
}

fn missing(
    key: &str,
    properties: &Map<String, Json>,
    path: &[String],
    origin: &Origin,
    cx: &Conform<'_>,
) -> ScenarioError {
    let schema = properties.get(key).map(some_of);
    let text = |name| schema.and_then(|s| s.get(name)).and_then(Json::as_str).map(str::to_owned);
    let example =
        schema.and_then(|s| s.pointer("/examples/0")).map_or(String::new(), |e| format!(", as in {key} = {e}"));
    let meaning = text("description")
        .map_or_else(String::new, |t| t.lines().next().unwrap_or("").trim_end_matches('.').to_owned());
    let place = if path.is_empty() {
        ScenarioError { file: Some(cx.source.name().into()), ..ScenarioError::default() }
    } else {
        origin.error_at_key(cx.source)
    };
    let full = path.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
    let hint = match (meaning.is_empty(), path.is_empty()) {
        (_, true) => format!(
            "a scenario needs a table [{key}]{}; `backwater new FILE` writes one to start from",
            schema.map_or_else(String::new, needs)
        ),
        (true, _) => format!("`backwater explain {full}` says what it is"),
        (false, _) => format!("{meaning}{example}"),
    };
    ScenarioError { key: Some(full), reason: "is missing".into(), ..place }.hint(hint)
}

/// Returns the requirements of the first kind of a table with kinds.
fn needs(schema: &Json) -> String {
    let Kind::Tagged(forms) = kind_of(schema) else { return String::new() };
    let Some((name, form)) = forms.first() else { return String::new() };
    let required = form.get("required").and_then(Json::as_array).into_iter().flatten();
    let keys: Vec<&str> = required.filter_map(Json::as_str).filter(|key| *key != "kind").collect();
    format!(", such as kind = \"{name}\" with {}", keys.join(", "))
}

/// One error for everything that is missing.
pub(crate) fn together(all: Vec<ScenarioError>) -> Option<ScenarioError> {
    let key = |error: &ScenarioError| error.key.clone().unwrap_or_default();
    let others: Vec<String> = all.iter().skip(1).map(|error| format!("`{}`", key(error))).collect();
    let hints = all.iter().filter_map(|error| Some(format!("{}: {}", key(error), error.hint.as_ref()?)));
    let hints = hints.collect::<Vec<_>>().join("; ");
    let first = all.into_iter().next()?;
    let so = match others.as_slice() {
        [] => return Some(first),
        [other] => format!(", and so is {other}"),
        [before @ .., last] => format!(", and so are {} and {last}", before.join(", ")),
    };
    Some(ScenarioError { reason: format!("is missing{so}"), ..first }.hint(hints))
}

fn rename_aliases(
    entries: &mut TomlTable,
    properties: &Map<String, Json>,
    path: &[String],
    cx: &Conform<'_>,
) -> Result<(), ScenarioError> {
    for (name, schema) in properties {
        let Some(alias) = schema.get("x-alias").and_then(Json::as_str) else { continue };
        let Some(at) = entries.get_index_of(alias) else { continue };
        if entries.contains_key(name) {
            let error = entries[at].origin.error_at_key(cx.source);
            let key = path.iter().map(String::as_str).chain([alias]).collect::<Vec<_>>().join(".");
            let reason = format!("`{alias}` is another name of `{name}`, which is given too");
            return Err(ScenarioError { key: Some(key), reason, ..error }.hint("give one of them"));
        }
        if let Some((_, node)) = entries.shift_remove_index(at) {
            entries.shift_insert(at, name.clone(), node);
        }
    }
    Ok(())
}

fn unknown(
    key: &str,
    child: &Node,
    properties: &Map<String, Json>,
    path: &[String],
    cx: &Conform<'_>,
) -> ScenarioError {
    let aliases = properties.values().filter_map(|s| s.get("x-alias").and_then(Json::as_str));
    let names: Vec<&str> = properties.keys().map(String::as_str).chain(aliases).collect();
    let place = child.origin.error_at_key(cx.source);
    let hint = match nearest(key, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known here: {}", properties.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
    };
    let value = Some(child.shown());
    ScenarioError { key: Some(path.join(".")), value, reason: format!("unknown key `{key}`"), ..place }.hint(hint)
}
