//! Trees made at random print to text that parses to them again.

mod access;

use cql_types::{CqlType, Literal, LiteralKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::ast::*;
use crate::parse;

/// Plain names, words that mean something elsewhere, and names that need quotes.
fn name() -> impl Strategy<Value = String> {
    let words = [
        "a",
        "b",
        "c0",
        "users",
        "select",
        "true",
        "key",
        "ttl",
        "json",
        "distinct",
        "token",
        "int",
        "list",
        "frozen",
        "values",
        "static",
        "tables",
        "exists",
        "as",
        "Upper",
        "with space",
        "q\"uote",
        "é",
        "0",
        "nan",
        "p1y",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

fn table() -> impl Strategy<Value = TableName> {
    (option::of(name()), name()).prop_map(|(keyspace, table)| TableName { keyspace, table })
}

fn literal() -> impl Strategy<Value = Literal> {
    use LiteralKind as K;
    let texts = [
        (K::Integer, "0"),
        (K::Integer, "-12"),
        (K::Float, "1.5e-3"),
        (K::Float, "-Infinity"),
        (K::Float, "NaN"),
        (K::Float, "1."),
        (K::Boolean, "true"),
        (K::Uuid, "123e4567-e89b-12d3-a456-426614174000"),
        (K::Hex, "0x"),
        (K::Hex, "0xCAFE"),
        (K::Duration, "1h30m"),
        (K::Duration, "-P1Y2M"),
        (K::String, "it's"),
        (K::String, ""),
        (K::String, "-- no comment $$ /*"),
    ];
    proptest::sample::select(texts.to_vec()).prop_map(|(kind, text)| Literal::new(kind, text))
}

fn marker() -> impl Strategy<Value = Term> {
    // The right indexes are given to the whole statement afterwards, by parsing once.
    option::of(name()).prop_map(|name| Term::Marker(BindMarker { index: 0, name }))
}

/// A function's name, of which the grammar knows fewer.
fn function() -> impl Strategy<Value = (Option<String>, String)> {
    let names = ["f", "now", "Quoted F", "max", "token"];
    (proptest::sample::select(names.to_vec()), option::of(Just("ks".to_owned()))).prop_map(|(name, keyspace)| {
        let keyspace = if name == "token" { None } else { keyspace };
        (keyspace, name.to_owned())
    })
}

fn native_type() -> impl Strategy<Value = CqlType> {
    let names = ["int", "text", "timeuuid", "duration", "varint"];
    proptest::sample::select(names.to_vec()).prop_map(|name| CqlType::native(name).unwrap())
}

fn by_class() -> impl Strategy<Value = CqlType> {
    let classes =
        ["LexicalUUIDType", "CompositeType(UTF8Type,ReversedType(Int32Type))", "DynamicCompositeType(a=>LongType)"];
    proptest::sample::select(classes.to_vec()).prop_map(|class| cql_types::class_name::parse(class).unwrap())
}

fn ty() -> impl Strategy<Value = CqlType> {
    let udt = (option::of(name()), name()).prop_map(|(keyspace, name)| CqlType::Udt {
        keyspace: keyspace.unwrap_or_default(),
        name,
        fields: Vec::new(),
        frozen: false,
    });
    let leaf = prop_oneof![native_type(), udt, by_class()];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            (boxed.clone(), any::<bool>()).prop_map(|(element, frozen)| CqlType::List { element, frozen }),
            (boxed.clone(), any::<bool>()).prop_map(|(element, frozen)| CqlType::Set { element, frozen }),
            (boxed.clone(), boxed.clone(), any::<bool>()).prop_map(|(key, value, frozen)| CqlType::Map {
                key,
                value,
                frozen
            }),
            vec(inner, 1..4).prop_map(CqlType::Tuple),
            (boxed, 1..=cql_types::DIMENSION_MAX)
                .prop_map(|(element, dimension)| CqlType::Vector { element, dimension }),
        ]
    })
}

