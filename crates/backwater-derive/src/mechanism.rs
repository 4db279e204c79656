//! `#[mechanism]`: on an `impl Mechanism`, it adds the types that the mechanism does not name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ImplItem, ItemImpl, Type, parse_quote};

/// Expands `#[mechanism]`.
pub fn complete(mut item: ItemImpl) -> TokenStream {
    let absent: Type = parse_quote!(::backwater_net::hooks::Absent);
    let defaults: [(&str, Type); 5] = [
        ("Params", parse_quote!(Params)),
        ("Shared", parse_quote!(())),
        ("Switch", absent.clone()),
        ("Nic", absent.clone()),
        ("Flow", absent),
    ];
    for (name, default) in defaults {
        if !item.items.iter().any(|item| matches!(item, ImplItem::Type(named) if named.ident == name)) {
            let name = quote::format_ident!("{name}");
            item.items.push(parse_quote!(type #name = #default;));
        }
    }
    quote!(#item)
}
