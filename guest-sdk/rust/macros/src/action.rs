//! `#[action]`: checks the function's form and describes it in a constant beside it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, LitStr, Meta, Path, Result, ReturnType, Token, Type};

/// The name of the constant that describes the action of a function. Compilers print it when a listed function is no action, so
/// it has to say what is missing.
pub(crate) fn constant(function: &Ident) -> Ident {
    format_ident!("__pintle_action_{}", function.unraw(), span = function.span())
}

pub(crate) fn expand(options: TokenStream, function: &TokenStream) -> TokenStream {
    let described =
        syn::parse2::<Options>(options).and_then(|options| describe(&options, &syn::parse2(function.clone())?));
    // The function stays even when it is refused, so that one mistake is not reported once more by every use of it.
    let addition = described.unwrap_or_else(Error::into_compile_error);
    // An action returns a `Result` even when it cannot fail.
    quote!(#[allow(clippy::unnecessary_wraps)] #function #addition)
}

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    description: Option<LitStr>,
    undo: Option<Path>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            let is_new = match key.to_string().as_str() {
                "name" => options.name.replace(input.parse()?).is_none(),
                "description" => options.description.replace(input.parse()?).is_none(),
                "undo" => options.undo.replace(input.parse()?).is_none(),
                _ => {
                    let message = format!("`{key}` is no option of #[action]; it has `name`, `description` and `undo`");
                    return Err(Error::new(key.span(), message));
                }
            };
            if !is_new {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn describe(options: &Options, function: &ItemFn) -> Result<TokenStream> {
    check_form(function)?;
    let ident = &function.sig.ident;
    let name = match &options.name {
        Some(name) => checked_name(&name.value(), name)?,
        None => checked_name(&ident.unraw().to_string().replace('_', "-"), ident)?,
    };
    let description = match &options.description {
        Some(description) => description.value(),
        None => first_paragraph(&function.attrs),
    };
    let undo = options
        .undo
        .as_ref()
        .map_or_else(|| quote!(::core::option::Option::None), |path| quote!(::core::option::Option::Some(#path)));
    let visibility = &function.vis;
    let constant = constant(ident);
    let doc = format!("The action `{name}`.");
    Ok(quote! {
        #[doc = #doc]
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #visibility const #constant: ::pintle_sdk::ActionDef = ::pintle_sdk::ActionDef {
            name: #name,
            description: #description,
            run: #ident,
            undo: #undo,
        };
    })
}

/// What the compiler would refuse too, but with words about a constant that the author never wrote.
fn check_form(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    let refuse = |at: &dyn ToTokens, problem: &str| {
        let form = format!("an action is `fn {}(ctx: &Context) -> Result<()>`: {problem}", sig.ident);
        Err(Error::new_spanned(at.to_token_stream(), form))
    };
    if let Some(token) = &sig.asyncness {
        return refuse(token, "it is not `async`; parallel work is `Job::start` and `jobs::wait_any`");
    }
    if let Some(token) = &sig.unsafety {
        return refuse(token, "it is not `unsafe`");
    }
    if let Some(abi) = &sig.abi {
        return refuse(abi, "it has no `extern`; `actions!` exports it");
    }
    if sig.generics.type_params().next().is_some() || sig.generics.const_params().next().is_some() {
        return refuse(&sig.generics, "it is not generic");
    }
    if sig.inputs.len() != 1 {
        return refuse(
            &sig.ident,
            "it takes the context and nothing else; arguments of the hook are in `ctx.args_json()`",
        );
    }
    match &sig.inputs[0] {
        FnArg::Typed(argument) if is_shared_reference(&argument.ty) => {}
        argument => return refuse(argument, "it takes `&Context`"),
    }
    if matches!(sig.output, ReturnType::Default) {
        return refuse(&sig.ident, "it returns `Result<()>`");
    }
    Ok(())
}

fn is_shared_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_none())
}

fn checked_name(name: &str, at: &impl ToTokens) -> Result<String> {
    let valid = name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if valid {
        return Ok(name.to_owned());
    }
    let message = format!(
        "`{name}` is no name for an action: use up to 63 lower-case letters, digits and single `-`, and start with a letter; \
         `name = \"…\"` sets another than the function's"
    );
    Err(Error::new_spanned(at, message))
}

/// The doc comment up to its first empty line, as one line.
fn first_paragraph(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> = text.lines().map(str::trim).skip_while(|line| line.is_empty()).collect();
    lines.split(|line| line.is_empty()).next().unwrap_or_default().join(" ")
}
