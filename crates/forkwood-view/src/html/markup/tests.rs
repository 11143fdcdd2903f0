use proptest::prelude::*;

use super::*;

#[test]
fn markdown_is_drawn() {
    let html =
        markdown("# A\n\n- *b* and `c<d>`\n\n|x|y|\n|-|-|\n|1|2|\n\n```rust\nlet x = 1 < 2;\n```");
    for expected in [
        "<h1>A</h1>",
        "<em>b</em>",
        "<code>c&lt;d&gt;</code>",
        "<td>1</td>",
        "<pre><code>let x = 1 &lt; 2;\n</code></pre>",
    ] {
        assert!(html.contains(expected), "{expected} is not in {html}");
    }
}

#[test]
fn html_is_shown_as_text() {
    let html = markdown("say <b onclick=alert(1)>hi</b>\n\n<script>alert(2)</script>\n");
    assert!(html.contains("&lt;b onclick=alert(1)&gt;hi&lt;/b&gt;"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(2)&lt;/script&gt;"), "{html}");
}

#[test]
fn links_go_to_the_web_alone_and_images_are_links() {
    for bad in [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<javascript:alert(1)>",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](/etc/passwd)",
        "[x][r]\n\n[r]: javascript:alert(1)",
    ] {
        assert!(!markdown(bad).contains("href"), "{bad}: {}", markdown(bad));
    }
    let html = markdown("![alt](https://example.com/a.png) [y](https://example.com/)");
    assert!(!html.contains("<img"), "{html}");
    assert_eq!(html.matches("rel=\"noopener noreferrer nofollow\"").count(), 2, "{html}");
}

#[test]
fn what_is_deep_or_long_is_shown_as_it_stands() {
    let deep = format!("{}x", "> ".repeat(5_000));
    assert!(markdown(&deep).starts_with("<pre>&gt; "));
    let long = "*a* ".repeat(60_000);
    assert!(markdown(&long).starts_with("<pre>*a* "));
}

proptest! {
    /// Whatever is said, no element and no attribute comes out that is not on the list.
    #[test]
    fn nothing_else_comes_out(
        text in prop::collection::vec(
            prop_oneof![
                Just("<script>"), Just("</pre>"), Just("<img src=x onerror=a>"), Just("](javascript:a)"),
                Just("["), Just("!["), Just("`"), Just("```\n"), Just("\n\n"), Just("<svg/onload=a>"),
                Just("&lt;"), Just("&#x3c;"), Just("<!--"), Just("<![CDATA["), Just("\" x=\""), Just("a"),
                Just("<style>"), Just("> "), Just("- "), Just("|"), Just("https://e.com"),
            ],
            0..40,
        )
    ) {
        let html = markdown(&text.concat());
        let mut rest = html.as_str();
        while let Some(at) = rest.find('<') {
            let end = rest[at..].find('>').expect("an element ends") + at;
            let tag = &rest[at + 1..end];
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            prop_assert!(
                ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "hr", "li", "ol", "p",
                 "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"].contains(&name),
                "{tag} in {html}"
            );
            for attribute in tag.split(' ').skip(1).filter(|part| part.contains('=')) {
                let name = attribute.split('=').next().unwrap_or_default();
                prop_assert!(["href", "rel", "target", "start"].contains(&name), "{tag} in {html}");
            }
            rest = &rest[end + 1..];
        }
    }
}
