//! From an argument to an entry, and to ids that are short enough to type.

use std::collections::HashMap;

use forkwood::storage::StorageError;
use forkwood::{EntryId, ErrorKind, Lane, Session};
use forkwood_view::sanitise;

use crate::error::{CliError, Result};

/// An entry: its id, a unique prefix or suffix of it, the name of a lane, or a label.
pub(crate) async fn resolve(session: &Session, query: &str) -> Result<EntryId> {
    let error = match session.resolve_entry(query).await {
        Ok(id) => return Ok(id),
        Err(error @ StorageError::EntryNotFound { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    if let Ok(lane) = Lane::new(query)
        && let Some(leaf) = session.facts().leaf(&lane)
    {
        return Ok(leaf.clone());
    }
    let labels = session.labels().await?;
    let mut labelled = labels.iter().filter(|(_, label)| **label == *query).map(|(id, _)| id);
    match (labelled.next(), labelled.next()) {
        (Some(id), None) => Ok(id.clone()),
        (Some(_), Some(_)) => Err(CliError::new(
            ErrorKind::Ambiguous,
            format!("several entries are labelled {query:?}; name one by its id"),
        )),
        _ => Err(CliError::from(error).hint("`forkwood tree` shows the entries")),
    }
}

/// The entry of an argument, or where the lane stands.
pub(crate) async fn resolve_or_leaf(
    session: &Session,
    query: Option<&str>,
) -> Result<Option<EntryId>> {
    match query {
        Some(query) => resolve(session, query).await.map(Some),
        None => Ok(session.leaf().cloned()),
    }
}

/// Ids as they are shown: the last eight characters where these name one entry, else all.
#[derive(Debug, Default)]
pub(crate) struct Short {
    tails: HashMap<String, usize>,
}

impl Short {
    /// Learns the ids of a session.
    pub(crate) fn new<'a>(ids: impl IntoIterator<Item = &'a EntryId>) -> Short {
        let mut tails = HashMap::new();
        for id in ids {
            *tails.entry(id.tail().to_owned()).or_insert(0) += 1;
        }
        Short { tails }
    }

    /// The short form of an id, safe to be shown.
    pub(crate) fn of(&self, id: &EntryId) -> String {
        let short = match self.tails.get(id.tail()) {
            Some(1) if id.as_str().len() > 12 => id.tail(),
            _ => id.as_str(),
        };
        sanitise::line(short).into_owned()
    }
}

/// The short forms of a session's ids.
pub(crate) async fn short(session: &Session) -> Result<Short> {
    let heads = session.heads().await?;
    Ok(Short::new(heads.iter().map(|head| &head.id)))
}

#[cfg(test)]
mod tests {
    use super::Short;
    use forkwood::EntryId;

    #[test]
    fn ids_are_short_where_that_is_enough() {
        let ids: Vec<EntryId> = [
            "01a1f7fd65e77001aee54c7679e1af3a",
            "01a1f7fd65e77001aee54c76aaaaaaaa",
            "01a1f7fd65e77001aee54c77aaaaaaaa",
            "0b000002",
            "e1",
        ]
        .map(EntryId::from)
        .to_vec();
        let short = Short::new(&ids);
        let shown: Vec<String> = ids.iter().map(|id| short.of(id)).collect();
        assert_eq!(shown, ["79e1af3a", ids[1].as_str(), ids[2].as_str(), "0b000002", "e1"]);
    }
}
