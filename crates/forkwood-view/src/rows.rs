//! The rows of a session tree, in the order in which they are drawn.
//!
//! A tree of a conversation is mostly one long chain. So a chain stays flat, and only the
//! children of a fork are indented:
//!
//! ```text
//! o  plan?
//! o  plan A
//! |-o  rather A1
//! | o  go on
//! `-@  rather A2
//! ```
//!
//! Everything here is iterative and linear in the number of nodes. Links that lead nowhere make
//! roots, and a ring is cut at its first node, so that every node has a row whatever the input.

use std::collections::HashMap;

use forkwood_core::{EntryId, Lane, Role, Text};
use serde::Serialize;

/// How many levels of indentation are drawn; deeper ones are told by number.
pub const MAX_LEVELS: usize = 24;

/// One entry of the tree, as the rows need it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its id.
    pub id: EntryId,
    /// Its parent.
    pub parent_id: Option<EntryId>,
    /// Its type, as its own format names it.
    pub tag: Text,
    /// Who speaks, where it is a message.
    pub role: Option<Role>,
    /// The lane it was written to.
    pub lane: Lane,
    /// One line that tells what it is; see [`crate::summary`].
    pub text: String,
}

/// What stands beside the nodes.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The label of each labelled entry.
    pub labels: HashMap<EntryId, Text>,
    /// Where the conversation stands.
    pub leaf: Option<EntryId>,
    /// Where each lane stands.
    pub lanes: Vec<(Lane, EntryId)>,
}

/// The characters that gutters are drawn with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Box drawing.
    #[default]
    Unicode,
    /// Nothing but ASCII.
    Ascii,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The id of the entry.
    pub id: EntryId,
    /// Its parent.
    pub parent_id: Option<EntryId>,
    /// Its type, as its own format names it.
    #[serde(rename = "type")]
    pub tag: Text,
    /// Who speaks, where it is a message.
    #[serde(serialize_with = "role_name")]
    pub role: Option<Role>,
    /// How many ancestors it has.
    pub depth: usize,
    /// How many forks it stands below: the indentation.
    pub indent: usize,
    /// Its label.
    pub label: Option<Text>,
    /// The lanes that stand at it.
    pub lanes: Vec<Lane>,
    /// How many children it has.
    pub children: usize,
    /// Whether it has more than one.
    pub fork_point: bool,
    /// Whether it lies on the path to where the conversation stands.
    pub active: bool,
    /// Whether the conversation stands here.
    pub leaf: bool,
    /// One line that tells what it is.
    pub text: String,
    /// What is drawn before it, up to its own sign.
    #[serde(skip)]
    pub gutter: String,
}

fn role_name<S: serde::Serializer>(role: &Option<Role>, serializer: S) -> Result<S::Ok, S::Error> {
    role.as_ref().map(Role::as_text).serialize(serializer)
}

impl Row {
    /// The sign of the row itself: where the conversation stands, its path, the rest.
    pub fn sign(&self, style: Style) -> char {
        match (style, self.leaf, self.active) {
            (Style::Ascii, true, _) => '@',
            (Style::Ascii, _, true) => '*',
            (Style::Ascii, ..) => 'o',
            (Style::Unicode, true, _) => '\u{25c9}',
            (Style::Unicode, _, true) => '\u{25cf}',
            (Style::Unicode, ..) => '\u{25cb}',
        }
    }
}

/// Puts nodes, given in log order, into rows.
pub fn rows(nodes: Vec<Node>, marks: &Marks, style: Style) -> Vec<Row> {
    let tree = Tree::new(&nodes);
    let active = tree.path_to(marks.leaf.as_ref());
    let mut lanes: HashMap<&EntryId, Vec<Lane>> = HashMap::new();
    for (lane, at) in &marks.lanes {
        lanes.entry(at).or_default().push(lane.clone());
    }
    let mut rows: Vec<Row> = Vec::with_capacity(nodes.len());
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    let mut levels: Vec<bool> = Vec::new();
    for step in tree.preorder() {
        let Some(node) = nodes[step.node].take() else { continue };
        // A chain goes on at the level it has; the child of a fork opens one of its own.
        levels.truncate(step.indent);
        if let Some(more) = step.opens {
            levels.truncate(step.indent - 1);
            levels.push(more);
        }
        let children = tree.children[step.node].len();
        rows.push(Row {
            depth: step.depth,
            indent: step.indent,
            label: marks.labels.get(&node.id).cloned(),
            lanes: lanes.get(&node.id).cloned().unwrap_or_default(),
            children,
            fork_point: children > 1,
            active: active[step.node],
            leaf: marks.leaf.as_ref() == Some(&node.id),
            gutter: gutter(&levels, step.opens.is_some(), style),
            id: node.id,
            parent_id: node.parent_id,
            tag: node.tag,
            role: node.role,
            text: node.text,
        });
    }
    rows
}

