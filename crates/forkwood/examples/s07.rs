//! The session tree in one page: a question, an answer, a step back, another answer.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use forkwood::{Entry, Message, Sequential, SessionTree};

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}

/// Writes what the chapter shows.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "s07: Session Tree\n")?;
    let mut session = SessionTree::new(Arc::new(Sequential::new("e")));

    let question = session.add_entry(Message::user("方案 A"), None)?;
    session.add_entry(Message::assistant("A 的回答"), None)?;
    writeln!(out, "[路径：方案 A]")?;
    show_path(out, &session)?;

    session.rewind(&question)?;
    session.add_entry(Message::assistant("改走方案 B"), None)?;
    writeln!(out, "[路径：方案 B]")?;
    show_path(out, &session)?;

    writeln!(out, "[所有节点]")?;
    for entry in session.entries() {
        let parent = entry.parent_id.as_ref().map_or("null", |id| id.as_str());
        writeln!(out, "{} parent={parent} {}", entry.id, said(entry))?;
    }
    Ok(())
}

fn show_path(out: &mut impl Write, session: &SessionTree) -> io::Result<()> {
    for entry in session.current_path() {
        writeln!(out, "{}", said(entry))?;
    }
    writeln!(out)
}

fn said(entry: &Entry) -> String {
    entry.message().map_or_else(String::new, |message| {
        format!("{}: {}", message.role.as_text(), message.content.text())
    })
}
