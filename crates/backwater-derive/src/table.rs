//! Expands the fields of a row to implementations of `backwater_net::record::{Columns, Table}`.

use crate::declaration::{doc, lower};
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Ident, LitStr, Token, Type};

/// The keys of `#[column(…)]`.
enum Key {
    Name(LitStr),
    Unit(LitStr),
    As(Box<Type>),
    Flatten,
    Skip,
}

/// The content of `#[computed(…)]`: a column computed from the row.
struct Computed {
    name: Ident,
    of: Type,
    value: Expr,
    unit: Option<LitStr>,
    description: LitStr,
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Key> {
        if input.parse::<Option<Token![as]>>()?.is_some() {
            input.parse::<Token![=]>()?;
            return Ok(Key::As(Box::new(input.parse()?)));
        }
        let key: Ident = input.parse()?;
        let text = || input.parse::<Token![=]>().and_then(|_| input.parse());
        match key.to_string().as_str() {
            "name" => Ok(Key::Name(text()?)),
            "unit" => Ok(Key::Unit(text()?)),
            "flatten" => Ok(Key::Flatten),
            "skip" => Ok(Key::Skip),
            _ => Err(Error::new(key.span(), "`name`, `unit`, `as`, `flatten` or `skip`")),
        }
    }
}

impl Parse for Computed {
    fn parse(input: ParseStream<'_>) -> syn::Result<Computed> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let of = input.parse()?;
        input.parse::<Token![=]>()?;
        let value = input.parse()?;
        input.parse::<Token![,]>()?;
        let mut unit = None;
        if input.peek(Ident) {
            let key: Ident = input.parse()?;
            if key != "unit" {
                return Err(Error::new(key.span(), "`unit`, or the description"));
            }
            input.parse::<Token![=]>()?;
            unit = Some(input.parse()?);
            input.parse::<Token![,]>()?;
        }
        Ok(Computed { name, of, value, unit, description: input.parse()? })
    }
}

/// Implements `Columns` for a row or a part of one.
pub fn columns(item: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(item, "a row is a struct"));
    };
    let (mut declared, mut written) = (Vec::new(), Vec::new());
    for field in &data.fields {
        own(field, &mut declared, &mut written)?;
        for attribute in named(&field.attrs, "computed") {
            let Computed { name, of, value, unit, description } = attribute.parse_args()?;
            let (name, unit) = (name.to_string(), unit.iter());
            declared.push(quote!(to.push(Column::new::<#of>(#name, #description)#(.in_unit(#unit))*);));
            written.push(quote!(take(Value::cell(&{ let value: #of = #value; value }));));
        }
    }
    let name = &item.ident;
    Ok(quote! {
        impl ::backwater_net::record::Columns for #name {
            fn columns(to: &mut ::std::vec::Vec<::backwater_net::record::Column>) {
                use ::backwater_net::record::{Column, Columns};
                #(#declared)*
            }
            fn cells(&self, take: &mut impl FnMut(::backwater_net::record::Cell<'_>)) {
                use ::backwater_net::record::{Columns, Value};
                #(#written)*
            }
        }
    })
}

/// Writes the column, or the columns, of a field.
fn own(field: &Field, declared: &mut Vec<TokenStream>, written: &mut Vec<TokenStream>) -> syn::Result<()> {
    let Some(ident) = &field.ident else {
        return Err(Error::new_spanned(field, "a column has a name"));
    };
    let (mut name, mut unit, mut converted) = (None, None, None);
    for attribute in named(&field.attrs, "column") {
        for key in attribute.parse_args_with(Punctuated::<Key, Token![,]>::parse_terminated)? {
            match key {
                Key::Name(text) => name = Some(text),
                Key::Unit(text) => unit = Some(text),
                Key::As(ty) => converted = Some(*ty),
                Key::Skip => return Ok(()),
                Key::Flatten => {
                    let of = &field.ty;
                    declared.push(quote!(<#of as Columns>::columns(to);));
                    written.push(quote!(Columns::cells(&self.#ident, take);));
                    return Ok(());
                }
            }
        }
    }
    let Some(description) = doc(&field.attrs) else {
        return Err(Error::new_spanned(field, "a column has a doc comment: its description"));
    };
    let description = lower(description.trim_end_matches('.'));
    let (of, cell) = match &converted {
        Some(ty) => (ty, quote!(Value::cell(&#ty(self.#ident)))),
        None => (&field.ty, quote!(Value::cell(&self.#ident))),
    };
    let column = match &name {
        Some(name) => quote!(Column::new::<#of>(#name, #description)),
        None => {
            let field = ident.to_string();
            quote!(Column::of_field::<#of>(#field, #description))
        }
    };
    let unit = unit.iter();
    declared.push(quote!(to.push(#column #(.in_unit(#unit))*);));
    written.push(quote!(take(#cell);));
    Ok(())
}

/// Implements `Table` for a row: its columns, its name and its description.
pub fn table(item: &DeriveInput) -> syn::Result<TokenStream> {
    let columns = columns(item)?;
    let Some(attribute) = named(&item.attrs, "table").next() else {
        return Err(Error::new_spanned(item, "a table has a name: `#[table(\"…\")]`"));
    };
    let table: LitStr = attribute.parse_args()?;
    let Some(description) = doc(&item.attrs) else {
        return Err(Error::new_spanned(item, "a table has a doc comment: what a row is"));
    };
    let name = &item.ident;
    Ok(quote! {
        #columns
        impl ::backwater_net::record::Table for #name {
            const NAME: &'static str = #table;
            const DESCRIPTION: &'static str = #description;
        }
    })
}

fn named<'a>(attributes: &'a [Attribute], name: &'static str) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |attribute| attribute.path().is_ident(name))
}
