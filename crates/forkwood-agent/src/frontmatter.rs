//! Markdown files that begin with YAML between two lines of dashes.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A file that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// The names in a list, or in a text with commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub(crate) struct Names(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<String>),
    One(String),
}

impl From<OneOrMany> for Names {
    fn from(names: OneOrMany) -> Names {
        let names = match names {
            OneOrMany::Many(names) => names,
            OneOrMany::One(names) => names.split(',').map(str::to_owned).collect(),
        };
        let trimmed = names.into_iter().map(|name| name.trim().to_owned());
        Names(trimmed.filter(|name| !name.is_empty()).collect())
    }
}

/// The largest file that is looked at.
const LIMIT: u64 = 1024 * 1024;

/// Reads a file: its frontmatter and its body, trimmed.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<(T, String), String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > LIMIT {
        return Err(format!("larger than {LIMIT} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (yaml, body) = split(&text).ok_or("does not begin with frontmatter")?;
    let front = serde_saphyr::from_str(&yaml).map_err(|error| error.to_string())?;
    Ok((front, body.trim().to_owned()))
}

fn split(text: &str) -> Option<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let mut yaml = String::new();
    loop {
        let line = lines.next()?;
        if line.trim_end() == "---" {
            break;
        }
        yaml.push_str(line);
        yaml.push('\n');
    }
    Some((yaml, lines.collect::<Vec<_>>().join("\n")))
}

/// What stands in a folder, sorted; nothing where there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Skipped> {
    let skipped =
        |error: std::io::Error| Skipped { path: folder.to_path_buf(), reason: error.to_string() };
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(skipped(error)),
    };
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.map_err(skipped)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The stem of a file or the name of a folder.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
