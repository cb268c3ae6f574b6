//! Fields of the design whose behaviour comes with a later version: known by name, and refused in clear words.

use super::reader::Cursor;

/// Refuses `{secretRef: …}` wherever it is in a value.
pub(super) fn secret_refs(value: &Cursor<'_>) {
    if value.is_map() {
        for (key, inside) in value.entries() {
            if key == "secretRef" {
                inside.problem("values from a secret are not yet supported", "write the value out, if it is no secret");
            } else {
                secret_refs(&inside);
            }
        }
    } else if value.is_list() {
        for item in value.items() {
            secret_refs(&item);
        }
    }
}
