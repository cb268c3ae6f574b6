//! The grammar of the distribution project (what Docker, containerd and registries accept), part by part.

use crate::ImageProblem;

const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;
/// For an algorithm that we do not know: what the grammar asks for at least.
const MIN_DIGEST_HEX: usize = 32;

pub(crate) fn check(repository: &str, tag: Option<&str>, digest: Option<&str>) -> Result<(), ImageProblem> {
    if repository.is_empty() {
        return Err(ImageProblem::NoRepository);
    }
    if repository.len() > MAX_REPOSITORY {
        return Err(ImageProblem::TooLong(repository.len()));
    }
    let (registry, path) = split_registry(repository);
    if let Some(registry) = registry.filter(|registry| !is_registry(registry)) {
        return Err(ImageProblem::Registry(registry.to_owned()));
    }
    if let Some(segment) = path.split('/').find(|segment| !is_path_segment(segment)) {
        return Err(ImageProblem::PathSegment(segment.to_owned()));
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(ImageProblem::Tag(tag.to_owned()));
    }
    if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
        return Err(ImageProblem::Digest(digest.to_owned()));
    }
    Ok(())
}

/// Splits `host:5000/a/b` into `host:5000` and `a/b`. The first segment is a registry only when it cannot be part of a path, or
/// is clearly a host.
pub(crate) fn split_registry(repository: &str) -> (Option<&str>, &str) {
    match repository.split_once('/') {
        Some((first, path))
            if first == "localhost" || first.contains(['.', ':']) || first.bytes().any(|b| b.is_ascii_uppercase()) =>
        {
            (Some(first), path)
        }
        _ => (None, repository),
    }
}

fn is_registry(registry: &str) -> bool {
    let (host, port) = match registry.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (registry, None),
    };
    let port_ok = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let host_ok = match host.strip_prefix('[') {
        Some(address) => address
            .strip_suffix(']')
            .is_some_and(|address| !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':')),
        None => host.split('.').all(is_host_label),
    };
    port_ok && host_ok
}

fn is_host_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_path_segment(segment: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    segment.starts_with(plain)
        && segment.ends_with(plain)
        && segment
            .split(plain)
            .all(|between| matches!(between, "" | "." | "_" | "__") || between.bytes().all(|b| b == b'-'))
}

pub(crate) fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let lower_hex = hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    match algorithm {
        "sha256" => hex.len() == 64 && lower_hex,
        "sha384" => hex.len() == 96 && lower_hex,
        "sha512" => hex.len() == 128 && lower_hex,
        _ => {
            let part_ok = |part: &str| {
                part.starts_with(|c: char| c.is_ascii_alphabetic()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
            };
            algorithm.split(['+', '.', '-', '_']).all(part_ok)
                && hex.len() >= MIN_DIGEST_HEX
                && hex.bytes().all(|b| b.is_ascii_hexdigit())
        }
    }
}
