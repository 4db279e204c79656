//! Expands the fields of a type to an implementation of `backwater_engine::State`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Ident, Member, Path, parse_quote};

/// The ways to save a field.
enum How {
    Value,
    Fixed,
    Same,
    Within,
    Sorted,
    With(Path),
}

pub fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &item.ident;
    let (save, load) = match &item.data {
        Data::Struct(data) => {
            let (pattern, save, load) = fields(&name.to_string(), &data.fields)?;
            (quote!(let Self #pattern = self; #save), quote!(let Self #pattern = self; #load))
        }
        Data::Enum(data) => {
            let (mut saves, mut loads) = (Vec::new(), Vec::new());
            for (number, variant) in (0u32..).zip(&data.variants) {
                let ident = &variant.ident;
                let (pattern, save, load) = fields(&format!("{name}::{ident}"), &variant.fields)?;
                saves.push(quote!(Self::#ident #pattern => { to.put(&#number); #save }));
                loads.push(quote!(Self::#ident #pattern if saved == #number => { #load }));
            }
            let other = quote!(_ => return Err(::backwater_engine::state::Unfit::new("it is of another kind than what was saved")));
            (quote!(match self { #(#saves)* }), quote!(let saved: u32 = from.take()?; match self { #(#loads)* #other }))
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "a union has no state")),
    };
    let mut generics = item.generics.clone();
    generics.type_params_mut().for_each(|of| of.bounds.push(parse_quote!(::backwater_engine::State)));
    let (bounds, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        impl #bounds ::backwater_engine::State for #name #arguments #clause {
            fn save(&self, to: &mut ::backwater_engine::state::Saver) {
                #save
                let _ = to;
            }

            fn load(
                &mut self,
                from: &mut ::backwater_engine::state::Loader<'_>,
            ) -> ::core::result::Result<(), ::backwater_engine::state::Unfit> {
                #load
                let _ = from;
                Ok(())
            }
        }
    })
}

/// Returns a pattern that names all fields except fixed ones, and the code that saves and loads them.
fn fields(of: &str, fields: &Fields) -> syn::Result<(TokenStream, TokenStream, TokenStream)> {
    let (mut pattern, mut saves, mut loads) = (Vec::new(), Vec::new(), Vec::new());
    for (member, field) in fields.members().zip(fields) {
        let how = how(field)?;
        let var: Ident = match &member {
            Member::Named(ident) => format_ident!("field_{ident}"),
            Member::Unnamed(index) => format_ident!("field_{}", index.index),
        };
        let (save, load) = match how {
            How::Fixed => {
                pattern.push(quote!(#member: _));
                continue;
            }
            How::Value => (quote!(to.put(#var)), quote!(from.take().map(|value| *#var = value))),
            How::Same => (quote!(to.put(#var)), quote!(::backwater_engine::state::load_same(#var, from))),
            How::Within => {
                (quote!(::backwater_engine::State::save(#var, to)), quote!(::backwater_engine::State::load(#var, from)))
            }
            How::Sorted => (
                quote!(::backwater_engine::state::save_sorted(#var, to)),
                quote!(::backwater_engine::state::load_sorted(#var, from)),
            ),
            How::With(path) => (quote!(#path::save(#var, to)), quote!(#path::load(#var, from))),
        };
        let place = match &member {
            Member::Named(ident) => format!("{of}.{ident}"),
            Member::Unnamed(index) => format!("{of}.{}", index.index),
        };
        pattern.push(quote!(#member: #var));
        saves.push(quote!(#save;));
        loads.push(quote!((#load).map_err(|unfit| unfit.within(#place))?;));
    }
    Ok((quote!({ #(#pattern),* }), quote!(#(#saves)*), quote!(#(#loads)*)))
}

fn how(field: &Field) -> syn::Result<How> {
    let mut how = How::Value;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("state")) {
        attribute.parse_nested_meta(|meta| {
            how = if meta.path.is_ident("fixed") {
                How::Fixed
            } else if meta.path.is_ident("same") {
                How::Same
            } else if meta.path.is_ident("within") {
                How::Within
            } else if meta.path.is_ident("sorted") {
                How::Sorted
            } else if meta.path.is_ident("with") {
                How::With(meta.value()?.parse()?)
            } else {
                return Err(meta.error("`fixed`, `same`, `within`, `sorted` or `with = module`"));
            };
            Ok(())
        })?;
    }
    Ok(how)
}