fn term() -> BoxedStrategy<Term> {
    let leaf = prop_oneof![Just(Term::Null), literal().prop_map(Term::Literal), marker()];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (function(), vec(inner.clone(), 0..3)).prop_map(|((keyspace, name), arguments)| Term::Function {
                keyspace,
                name,
                arguments
            }),
            // `('class') 1` would be a tuple.
            (ty().prop_filter("a class", |ty| !matches!(ty, CqlType::ByClass(_))), inner.clone())
                .prop_map(|(ty, term)| Term::Cast { ty: super::type_text(&ty), term: Box::new(simple(term)) }),
            vec(inner.clone(), 0..3).prop_map(Term::List),
            vec(inner.clone(), 0..3).prop_map(Term::Set),
            vec(inner.clone(), 1..3).prop_map(Term::Tuple),
            vec((inner.clone(), inner.clone()), 1..3).prop_map(Term::Map),
            vec((name(), inner.clone()), 1..3).prop_map(Term::Udt),
            (inner.clone(), native_type()).prop_map(|(term, ty)| Term::Conversion { term: Box::new(simple(term)), ty }),
            arithmetic(inner),
        ]
    })
    .boxed()
}

/// What has operators goes into parentheses where none may stand.
fn simple(term: Term) -> Term {
    match term {
        Term::Operation { .. } | Term::Negation(_) => Term::Tuple(vec![term]),
        other => other,
    }
}

fn arithmetic(of: impl Strategy<Value = Term> + Clone) -> impl Strategy<Value = Term> {
    use ArithmeticOperator as A;
    let operation =
        |operator, left: Term, right: Term| Term::Operation { operator, left: Box::new(left), right: Box::new(right) };
    let signed = (of, any::<bool>()).prop_map(|(term, is_negated)| match is_negated {
        true => Term::Negation(Box::new(simple(term))),
        false => simple(term),
    });
    let times = proptest::sample::select(vec![A::Multiply, A::Divide, A::Modulo]);
    let product = (signed.clone(), vec((times, signed), 0..3)).prop_map(move |(first, others)| {
        others.into_iter().fold(first, |left, (operator, right)| operation(operator, left, right))
    });
    let plus = proptest::sample::select(vec![A::Add, A::Subtract]);
    (product.clone(), vec((plus, product), 0..3)).prop_map(move |(first, others)| {
        others.into_iter().fold(first, |left, (operator, right)| operation(operator, left, right))
    })
}

fn comparison() -> impl Strategy<Value = Operator> {
    use Operator as O;
    proptest::sample::select(vec![O::Equal, O::NotEqual, O::Less, O::LessOrEqual, O::Greater, O::GreaterOrEqual])
}

/// What may follow IN.
fn in_values() -> impl Strategy<Value = Term> {
    prop_oneof![marker(), vec(term(), 0..3).prop_map(Term::Tuple)]
}

fn operator_and_term() -> impl Strategy<Value = (Operator, Term)> {
    prop_oneof![
        (comparison(), term()),
        (Just(Operator::In), in_values()),
        (Just(Operator::Contains), term()),
        (Just(Operator::ContainsKey), term()),
    ]
}

fn relation() -> impl Strategy<Value = Relation> {
    let of_column = prop_oneof![
        4 => operator_and_term(),
        1 => (Just(Operator::Like), term()),
        1 => Just((Operator::IsNot, Term::Null)),
    ];
    let values = vec(term(), 1..3).prop_map(Term::Tuple).boxed();
    let tuple = prop_oneof![marker(), values.clone()].boxed();
    // Tuples or markers, not both.
    let all_of = |item| vec(item, 0..3).prop_map(Term::Tuple);
    let tuples = prop_oneof![marker(), all_of(values), all_of(marker().boxed())];
    let of_tuple = prop_oneof![(comparison(), tuple), (Just(Operator::In), tuples)];
    prop_oneof![
        (name(), of_column).prop_map(|(column, (operator, term))| Relation::Column { column, operator, term }),
        (name(), term(), comparison(), term()).prop_map(|(column, key, operator, term)| Relation::Element {
            column,
            key,
            operator,
            term
        }),
        (vec(name(), 1..3), comparison(), term()).prop_map(|(columns, operator, term)| Relation::Token {
            columns,
            operator,
            term
        }),
        (vec(name(), 1..3), of_tuple).prop_map(|(columns, (operator, term))| Relation::Tuple {
            columns,
            operator,
            term
        }),
    ]
}

