//! Large bytes: out of the log into the store, and back into a context.
//!
//! An image up to [`INLINE_LIMIT`] decoded bytes stays in its entry. A larger one is put into the
//! blob folder of the store, once, before the entry that names it is written.

use std::collections::HashMap;

use forkwood_core::entry::Compaction;
use forkwood_core::message::ImageSource;
use forkwood_core::{
    Block, Body, Content, Diagnostic, DiagnosticKind, EntryId, EntryKind, Message,
};
use forkwood_storage::SessionStorage;
use forkwood_storage::blob::{decode_base64, encode_base64, is_base64, is_blob_name};

use crate::{Error, ErrorKind, Result, Session};

mod payload;

/// Up to this many decoded bytes stay in the entry.
pub const INLINE_LIMIT: usize = 65_536;

/// Checks the bytes in a body: inline ones must be base64, and a name must be one of a blob.
///
/// # Errors
/// `invalid`, naming the field.
pub fn check(body: &Body) -> Result<()> {
    let wrong = |field: &str, problem: &str| Err(Error::invalid(format!("{field}: {problem}")));
    for block in shared_contents(body).into_iter().flat_map(|content| match content {
        Content::Blocks(blocks) => blocks.as_slice(),
        Content::Text(_) => &[],
    }) {
        let Block::Image(image) = block else { continue };
        match &image.source {
            ImageSource::Inline(data) if !data.as_str().is_some_and(is_base64) => {
                return wrong("image.base64", "is not base64 of any bytes");
            }
            ImageSource::Blob { name, .. } if !name.as_str().is_some_and(is_blob_name) => {
                return wrong("image.blob", "must be sha256- and 64 hex digits");
            }
            _ => {}
        }
    }
    match body {
        Body::Custom { data, .. } if !payload::is_sound(data) => {
            wrong("custom.data", "a payload {\"base64\", \"mimeType\"} is not base64 of any bytes")
        }
        _ => Ok(()),
    }
}

/// Puts what is large in a body into the store, and names it there.
///
/// # Errors
/// Those of [`SessionStorage::put_blob`].
pub async fn store(storage: &dyn SessionStorage, body: &mut Body) -> Result<()> {
    if !storage.capabilities().blobs {
        return Ok(());
    }
    for content in contents(body) {
        let Content::Blocks(blocks) = content else { continue };
        for block in blocks {
            let Block::Image(image) = block else { continue };
            let ImageSource::Inline(data) = &image.source else { continue };
            let Some(bytes) = large(&data.to_string_lossy()) else { continue };
            let name = storage.put_blob(&bytes).await?.into();
            image.source = ImageSource::Blob { name, bytes: bytes.len() as u64 };
        }
    }
    if let Body::Custom { data, .. } = body
        && let Some((smaller, large)) = payload::shrink(data)
    {
        for bytes in large {
            storage.put_blob(&bytes).await?;
        }
        *data = smaller;
    }
    Ok(())
}

/// The decoded bytes, where they are too large to stay.
fn large(base64: &str) -> Option<Vec<u8>> {
    // Three bytes are four letters, with or without padding at the end.
    if base64.len() <= INLINE_LIMIT / 3 * 4 {
        return None;
    }
    decode_base64(base64).filter(|bytes| bytes.len() > INLINE_LIMIT)
}

/// Puts the bytes of named images back into messages. One that is missing, or whose bytes do not
/// fit its name, becomes a line of text; gives the place of its message, and its name.
///
/// # Errors
/// `io` where a blob is there and the file system does not give it.
pub async fn inline(
    storage: &dyn SessionStorage,
    messages: &mut [Message],
) -> Result<Vec<(usize, String)>> {
    let mut missing = Vec::new();
    for (at, message) in messages.iter_mut().enumerate() {
        let Content::Blocks(blocks) = &mut message.content else { continue };
        for block in blocks {
            let Block::Image(image) = block else { continue };
            let ImageSource::Blob { name, .. } = &image.source else { continue };
            let name = name.to_string_lossy().into_owned();
            let bytes = if is_blob_name(&name) { storage.get_blob(&name).await } else { Ok(None) };
            match bytes {
                Ok(Some(bytes)) => {
                    image.source = ImageSource::Inline(encode_base64(&bytes).into());
                }
                Err(error) if error.kind() == ErrorKind::Io => return Err(error),
                _ => {
                    *block = Block::text(format!("[image missing: {name}]"));
                    missing.push((at, name));
                }
            }
        }
    }
    Ok(missing)
}

