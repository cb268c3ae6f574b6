//! The versions that this program can play. One binary stands for three releases of the shop, so that an upgrade can be
//! shown without building three programs: a file `VERSION` next to the executable says which one it is.

use std::{env, fmt, fs, io, str::FromStr};

use serde::{Serialize, Serializer};

use crate::error::ShopError;

/// A version of the program, and of the database schema that it was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V1_0_0,
    V1_1_0,
    V1_2_0,
}

impl Version {
    /// What the program is without a file `VERSION`.
    pub const NEWEST: Self = Self::V1_2_0;

    /// Reads the file `VERSION` next to the executable; symbolic links to the executable are followed first.
    ///
    /// # Errors
    /// `UnknownVersion` when the file names a version that is not one of ours, `File` when it cannot be read.
    pub fn of_program() -> Result<Self, ShopError> {
        let executable =
            env::current_exe().map_err(ShopError::file("find the program's own executable", "/proc/self/exe"))?;
        let path = executable.with_file_name("VERSION");
        match fs::read_to_string(&path) {
            Ok(text) => {
                text.trim().parse().map_err(|UnknownVersion(found)| ShopError::UnknownVersion { place: path, found })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::NEWEST),
            Err(error) => Err(ShopError::file("read", &path)(error)),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
            Self::V1_2_0 => "1.2.0",
        }
    }
}

/// The text that is no version of ours.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownVersion(pub String);

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::V1_0_0, Self::V1_1_0, Self::V1_2_0]
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{UnknownVersion, Version};

    #[test]
    fn the_crate_has_the_newest_version() {
        assert_eq!(Version::NEWEST.as_str(), env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn only_whole_known_versions_are_read() {
        assert_eq!("1.1.0".parse(), Ok(Version::V1_1_0));
        for text in ["1.1", "v1.1.0", "1.3.0", "", "1.1.0-rc.1"] {
            assert_eq!(text.parse::<Version>(), Err(UnknownVersion(text.to_owned())));
        }
    }
}
