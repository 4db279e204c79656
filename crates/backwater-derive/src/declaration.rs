//! The arguments of `#[param(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, ExprLit, Field, Ident, Lit, LitStr, RangeLimits, Token, Type};

/// The declaration of one field.
#[derive(Default)]
pub struct Declaration {
    pub source: Option<LitStr>,
    pub default: Option<Expr>,
    pub range: Option<Range>,
    pub bounds: Option<Range>,
    /// True if `range` applies to each entry of the field.
    pub each: bool,
    pub range_text: Option<LitStr>,
    pub up_to: Option<LitStr>,
    pub why: Option<LitStr>,
    pub symbol: Option<LitStr>,
    pub unit: Option<LitStr>,
    pub alias: Option<LitStr>,
    /// True if each direction of a link may have its own value.
    pub per_direction: bool,
}

/// A Rust range. With `above`, its first value is excluded.
pub struct Range {
    pub above: bool,
    pub least: Option<Expr>,
    pub most: Option<Expr>,
    pub below: bool,
}

impl Declaration {
    /// Removes the declaration from the field, and returns it. `None`: the field is not a parameter, but a table.
    pub fn take(field: &mut Field) -> syn::Result<Option<Declaration>> {
        let (own, others) =
            std::mem::take(&mut field.attrs).into_iter().partition(|a: &Attribute| a.path().is_ident("param"));
        field.attrs = others;
        if own.is_empty() {
            return Ok(None);
        }
        let [attribute]: [Attribute; 1] = Vec::try_into(own)
            .map_err(|_| syn::Error::new_spanned(&*field, "a parameter has one #[param(source = …, …)]"))?;
        let declaration: Declaration = attribute.parse_args()?;
        match declaration.source {
            Some(_) => Ok(Some(declaration)),
            None => Err(syn::Error::new_spanned(attribute, "a parameter has a source")),
        }
    }

    /// Returns whether a bound is the parameter of this name.
    pub fn names(&self, other: &Ident) -> bool {
        let is = |bound: &Option<Expr>| matches!(bound, Some(Expr::Path(path)) if path.path.is_ident(other));
        self.range.as_ref().is_some_and(|range| is(&range.least) || is(&range.most))
    }
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> syn::Result<Declaration> {
        let mut all = Declaration::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key == "per_direction" {
                all.per_direction = true;
                input.parse::<Option<Token![,]>>()?;
                continue;
            }
            input.parse::<Token![=]>()?;
            match key.to_string().as_str() {
                "source" => all.source = Some(input.parse()?),
                "default" => all.default = Some(input.parse()?),
                "range" => all.range = Some(input.parse()?),
                "bounds" => all.bounds = Some(input.parse()?),
                "each" => (all.each, all.range) = (true, Some(input.parse()?)),
                "range_text" => all.range_text = Some(input.parse()?),
                "up_to" => all.up_to = Some(input.parse()?),
                "why" => all.why = Some(input.parse()?),
                "symbol" => all.symbol = Some(input.parse()?),
                "unit" => all.unit = Some(input.parse()?),
                "alias" => all.alias = Some(input.parse()?),
                _ => return Err(syn::Error::new(key.span(), "no key of a parameter's declaration")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(all)
    }
}

impl Parse for Range {
    fn parse(input: ParseStream<'_>) -> syn::Result<Range> {
        let above = input.parse::<Option<Token![>]>>()?.is_some();
        match input.parse()? {
            Expr::Range(range) => Ok(Range {
                above,
                below: range.end.is_some() && matches!(range.limits, RangeLimits::HalfOpen(_)),
                least: range.start.map(|start| *start),
                most: range.end.map(|end| *end),
            }),
            other => Err(syn::Error::new_spanned(other, "a range, as in `Bytes::ZERO..=kmax`")),
        }
    }
}

/// Returns the type of one value of a field: the type inside its `Option`, `Vec` or `PerDirection`.
pub fn scalar(of: &Type) -> &Type {
    if let Type::Path(path) = of
        && let Some(last) = path.path.segments.last()
        && ["Option", "Vec", "PerDirection"].iter().any(|around| last.ident == around)
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(inner)) = arguments.args.first()
    {
        return scalar(inner);
    }
    of
}

/// Returns whether a field may be absent.
pub fn optional(of: &Type) -> bool {
    matches!(of, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// Returns the text of a doc comment, with its lines joined.
pub fn doc(attributes: &[Attribute]) -> Option<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    let text = attributes.iter().filter_map(line).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Puts the first letter of a text in lower case, unless it begins an abbreviation.
pub fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(begin), Some(next)) if next.is_lowercase() || next == ' ' => {
            format!("{}{}", begin.to_lowercase(), &text[begin.len_utf8()..])
        }
        _ => text.to_owned(),
    }
}

/// Returns the first sentence of a doc comment, up to a semicolon, with a small first letter.
pub fn meaning(field: &Field) -> Option<String> {
    let text = doc(&field.attrs)?;
    Some(lower(text.split(". ").next()?.split("; ").next()?.trim_end_matches('.')))
}
