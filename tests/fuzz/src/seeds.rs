//! The first inputs of the corpus, made of what the rooms themselves write.

mod modules;
mod records;
mod segments;

/// Target, name and bytes of each.
#[must_use]
pub fn all() -> Vec<(&'static str, String, Vec<u8>)> {
    let of = |target, seeds: Vec<(String, Vec<u8>)>| seeds.into_iter().map(move |(name, bytes)| (target, name, bytes));
    of("segment", segments::all()).chain(of("record", records::all())).chain(of("admission", modules::all())).collect()
}
