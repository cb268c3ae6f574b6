//! `actions!`: the list of a module's actions, and their export.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Path, PathArguments, Result, Token};

use crate::action;

pub(crate) fn expand(paths: TokenStream) -> TokenStream {
    list(paths).unwrap_or_else(Error::into_compile_error)
}

fn list(paths: TokenStream) -> Result<TokenStream> {
    let paths = Punctuated::<Path, Token![,]>::parse_terminated.parse2(paths)?;
    if paths.is_empty() {
        return Err(Error::new(
            Span::call_site(),
            "name at least one function that has #[action]: `actions!(upgrade);`",
        ));
    }
    let constants = paths.into_iter().map(constant_path).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        /// The actions of this module.
        pub const ACTIONS: &[::pintle_sdk::ActionDef] = &[#(#constants),*];
        const _: () = ::pintle_sdk::__private::assert_distinct(ACTIONS);
        ::pintle_sdk::__export!(ACTIONS);
    })
}

fn constant_path(mut path: Path) -> Result<Path> {
    let whole = path.clone();
    match path.segments.last_mut() {
        Some(last) if matches!(last.arguments, PathArguments::None) => {
            last.ident = action::constant(&last.ident);
            Ok(path)
        }
        _ => Err(Error::new_spanned(whole, "an action is a plain function: write its path only")),
    }
}
