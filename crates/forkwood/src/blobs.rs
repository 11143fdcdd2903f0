//! Large bytes: out of the log into the store, and back into a context.
//!
//! An image up to [`INLINE_LIMIT`] decoded bytes stays in its entry. A larger one is put into the
//! blob folder of the store, once, before the entry that names it is written.

use forkwood_core::entry::Compaction;
use forkwood_core::json::{Object, ObjectWriter};
use forkwood_core::message::ImageSource;
use forkwood_core::{
    Block, Body, Content, Diagnostic, DiagnosticKind, EntryId, EntryKind, Json, Message, Text,
};
use forkwood_storage::SessionStorage;
use forkwood_storage::blob::{decode_base64, encode_base64, is_blob_name};

use crate::{Result, Session};

/// Up to this many decoded bytes stay in the entry.
pub const INLINE_LIMIT: usize = 65_536;

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
        && let Some(smaller) = store_payloads(storage, data).await?
    {
        *data = smaller;
    }
    Ok(())
}

/// The decoded bytes, where they are too large to stay.
fn large(base64: &str) -> Option<Vec<u8>> {
    if base64.len() / 4 * 3 <= INLINE_LIMIT {
        return None;
    }
    decode_base64(base64).filter(|bytes| bytes.len() > INLINE_LIMIT)
}

/// Payloads `{"base64", "mimeType"}` as values of an extension's data.
async fn store_payloads(storage: &dyn SessionStorage, data: &Json) -> Result<Option<Json>> {
    let Some(object) = data.as_object() else { return Ok(None) };
    let mut out = ObjectWriter::new();
    let mut changed = false;
    for (key, value) in object.iter() {
        let payload = Object::parse(value.get()).ok().and_then(|payload| {
            let bytes = large(payload.text("base64")?.as_str()?)?;
            Some((bytes, payload.text("mimeType")))
        });
        match payload {
            Some((bytes, mime)) => {
                let name = storage.put_blob(&bytes).await?;
                let mut named = ObjectWriter::new();
                named
                    .str("blob", &name)
                    .raw("bytes", &bytes.len().to_string())
                    .opt_text("mimeType", mime.as_ref());
                out.text_key(key, &named.finish());
                changed = true;
            }
            None => {
                out.text_key(key, value.get());
            }
        }
    }
    Ok(if changed { Json::parse(&out.finish()).ok() } else { None })
}

/// Puts the bytes of named images back into messages. A missing one becomes a line of text.
///
/// # Errors
/// Where a blob is there and cannot be read.
pub async fn inline(storage: &dyn SessionStorage, messages: &mut [Message]) -> Result<()> {
    for message in messages {
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
                _ => *block = Block::text(format!("[image missing: {name}]")),
            }
        }
    }
    Ok(())
}

/// Copies the blobs that a body names from one store to another.
///
/// # Errors
/// Those of reading and writing blobs. A missing blob stays missing.
pub async fn transfer(
    from: &dyn SessionStorage,
    to: &dyn SessionStorage,
    body: &mut Body,
) -> Result<()> {
    if !from.capabilities().blobs || !to.capabilities().blobs {
        return Ok(());
    }
    for name in names(body) {
        if let Some(bytes) = from.get_blob(&name).await? {
            to.put_blob(&bytes).await?;
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
    if let Body::Custom { data, .. } = body
        && let Some(object) = data.as_object()
    {
        let payloads = object.iter().filter_map(|(_, value)| Object::parse(value.get()).ok());
        names.extend(
            payloads.filter_map(|p| p.text("blob")).map(|n: Text| n.to_string_lossy().into_owned()),
        );
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

/// Blobs that entries name and the store does not have.
pub(crate) async fn findings(session: &Session) -> Result<Vec<Diagnostic>> {
    if !session.storage().capabilities().blobs {
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
                    let message =
                        format!("blob {name} is not in the store; a placeholder is shown");
                    let mut finding = Diagnostic::new(DiagnosticKind::MissingBlob, message)
                        .of(stored.entry.id.clone());
                    finding.line = stored.line;
                    finding.offset = stored.offset;
                    found.push(finding);
                }
            }
        }
    }
    Ok(found)
}
