//! Expands declarations to code for serde, schemars and `backwater_net::parameters`.

use crate::declaration::{Declaration, Range, meaning, optional, scalar};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Field, Fields, Ident, ItemStruct, LitStr, parse_quote};

pub fn expand(mut table: ItemStruct) -> syn::Result<TokenStream> {
    let name = table.ident.clone();
    let Fields::Named(fields) = &mut table.fields else {
        return Err(syn::Error::new_spanned(&table, "parameters have names"));
    };
    let names: Vec<Ident> = fields.named.iter().filter_map(|field| field.ident.clone()).collect();
    let declarations = fields.named.iter_mut().map(Declaration::take).collect::<syn::Result<Vec<_>>>()?;
    // A flattened field shares its keys with the whole table, so serde cannot recognise unknown ones: the schema does.
    let flat = fields.named.iter().any(|field| serde_says(field, "flatten"));
    let unknown = (!flat).then(|| quote!(#[serde(deny_unknown_fields)]));
    let (mut functions, mut listed, mut checks, mut defaults) = (Vec::new(), Vec::new(), Vec::new(), Some(Vec::new()));
    for (i, (field, declared)) in fields.named.iter_mut().zip(&declarations).enumerate() {
        let Some(declared) = declared else {
            let (ident, flat) = (&field.ident, serde_says(field, "flatten"));
            match &mut defaults {
                Some(all) if flat || serde_says(field, "default") => {
                    all.push(quote!(#ident: ::core::default::Default::default()));
                }
                _ => defaults = None,
            }
            if flat {
                checks.push(quote!(found.extend(::backwater_net::parameters::Parameters::out_of_range(&self.#ident));));
            }
            continue;
        };
        let (Some(ident), Some(meaning)) = (field.ident.clone(), meaning(field)) else {
            return Err(syn::Error::new_spanned(field, "a parameter has a doc comment: its meaning"));
        };
        let (ty, key) = (field.ty.clone(), ident.to_string());
        if let Some(alias) = &declared.alias {
            field.attrs.push(parse_quote!(#[serde(alias = #alias)]));
        }
        let default = match &declared.default {
            Some(value) => {
                let function = format_ident!("default_{ident}");
                let path = LitStr::new(&format!("{name}::{function}"), ident.span());
                field.attrs.push(parse_quote!(#[serde(default = #path)]));
                functions.push(quote!(fn #function() -> #ty { #value }));
                Some(quote!(Self::#function()))
            }
            None if optional(&ty) => {
                field.attrs.push(parse_quote!(#[serde(default)]));
                Some(quote!(None))
            }
            None => None,
        };
        match (&mut defaults, &default) {
            (Some(all), Some(value)) => all.push(quote!(#ident: #value)),
            _ => defaults = None,
        }
        if let Some(range) = &declared.range {
            let (function, of) = (format_ident!("range_{ident}"), scalar(&ty));
            // If two fields bound each other, only the first is checked, so that one mistake is reported once.
            let mutual = declarations[..i]
                .iter()
                .zip(&names)
                .filter(|(other, _)| other.as_ref().is_some_and(|other| other.names(&ident)))
                .map(|(_, name)| name);
            let built = built(range, &names, &mutual.collect::<Vec<_>>(), declared.up_to.as_ref(), of);
            functions
                .push(quote!(fn #function(of: Option<&Self>) -> ::backwater_net::parameters::Range<#of> { #built }));
            let why = option(declared.why.as_ref());
            let usual = default.map_or(quote!(None::<#of>), |value| quote!({ let value: #ty = #value; value }));
            let about = quote!(::backwater_net::parameters::About { key: #key, why: #why, meaning: #meaning });
            checks.push(quote!(found.extend(Self::#function(Some(self)).finding(&#about, &self.#ident, &#usual));));
        }
        listed.push(listing(declared, &ident, &names, scalar(&ty)));
    }
    let default = defaults.map(|fields| {
        quote!(impl ::core::default::Default for #name {
            fn default() -> Self { #name { #(#fields),* } }
        })
    });
    let describe = LitStr::new(&format!("::backwater_net::parameters::describe::<{name}>"), name.span());
    let describe: syn::Path = describe.parse()?;
    Ok(quote! {
        #[derive(::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #unknown
        #[schemars(transform = #describe)]
        #table
        impl #name { #(#functions)* }
        #default
        impl ::backwater_net::parameters::Parameters for #name {
            fn list() -> Vec<::backwater_net::parameters::Parameter> { vec![#(#listed),*] }
            fn out_of_range(&self) -> Vec<::backwater_net::parameters::Finding> {
                let mut found = Vec::new();
                #(#checks)*
                found
            }
        }
    })
}

/// Returns whether a field has this attribute of serde, without a value.
fn serde_says(field: &Field, what: &str) -> bool {
    let mut says = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // serde reports errors of the attribute.
        let _ = attribute.parse_nested_meta(|meta| match meta.value() {
            Ok(value) => value.parse::<Expr>().map(drop),
            Err(_) => {
                says |= meta.path.is_ident(what);
                Ok(())
            }
        });
    }
    says
}

/// Returns the range. Bounds that are other fields have their values in `of`.
fn built(
    range: &Range,
    names: &[Ident],
    range_text: &[&Ident],
    up_to: Option<&LitStr>,
    scalar: &syn::Type,
) -> TokenStream {
    let bound = |at: &Option<Expr>| match at {
        None => quote!(None),
        Some(Expr::Path(path)) if path.path.get_ident().is_some_and(|ident| names.contains(ident)) => {
            let key = path.to_token_stream().to_string();
            let value = match range_text.iter().any(|name| path.path.is_ident(*name)) {
                true => quote!(None),
                false => quote!(of.and_then(|of| ::backwater_net::parameters::Values::<#scalar>::first(&of.#path))),
            };
            quote!(Some(::backwater_net::parameters::Bound::Key(#key, #value)))
        }
        Some(value) => quote!(Some(::backwater_net::parameters::Bound::Value(#value))),
    };
    let (least, most) = (bound(&range.least), bound(&range.most));
    let (above, below, up_to) = (range.above, range.below, option(up_to));
    quote! {
        let _ = of;
        ::backwater_net::parameters::Range { least: #least, above: #above, most: #most, below: #below, up_to: #up_to }
    }
}

fn listing(declared: &Declaration, ident: &Ident, names: &[Ident], of: &syn::Type) -> TokenStream {
    let (symbol, unit, alias) =
        (option(declared.symbol.as_ref()), option(declared.unit.as_ref()), option(declared.alias.as_ref()));
    let (source, key, each) = (&declared.source, ident.to_string(), declared.each);
    let per_direction = declared.per_direction;
    let range = format_ident!("range_{ident}");
    let (text, bounds) = match &declared.range {
        Some(_) => (quote!(Some(Self::#range(None).to_string())), quote!(Self::#range(None).bounds())),
        None => (quote!(None), quote!(Vec::new())),
    };
    let text = match &declared.range_text {
        Some(range_text) => quote!(Some(#range_text.to_owned())),
        None if declared.each => quote!(None),
        None => text,
    };
    let limits = declared.bounds.as_ref().map_or(quote!(Vec::new()), |bounds| {
        let built = built(bounds, names, &[], None, of);
        quote!({ let of: Option<&Self> = None; let limits: ::backwater_net::parameters::Range<#of> = { #built }; limits.limits() })
    });
    quote!(::backwater_net::parameters::Parameter {
        key: #key, symbol: #symbol, unit: #unit, source: #source, alias: #alias, range: #text, bounds: #bounds, limits: #limits, each: #each, per_direction: #per_direction,
    })
}

fn option(text: Option<&LitStr>) -> TokenStream {
    text.map_or(quote!(None), |text| quote!(Some(#text)))
}
