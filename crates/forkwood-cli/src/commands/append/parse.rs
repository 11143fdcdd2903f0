//! Entries as JSON lines, checked strictly.

use forkwood::core::entry::codec::decode_strict;
use forkwood::{Body, EntryId, ErrorKind};

use crate::error::{CliError, Result};

/// Entries to be written together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Batch {
    /// What they are.
    pub(crate) bodies: Vec<Body>,
    /// Their ids: for all of them, or none.
    pub(crate) ids: Vec<EntryId>,
    /// What the first hangs from, where it says so.
    pub(crate) parent: Option<EntryId>,
}

impl Batch {
    /// Names the only entry.
    pub(crate) fn name_first(&mut self, id: &str) -> Result {
        let id = EntryId::new(id);
        if id.as_str().is_empty() || self.bodies.len() != 1 {
            return Err(CliError::usage("--id names one entry; give entries of a batch their own"));
        }
        if self.ids.first().is_some_and(|own| *own != id) {
            return Err(CliError::usage("--id and the id in the entry differ"));
        }
        self.ids = vec![id];
        Ok(())
    }
}

/// Reads one entry a line. Blank lines are skipped; a single entry may take several lines.
pub(crate) fn lines(text: &str) -> Result<Batch> {
    let whole = text.trim();
    if whole.is_empty() {
        return Err(CliError::usage("there is nothing to append: no entry was given"));
    }
    let single = serde_json::from_str::<&serde_json::value::RawValue>(whole).is_ok();
    let records: Vec<(usize, &str)> = match single {
        true => vec![(1, whole)],
        false => text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| (at + 1, line.trim()))
            .collect(),
    };
    let mut batch = Batch::default();
    let count = records.len();
    for (line, record) in records {
        let wrong = |problem: String| {
            let place = if single { String::new() } else { format!("line {line}: ") };
            CliError::new(ErrorKind::Invalid, format!("{place}{problem}"))
        };
        let entry = decode_strict(record).map_err(|error| {
            wrong(error.to_string())
                .hint("an entry looks like {\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"...\"}}")
        })?;
        if entry.timestamp.is_some() {
            return Err(wrong(
                "entry.timestamp: the store gives the time; leave it out".to_owned(),
            ));
        }
        match (entry.parent_id, batch.bodies.is_empty()) {
            (parent, true) => batch.parent = parent,
            (None, false) => {}
            (Some(parent), false) if batch.ids.last() == Some(&parent) => {}
            (Some(_), false) => {
                return Err(wrong(
                    "entry.parentId: within a batch each entry hangs from the one before it; \
                     leave it out"
                        .to_owned(),
                ));
            }
        }
        batch.ids.extend(entry.id);
        batch.bodies.push(entry.body);
    }
    if !batch.ids.is_empty() && batch.ids.len() != count {
        return Err(CliError::new(
            ErrorKind::Invalid,
            "give every entry of a batch an id, or none of them",
        ));
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn reads_batches() {
        let check = |text: &str, bodies: usize, ids: &[&str], parent: Option<&str>| {
            let batch = lines(text).unwrap();
            assert_eq!(batch.bodies.len(), bodies, "{text}");
            let found: Vec<&str> = batch.ids.iter().map(|id| id.as_str()).collect();
            assert_eq!(found, ids, "{text}");
            assert_eq!(batch.parent.as_ref().map(|id| id.as_str()), parent, "{text}");
        };
        let user = r#"{"type":"message","message":{"role":"user","content":"a"}}"#;
        check(user, 1, &[], None);
        check(&format!("{user}\n\n{user}\n"), 2, &[], None);
        check("{\n \"type\": \"model_change\",\n \"model\": \"m\"\n}\n", 1, &[], None);
        check(
            "{\"id\":\"a\",\"parentId\":\"p\",\"type\":\"leaf\",\"leafId\":\"p\"}\n{\"id\":\"b\",\"parentId\":\"a\",\"type\":\"model_change\",\"model\":\"m\"}",
            2,
            &["a", "b"],
            Some("p"),
        );
    }

    #[test]
    fn refuses_what_is_not_exactly_an_entry() {
        let check = |text: &str, expect: &str| {
            let error = lines(text).unwrap_err();
            assert!(error.message.contains(expect), "{text}: {}", error.message);
        };
        check("", "nothing to append");
        check(r#"{"role":"user","content":"a"}"#, "entry.type: is missing");
        check(r#"{"type":"model_change","model":"m","modle":"x"}"#, "unknown field modle");
        check(r#"{"type":"no_such_type"}"#, "no_such_type");
        check("[1]", "not a JSON object");
        check("{\"type\":\"model_change\",\"model\":\"m\"}\nnonsense", "line 2");
        check(r#"{"type":"model_change","model":"m","timestamp":1}"#, "leave it out");
        check(
            "{\"id\":\"a\",\"type\":\"model_change\",\"model\":\"m\"}\n{\"type\":\"model_change\",\"model\":\"m\"}",
            "or none of them",
        );
    }
}
