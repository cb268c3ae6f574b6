//! Ages as people know them from tables: short, and coarser the older they are.

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long ago, from milliseconds: `12s`, `5m`, `3h20m`, `2d`. Two units where the larger one alone says too little.
#[must_use]
pub fn age(ms: u64) -> String {
    let pair = |large: u64, large_name: &str, small: u64, small_name: &str| {
        let (whole, rest) = (ms / large, ms % large / small);
        if rest == 0 { format!("{whole}{large_name}") } else { format!("{whole}{large_name}{rest}{small_name}") }
    };
    match ms {
        0..120_000 => format!("{}s", ms / SECOND),
        120_000..600_000 => pair(MINUTE, "m", SECOND, "s"),
        600_000..10_800_000 => format!("{}m", ms / MINUTE),
        10_800_000..28_800_000 => pair(HOUR, "h", MINUTE, "m"),
        28_800_000..172_800_000 => format!("{}h", ms / HOUR),
        172_800_000..691_200_000 => pair(DAY, "d", HOUR, "h"),
        _ => format!("{}d", ms / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_get_coarser() {
        for (ms, shown) in [
            (0, "0s"),
            (59_999, "59s"),
            (119_999, "119s"),
            (120_000, "2m"),
            (125_000, "2m5s"),
            (3_599_000, "59m"),
            (12_000_000, "3h20m"),
            (100_000_000, "27h"),
            (180_000_000, "2d2h"),
            (864_000_000, "10d"),
        ] {
            assert_eq!(age(ms), shown, "{ms}");
        }
    }
}
