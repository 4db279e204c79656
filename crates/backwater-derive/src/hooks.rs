//! `#[hooks]`: on a trait of hooks, it writes the calls in a stack of mechanisms; on an `impl` of it, the set of hooks
//! that the mechanism has.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, FnArg, Ident, ImplItem, ItemImpl, ItemTrait, Pat, ReceiverKind, ReturnType, Signature,
    Token, TraitItem, TraitItemFn, Type, parse_quote,
};

/// The stack calls four mechanisms one by one, then checks whether any of the next four has the hook.
const GROUP: u8 = 4;

/// The ways to combine the answers of several mechanisms.
enum Rule {
    /// Each is called; there is no answer.
    Each,
    /// Each is called, except those that leave the flow of this call alone.
    EachOfFlow,
    /// The first answer that differs from this one, which is also the answer without mechanisms.
    Until(Expr),
    /// Each is called; true if any answer is true.
    Any,
    /// Each is called; true if all answers are true.
    All,
    /// The least answer.
    Least,
    /// The latest answer.
    Latest,
    /// The first expression is the number of the only mechanism called; the second is the answer without it.
    Own(Expr, Expr),
    /// A function gets each answer, with the mechanism's number.
    Report,
    /// Each is called that has a hook which levels trigger; the result is all levels that any of them wants.
    Levels,
}

/// One hook of a trait.
struct Hook {
    rule: Rule,
    /// Another hook that the default calls. A mechanism with that hook therefore has this one.
    or: Option<Ident>,
    /// True if every run with the hook calls it for every packet.
    hot: bool,
    signature: Signature,
}

/// Expands `#[hooks]` on a trait.
pub fn declare(mut item: ItemTrait) -> syn::Result<TokenStream> {
    let side = item.ident.clone();
    let Some(node) = side.to_string().strip_suffix("Side").map(str::to_owned) else {
        return Err(Error::new_spanned(side, "a trait of hooks is named `…Side`"));
    };
    let set = format_ident!("{node}Hooks");
    let mut hooks = Vec::new();
    let mut reports: Vec<TraitItem> = Vec::new();
    for function in item.items.iter_mut().filter_map(|item| match item {
        TraitItem::Fn(function) => Some(function),
        _ => None,
    }) {
        let hook = hook(function)?;
        if matches!(hook.rule, Rule::Report) {
            reports.push(report_default(&hook.signature)?);
        }
        hooks.push(hook);
    }
    item.items.extend(reports);
    let documented = format!("Which hooks of [`{side}`] it has: `#[hooks]` on the `impl` tells.");
    let which = which(&node);
    item.items.push(parse_quote!(#[doc = #documented] fn #which(&self) -> #set;));

    let bits = bits(&set, &side, &hooks);
    let forwards = hooks.iter().map(|hook| forward(&side, hook)).collect::<syn::Result<Vec<_>>>()?;
    let stacked =
        hooks.iter().enumerate().map(|(at, hook)| stacked(&set, &side, hook, at)).collect::<syn::Result<Vec<_>>>()?;
    let means = hooks.iter().enumerate().map(|(at, hook)| {
        let or = hook.or.iter().map(constant);
        quote!(1 << #at #(| ::backwater_net::hooks::#set::#or.bits())*)
    });
    let (count, stack) = (hooks.len(), format_ident!("{}_stack", node.to_lowercase()));
    Ok(quote! {
        #item
        #bits

        impl<S: #side + ?Sized> #side for ::std::boxed::Box<S> {
            fn #which(&self) -> #set { (**self).#which() }
            #(#forwards)*
        }

        /// Writes the hooks of a stack of mechanisms. Its type has one field for each mechanism, an optional boxed
        /// side, and the field `on`: the set of mechanisms present.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #stack {
            ($stack:ty; $($field:ident: $number:expr, $attaches:expr, $side:ty;)+) => {
                const _: () = {
                    use ::backwater_net::prelude::*;

                    /// For each hook, the mechanisms that have it.
                    const WITH: [MechanismSet; #count] = {
                        // For each hook, the bits of the hooks that imply it.
                        let means: [u64; #count] = [#(#means),*];
                        let mut with = [0; #count];
                        $({
                            let mut at = 0;
                            while at < #count {
                                if <$side as Defines<#set>>::HOOKS.bits() & means[at] != 0 {
                                    with[at] |= 1 << $number;
                                }
                                at += 1;
                            }
                        })+
                        with
                    };

                    impl #side for $stack {
                        fn #which(&self) -> #set {
                            let mut all = #set::NONE;
                            $(if self.$field.is_some() {
                                all = all.or(<$side as Defines<#set>>::HOOKS);
                            })+
                            all
                        }
                        #(#stacked)*
                    }
                };
            };
        }
    })
}

