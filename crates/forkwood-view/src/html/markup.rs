//! Markdown as harmless HTML.
//!
//! HTML that stands in Markdown is shown as the text that it is. Images of elsewhere become
//! links: a page that shows a session asks nobody for anything. What is left goes through
//! `ammonia`, so that no fault of the parser can let an element through that is not on the list.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::Builder;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// Longer texts are shown as they are: no one wrote them as Markdown.
const LONGEST: usize = 200_000;

/// Deeper nesting is shown as it stands, so that no element is nested without bound.
const DEEPEST: usize = 60;

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::empty();
    cleaner
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"))
        .set_tag_attribute_values(HashMap::from([("a", HashMap::from([("target", "_blank")]))]));
    cleaner
});

/// Makes HTML of Markdown; `text` is safe text, as [`crate::sanitise`] makes it.
pub fn markdown(text: &str) -> String {
    if text.len() > LONGEST || deepest(text) > DEEPEST {
        return plain(text);
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(text, options).filter_map(tame);
    let mut html = String::with_capacity(text.len() + text.len() / 4);
    pulldown_cmark::html::push_html(&mut html, events);
    CLEANER.clean(&html).to_string()
}

/// Makes HTML of text that is shown as it stands.
pub fn plain(text: &str) -> String {
    format!("<pre>{}</pre>", escape(text))
}

/// Text between tags, or in an attribute between double quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn deepest(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for event in Parser::new_ext(text, Options::empty()) {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn tame(event: Event<'_>) -> Option<Event<'_>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Image { link_type, dest_url, id, .. }) => {
            Event::Start(Tag::Link { link_type, dest_url, title: CowStr::Borrowed(""), id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        event => event,
    })
}

#[cfg(test)]
mod tests;
