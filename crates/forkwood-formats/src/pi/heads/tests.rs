use forkwood_core::EntryKind;

use crate::pi::tests::{HEADER, at, dialect, line};

/// The index must know what Forkwood's own `custom` entries stand for.
#[test]
fn own_custom_entries_are_told_by_their_heads() {
    let dialect = dialect(&[HEADER]);
    let kind = |fields: &str, quick: bool| {
        let line = line("1", "", "custom", fields);
        let mut heads = Vec::new();
        let done = dialect.heads(line.as_bytes(), &at(2), quick, &mut heads);
        done.ok().map(|()| heads[0].kind)
    };
    let info = r#""customType":"forkwood.session_info","data":{"metadata":{"pinned":true}}"#;
    assert_eq!(kind(info, true), None);
    assert_eq!(kind(info, false), Some(EntryKind::SessionInfo));
    let tools = r#""customType":"forkwood.active_tools_change","data":{"activeToolNames":[]}"#;
    assert_eq!(kind(tools, false), Some(EntryKind::ActiveToolsChange));
    for foreign in [r#""customType":"forkwood.x","data":{}"#, r#""customType":"todo","data":{}"#] {
        assert_eq!(kind(foreign, false), Some(EntryKind::Custom));
    }
    assert_eq!(kind(r#""customType":"todo","data":{}"#, true), Some(EntryKind::Custom));
}
