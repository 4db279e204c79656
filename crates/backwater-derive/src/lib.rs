//! Macros that expand declarations: of parameters, of columns of result tables ([`Table`](macro@Table)), and of the
//! state that a run saves ([`State`](macro@State)).
//!
//! Each parameter of a scenario table has one declaration: `#[parameters]` on a struct, and `#[param(…)]` on each
//! field.
//!
//! ```text
//! /// Queue length up to which no packet is marked.                    the meaning, which `backwater explain` prints
//! #[param(symbol = "Kmin", default = Bytes(5_000), range = Bytes::ZERO..=kmax, source = "Zhu et al., SIGCOMM 2015")]
//! pub kmin: Bytes,
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `source` | the source of the parameter or its default; required |
//! | `default` | an expression; without it the scenario must set the parameter, or it is absent (`Option`) |
//! | `range` | a Rust range, with `>` before it if its first value is excluded: `>0.0..=1.0`. A bound may be another field. It is checked, and shown in documents |
//! | `bounds` | a Rust range that the reader of a scenario checks, at the value's place in the file |
//! | `each` | like `range`, for each entry of a list |
//! | `range_text` | a text that documents and messages show in place of the range |
//! | `up_to` | a text for the upper bound of a `range` without one, which only a run knows: "the line rate" |
//! | `why` | what is wrong with a value outside the range |
//! | `symbol` | its symbol in the source |
//! | `unit` | its unit, if the type has none |
//! | `alias` | another name of the key |
//! | `per_direction` | each direction of a link may have its own value |
//!
//! A field without `#[param(…)]` is a table itself or, with `#[serde(flatten)]`, keys that another table declares. A
//! table with several kinds is an enum of structs with `#[serde(tag = "kind")]`.
//!
//! The macro writes the defaults of serde, `Default` if no parameter is required, and the JSON schema with its `x-`
//! keys. It also implements the trait `backwater_net::parameters::Parameters`: the list of parameters, and the check of
//! their ranges.

mod declaration;
mod expand;
mod hooks;
mod mechanism;
mod state;
mod table;

use proc_macro::TokenStream;

/// Declares the parameters of a table, as the documentation of the crate describes.
#[proc_macro_attribute]
pub fn parameters(arguments: TokenStream, table: TokenStream) -> TokenStream {
    attributed(arguments, table, expand::expand)
}

/// Implements `backwater_engine::State`, which saves and loads the state of a struct or an enum. Each field is saved as
/// a value, unless an attribute changes that:
///
/// ```text
/// #[state(fixed)]           it follows from parameters: it is never saved, and loading does not change it
/// #[state(same)]            it follows from parameters, and loading refuses a state with another value
/// #[state(within)]          it has state of its own, and is loaded in place
/// #[state(sorted)]          a `HashMap`, saved in the order of its keys
/// #[state(with = module)]   `module::save(&field, to)`, `module::load(&mut field, from)`
/// ```
///
/// The variant of an enum follows from parameters.
#[proc_macro_derive(State, attributes(state))]
pub fn state(item: TokenStream) -> TokenStream {
    derived(item, state::expand)
}

/// Implements `backwater_net::record::Table`: a row of a result table. Each field is a column, declared by its type and
/// its doc comment:
///
/// ```text
/// /// One row per flow, written when the flow or the run ends.    the description of the table
/// #[table("flows")]                                              the name of the table
///
/// /// Payload received.                                           the description of the column, without capital and full stop
/// #[column(unit = "B")]                                          the unit, unless the type has one, as `Time`
/// pub received: u64,                                              name and type of the column; a time's name gets `_ps`; `None` is null
/// ```
///
/// | key | meaning |
/// |---|---|
/// | `name` | a name other than the field's |
/// | `unit` | its unit |
/// | `as` | the type of the column, made from the field's value: `as = Group` for the label of a group that a `u32` identifies |
/// | `flatten` | the field is a struct that derives [`Columns`](macro@Columns), and adds its columns |
/// | `skip` | no column |
///
/// On a field, `#[computed(slowdown: Option<f64> = self.slowdown(), unit = "…", "its description")]` declares a column
/// after the field's.
#[proc_macro_derive(Table, attributes(table, column, computed))]
pub fn table(item: TokenStream) -> TokenStream {
    derived(item, table::table)
}

/// A part of a row with several columns: see [`Table`](macro@Table).
#[proc_macro_derive(Columns, attributes(column, computed))]
pub fn columns(item: TokenStream) -> TokenStream {
    derived(item, table::columns)
}

fn derived(item: TokenStream, expand: fn(&syn::DeriveInput) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    let expanded = syn::parse::<syn::DeriveInput>(item).and_then(|item| expand(&item));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares hooks, or the hooks that a mechanism has. On a trait, each method has a rule that combines the answers of
/// several mechanisms:
///
/// ```text
/// #[hook(each)]                 each is called; there is no answer
/// #[hook(each_of_flow)]         each is called, except those that leave the flow alone
/// #[hook(until = answer)]       the first answer that differs from this one
/// #[hook(any)]  #[hook(all)]    each is called; true if any, or all, answer true
/// #[hook(least)]  #[hook(latest)]  each is called; the least, or the latest, answer
/// #[hook(own(number, nobody))]  only the mechanism with this number is called; `nobody` is the answer without it
/// #[hook(report)]               a function `report_NAME` gets each answer
/// #[hook(…, or = other)]        the default calls the hook `other`
/// #[hook(…, hot)]               it is called for every packet
/// ```
///
/// Mechanisms that attach nothing do not get an argument with `#[attached]`.
///
/// For a trait `SwitchSide`, the macro writes the set `SwitchHooks`, with a bit for each hook, and the hooks of a
/// `Stack` of mechanisms. A stack calls only mechanisms that have the hook. On an `impl` of the trait, the methods that
/// it defines are the hooks it has. A side of a switch or a NIC that acts at links also implements `LinkSide`, and
/// declares that by `#[hooks(link)]`.
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

/// Completes an `impl Mechanism`: a side that it does not name is absent, `Shared` is nothing, and `Params` is the
/// type of that name. (Rust has no defaults for types of a trait.)
#[proc_macro_attribute]
pub fn mechanism(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attributed(arguments, item, |item| Ok(mechanism::complete(item)))
}

/// Expands an attribute without arguments.
fn attributed<T: syn::parse::Parse>(
    arguments: TokenStream,
    item: TokenStream,
    expand: fn(T) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let expanded = syn::parse::<syn::parse::Nothing>(arguments).and_then(|_| syn::parse::<T>(item)).and_then(expand);
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
