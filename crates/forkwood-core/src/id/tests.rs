use super::{EntryId, IdSource, Lane, Sequential, SessionId};

#[test]
fn session_ids_can_only_be_file_names() {
    for good in ["20261130-081501-9f86d081", "my-automation.session_1", "a", "01a22b4a-120f-72f1"] {
        assert!(SessionId::new(good).is_ok(), "{good}");
    }
    let long = "x".repeat(129);
    let bad = [
        "",
        ".",
        "..",
        "../../outside/evil",
        "..\\..\\evil",
        "/etc/cron.d/evil",
        "a\0b",
        &long,
        "CON",
        "con.txt",
        "LPT1",
        "-rf",
        "id with\nnewline",
        "%2e%2e%2fevil",
        "a..b",
        "a.",
        "\u{e9}",
    ];
    for bad in bad {
        assert!(SessionId::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn lanes_follow_the_pattern() {
    for good in ["main", "0", "a.b_c-d"] {
        assert!(Lane::new(good).is_ok(), "{good}");
    }
    for bad in ["", "Main", "-x", ".x", "a b", &"x".repeat(65)] {
        assert!(Lane::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn conflict_lanes_are_lanes_whatever_the_id() {
    let long = Lane::new(&"l".repeat(64)).unwrap();
    for id in ["0192f0c1a2b3", "x", "", "ID/../..", "\u{1f600}\u{1f600}"] {
        for lane in [Lane::main(), long.clone()] {
            let made = lane.for_conflict(&EntryId::new(id));
            assert!(Lane::new(made.as_str()).is_ok(), "{made}");
        }
    }
    assert_eq!(Lane::main().for_conflict(&"aaaabbbbcccc".into()).as_str(), "main-bbbbcccc");
}

#[test]
fn sequential_ids_count_per_source() {
    let (a, b) = (Sequential::new("e"), Sequential::new("e"));
    assert_eq!((a.next_id(), a.next_id(), b.next_id()), ("e1".into(), "e2".into(), "e1".into()));
}
