//! Conversations in PicoClaw's own folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use forkwood::conversation::{
    ConversationMessage, ConversationMeta, ConversationStore, Ensured, Identity, agent_of,
    check_same_scope, key,
};
use forkwood::core::json::ObjectWriter;
use forkwood::storage::disk::Meta as Stamp;
use forkwood::{EntryId, Error, Json, Result};

use super::folder::{Folder, FolderOptions};
use super::lines::spans;
use super::meta::Meta;
use super::pending::read_file;
use super::read::{Conversation, with_ending};
use super::{OWN, time};

/// The field that says which history was taken over.
const PROMOTED: &str = "promotedFrom";

type MetaIter<'m> = Box<dyn Iterator<Item = &'m Meta> + 'm>;

/// A [`ConversationStore`] over a folder that PicoClaw opens too.
///
/// Truncating hides lines, and `save` drops the hidden ones from the file, as PicoClaw does; what
/// is dropped goes to an archive beside it. Entries have no ids. PicoClaw lists the alias of the
/// main session in every chat; here it is never resolved to one of them.
#[derive(Debug)]
pub struct PicoConversations {
    folder: Folder,
    metas: Mutex<BTreeMap<String, (Stamp, Option<Meta>)>>,
}

impl PicoConversations {
    /// The conversations of a folder. Nothing is made before the first write.
    pub fn open(path: &Path) -> PicoConversations {
        PicoConversations::open_with(path, FolderOptions::default())
    }

