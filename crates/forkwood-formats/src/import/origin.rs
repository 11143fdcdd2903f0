//! Where a native session was taken from: a field of its metadata.

use std::path::{Path, PathBuf};

use forkwood::core::json::{Object, ObjectWriter, elements, text_of};
use forkwood::storage::disk::Disk;
use forkwood::{EntryId, Json, Lane, Text};

use crate::fields::{Out, whole_number};

/// The key in the metadata of a session.
pub(crate) const KEY: &str = "import";

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Where.
    pub path: PathBuf,
    /// Its length; `None` where it was not there.
    pub bytes: Option<u64>,
    /// When it last changed, in microseconds since 1970.
    pub modified: i64,
}

impl FileStamp {
    /// Looks at a file.
    pub fn of(disk: &dyn Disk, path: &Path) -> FileStamp {
        let meta = disk.meta(path).ok();
        FileStamp {
            path: path.to_path_buf(),
            bytes: meta.map(|meta| meta.len),
            modified: meta.map_or(0, |meta| meta.modified),
        }
    }
}

/// Where a session was taken from, and how far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The tool.
    pub format: String,
    /// The dialect of its format.
    pub dialect: String,
    /// The file or folder.
    pub path: PathBuf,
    /// The id of the session there.
    pub source_id: Text,
    /// What it was forked from, as the tool names it.
    pub forked_from: Option<Text>,
    /// The files as they were; empty until all of them was taken.
    pub files: Vec<FileStamp>,
    /// How many entries were read.
    pub entries: u64,
    /// The lane that follows the source.
    pub lane: Option<Lane>,
    /// Where that lane stood when all was taken.
    pub leaf: Option<EntryId>,
    /// The title that the source had.
    pub title: Option<Text>,
}

impl Origin {
    /// Reads what the metadata of a session say.
    pub fn of_metadata(metadata: Option<&Json>) -> Option<Origin> {
        Origin::parse(metadata?.as_object()?.get(KEY)?)
    }

    pub(crate) fn parse(json: &str) -> Option<Origin> {
        let object = Object::parse(json).ok()?;
        let text = |key: &str| object.text(key).map(|text| text.to_string_lossy().into_owned());
        let files = object.get("files").and_then(elements).unwrap_or_default();
        Some(Origin {
            format: text("format")?,
            dialect: text("dialect").unwrap_or_default(),
            path: text("path")?.into(),
            source_id: object.text("sourceId")?,
            forked_from: object.text("forkedFrom"),
            files: files.into_iter().filter_map(|raw| stamp(raw.get())).collect(),
            entries: object.get("entries").and_then(whole_number).unwrap_or(0),
            lane: text("lane").and_then(|name| Lane::new(&name).ok()),
            leaf: object.text("leaf").map(|id| EntryId::from_text(&id)),
            title: object.text("title"),
        })
    }

    pub(crate) fn to_json(&self) -> String {
        let mut out = ObjectWriter::new();
        out.str("format", &self.format)
            .str("dialect", &self.dialect)
            .str("path", &self.path.to_string_lossy())
            .text("sourceId", &self.source_id)
            .opt_text("forkedFrom", self.forked_from.as_ref())
            .raw("entries", &self.entries.to_string());
        if let Some(lane) = &self.lane {
            out.str("lane", lane.as_str());
        }
        if let Some(leaf) = &self.leaf {
            out.str("leaf", leaf.as_str());
        }
        out.opt_text("title", self.title.as_ref());
        out.array("files", self.files.iter().map(stamp_json));
        out.finish()
    }

    /// Metadata with this in them, and whatever else they hold.
    pub(crate) fn metadata_with(&self, others: Option<&Json>) -> Json {
        let mut out = Out::default();
        out.raw(KEY, &self.to_json());
        if let Some(object) = others.and_then(Json::as_object) {
            out.rest(object.iter().map(|(key, value)| (key, value.get())));
        }
        out.into_json()
    }

    /// Whether it is the same session of the same tool.
    pub(crate) fn is_of(&self, format: &str, source_id: &Text) -> bool {
        self.format == format && self.source_id == *source_id
    }
}

fn stamp(json: &str) -> Option<FileStamp> {
    let object = Object::parse(json).ok()?;
    Some(FileStamp {
        path: text_of(object.get("path")?)?.to_string_lossy().into_owned().into(),
        bytes: object.get("bytes").and_then(whole_number),
        modified: object.get("modified")?.trim().parse().ok()?,
    })
}

fn stamp_json(stamp: &FileStamp) -> String {
    let mut out = ObjectWriter::new();
    out.str("path", &stamp.path.to_string_lossy());
    if let Some(bytes) = stamp.bytes {
        out.raw("bytes", &bytes.to_string());
    }
    out.raw("modified", &stamp.modified.to_string());
    out.finish()
}
