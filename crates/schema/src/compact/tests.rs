//! Tables by what of them is compact.

use cql_types::CqlType;

use crate::column::{Column, ColumnKind};
use crate::ids::{ColumnId, TableId};
use crate::options::TableOptions;
use crate::table::Table;

/// A compact table with these columns: `p`artition key, `c`lustering or `r`egular, a name and a type.
fn table(columns: &[(char, &str, CqlType)]) -> Table {
    let column = |(id, (part, name, ty)): (u16, &(char, &str, CqlType))| {
        let kind = match part {
            'p' => ColumnKind::PartitionKey,
            'c' => ColumnKind::Clustering,
            _ => ColumnKind::Regular,
        };
        let before = columns[..usize::from(id)].iter().filter(|(other, ..)| kind.is_key() && other == part).count();
        let position = u16::try_from(before).expect("there are few columns");
        Column::new(kind, ColumnId(id), *name, ty.clone()).at(position)
    };
    let options = TableOptions { compact_storage: true, ..TableOptions::default() };
    Table::new(TableId([1; 16]), "k", "t", (0..).zip(columns).map(column).collect(), options)
}

/// What is told of a table: its flags, its hidden columns, whether its rows are marked.
fn told(columns: &[(char, &str, CqlType)]) -> String {
    let table = table(columns);
    let hidden: Vec<String> =
        table.hidden_columns().iter().map(|one| format!("{} {} {}", one.kind.name(), one.name, one.ty)).collect();
    let rows = if table.marks_rows() { "marked" } else { "not marked" };
    format!("[{}] [{}] {rows}", table.flags().join(", "), hidden.join(", "))
}

#[test]
fn each_kind_has_its_flags_and_hidden_columns() {
    use CqlType::{Counter, Int};
    let (key, clustering, value) = (('p', "a", Int), ('c', "b", Int), ('r', "v", Int));
    for (columns, want) in [
        (vec![key.clone(), value.clone()], "[] [clustering column1 text, regular value blob] not marked"),
        (
            vec![key.clone(), ('r', "n", Counter)],
            "[counter] [clustering column1 text, regular value counter] not marked",
        ),
        (
            vec![('p', "column1", Int), ('r', "value", Int), ('r', "value1", Int)],
            "[] [clustering column2 text, regular value2 blob] not marked",
        ),
        (vec![key.clone(), clustering.clone(), value.clone()], "[dense] [] not marked"),
        (vec![key.clone(), clustering.clone()], "[dense] [regular value empty] marked"),
        (vec![key.clone(), clustering.clone(), ('c', "c", Int), value], "[compound, dense] [] not marked"),
        (vec![key, clustering, ('r', "n", Counter)], "[counter, dense] [] not marked"),
    ] {
        assert_eq!(told(&columns), want);
    }
}

#[test]
fn a_sparse_tables_columns_are_shown_as_static() {
    let sparse = table(&[('p', "a", CqlType::Int), ('r', "v", CqlType::Int)]);
    let kinds: Vec<&str> = sparse.columns().iter().map(|column| sparse.shown_kind(column).name()).collect();
    assert_eq!(kinds, ["partition_key", "static"]);
    assert!(sparse.hides_name("column1") && sparse.hides_name("value") && !sparse.hides_name("v"));
    assert_eq!(sparse.hidden_clustering().map(|hidden| hidden.name), Some("column1".to_owned()));
}
