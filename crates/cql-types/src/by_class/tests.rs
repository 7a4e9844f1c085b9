//! Names, texts and orders of types that go by their classes, as Cassandra 5.0.6 gave them.

use super::*;
use crate::class_name::PACKAGE;
use crate::{class_name, comparable, compare, parse_literal, print, validate};

fn ty(class: &str) -> CqlType {
    class_name::of_statement(class).unwrap().0
}

fn of_text(class: &str, text: &str) -> Result<String, String> {
    let ty = ty(class);
    let literal = crate::Literal::new(crate::LiteralKind::String, text);
    let value = parse_literal(&ty, &literal).map_err(|error| error.to_string())?;
    assert_eq!(validate(&ty, &value), Ok(()));
    Ok(print(&ty, &value))
}

/// The names that Cassandra 5.0.6 shows, without packages.
#[test]
fn names_are_cassandras() {
    let shown = |class: &str| ty(class).to_string().replace(PACKAGE, "");
    for (class, name) in [
        ("CompositeType", "'CompositeType()'"),
        ("DynamicCompositeType()", "'DynamicCompositeType()'"),
        ("CompositeType ( Int32Type UTF8Type )", "'CompositeType(Int32Type,UTF8Type)'"),
        ("LexicalUUIDType(a,b=c)", "'LexicalUUIDType'"),
        ("CompositeType(DateType,ReversedType(LongType))", "'CompositeType(DateType,ReversedType(LongType))'"),
        (
            "DynamicCompositeType(s=>UTF8Type,i=>Int32Type,R=>LongType)",
            "'DynamicCompositeType(R=>LongType,s=>UTF8Type,i=>Int32Type)'",
        ),
        ("DynamicCompositeType(q=>Int32Type,a=>UTF8Type)", "'DynamicCompositeType(q=>Int32Type,a=>UTF8Type)'"),
        (
            "DynamicCompositeType(a=>Int32Type,b=>UTF8Type,a=>LongType)",
            "'DynamicCompositeType(a=>LongType,b=>UTF8Type)'",
        ),
        ("", "blob"),
        ("(", "blob"),
        ("Int32Type) and more", "int"),
        ("EmptyType", "empty"),
        ("LegacyTimeUUIDType", "timeuuid"),
        ("ReversedType(Int32Type)", "int"),
    ] {
        assert_eq!(shown(class), name, "{class}");
        assert_eq!(CqlType::parse(&format!("{:#}", ty(class))), Ok(ty(class)), "{class}");
    }
}

#[test]
fn more_aliases_than_there_is_room_for_move_apart() {
    // Thirteen entries make 32 buckets of 16, in which A, a and Q are in other ones than before.
    let aliases: Vec<String> = "abcdefghijklqAQ1".chars().map(|alias| format!("{alias}=>Int32Type")).collect();
    let ty = ty(&format!("DynamicCompositeType({})", aliases.join(","))).to_string().replace(PACKAGE, "");
    let shown: String = ty.split("=>").map(|part| part.chars().last().unwrap()).take(16).collect();
    assert_eq!(shown, "aAbcdefghijklqQ1");
}

#[test]
fn what_names_no_class_is_refused_in_cassandras_words() {
    for (class, error) in [
        ("NoSuchType", "Unable to find abstract-type class 'org.apache.cassandra.db.marshal.NoSuchType'"),
        ("org.example.Odd(Int32Type)", "Unable to find abstract-type class 'org.example.Odd'"),
        ("CompositeType(Int32Type", "Invalid definition for comparator org.apache.cassandra.db.marshal.CompositeType."),
        ("ListType", "Invalid definition for comparator org.apache.cassandra.db.marshal.ListType."),
        ("LexicalUUIDType(a=>b)", "Syntax error parsing 'LexicalUUIDType(a=>b)' at char 18: unexpected character '>'"),
        ("LexicalUUIDType(", "Syntax error parsing 'LexicalUUIDType(' at char 16: unexpected end of string"),
    ] {
        assert_eq!(class_name::of_statement(class).unwrap_err().to_string(), error);
    }
    for open in ["CompositeType(", "DynamicCompositeType(a=>", "Odd("] {
        assert!(class_name::of_statement(&open.repeat(100_000)).is_err());
        assert!(class_name::parse(&open.repeat(100_000)).is_err());
    }
}

#[test]
fn composites_are_read_from_text() {
    let class = "CompositeType(UTF8Type,Int32Type)";
    for (text, printed) in [
        ("a:5", "0x0001610000040000000500"),
        ("a", "0x00016100"),
        ("a\\:b:5", "0x0003613a620000040000000500"),
        ("a:1:!", "0x0001610000040000000101"),
        ("a:_:7", "0x000161ff"),
        ("a:", "0x00016100000000"),
        ("", "0x"),
    ] {
        assert_eq!(of_text(class, text).as_deref(), Ok(printed), "{text}");
    }
    assert_eq!(of_text(class, "a:x"), Err("Unable to make int from 'x'".to_owned()));
    assert!(of_text(class, "a:1:2").is_err() && of_text(class, "!").is_err());
    let class = "DynamicCompositeType(s=>UTF8Type,i=>Int32Type)";
    for (text, printed) in [
        ("s@a:i@5", "0x807300016100806900040000000500"),
        ("UTF8Type@a", "0x0008555446385479706500016100"),
        ("s@", "0x8073000000"),
    ] {
        assert_eq!(of_text(class, text).as_deref(), Ok(printed), "{text}");
    }
    assert_eq!(of_text(class, "s@a@b"), Err("Invalid component representation: s@a@b".to_owned()));
    assert_eq!(of_text("LexicalUUIDType", "1-2-3-4-5").as_deref(), Ok("0x00000001000200030004000000000005"));
}

/// Values in the order in which Cassandra 5.0.6 gave them as clustering keys.
#[test]
fn orders_are_cassandras() {
    for (class, texts) in [
        ("CompositeType(UTF8Type,Int32Type)", &["a:_", "a", "a:-1", "a:1", "a:!", "aa", "b:1"][..]),
        (
            "DynamicCompositeType(s=>UTF8Type,i=>Int32Type,R=>ReversedType(LongType))",
            &["i@-5", "i@5", "R@2", "R@1", "s@a", "s@a:i@1", "UTF8Type@b"],
        ),
        (
            "LexicalUUIDType",
            &[
                "f23e4567-e89b-42d3-a456-426614174000",
                "023e4567-e89b-42d3-f456-426614174000",
                "123e4567-e89b-12d3-a456-426614174000",
            ],
        ),
    ] {
        let ty = ty(class);
        let literal = |text: &&str| crate::Literal::new(crate::LiteralKind::String, *text);
        let values: Vec<_> = texts.iter().map(|text| parse_literal(&ty, &literal(text)).unwrap()).collect();
        assert!(values.is_sorted_by(|a, b| compare(&ty, a, b).is_lt()), "{class}");
    }
    let ty = ty("DynamicCompositeType(s=>UTF8Type)");
    let [alias, name] = [&b"\x80s\0\x01a\0"[..], b"\0\x08UTF8Type\0\x01a\0"];
    assert!(compare(&ty, alias, name).is_eq(), "an alias is the class that it stands for");
    let (mut form, mut again) = (Vec::new(), Vec::new());
    comparable::encode(&ty, name, false, &mut form);
    assert_eq!(comparable::decode(&ty, &form, false, &mut again), Some(form.len()));
    assert_eq!(again, alias);
}