    /// The same, with options.
    pub fn open_with(path: &Path, options: FolderOptions) -> PicoConversations {
        let folder = Folder::open_with(path, options);
        PicoConversations { folder, metas: Mutex::default() }
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Looks at every meta file, in the order of their names; reads those that changed.
    fn with_metas<T>(&self, look: impl FnOnce(&mut MetaIter<'_>) -> T) -> Result<T> {
        let path = self.folder.path();
        let disk = self.folder.disk();
        let names = match disk.names(path) {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(path, "read", error)),
        };
        let mut known = self.metas.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        for name in names {
            let Some(name) = name.to_str().filter(|name| is_meta(name)) else { continue };
            let file = path.join(name);
            let Ok(stamp) = disk.meta(&file) else { continue };
            let same = known.remove(name).filter(|(before, _)| *before == stamp);
            let meta = same.unwrap_or_else(|| {
                let bytes = read_file(disk, &file).ok().flatten().unwrap_or_default();
                // One that cannot be read hides no other.
                (stamp, Meta::parse(&String::from_utf8_lossy(&bytes)).ok())
            });
            now.insert(name.to_owned(), meta);
        }
        *known = now;
        let mut metas: MetaIter<'_> =
            Box::new(known.values().filter_map(|(_, meta)| meta.as_ref()));
        Ok(look(&mut metas))
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool> {
        let base = self.folder.base(key)?;
        let there = |ending| self.folder.disk().meta(&with_ending(&base, ending)).is_ok();
        Ok(there(".jsonl") || there(".meta.json"))
    }

    pub(super) fn resolve(&self, key: &str) -> Result<String> {
        let key = key.trim();
        if key.is_empty() {
            return Err(Error::invalid("an empty session key names no conversation"));
        }
        if !key.contains([':', '/', '\\']) && self.exists(key)? {
            return Ok(key.to_owned());
        }
        if key::is_main(key) {
            return main_session(key, |main| self.exists(main));
        }
        let found = self.with_metas(|metas| {
            let lists =
                |meta: &&Meta| meta.key != key && meta.aliases.iter().any(|alias| alias == key);
            metas.by_ref().find(|meta| lists(meta)).map(|meta| meta.key.clone())
        })?;
        Ok(found.filter(|key| !key.is_empty()).unwrap_or_else(|| key.to_owned()))
    }

    fn read(&self, key: &str) -> Result<Option<Conversation>> {
        self.folder.read(&self.resolve(key)?)
    }

    /// Takes the history of the first alias that has one, where the conversation never had any.
    fn promote(&self, key: &str, aliases: &[String]) -> Result<Option<String>> {
        let own = self.folder.base(key)?;
        for alias in aliases {
            let Ok(base) = self.folder.base(alias) else { continue };
            if key::is_main(alias) || base == own {
                continue;
            }
            let Some(older) = self.folder.read(alias)? else { continue };
            if older.history().is_empty() && older.meta.summary.trim().is_empty() {
                continue;
            }
            // Both are held, in an order that everybody keeps.
            let (first, second) =
                if base < own { (alias.as_str(), key) } else { (key, alias.as_str()) };
            let (one, other) = (self.folder.hold(first)?, self.folder.hold(second)?);
            let held = if base < own { other } else { one };
            if never_used(&held.bytes()?, &held.read_meta(key)?) {
                let Some(older) = self.folder.read(alias)? else { continue };
                let mut content = Vec::new();
                for (line, _) in older.shown() {
                    content.extend_from_slice(older.line_bytes(line));
                    content.push(b'\n');
                }
                let mut meta = held.read_meta(key)?;
                older.meta.summary.trim().clone_into(&mut meta.summary);
                meta.skip = 0;
                meta.count = spans(&content).count() as i64;
                let mut record = ObjectWriter::new();
                record.str(PROMOTED, alias);
                if let Ok(record) = Json::parse(&record.finish()) {
                    meta.extra.retain(|(key, _)| *key != OWN);
                    meta.extra.push((OWN.into(), record));
                }
                held.replace(meta, content)?;
                return Ok(Some(alias.clone()));
            }
            return Ok(None);
        }
        Ok(None)
    }
}

/// Where the name of a main session leads: to that session where it is there. Every chat lists the
/// name; PicoClaw gives the first of them.
pub(super) fn main_session(
    name: &str,
    exists: impl FnOnce(&str) -> Result<bool>,
) -> Result<String> {
    let Some((agent, _)) = key::parse_legacy(name) else { return Ok(name.to_owned()) };
    let main = key::main_key(agent);
    Ok(if exists(&main)? { main } else { name.to_owned() })
}

fn is_meta(name: &str) -> bool {
    name.ends_with(".meta.json") && !name.starts_with('.')
}

/// Whether a conversation never had a message. One that was cleared did.
fn never_used(bytes: &Option<Vec<u8>>, meta: &Meta) -> bool {
    bytes.is_none() && meta.summary.trim().is_empty()
}

pub(super) fn promoted_from(meta: &Meta) -> Option<String> {
    let (_, own) = meta.extra.iter().find(|(key, _)| *key == OWN)?;
    Some(own.as_object()?.text(PROMOTED)?.to_string_lossy().into_owned())
}

/// Aliases without those that say nothing.
pub(super) fn cleaned(key: &str, aliases: &[String]) -> Vec<String> {
    let mut cleaned: Vec<String> = Vec::new();
    for alias in aliases.iter().map(|alias| alias.trim()) {
        if !alias.is_empty() && alias != key && !cleaned.iter().any(|known| known == alias) {
            cleaned.push(alias.to_owned());
        }
    }
    cleaned
}

#[async_trait]
impl ConversationStore for PicoConversations {
    async fn resolve_key(&self, key: &str) -> Result<String> {
        self.resolve(key)
    }

    async fn ensure_metadata(&self, key: &str, identity: &Identity) -> Result<Ensured> {
        let key = self.resolve(key)?;
        let aliases = cleaned(&key, &identity.aliases);
        let scope = match &identity.scope {
            Some(scope) => Json::parse(&scope.to_json()).ok(),
            None => None,
        };
        let unused = {
            let held = self.folder.hold(&key)?;
            let mut meta = held.read_meta(&key)?;
            if let (Some(stored), Some(new)) = (meta.scope(), &identity.scope) {
                check_same_scope(&stored, new)?;
            }
            let there = self.folder.disk().meta(&held.meta).is_ok();
            let same = meta.scope() == identity.scope && meta.aliases == aliases;
            if !there || !same {
                let now = self.folder.now();
                if time::is_zero(&meta.created_at) {
                    meta.created_at.clone_from(&now);
                }
                meta.updated_at = now;
                meta.scope = scope;
                meta.aliases.clone_from(&aliases);
                held.write_meta(&meta)?;
            }
            never_used(&held.bytes()?, &meta)
        };
        let promoted_from = if unused { self.promote(&key, &aliases)? } else { None };
        Ok(Ensured { key, promoted_from })
    }

    async fn metadata(&self, key: &str) -> Result<Option<ConversationMeta>> {
        let Some(conversation) = self.read(key)? else { return Ok(None) };
        let meta = conversation.meta;
        let scope = meta.scope();
        let created = Some(meta.created_at.as_str()).filter(|at| !time::is_zero(at));
        Ok(Some(ConversationMeta {
            agent: agent_of(scope.as_ref(), &meta.key, &meta.aliases),
            scope,
            created_at: created.and_then(time::parse),
            promoted_from: promoted_from(&meta),
            aliases: meta.aliases,
            key: meta.key,
        }))
    }

    async fn get_history(&self, key: &str) -> Result<Vec<ConversationMessage>> {
        Ok(self.read(key)?.map(|conversation| conversation.history()).unwrap_or_default())
    }

    async fn add_full_message(
        &self,
        key: &str,
        message: ConversationMessage,
    ) -> Result<Option<EntryId>> {
        self.folder.append(&self.resolve(key)?, message).map(|_| None)
    }

    async fn get_summary(&self, key: &str) -> Result<String> {
        Ok(self.read(key)?.map(|conversation| conversation.meta.summary).unwrap_or_default())
    }

    async fn set_summary(&self, key: &str, summary: &str) -> Result<()> {
        self.folder.set_summary(&self.resolve(key)?, summary)
    }

    async fn truncate_history(&self, key: &str, keep: usize) -> Result<()> {
        let key = self.resolve(key)?;
        match self.exists(&key)? {
            true => self.folder.truncate(&key, keep),
            false => Ok(()),
        }
    }

    async fn set_history(&self, key: &str, messages: Vec<ConversationMessage>) -> Result<()> {
        self.folder.set_history(&self.resolve(key)?, messages)
    }

    async fn save(&self, key: &str) -> Result<()> {
        let key = self.resolve(key)?;
        match self.exists(&key)? {
            true => self.folder.compact(&key),
            false => Ok(()),
        }
    }

    async fn list_sessions(&self) -> Result<Vec<String>> {
        self.with_metas(|metas| {
            metas.by_ref().map(|meta| meta.key.clone()).filter(|key| !key.is_empty()).collect()
        })
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
