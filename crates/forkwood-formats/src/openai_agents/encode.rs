//! Messages as items.

use forkwood::core::json::{ObjectWriter, join_array};
use forkwood::core::message::ImageSource;
use forkwood::{Block, Content, Json, Message, Role, Text};

/// The items that a message becomes: what it says, its thoughts and its calls are one each. A
/// thought without the record that its provider wants back is left out; so is a system prompt,
/// which the SDK takes from the agent and not from the session.
pub fn encode(message: &Message) -> Vec<Json> {
    let items = match message.role {
        Role::Assistant => assistant(message),
        Role::Tool => vec![result(message)],
        _ => vec![said(message)],
    };
    items.into_iter().filter_map(|item| Json::parse(&item).ok()).collect()
}

fn object(write: impl FnOnce(&mut ObjectWriter)) -> String {
    let mut out = ObjectWriter::new();
    write(&mut out);
    out.finish()
}

fn said(message: &Message) -> String {
    object(|out| {
        out.raw("content", &content(&message.content)).text("role", &message.role.as_text());
    })
}

fn result(message: &Message) -> String {
    object(|out| {
        let id = message.tool_call_id.clone().unwrap_or_default();
        let output = match &message.content {
            // What a tool says is one text, unless there is a picture in it.
            Content::Blocks(blocks) if blocks.iter().all(|b| matches!(b, Block::Text { .. })) => {
                message.content.text().to_json()
            }
            other => content(other),
        };
        out.text("call_id", &id).raw("output", &output).str("type", "function_call_output");
    })
}

/// Content: a text, or parts.
fn content(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_json(),
        Content::Blocks(blocks) => join_array(blocks.iter().map(input_part)),
    }
}

fn input_part(block: &Block) -> String {
    match block {
        Block::Text { text, .. } => object(|out| {
            out.text("text", text).str("type", "input_text");
        }),
        Block::Image(image) => object(|out| {
            let url = match &image.source {
                ImageSource::Inline(data) => {
                    Text::concat([&"data:".into(), &image.mime_type, &";base64,".into(), data])
                }
                ImageSource::Blob { name, .. } => name.clone(),
            };
            out.str("detail", "auto").text("image_url", &url).str("type", "input_image");
        }),
        Block::Other(json) => json.get().to_owned(),
        Block::Thinking { thinking, .. } => input_part(&Block::text(thinking.clone())),
        Block::ToolCall { name, .. } => input_part(&Block::text(name.clone())),
    }
}

fn assistant(message: &Message) -> Vec<String> {
    let mut items = Vec::new();
    let mut said: Vec<String> = Vec::new();
    let flush = |said: &mut Vec<String>, items: &mut Vec<String>| {
        if said.is_empty() {
            return;
        }
        let parts = join_array(std::mem::take(said));
        items.push(object(|out| {
            out.raw("content", &parts).str("role", "assistant").str("type", "message");
        }));
    };
    for block in message.content.to_blocks() {
        match block {
            Block::Text { text, .. } => said.push(object(|out| {
                out.raw("annotations", "[]").text("text", &text).str("type", "output_text");
            })),
            Block::ToolCall { id, name, arguments, .. } => {
                flush(&mut said, &mut items);
                items.push(object(|out| {
                    out.text("arguments", &Text::from(arguments.get()))
                        .text("call_id", &id)
                        .text("name", &name)
                        .str("type", "function_call");
                }));
            }
            Block::Other(json) => {
                flush(&mut said, &mut items);
                items.push(json.get().to_owned());
            }
            Block::Thinking { .. } | Block::Image(_) => {}
        }
    }
    flush(&mut said, &mut items);
    items
}
