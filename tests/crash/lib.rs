//! The crash matrix has no library: see `tests/`.