/// The lines that lead to a row.
fn gutter(levels: &[bool], opens: bool, style: Style) -> String {
    let (through, branch, last) = match style {
        Style::Unicode => ("\u{2502} ", "\u{251c}\u{2500}", "\u{2514}\u{2500}"),
        Style::Ascii => ("| ", "|-", "`-"),
    };
    let hidden = levels.len().saturating_sub(MAX_LEVELS);
    let mut out = String::new();
    if hidden > 0 {
        out.push_str(&format!("+{hidden} "));
    }
    let shown = &levels[hidden..];
    for (at, &more) in shown.iter().enumerate() {
        out.push_str(match (opens && at + 1 == shown.len(), more) {
            (true, true) => branch,
            (true, false) => last,
            (false, true) => through,
            (false, false) => "  ",
        });
    }
    out
}

/// The links, as positions.
struct Tree {
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    at: HashMap<EntryId, usize>,
}

/// One step of the walk.
struct Step {
    node: usize,
    depth: usize,
    indent: usize,
    /// For the child of a fork: whether siblings follow it.
    opens: Option<bool>,
}

impl Tree {
    fn new(nodes: &[Node]) -> Tree {
        let at: HashMap<EntryId, usize> =
            nodes.iter().enumerate().map(|(i, node)| (node.id.clone(), i)).collect();
        let mut parents: Vec<Option<usize>> = nodes
            .iter()
            .map(|node| node.parent_id.as_ref().and_then(|parent| at.get(parent).copied()))
            .collect();
        cut_rings(&mut parents);
        let mut children = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        for (i, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(i),
                None => roots.push(i),
            }
        }
        Tree { parents, children, roots, at }
    }

    fn path_to(&self, leaf: Option<&EntryId>) -> Vec<bool> {
        let mut on = vec![false; self.parents.len()];
        let mut next = leaf.and_then(|leaf| self.at.get(leaf).copied());
        while let Some(i) = next {
            on[i] = true;
            next = self.parents[i];
        }
        on
    }

    fn preorder(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.parents.len());
        let mut stack = Vec::new();
        push_children(&mut stack, &self.roots, 0, 0);
        while let Some(step) = stack.pop() {
            push_children(&mut stack, &self.children[step.node], step.depth + 1, step.indent);
            steps.push(step);
        }
        steps
    }
}

fn push_children(stack: &mut Vec<Step>, children: &[usize], depth: usize, indent: usize) {
    let fork = children.len() > 1;
    for (at, &node) in children.iter().enumerate().rev() {
        stack.push(Step {
            node,
            depth,
            indent: indent + usize::from(fork),
            opens: fork.then_some(at + 1 < children.len()),
        });
    }
}

/// Makes roots of nodes on rings, the first of each in log order, so that all can be reached.
fn cut_rings(parents: &mut [Option<usize>]) {
    // 0 = not seen; else the number of the walk that came by.
    let mut seen = vec![0usize; parents.len()];
    for start in 0..parents.len() {
        let walk = start + 1;
        let mut next = start;
        loop {
            if seen[next] != 0 {
                if seen[next] == walk {
                    // A ring. Walks start in log order, yet may enter it in its middle.
                    let mut first = next;
                    let mut on = parents[next];
                    while let Some(i) = on.filter(|&i| i != next) {
                        first = first.min(i);
                        on = parents[i];
                    }
                    parents[first] = None;
                }
                break;
            }
            seen[next] = walk;
            match parents[next] {
                Some(parent) => next = parent,
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests;
