//! What models cost: a small file in TOML, since nothing that is built in would stay true.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forkwood::ErrorKind;
use forkwood_agent::{Price, Prices};
use serde::Deserialize;
use serde::de::Error as _;

use crate::error::{CliError, Result};

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    models: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(deserialize_with = "dollars")]
    input: f64,
    #[serde(deserialize_with = "dollars")]
    output: f64,
    #[serde(default, deserialize_with = "perhaps")]
    cache_read: Option<f64>,
    #[serde(default, deserialize_with = "perhaps")]
    cache_write: Option<f64>,
}

fn dollars<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    let price = f64::deserialize(from)?;
    match price.is_finite() && price >= 0.0 {
        true => Ok(price),
        false => Err(D::Error::custom("a price is a number of US dollars, 0 or more")),
    }
}

fn perhaps<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<f64>, D::Error> {
    dollars(from).map(Some)
}

/// Those of a file that was named, or of the usual one, which need not be there.
pub(crate) fn load(named: Option<&Path>) -> Result<Arc<Prices>> {
    let path = match named {
        Some(path) => path.to_path_buf(),
        None => match usual().filter(|path| path.exists()) {
            Some(path) => path,
            None => return Ok(Arc::default()),
        },
    };
    let wrong = |what: String| {
        CliError::new(ErrorKind::Invalid, format!("{}: {what}", path.display())).hint(
            "prices are in US dollars for a million tokens: [models.\"NAME\"] with input, output, \
             and cache_read and cache_write where they differ from input",
        )
    };
    let failed = |error: &std::io::Error| CliError::io("read", &path, error);
    let facts = std::fs::metadata(&path).map_err(|error| failed(&error))?;
    if !facts.is_file() || facts.len() > LARGEST {
        return Err(wrong("is no file of prices".to_owned()));
    }
    let bytes = std::fs::read(&path).map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8".to_owned()))?;
    parse(&text).map(Arc::new).map_err(wrong)
}

fn parse(text: &str) -> std::result::Result<Prices, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        format!("line {line}: {}", error.message())
    })?;
    let mut prices = Prices::default();
    for (model, row) in file.models {
        let Row { input, output, cache_read, cache_write } = row;
        let price = Price { input, output, cache_read, cache_write };
        prices.add(model, price).map_err(|error| error.to_string())?;
    }
    Ok(prices)
}

/// `$XDG_CONFIG_HOME/forkwood/prices.toml`, by default below `~/.config`.
fn usual() -> Option<PathBuf> {
    let config = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    let folder = std::env::var_os(config).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(folder.join("forkwood").join("prices.toml"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn prices_by_model() {
        let text = "# dollars\n[models.m]\ninput = 3\noutput = 15.5\n\n\
                    [models.\"local/org/m:free\"]\ninput = 0\noutput = 0\ncache_read = 0.1\n";
        let prices = parse(text).unwrap();
        let price = prices.of("any", "m").unwrap();
        assert_eq!((price.input, price.output, price.cache_read), (3.0, 15.5, None));
        assert_eq!(prices.of("local", "org/m:free").unwrap().cache_read, Some(0.1));
        assert!(prices.of("other", "org/m:free").is_none());
        assert_eq!(parse("").unwrap(), forkwood_agent::Prices::default());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("[models.m]\ninput = -1\noutput = 1\n", "line 2: "),
            ("[models.m]\ninput = nan\noutput = 1\n", "line 2: "),
            ("[models.m]\ninput = 1\noutput = \"1\"\n", "line 3: "),
            ("\n[models.m]\ninput = 1\n", "line 2: "),
            ("[models.m]\ninput = 1\noutput = 1\nthinking = 2\n", "line 4: "),
            ("[m]\ninput = 1\n", "line 1: "),
            ("models = [\n", "line "),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.starts_with(line), "{text:?}: {told}");
        }
    }
}
