//! The session tree in one page: a question, an answer, a step back, another answer.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use forkwood::{Entry, Message, Sequential, SessionTree};

fn main() -> Result<(), Box<dyn Error>> {
    println!("s07: Session Tree\n");
    let mut session = SessionTree::new(Arc::new(Sequential::new("e")));

    let question = session.add_entry(Message::user("方案 A"), None)?;
    session.add_entry(Message::assistant("A 的回答"), None)?;
    println!("[路径：方案 A]");
    show_path(&session);

    session.rewind(&question)?;
    session.add_entry(Message::assistant("改走方案 B"), None)?;
    println!("[路径：方案 B]");
    show_path(&session);

    println!("[所有节点]");
    for entry in session.entries() {
        let parent = entry.parent_id.as_ref().map_or("null", |id| id.as_str());
        println!("{} parent={parent} {}", entry.id, said(entry));
    }
    Ok(())
}

fn show_path(session: &SessionTree) {
    for entry in session.current_path() {
        println!("{}", said(entry));
    }
    println!();
}

fn said(entry: &Entry) -> String {
    entry.message().map_or_else(String::new, |message| {
        format!("{}: {}", message.role.as_text(), message.content.text())
    })
}
