//! TOML into nodes.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::node::{DEEPEST, Kind, Member, Node, Source};
use super::problem::Problem;

pub(super) fn parse(source: &Source<'_>) -> Result<Node, Problem> {
    let table = DeTable::parse(source.text).map_err(|cause| {
        let at = cause.span().map_or(0, |span| span.start);
        source.syntax(at, cause.message().to_owned())
    })?;
    Ok(Node { at: table.span().start, kind: members(table.get_ref(), 0) })
}

fn members(table: &DeTable<'_>, depth: usize) -> Kind {
    let members = table.iter().map(|(name, value)| Member {
        name: name.get_ref().to_string(),
        at: name.span().start,
        value: node(value, depth + 1),
    });
    let mut members: Vec<Member> = members.collect();
    members.sort_by_key(|member| member.at);
    Kind::Table(members)
}

fn node(value: &Spanned<DeValue<'_>>, depth: usize) -> Node {
    let kind = match value.get_ref() {
        DeValue::Table(_) | DeValue::Array(_) if depth == DEEPEST => {
            Kind::Other("something nested too deep")
        }
        DeValue::Table(table) => members(table, depth),
        DeValue::Array(items) => {
            Kind::List(items.iter().map(|item| node(item, depth + 1)).collect())
        }
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Boolean(flag) => Kind::Bool(*flag),
        DeValue::Integer(_) | DeValue::Float(_) => Kind::Other("a number"),
        DeValue::Datetime(_) => Kind::Other("a date"),
    };
    Node { at: value.span().start, kind }
}
