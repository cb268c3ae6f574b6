//! `$(NAME)` in commands, arguments and environments, as Kubernetes replaces it.

use std::collections::BTreeMap;

/// The text with each `$(NAME)` replaced by the variable's value. A variable that is not there stays as it was written, and `$$` is a
/// `$` that begins nothing.
pub(super) fn expand(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match env.get(name) {
                Some(value) => expanded.push_str(value),
                None => expanded.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_as_on_a_cluster() {
        // The cases of Kubernetes' own expansion.
        let env: BTreeMap<String, String> =
            [("VAR_A", "A"), ("VAR_B", "B"), ("VAR_REF", "$(VAR_A)"), ("VAR_EMPTY", "")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        for (text, expected) in [
            ("$(VAR_A)", "A"),
            ("___$(VAR_B)___", "___B___"),
            ("$(VAR_A)$(VAR_B)", "AB"),
            ("$(VAR_REF)", "$(VAR_A)"),
            ("$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"),
            ("f000-$$VAR_A", "f000-$VAR_A"),
            ("$$$$$$(VAR_A)", "$$$(VAR_A)"),
            ("$$$(VAR_A)", "$A"),
            ("$VAR_A", "$VAR_A"),
            ("$(MISSING)", "$(MISSING)"),
            ("$(VAR_EMPTY)", ""),
            ("foo$(VAR_A", "foo$(VAR_A"),
            ("$(VAR_$(VAR_A)", "$(VAR_$(VAR_A)"),
            ("\n$(VAR_A)é$", "\nAé$"),
            ("$?-$(", "$?-$("),
        ] {
            assert_eq!(expand(text, &env), expected, "{text}");
        }
    }
}