fn integer() -> impl Strategy<Value = Term> {
    let literal = |text: &str| Term::Literal(Literal::new(LiteralKind::Integer, text));
    prop_oneof![Just(literal("10")), Just(literal("-1")), marker()]
}

/// A column with elements, slices and fields of it.
fn selected_part() -> impl Strategy<Value = SelectorExpression> {
    let key = || literal().prop_map(Term::Literal);
    let column = name().prop_filter("a keyword of SELECT", |name| name != "json" && name != "distinct");
    let part = (0..3, option::of(key()), option::of(key()), name());
    (column, vec(part, 1..3)).prop_map(|(column, parts)| {
        parts.into_iter().fold(SelectorExpression::Column(column), |of, (kind, from, to, field)| {
            let of = Box::new(of);
            match (kind, from) {
                (0, Some(key)) => SelectorExpression::Element { of, key },
                (0 | 1, from) if from.is_some() || to.is_some() => SelectorExpression::Slice { of, from, to },
                _ => SelectorExpression::Field { of, field },
            }
        })
    })
}

fn selector_expression() -> impl Strategy<Value = SelectorExpression> {
    let leaf = prop_oneof![
        // A column of this name in the first place would be taken for the keyword.
        name()
            .prop_filter("a keyword of SELECT", |name| name != "json" && name != "distinct")
            .prop_map(SelectorExpression::Column),
        Just(SelectorExpression::CountRows),
        selected_part(),
        literal().prop_map(|literal| SelectorExpression::Term(Term::Literal(literal))),
        marker().prop_map(SelectorExpression::Term),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            (function(), vec(inner.clone(), 0..3))
                .prop_map(|((keyspace, name), arguments)| SelectorExpression::Function { keyspace, name, arguments }),
            (inner.clone(), native_type()).prop_map(|(expression, ty)| SelectorExpression::Cast {
                expression: Box::new(expression),
                ty: ty.to_string(),
            }),
            (inner.clone(), native_type())
                .prop_filter("what is taken of a value, or an alias, stands behind it all", |(expression, _)| {
                    !is_part(expression) && !expression.to_string().starts_with("as")
                })
                .prop_map(|(expression, ty)| SelectorExpression::TypeHint {
                    expression: Box::new(expression),
                    ty: ty.to_string(),
                }),
            operation(inner.clone()),
            vec(inner.clone(), 0..3).prop_map(SelectorExpression::List),
            vec(inner.clone(), 0..3).prop_map(SelectorExpression::Set),
            vec(inner.clone(), 1..3).prop_map(SelectorExpression::Tuple),
            vec((map_key(inner.clone()), inner), 1..3).prop_map(SelectorExpression::Map),
        ]
    })
}

/// Arithmetic between values in parentheses of their own, which need no rules of precedence.
fn operation(inner: impl Strategy<Value = SelectorExpression> + Clone) -> impl Strategy<Value = SelectorExpression> {
    use ArithmeticOperator as O;
    let operators = proptest::sample::select(vec![O::Add, O::Subtract, O::Multiply, O::Divide, O::Modulo]);
    // Of two, since a name alone in parentheses may be a type.
    let pair = |one: SelectorExpression| Box::new(SelectorExpression::Tuple(vec![one.clone(), one]));
    (operators, inner.clone(), inner, any::<bool>()).prop_map(move |(operator, left, right, is_negated)| {
        let of = SelectorExpression::Operation { operator, left: pair(left), right: pair(right) };
        match is_negated {
            true => SelectorExpression::Negation(Box::new(SelectorExpression::Tuple(vec![of]))),
            false => of,
        }
    })
}

/// What stands before a colon: a name in parentheses there is a type, and what follows its marker.
fn map_key(inner: impl Strategy<Value = SelectorExpression>) -> impl Strategy<Value = SelectorExpression> {
    inner.prop_filter("it may end as a type in parentheses does", |key| {
        matches!(key, SelectorExpression::Function { .. }) || !key.to_string().ends_with(')')
    })
}

fn is_part(expression: &SelectorExpression) -> bool {
    use SelectorExpression as E;
    matches!(expression, E::Element { .. } | E::Slice { .. } | E::Field { .. } | E::Operation { .. } | E::Negation(_))
}

