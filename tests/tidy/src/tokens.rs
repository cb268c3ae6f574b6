//! Rust files as tokens: no comment and no text of a string can be taken for code.

use std::{collections::VecDeque, str::FromStr};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::File;

/// One token with its line. A group is there as its delimiters, around its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The word or sign; empty for a literal.
    pub text: String,
    /// Counted from 1.
    pub line: usize,
}

/// The tokens of a Rust file, flat; none where it is no Rust, which the compiler says better.
#[must_use]
pub fn of(file: &File) -> Vec<Token> {
    let mut tokens = Vec::new();
    if let Ok(stream) = TokenStream::from_str(&file.text) {
        flatten(stream, &mut tokens);
    }
    tokens
}

/// The tokens without the items under `#[cfg(test)]`.
#[must_use]
pub fn without_tests(file: &File) -> Vec<Token> {
    let mut tokens = VecDeque::from(of(file));
    let mut kept = Vec::new();
    while !tokens.is_empty() {
        if starts_with(tokens.iter(), &["#", "[", "cfg", "(", "test", ")", "]"]) {
            skip_item(&mut tokens);
        } else {
            kept.extend(tokens.pop_front());
        }
    }
    kept
}

/// Whether the tokens begin with these words and signs.
pub fn starts_with<'t>(tokens: impl IntoIterator<Item = &'t Token>, texts: &[&str]) -> bool {
    let mut tokens = tokens.into_iter();
    texts.iter().all(|text| tokens.next().is_some_and(|token| token.text == *text))
}

/// Drops the attribute and the item after it, which ends with a `;` or a block.
fn skip_item(tokens: &mut VecDeque<Token>) {
    let mut depth = 0_usize;
    while let Some(token) = tokens.pop_front() {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = depth == 0 && matches!(token.text.as_str(), ";" | "}");
        // `use a::{b};` has its block in front of the `;`.
        if is_end && tokens.front().is_none_or(|next| next.text != ";") {
            return;
        }
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line });
                flatten(group.stream(), tokens);
                tokens.push(Token { text: close.to_owned(), line: group.span_close().start().line });
            }
            TokenTree::Ident(word) => tokens.push(Token { text: word.to_string(), line }),
            TokenTree::Punct(sign) => tokens.push(Token { text: sign.as_char().to_string(), line }),
            TokenTree::Literal(_) => tokens.push(Token { text: String::new(), line }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{of, without_tests};
    use crate::tree::File;

    fn words(tokens: &[super::Token]) -> String {
        tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        let file = File::sample("a.rs", "// dbg!()\nfn a() { b(\"c()\", r#\"d()\"#) } /* e() */");
        assert_eq!(words(&of(&file)), "fn a ( ) { b (  ,  ) }");
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let file = File::sample("a.rs", "fn a() {\n\n    b();\n}\n");
        let line_of = |text: &str| of(&file).into_iter().find(|token| token.text == text).map(|token| token.line);
        assert_eq!((line_of("fn"), line_of("b"), line_of("}")), (Some(1), Some(3), Some(4)));
    }

    #[test]
    fn items_of_tests_are_left_out_and_nothing_else() {
        let text = "fn a() {} #[cfg(test)] #[path = \"x\"] mod tests { fn b() { c(); } } #[cfg(test)] use d::{e, f}; fn g() {}";
        assert_eq!(words(&without_tests(&File::sample("a.rs", text))), "fn a ( ) { } fn g ( ) { }");
    }
}
