//! The files that a conversation read and changed.

use std::collections::BTreeSet;

use forkwood_core::json::{self, ObjectWriter};
use forkwood_core::{Json, Message, Role, Text};

/// Names of the tools that read a file.
const READERS: &[&str] = &["read", "read_file"];

/// Names of the tools that change a file.
const WRITERS: &[&str] = &["write", "edit", "write_file", "edit_file"];

/// Where the arguments of such tools name the file.
const PATHS: &[&str] = &["path", "file_path", "filePath"];

/// How many files of each list are named in the text of a summary; `details` has them all.
const MOST_NAMED: usize = 500;

/// Files that were read, and files that were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    read: BTreeSet<Name>,
    modified: BTreeSet<Name>,
}

/// A path, ordered as JavaScript orders strings: by UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name(Vec<u16>);

impl Files {
    /// Takes in what the tool calls of messages read and changed.
    pub fn add_messages<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        for message in messages.into_iter().filter(|message| message.role == Role::Assistant) {
            for (_, name, arguments) in message.content.tool_calls() {
                let name = name.as_str().unwrap_or_default();
                let list = match name {
                    _ if READERS.contains(&name) => &mut self.read,
                    _ if WRITERS.contains(&name) => &mut self.modified,
                    _ => continue,
                };
                let path = arguments
                    .as_object()
                    .and_then(|object| PATHS.iter().find_map(|key| object.text(key)));
                list.extend(path.filter(|path| !path.is_empty()).as_ref().map(Name::of));
            }
        }
    }

    /// Takes in the lists of an earlier summary's `details`.
    pub fn add_details(&mut self, details: &Json) {
        let Some(object) = details.as_object() else { return };
        let list = |key: &str| {
            let items = object.get(key).and_then(json::elements).unwrap_or_default();
            items.into_iter().filter_map(|item| json::text_of(item.get()))
        };
        self.read.extend(list("readFiles").map(|path| Name::of(&path)));
        self.modified.extend(list("modifiedFiles").map(|path| Name::of(&path)));
    }

    /// The files that were read and not changed, in order.
    pub fn read(&self) -> Vec<Text> {
        self.read.difference(&self.modified).map(Name::text).collect()
    }

    /// The files that were changed, in order.
    pub fn modified(&self) -> Vec<Text> {
        self.modified.iter().map(Name::text).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.modified.is_empty()
    }

    /// Writes both lists into `details`, under the names that Pi gives them.
    pub(crate) fn write(&self, details: &mut ObjectWriter) {
        details.array("readFiles", self.read().iter().map(Text::to_json));
        details.array("modifiedFiles", self.modified().iter().map(Text::to_json));
    }

    /// What is added to the text of a summary; nothing where there are no files.
    pub(crate) fn section(&self) -> String {
        let mut out = String::new();
        for (tag, files) in [(TAGS[0], self.read()), (TAGS[1], self.modified())] {
            if files.is_empty() {
                continue;
            }
            out.push_str(&format!("\n\n<{tag}>\n"));
            for file in files.iter().take(MOST_NAMED) {
                out.push_str(&file.to_string_lossy());
                out.push('\n');
            }
            if files.len() > MOST_NAMED {
                out.push_str(&format!("({} more)\n", files.len() - MOST_NAMED));
            }
            out.push_str(&format!("</{tag}>"));
        }
        out
    }
}

const TAGS: [&str; 2] = ["read-files", "modified-files"];

/// A summary without the lists at its end.
pub(super) fn without_section(summary: &str) -> &str {
    let mut rest = summary.trim_end();
    for tag in TAGS.iter().rev() {
        if let Some(before) = rest.strip_suffix(&format!("</{tag}>"))
            && let Some((before, _)) = before.rsplit_once(&format!("<{tag}>\n"))
        {
            rest = before.trim_end();
        }
    }
    rest
}

impl Name {
    fn of(text: &Text) -> Name {
        match text.as_str() {
            Some(text) => Name(text.encode_utf16().collect()),
            None => Name(text.to_string_lossy().encode_utf16().collect()),
        }
    }

    fn text(&self) -> Text {
        String::from_utf16_lossy(&self.0).into()
    }
}

/// The lists of a branch or compaction that a program of its owner's made, and not Pi itself,
/// mean something else.
pub(crate) fn is_from_hook(extra: &[(Text, Json)]) -> bool {
    extra.iter().any(|(key, value)| *key == "fromHook" && value.get() == "true")
}

/// The files that the `details` of a compaction or branch summary name.
pub fn files_of(details: &Json) -> Files {
    let mut files = Files::default();
    files.add_details(details);
    files
}