fn select() -> impl Strategy<Value = Statement> {
    let selector =
        (selector_expression(), option::of(name())).prop_map(|(expression, alias)| Selector { expression, alias });
    let selection = prop_oneof![Just(Selection::All), vec(selector, 1..3).prop_map(Selection::List)];
    let order = (name(), option::of(term()), any::<bool>()).prop_map(|(column, ann_of, descending)| OrderBy {
        column,
        ann_of,
        descending,
    });
    let limits = (option::of(integer()), option::of(integer()));
    let group = prop_oneof![
        name().prop_map(SelectorExpression::Column),
        (function(), vec(name().prop_map(SelectorExpression::Column), 0..2))
            .prop_map(|((keyspace, name), arguments)| SelectorExpression::Function { keyspace, name, arguments }),
    ];
    let rows = (vec(relation(), 0..3), vec(group, 0..3), vec(order, 0..3));
    (any::<(bool, bool, bool)>(), selection, table(), rows, limits).prop_map(
        |((json, distinct, allow_filtering), selection, table, rows, (per_partition_limit, limit))| {
            let (relations, group_by, order_by) = rows;
            Statement::Select(Select {
                json,
                distinct,
                selection,
                table,
                relations,
                group_by,
                order_by,
                per_partition_limit,
                limit,
                allow_filtering,
            })
        },
    )
}

fn using() -> impl Strategy<Value = Using> {
    (option::of(integer()), option::of(integer())).prop_map(|(timestamp, ttl)| Using { timestamp, ttl })
}

fn insert() -> impl Strategy<Value = Statement> {
    let columns = (vec(name(), 1..3), vec(term(), 1..3)).prop_map(|(columns, values)| (columns, values, None));
    let text = Just(Term::Literal(Literal::new(LiteralKind::String, "{\"a\": 'x'}")));
    let json = (prop_oneof![text, marker()], any::<bool>())
        .prop_map(|(value, default_unset)| (Vec::new(), Vec::new(), Some(InsertJson { value, default_unset })));
    (table(), prop_oneof![columns, json], any::<bool>(), using()).prop_map(
        |(table, (columns, values, json), if_not_exists, using)| {
            Statement::Insert(Insert { table, columns, values, json, if_not_exists, using })
        },
    )
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let place = prop_oneof![
        Just((None, None)),
        term().prop_map(|element| (Some(element), None)),
        name().prop_map(|field| (None, Some(field))),
    ];
    let condition = (name(), place, operator_and_term())
        .prop_map(|(column, (element, field), (operator, term))| Condition { column, element, field, operator, term });
    prop_oneof![Just(Conditions::None), Just(Conditions::Exists), vec(condition, 1..3).prop_map(Conditions::All)]
}

fn update() -> impl Strategy<Value = Statement> {
    let kind = prop_oneof![
        term().prop_map(AssignmentKind::Set),
        term().prop_map(AssignmentKind::Add),
        term().prop_map(AssignmentKind::Subtract),
        term().prop_map(AssignmentKind::Prepend),
        (term(), term()).prop_map(|(key, term)| AssignmentKind::Element { key, term }),
        (name(), term()).prop_map(|(field, term)| AssignmentKind::Field { field, term }),
    ];
    let assignment = (name(), kind).prop_map(|(column, kind)| Assignment { column, kind });
    (table(), using(), vec(assignment, 1..3), vec(relation(), 1..3), conditions()).prop_map(
        |(table, using, assignments, relations, conditions)| {
            Statement::Update(Update { table, using, assignments, relations, conditions })
        },
    )
}

fn delete() -> impl Strategy<Value = Statement> {
    let deletion = prop_oneof![
        name().prop_map(Deletion::Column),
        (name(), term()).prop_map(|(column, key)| Deletion::Element { column, key }),
        (name(), name()).prop_map(|(column, field)| Deletion::Field { column, field }),
    ];
    (vec(deletion, 0..3), table(), option::of(integer()), vec(relation(), 1..3), conditions()).prop_map(
        |(deletions, table, timestamp, relations, conditions)| {
            let using = Using { timestamp, ttl: None };
            Statement::Delete(Delete { deletions, table, using, relations, conditions })
        },
    )
}

