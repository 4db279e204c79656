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
//! | `each` | the same for each entry of a list |
//! | `told` | a text that is told in place of the range |
//! | `up_to` | told as the upper bound of a `range` without one: what only a run knows, as "the line rate" |
//! | `why` | what is wrong with a value outside the range |
//! | `symbol` | what the source calls it |
//! | `unit` | where the type does not say it |
//! | `alias` | another name of the key |
//!
//! From these follow the defaults of serde, `Default` where no field must be given, the JSON schema with its `x-` keys, and the trait
//! `backwater_net::parameters::Parameters`: the list of parameters, and what is out of range in given ones.

mod declaration;
mod expand;

use proc_macro::TokenStream;

/// Declares the parameters of a table. See the crate.
#[proc_macro_attribute]
pub fn parameters(arguments: TokenStream, table: TokenStream) -> TokenStream {
    let expanded = syn::parse::<syn::parse::Nothing>(arguments)
        .and_then(|_| syn::parse::<syn::ItemStruct>(table))
        .and_then(expand::expand);
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
