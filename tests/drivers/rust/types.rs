//! Each scalar type there and back, as a value and as a key.

use scylla::client::session::Session;
use scylla::deserialize::value::DeserializeValue;
use scylla::serialize::value::SerializeValue;
use scylla::value::{CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlVarint};

use super::scenarios::execute;

pub async fn round_trips(session: &Session) {
    is_kept(session, "ascii", &["".to_string(), "plain".into()]).await;
    is_kept(session, "bigint", &[i64::MIN, 0, i64::MAX]).await;
    is_kept(session, "blob", &[vec![], (0..=255).collect::<Vec<u8>>()]).await;
    is_kept(session, "boolean", &[true, false]).await;
    is_kept(session, "date", &[CqlDate(0), CqlDate(1 << 31), CqlDate(u32::MAX)]).await;
    is_kept(session, "decimal", &[CqlDecimal::from_signed_be_bytes_and_exponent(vec![0x80, 1, 2], 5)]).await;
    is_kept(session, "double", &[0.0_f64, -1.5, f64::MAX, f64::INFINITY]).await;
    is_kept(session, "duration", &[CqlDuration { months: -1, days: -2, nanoseconds: -3 }]).await;
    is_kept(session, "float", &[1.5_f32, f32::NEG_INFINITY]).await;
    is_kept(
        session,
        "inet",
        &["127.0.0.1".parse::<std::net::IpAddr>().expect("v4"), "2001:db8::1".parse().expect("v6")],
    )
    .await;
    is_kept(session, "int", &[i32::MIN, 0, i32::MAX]).await;
    is_kept(session, "smallint", &[i16::MIN, i16::MAX]).await;
    is_kept(session, "text", &["Ὅμηρος 🏺".to_string(), "x".repeat(100_000)]).await;
    is_kept(session, "time", &[CqlTime(0), CqlTime(86_399_999_999_999)]).await;
    is_kept(session, "timestamp", &[CqlTimestamp(i64::MIN), CqlTimestamp(-1), CqlTimestamp(1_700_000_000_123)]).await;
    is_kept(
        session,
        "timeuuid",
        &[CqlTimeuuid::from_bytes([1, 2, 3, 4, 5, 6, 0x17, 8, 0x89, 10, 11, 12, 13, 14, 15, 16])],
    )
    .await;
    is_kept(session, "tinyint", &[i8::MIN, i8::MAX]).await;
    is_kept(session, "varint", &[CqlVarint::from_signed_bytes_be(vec![0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1])]).await;
}

async fn is_kept<T>(session: &Session, kind: &str, values: &[T])
where
    T: SerializeValue + PartialEq + std::fmt::Debug + for<'a> DeserializeValue<'a, 'a>,
{
    execute(session, &format!("CREATE TABLE scalar_{kind} (id int PRIMARY KEY, value {kind})")).await;
    let insert =
        session.prepare(format!("INSERT INTO scalar_{kind} (id, value) VALUES (?, ?)")).await.expect("prepares");
    let select = session.prepare(format!("SELECT value FROM scalar_{kind} WHERE id = ?")).await.expect("prepares");
    for (id, value) in (0_i32..).zip(values) {
        session.execute_unpaged(&insert, (id, value)).await.unwrap_or_else(|error| panic!("{kind} {value:?}: {error}"));
        let rows = session.execute_unpaged(&select, (id,)).await.expect("selects").into_rows_result().expect("rows");
        let (back,): (T,) = rows.single_row().unwrap_or_else(|error| panic!("{kind} {value:?}: {error}"));
        assert_eq!(back, *value, "{kind}");
    }
}