fn batch() -> impl Strategy<Value = Statement> {
    let kind = proptest::sample::select(vec![BatchKind::Logged, BatchKind::Unlogged, BatchKind::Counter]);
    (kind, using(), vec(prop_oneof![insert(), update(), delete()], 0..3))
        .prop_map(|(kind, using, statements)| Statement::Batch(Batch { kind, using, statements }))
}

fn properties() -> impl Strategy<Value = Properties> {
    let value = prop_oneof![
        literal().prop_map(PropertyValue::Literal),
        vec((literal(), literal()), 0..3).prop_map(PropertyValue::Map),
        Just(PropertyValue::Word("values".to_owned())),
    ];
    vec((name(), value), 1..3)
}

fn column() -> impl Strategy<Value = ColumnDefinition> {
    (name(), ty(), any::<bool>(), option::of(mask())).prop_map(|(name, ty, is_static, mask)| ColumnDefinition {
        name,
        ty,
        is_static,
        mask,
    })
}

fn mask() -> impl Strategy<Value = Mask> {
    let function = (option::of(name()), name(), vec(term(), 0..3));
    prop_oneof![
        Just(Mask::Default),
        function.prop_map(|(keyspace, name, arguments)| Mask::Function { keyspace, name, arguments }),
    ]
}

fn create_table() -> impl Strategy<Value = Statement> {
    let key =
        (vec(name(), 1..3), vec(name(), 0..3)).prop_map(|(partition, clustering)| PrimaryKey { partition, clustering });
    let options = (vec((name(), any::<bool>()), 0..3), any::<bool>(), prop_oneof![Just(Vec::new()), properties()]);
    (any::<bool>(), table(), vec(column(), 1..4), vec(key, 0..3), options).prop_map(
        |(if_not_exists, table, columns, primary_keys, (clustering_order, compact_storage, properties))| {
            Statement::CreateTable(CreateTable {
                if_not_exists,
                table,
                columns,
                primary_keys,
                clustering_order,
                compact_storage,
                properties,
            })
        },
    )
}

fn alter_table() -> impl Strategy<Value = Statement> {
    let action = prop_oneof![
        (any::<bool>(), vec(column(), 1..3))
            .prop_map(|(if_not_exists, columns)| AlterTableAction::Add { if_not_exists, columns }),
        (any::<bool>(), vec(name(), 1..3), option::of(any::<i64>()))
            .prop_map(|(if_exists, columns, timestamp)| AlterTableAction::Drop { if_exists, columns, timestamp }),
        (name(), ty()).prop_map(|(column, ty)| AlterTableAction::Alter { column, ty }),
        (any::<bool>(), name(), option::of(mask())).prop_map(|(if_exists, column, mask)| AlterTableAction::Mask {
            if_exists,
            column,
            mask
        }),
        (any::<bool>(), vec((name(), name()), 1..3))
            .prop_map(|(if_exists, columns)| AlterTableAction::Rename { if_exists, columns }),
        properties().prop_map(AlterTableAction::With),
        Just(AlterTableAction::DropCompactStorage),
    ];
    (any::<bool>(), table(), action)
        .prop_map(|(if_exists, table, action)| Statement::AlterTable(AlterTable { if_exists, table, action }))
}

fn keyspaces() -> impl Strategy<Value = Statement> {
    prop_oneof![
        name().prop_map(|keyspace| Statement::Use { keyspace }),
        (any::<bool>(), name(), properties()).prop_map(|(if_not_exists, keyspace, properties)| {
            Statement::CreateKeyspace(CreateKeyspace { if_not_exists, keyspace, properties })
        }),
        (any::<bool>(), name(), properties()).prop_map(|(if_exists, keyspace, properties)| {
            Statement::AlterKeyspace(AlterKeyspace { if_exists, keyspace, properties })
        }),
        (any::<bool>(), name())
            .prop_map(|(if_exists, keyspace)| Statement::DropKeyspace(DropKeyspace { if_exists, keyspace })),
        (any::<bool>(), table()).prop_map(|(if_exists, table)| Statement::DropTable(DropTable { if_exists, table })),
        table().prop_map(Statement::Truncate),
        types(),
        elements(),
    ]
}