/// Expands `#[hooks]` on an `impl`. Without `has_links`, it also writes an empty `impl` of the hooks at links.
pub fn derive(mut item: ItemImpl, has_links: bool) -> syn::Result<TokenStream> {
    let Some((of, _)) = item.trait_.clone() else {
        return Err(Error::new_spanned(item, "`#[hooks]` belongs on the implementation of a trait of hooks"));
    };
    let side = of.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    let Some(node) = side.strip_suffix("Side") else {
        return Err(Error::new_spanned(of, "a trait of hooks is named `…Side`"));
    };
    let set = format_ident!("{node}Hooks");
    let named = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(constant(&function.sig.ident)),
        _ => None,
    });
    let hooks = quote!(::backwater_net::hooks::#set::NONE #(.or(::backwater_net::hooks::#set::#named))*);
    let which = which(node);
    item.items.push(parse_quote! {
        #[inline]
        fn #which(&self) -> ::backwater_net::hooks::#set {
            <Self as ::backwater_net::hooks::Defines<::backwater_net::hooks::#set>>::HOOKS
        }
    });
    let (bounds, _, clause) = item.generics.split_for_impl();
    let of = &item.self_ty;
    let no_links = (matches!(node, "Switch" | "Nic") && !has_links).then(|| {
        quote! {
            #[::backwater_derive::hooks]
            impl #bounds ::backwater_net::hooks::LinkSide for #of #clause {}
        }
    });
    Ok(quote! {
        #item
        #no_links

        impl #bounds ::backwater_net::hooks::Defines<::backwater_net::hooks::#set> for #of #clause {
            const HOOKS: ::backwater_net::hooks::#set = #hooks;
        }
    })
}

/// Returns the name of the method that lists the hooks of a mechanism: `switch_hooks`.
fn which(node: &str) -> Ident {
    format_ident!("{}_hooks", node.to_lowercase())
}

