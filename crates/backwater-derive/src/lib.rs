//! What is written out from declarations: parameters, the columns of result tables ([`Table`](macro@Table)), and the state that a run
//! saves ([`State`](macro@State)).
//!
//! One declaration for each parameter of a table of the scenario. `#[parameters]` on a struct, and `#[param(…)]` on each field:
//!
//! ```text
//! /// Queue length up to which nothing is marked.                      the meaning: what `backwater explain` prints
//! #[param(symbol = "Kmin", default = Bytes(5_000), range = Bytes::ZERO..=kmax, source = "Zhu et al., SIGCOMM 2015")]
//! pub kmin: Bytes,
//! ```
//!
//! | key | what it is |
//! |---|---|
//! | `source` | where the parameter or its default comes from; must be given |
//! | `default` | an expression; without it the parameter must be given in the scenario, or is absent (`Option`) |
//! | `range` | a range of Rust, `>` before it where the first value is left out: `>0.0..=1.0`. A bound may be another field. Checked, and told |
//! | `bounds` | a range of Rust that the reader of a scenario checks, where the value stands in the file |
//! | `each` | the same for each entry of a list |
//! | `range_text` | a text that is told in place of the range |
//! | `up_to` | told as the upper bound of a `range` without one: what only a run knows, as "the line rate" |
//! | `why` | what is wrong with a value outside the range |
//! | `symbol` | what the source calls it |
//! | `unit` | where the type does not say it |
//! | `alias` | another name of the key |
//! | `per_direction` | it may be given for each direction of a link |
//!
//! A field without `#[param(…)]` is a table of its own, or with `#[serde(flatten)]` keys that another table declares. A table that has kinds
//! is an enum of such structs with `#[serde(tag = "kind")]`.
//!
//! From these follow the defaults of serde, `Default` where nothing must be given, the JSON schema with its `x-` keys, and the trait
//! `backwater_net::parameters::Parameters`: the list of parameters, and what is out of range in given ones.

mod declaration;
mod expand;
mod hooks;
mod state;
mod table;

use proc_macro::TokenStream;

/// Declares the parameters of a table. See the crate.
#[proc_macro_attribute]
pub fn parameters(arguments: TokenStream, table: TokenStream) -> TokenStream {
    let expanded = syn::parse::<syn::parse::Nothing>(arguments)
        .and_then(|_| syn::parse::<syn::ItemStruct>(table))
        .and_then(expand::expand);
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Saves and loads what a struct or an enum has come to: `backwater_engine::State`. Each field is saved as a value, unless it says otherwise:
///
/// ```text
/// #[state(fixed)]           it follows from parameters: never saved, and left as it is
/// #[state(same)]            it follows from parameters, and what is saved would not fit to another value: that is refused
/// #[state(within)]          it has state itself, and is loaded in place
/// #[state(sorted)]          a `HashMap`, saved in the order of its keys
/// #[state(with = module)]   `module::save(&field, to)`, `module::load(&mut field, from)`
/// ```
///
/// Which variant of an enum it is follows from parameters.
#[proc_macro_derive(State, attributes(state))]
pub fn state(item: TokenStream) -> TokenStream {
    derived(item, state::expand)
}

/// A row of a result table: `backwater_net::record::Table`. Each field is a column, declared by its type and its doc comment:
///
/// ```text
/// /// One row a flow, when it was complete or the run over.       the table's description
/// #[table("flows")]                                              and its name
///
/// /// Payload received.                                           the column's description, but for the capital and the full stop
/// #[column(unit = "B")]                                          where the type has none of its own, as `Time` has
/// pub received: u64,                                              its name, a time with `_ps` behind it; its type; `Option`: null where there is none
/// ```
///
/// | key | what it is |
/// |---|---|
/// | `name` | a name that is not the field's |
/// | `unit` | its unit |
/// | `as` | a type that is made of the field's value, and is the column's: `as = Group` for the label of a group that a `u32` names |
/// | `flatten` | columns of a struct that derives [`Columns`](macro@Columns) |
/// | `skip` | no column |
///
/// `#[computed(slowdown: Option<f64> = self.slowdown(), unit = "…", "its description")]` on a field declares a column that follows the field's.
#[proc_macro_derive(Table, attributes(table, column, computed))]
pub fn table(item: TokenStream) -> TokenStream {
    derived(item, table::table)
}

/// A part of a row that has columns of its own: see [`Table`](macro@Table).
#[proc_macro_derive(Columns, attributes(column, computed))]
pub fn columns(item: TokenStream) -> TokenStream {
    derived(item, table::columns)
}

fn derived(item: TokenStream, expand: fn(&syn::DeriveInput) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    let expanded = syn::parse::<syn::DeriveInput>(item).and_then(|item| expand(&item));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Hooks, and which of them a mechanism has. On a trait, each method says how the answers of several mechanisms become one:
///
/// ```text
/// #[hook(each)]                 each is called; there is no answer
/// #[hook(each_of_flow)]         each is called, but for those that leave the flow alone
/// #[hook(until = answer)]       the first answer that differs from this one
/// #[hook(any)]  #[hook(all)]    each is called; whether any, or all, say so
/// #[hook(least)]  #[hook(latest)]
/// #[hook(own(number, nobody))]  only the mechanism of this number is called; `nobody` is the answer where it is not there
/// #[hook(report)]               what each answers is handed to a function: `report_NAME`
/// #[hook(…, or = other)]        the default calls the hook `other`
/// #[hook(…, hot)]               called for every packet
/// ```
///
/// An argument that is `#[attached]` is left out for mechanisms that attach nothing. From a trait `SwitchSide` follow the set `SwitchHooks`, a bit for
/// each hook, and the hooks of a `Stack` of mechanisms, which calls only those that have a hook. On an `impl` of the trait, the methods that it defines say which hooks it has.
/// A side of a switch or a NIC that does something at links has an `impl` of `LinkSide`, too, and says so: `#[hooks(link)]`.
#[proc_macro_attribute]
pub fn hooks(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Option<syn::Ident>>(arguments).and_then(|with| match (syn::parse(item)?, with) {
        (syn::Item::Trait(item), None) => hooks::declare(item),
        (syn::Item::Impl(item), None) => hooks::derive(item, false),
        (syn::Item::Impl(item), Some(with)) if with == "link" => hooks::derive(item, true),
        (other, _) => {
            let belongs = "`#[hooks]` belongs on a trait of hooks or on an `impl` of it, `#[hooks(link)]` on an `impl`";
            Err(syn::Error::new_spanned(other, belongs))
        }
    });
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