/// Puts all large bytes back into a body, for a copy that has no store beside it. What is
/// missing, or does not fit its name, stays named.
///
/// # Errors
/// `io` where a blob is there and the file system does not give it.
pub async fn inline_body(storage: &dyn SessionStorage, body: &mut Body) -> Result<()> {
    let mut found = HashMap::new();
    for name in names(body) {
        match storage.get_blob(&name).await {
            Ok(Some(bytes)) => {
                found.insert(name, encode_base64(&bytes));
            }
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            _ => {}
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    for content in contents(body) {
        let Content::Blocks(blocks) = content else { continue };
        for block in blocks {
            if let Block::Image(image) = block
                && let ImageSource::Blob { name, .. } = &image.source
                && let Some(base64) = found.get(&*name.to_string_lossy())
            {
                image.source = ImageSource::Inline(base64.as_str().into());
            }
        }
    }
    if let Body::Custom { data, .. } = body
        && let Some(larger) = payload::grow(data, &found)
    {
        *data = larger;
    }
    Ok(())
}

/// Copies the blobs that a body names from one store to another.
///
/// # Errors
/// Those of reading and writing blobs. A missing or damaged blob is missing in the other store.
pub async fn transfer(
    from: &dyn SessionStorage,
    to: &dyn SessionStorage,
    body: &mut Body,
) -> Result<()> {
    if !from.capabilities().blobs || !to.capabilities().blobs {
        return Ok(());
    }
    for name in names(body) {
        match from.get_blob(&name).await {
            Ok(Some(bytes)) => {
                to.put_blob(&bytes).await?;
            }
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Damaged => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The names of the blobs that a body names.
pub fn names(body: &mut Body) -> Vec<String> {
    let mut names = Vec::new();
    for content in contents(body) {
        let Content::Blocks(blocks) = content else { continue };
        for block in blocks {
            if let Block::Image(image) = block
                && let ImageSource::Blob { name, .. } = &image.source
            {
                names.push(name.to_string_lossy().into_owned());
            }
        }
    }
    if let Body::Custom { data, .. } = body {
        names.extend(payload::names(data));
    }
    names.retain(|name| is_blob_name(name));
    names
}

/// Every place in a body where blocks can stand.
fn contents(body: &mut Body) -> Vec<&mut Content> {
    match body {
        Body::Message(body) => vec![&mut body.message.content],
        Body::CustomMessage { content, .. } => vec![content],
        Body::ContextEdit { replacement: Some(content), .. } => vec![content],
        Body::Compaction(Compaction { retained_tail: Some(tail), .. }) => {
            tail.iter_mut().map(|message| &mut message.content).collect()
        }
        _ => Vec::new(),
    }
}

/// The same places, to be looked at.
fn shared_contents(body: &Body) -> Vec<&Content> {
    match body {
        Body::Message(body) => vec![&body.message.content],
        Body::CustomMessage { content, .. } => vec![content],
        Body::ContextEdit { replacement: Some(content), .. } => vec![content],
        Body::Compaction(Compaction { retained_tail: Some(tail), .. }) => {
            tail.iter().map(|message| &message.content).collect()
        }
        _ => Vec::new(),
    }
}

/// That an entry names a blob which is not there.
pub(crate) fn missing(entry: EntryId, name: &str) -> Diagnostic {
    let message = format!("blob {name} is not in the store; a placeholder is shown");
    Diagnostic::new(DiagnosticKind::MissingBlob, message).of(entry)
}

/// Blobs that entries name and the store does not have; a file that lies in no store has none.
pub(crate) async fn findings(session: &Session) -> Result<Vec<Diagnostic>> {
    // Other formats name none: their entries need not be read for it.
    if !session.storage().capabilities().blobs && session.facts().dialect != "native" {
        return Ok(Vec::new());
    }
    let holds = |kind: EntryKind| {
        matches!(
            kind,
            EntryKind::Message
                | EntryKind::CustomMessage
                | EntryKind::Custom
                | EntryKind::Compaction
                | EntryKind::ContextEdit
        )
    };
    let heads = session.heads().await?;
    let ids: Vec<EntryId> =
        heads.iter().filter(|head| holds(head.kind)).map(|head| head.id.clone()).collect();
    let mut found = Vec::new();
    for portion in ids.chunks(512) {
        for mut stored in session.storage().get(session.id(), portion).await?.into_iter().flatten()
        {
            for name in names(&mut stored.entry.body) {
                if !matches!(session.storage().get_blob(&name).await, Ok(Some(_))) {
                    let mut finding = missing(stored.entry.id.clone(), &name);
                    finding.line = stored.line;
                    finding.offset = stored.offset;
                    found.push(finding);
                }
            }
        }
    }
    Ok(found)
}