/// Removes the attributes of a hook, and reads them.
fn hook(function: &mut TraitItemFn) -> syn::Result<Hook> {
    let at = function.attrs.iter().position(|attribute| attribute.path().is_ident("hook"));
    let Some(at) = at else {
        return Err(Error::new_spanned(
            &function.sig,
            "a hook says how answers of several mechanisms become one: `#[hook(…)]`",
        ));
    };
    let attribute = function.attrs.remove(at);
    let signature = function.sig.clone();
    for argument in &mut function.sig.inputs {
        if let FnArg::Typed(argument) = argument {
            argument.attrs.retain(|attribute| !attribute.path().is_ident("attached"));
        }
    }
    function.attrs.push(parse_quote!(#[allow(unused_variables)]));
    function.attrs.push(parse_quote!(#[inline(always)]));
    let (mut rule, mut or, mut hot) = (None, None, false);
    attribute.parse_nested_meta(|meta| {
        let name = meta.path.require_ident()?.to_string();
        match name.as_str() {
            "each" => rule = Some(Rule::Each),
            "each_of_flow" => rule = Some(Rule::EachOfFlow),
            "until" => rule = Some(Rule::Until(meta.value()?.parse()?)),
            "any" => rule = Some(Rule::Any),
            "all" => rule = Some(Rule::All),
            "least" => rule = Some(Rule::Least),
            "latest" => rule = Some(Rule::Latest),
            "own" => {
                let inner;
                syn::parenthesized!(inner in meta.input);
                let mut both = Punctuated::<Expr, Token![,]>::parse_terminated(&inner)?.into_iter();
                let (Some(owner), Some(nobody), None) = (both.next(), both.next(), both.next()) else {
                    return Err(meta.error("`own(number, answer of nobody)`"));
                };
                rule = Some(Rule::Own(owner, nobody));
            }
            "report" => rule = Some(Rule::Report),
            "levels" => rule = Some(Rule::Levels),
            "or" => or = Some(meta.value()?.parse()?),
            "hot" => hot = true,
            _ => return Err(meta.error("`each`, `each_of_flow`, `until = …`, `any`, `all`, `least`, `latest`, `own(…)`, `report`, `levels`, `or = …`, `hot`")),
        }
        Ok(())
    })?;
    let rule = rule.ok_or_else(|| Error::new_spanned(&attribute, "how do answers become one?"))?;
    Ok(Hook { rule, or, hot, signature })
}

/// Returns the name of a hook's constant: `ON_ADMIT` for `on_admit`.
fn constant(hook: &Ident) -> Ident {
    Ident::new(&hook.to_string().to_uppercase(), hook.span())
}

/// Writes the set of hooks, with one bit for each.
fn bits(set: &Ident, side: &Ident, hooks: &[Hook]) -> TokenStream {
    let documented = format!("Hooks of [`{side}`], a bit each.");
    let constants = hooks.iter().enumerate().map(|(at, hook)| {
        let (name, documented) = (constant(&hook.signature.ident), format!("[`{side}::{}`]", hook.signature.ident));
        quote!(#[doc = #documented] pub const #name: #set = #set(1 << #at);)
    });
    quote! {
        #[doc = #documented]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct #set(u64);

        impl #set {
            /// No hook.
            pub const NONE: #set = #set(0);
            #(#constants)*

            /// The hooks of both sets.
            #[must_use]
            pub const fn or(self, other: #set) -> #set {
                #set(self.0 | other.0)
            }

            /// The set as a number.
            #[must_use]
            pub const fn bits(self) -> u64 {
                self.0
            }

            /// Returns whether it has any of these.
            #[inline(always)]
            pub const fn has(self, any: #set) -> bool {
                self.0 & any.0 != 0
            }
        }
    }
}

/// Returns the arguments after `self`: name, type and attributes.
fn arguments(signature: &Signature) -> impl Iterator<Item = (&Ident, &Type, &[Attribute])> {
    signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(argument) => match &*argument.pat {
            Pat::Ident(pat) => Some((&pat.ident, &*argument.ty, &*argument.attrs)),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

/// Returns whether a hook takes `&self`.
fn is_shared(signature: &Signature) -> bool {
    signature.receiver().is_some_and(|of| matches!(of.kind, ReceiverKind::Reference(_, _, None)))
}

fn is_exclusive(of: &Type) -> bool {
    matches!(of, Type::Reference(reference) if reference.mutability.is_some())
}

fn is_option_of_exclusive(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    let Some(last) = path.path.segments.last().filter(|last| last.ident == "Option") else { return false };
    let syn::PathArguments::AngleBracketed(of) = &last.arguments else { return false };
    matches!(of.args.first(), Some(syn::GenericArgument::Type(of)) if is_exclusive(of))
}

/// Returns the arguments of a call, reborrowed so that the next mechanism can get them, too. With `own`, the call is to
/// one mechanism: its context is its own, and it gets no data that another mechanism attached.
fn handed(signature: &Signature, own: bool) -> Vec<TokenStream> {
    let mut all = Vec::new();
    for (name, of, attributes) in arguments(signature) {
        let attached = own && attributes.iter().any(|attribute| attribute.path().is_ident("attached"));
        all.push(if own && name == "cx" {
            quote!(&mut cx.owned_by(MechanismId($number)))
        } else if is_exclusive(of) {
            quote!(&mut *#name)
        } else if is_option_of_exclusive(of) && attached {
            quote!(#name.as_deref_mut().filter(|_| $attaches))
        } else if is_option_of_exclusive(of) {
            quote!(#name.as_deref_mut())
        } else if attached {
            quote!(&#name.only_if($attaches))
        } else {
            quote!(#name)
        });
    }
    all
}

/// Returns the signature without attributes of arguments, and makes reborrowed arguments mutable.
fn plain(signature: &Signature) -> Signature {
    let mut plain = signature.clone();
    for argument in &mut plain.inputs {
        if let FnArg::Typed(argument) = argument {
            argument.attrs.clear();
            if let (true, Pat::Ident(pat)) = (is_option_of_exclusive(&argument.ty), &mut *argument.pat) {
                pat.mutability = Some(Token![mut](Span::call_site()));
            }
        }
    }
    plain
}

/// Returns the signature `report_counts(&self, now, report)` for `counts(&self, now) -> C`.
fn report_signature(signature: &Signature) -> syn::Result<Signature> {
    let ReturnType::Type(_, of) = &signature.output else {
        return Err(Error::new_spanned(signature, "what tells nothing needs no `report`"));
    };
    let mut reports = plain(signature);
    reports.ident = format_ident!("report_{}", signature.ident);
    reports.inputs.push(parse_quote!(report: &mut dyn FnMut(::backwater_net::hooks::MechanismId, #of)));
    reports.output = ReturnType::Default;
    Ok(reports)
}

fn report_default(signature: &Signature) -> syn::Result<TraitItem> {
    let (reports, name) = (report_signature(signature)?, &signature.ident);
    let documented = format!("Hands what [`Self::{name}`] answers to `report`, of a stack for each of its mechanisms.");
    let names = arguments(signature).map(|(name, ..)| name);
    Ok(parse_quote! {
        #[doc = #documented]
        #reports {
            report(::backwater_net::hooks::MechanismId(0), self.#name(#(#names),*));
        }
    })
}

/// Returns the answer of a stack without mechanisms.
fn nobody(rule: &Rule) -> TokenStream {
    match rule {
        Rule::Each | Rule::EachOfFlow | Rule::Report => quote!(),
        Rule::Until(other) => quote!(#other),
        Rule::Any => quote!(false),
        Rule::All => quote!(true),
        Rule::Least => quote!(None),
        Rule::Latest => quote!(::backwater_engine::Time::ZERO),
        Rule::Own(_, nobody) => quote!(#nobody),
        Rule::Levels => quote!(Levels::NONE),
    }
}

/// Writes a hook of a boxed side.
fn forward(side: &Ident, hook: &Hook) -> syn::Result<TokenStream> {
    let (signature, name) = (plain(&hook.signature), &hook.signature.ident);
    let handed = handed(&hook.signature, false);
    let mut all = quote! {
        #[inline]
        #signature { #side::#name(&mut **self, #(#handed),*) }
    };
    if is_shared(&hook.signature) {
        all = quote! {
            #[inline]
            #signature { #side::#name(&**self, #(#handed),*) }
        };
    }
    if matches!(hook.rule, Rule::Report) {
        let reports = report_signature(&hook.signature)?;
        let (name, names) = (&reports.ident, arguments(&reports).map(|(name, ..)| name));
        all.extend(quote!(#reports { #side::#name(&**self, #(#names),*) }));
    }
    Ok(all)
}

/// Writes a hook of a stack, which calls nothing if none of its mechanisms has the hook.
fn stacked(set: &Ident, side: &Ident, hook: &Hook, at: usize) -> syn::Result<TokenStream> {
    let signature = plain(&hook.signature);
    let (name, bit) = (&hook.signature.ident, constant(&hook.signature.ident));
    if matches!(hook.rule, Rule::Report) {
        let reports = report_signature(&hook.signature)?;
        let names = arguments(&hook.signature).map(|(name, ..)| name);
        let call = quote!(report(MechanismId($number), #side::#name(side, #(#names),*)));
        return Ok(quote!(#reports { $(if let Some(side) = self.$field.as_deref() { #call; })+ }));
    }
    let next = quote!(if $number > 0 && $number % #GROUP == 0 && on >> $number == 0 { break 'asked; });
    let each = |of: TokenStream| quote!('asked: { $(#next #of)+ });
    if matches!(hook.rule, Rule::Levels) {
        let asked = each(quote! {
            if <$side as Defines<#set>>::HOOKS.has(#set::BY_LEVELS) && let Some(side) = self.$field.as_deref() {
                all = all.or(<$side as Defines<#set>>::HOOKS.of_levels(of, side.levels(seen, of)));
            }
        });
        return Ok(quote! {
            #signature {
                const BY_LEVELS: MechanismSet =
                    0 $(| (<$side as Defines<#set>>::HOOKS.has(#set::BY_LEVELS) as MechanismSet) << $number)+;
                let on = self.on & BY_LEVELS;
                let mut all = Levels::NONE;
                #asked
                all
            }
        });
    }
    let or = hook.or.iter().map(constant);
    let has = quote!(<$side as Defines<#set>>::HOOKS.has(#set::#bit #(.or(#set::#or))*));
    let borrow = if is_shared(&hook.signature) { quote!(as_deref()) } else { quote!(as_deref_mut()) };
    let own = handed(&hook.signature, !matches!(hook.rule, Rule::Own(..)));
    let call = quote!(#side::#name(side, #(#own),*));
    let asked = quote!(if #has && let Some(side) = self.$field.#borrow);
    let nobody = nobody(&hook.rule);
    let body = match &hook.rule {
        Rule::Each => each(quote!(#asked { #call; })),
        Rule::EachOfFlow => each(quote!(#asked && !cx.leaves(MechanismId($number)) { #call; })),
        Rule::Until(other) => {
            let asked = each(quote!(#asked { let answer = #call; if answer != #other { return answer; } }));
            quote!(#asked #other)
        }
        Rule::Any => {
            let asked = each(quote!(#asked { any |= #call; }));
            quote!(let mut any = false; #asked any)
        }
        Rule::All => {
            let asked = each(quote!(#asked { all &= #call; }));
            quote!(let mut all = true; #asked all)
        }
        Rule::Least => {
            let asked = each(quote! {
                #asked && let Some(own) = #call {
                    least = Some(match least { Some(least) if least < own => least, _ => own });
                }
            });
            quote!(let mut least = None; #asked least)
        }
        Rule::Latest => {
            let asked = each(quote!(#asked { latest = latest.max(#call); }));
            quote!(let mut latest = ::backwater_engine::Time::ZERO; #asked latest)
        }
        Rule::Own(owner, nobody) => {
            quote!(let owner = #owner; $(if owner == MechanismId($number) { #asked { return #call; } return #nobody; })+ #nobody)
        }
        Rule::Report | Rule::Levels => TokenStream::new(),
    };
    let inline = if hook.hot { quote!(#[inline(always)]) } else { quote!() };
    Ok(quote! {
        #[allow(unused_mut)]
        #inline
        #signature {
            let on = self.on & WITH[#at];
            if on == 0 { return #nobody; }
            #body
        }
    })
}