fn elements() -> impl Strategy<Value = Statement> {
    let arguments = || option::of(vec(ty(), 0..3));
    let kind = prop_oneof![
        Just(ElementKind::Index),
        Just(ElementKind::MaterializedView),
        arguments().prop_map(ElementKind::Function),
        arguments().prop_map(ElementKind::Aggregate),
        name().prop_map(ElementKind::Trigger),
    ];
    (any::<bool>(), option::of(name()), name(), kind).prop_map(|(if_exists, keyspace, name, kind)| {
        Statement::DropElement(DropElement { if_exists, keyspace, name, kind })
    })
}

fn types() -> impl Strategy<Value = Statement> {
    let type_name = || (option::of(name()), name()).prop_map(|(keyspace, name)| TypeName { keyspace, name });
    let action = prop_oneof![
        (any::<bool>(), name(), ty()).prop_map(|(if_not_exists, field, ty)| AlterTypeAction::Add {
            if_not_exists,
            field,
            ty
        }),
        (any::<bool>(), vec((name(), name()), 1..3))
            .prop_map(|(if_exists, fields)| AlterTypeAction::Rename { if_exists, fields }),
        (name(), ty()).prop_map(|(field, ty)| AlterTypeAction::Alter { field, ty }),
    ];
    prop_oneof![
        (any::<bool>(), type_name(), vec((name(), ty()), 1..4)).prop_map(|(if_not_exists, name, fields)| {
            Statement::CreateType(CreateType { if_not_exists, name, fields })
        }),
        (any::<bool>(), type_name(), action).prop_map(|(if_exists, name, action)| Statement::AlterType(AlterType {
            if_exists,
            name,
            action
        })),
        (any::<bool>(), type_name()).prop_map(|(if_exists, name)| Statement::DropType(DropType { if_exists, name })),
    ]
}

fn describe() -> impl Strategy<Value = Statement> {
    use DescribeKind as K;
    let listed = proptest::sample::select(vec![K::Keyspace, K::Table, K::Type, K::Function, K::Aggregate]);
    let inside =
        proptest::sample::select(vec![K::Table, K::Type, K::Function, K::Aggregate, K::Index, K::MaterializedView]);
    let target = prop_oneof![
        Just(DescribeTarget::Cluster),
        any::<bool>().prop_map(|full| DescribeTarget::Schema { full }),
        listed.prop_map(DescribeTarget::List),
        option::of(name()).prop_map(DescribeTarget::OnlyKeyspace),
        option::of(name()).prop_map(|name| DescribeTarget::Element { kind: K::Keyspace, keyspace: None, name }),
        (inside, option::of(name()), name().prop_map(Some))
            .prop_map(|(kind, keyspace, name)| DescribeTarget::Element { kind, keyspace, name }),
        (option::of(name()), name()).prop_map(|(keyspace, name)| DescribeTarget::Any { keyspace, name }),
    ];
    (target, any::<bool>())
        .prop_map(|(target, with_internals)| Statement::Describe(Describe { target, with_internals }))
}

fn statement() -> impl Strategy<Value = Statement> {
    prop_oneof![
        3 => select(),
        2 => insert(),
        3 => update(),
        2 => delete(),
        1 => batch(),
        2 => create_table(),
        2 => alter_table(),
        1 => keyspaces(),
        1 => describe(),
        3 => access::access(),
    ]
}

/// The tree with all bind markers' indexes set to 0, by way of its `Debug` form: only the numbering differs in it.
fn without_indexes(statement: &Statement) -> String {
    let mut text = format!("{statement:?}");
    for index in 1..200 {
        text = text.replace(&format!("BindMarker {{ index: {index},"), "BindMarker { index: 0,");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_tree_round_trips(statement in statement()) {
        let printed = statement.to_string();
        let parsed = parse(&printed).map_err(|error| TestCaseError::fail(format!("{printed}\n{error}")))?;
        prop_assert_eq!(without_indexes(&parsed), without_indexes(&statement), "{}", printed);
        prop_assert_eq!(parse(&parsed.to_string()), Ok(parsed));
    }
}
