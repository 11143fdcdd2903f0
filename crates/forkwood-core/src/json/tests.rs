use super::{Json, JsonKind, Object, ObjectWriter, is_valid};

#[test]
fn the_last_of_repeated_keys_counts_at_the_place_of_the_first() {
    let object = Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
    let fields: Vec<_> = object.iter().map(|(k, v)| format!("{k}={}", v.get())).collect();
    assert_eq!(fields, ["a=3", "b=2"]);
}

#[test]
fn many_keys_keep_the_last_value_too() {
    let mut json = String::from("{");
    for i in 0..40 {
        json.push_str(&format!("\"k{i}\":0,"));
    }
    json.push_str("\"k3\":1,\"k39\":2}");
    let object = Object::parse(&json).unwrap();
    assert_eq!(object.iter().count(), 40);
    assert_eq!(object.get("k3"), Some("1"));
    assert_eq!(object.get("k39"), Some("2"));
}

#[test]
fn deep_nesting_neither_overflows_nor_fails() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(is_valid(deep.as_bytes()));
    let object = Object::parse(&deep).unwrap();
    assert_eq!(object.get("a").map(str::len), Some(200_000));
    let json = Json::parse(&deep).unwrap();
    assert_eq!(json.clone(), json);
}

#[test]
fn numbers_keep_their_digits() {
    let json = Json::parse("12345678901234567890123.50").unwrap();
    assert_eq!(json.get(), "12345678901234567890123.50");
    assert_eq!(json.kind(), JsonKind::Number);
}

#[test]
fn whitespace_goes_but_not_inside_strings() {
    let json = Json::parse("{ \"a b\" : [ 1,\n 2 ], \"c\": \"x\\\" y\" }").unwrap();
    assert_eq!(json.get(), "{\"a b\":[1,2],\"c\":\"x\\\" y\"}");
}

#[test]
fn writer_escapes_keys_and_values() {
    let mut writer = ObjectWriter::new();
    writer.str("a\"", "b\n").raw("n", "1");
    assert_eq!(writer.finish(), r#"{"a\"":"b\n","n":1}"#);
}
