//! Chains, names and what may be granted.

use cql_types::CqlType;

use super::*;

fn function() -> Resource {
    let list = CqlType::List { element: Box::new(CqlType::Text), frozen: true };
    Resource::function("ks", "f", &[CqlType::Int, list])
}

fn each() -> Vec<(Resource, &'static str, &'static str, usize)> {
    let ks = || "ks".to_owned();
    vec![
        (Resource::AllKeyspaces, "data", "<all keyspaces>", 1),
        (Resource::Keyspace(ks()), "data/ks", "<keyspace ks>", 2),
        (Resource::AllTables(ks()), "data/ks/*", "<all tables in ks>", 3),
        (Resource::table("ks", "t"), "data/ks/t", "<table ks.t>", 4),
        (Resource::AllRoles, "roles", "<all roles>", 1),
        (Resource::Role("a/b".to_owned()), "roles/a/b", "<role a/b>", 2),
        (Resource::AllFunctions, "functions", "<all functions>", 1),
        (Resource::KeyspaceFunctions(ks()), "functions/ks", "<all functions in ks>", 2),
        (
            function(),
            "functions/ks/f[org.apache.cassandra.db.marshal.Int32Type^org.apache.cassandra.db.marshal.FrozenType(\
             org.apache.cassandra.db.marshal.ListType(org.apache.cassandra.db.marshal.UTF8Type))]",
            "<function ks.f(int, frozen<list<text>>)>",
            3,
        ),
        (Resource::function("ks", "f", &[]), "functions/ks/f[]", "<function ks.f()>", 3),
        (Resource::AllMBeans, "mbean", "<all mbeans>", 1),
        (Resource::MBean("o:type=*".to_owned()), "mbean/o:type=*", "<mbean o:type=*>", 2),
    ]
}

#[test]
fn names_go_there_and_back_and_chains_end_at_all() {
    for (resource, name, shown, chain) in each() {
        assert_eq!(resource.name(), name);
        assert_eq!(Resource::of_name(name), Ok(resource.clone()));
        assert_eq!(resource.to_string(), shown);
        assert_eq!(resource.chain().count(), chain, "{name}");
        let root = resource.chain().last().expect("a chain has the resource itself");
        assert!(root.parent().is_none() && name.starts_with(&root.name()));
    }
}

#[test]
fn names_of_nothing_are_refused_as_in_cassandra() {
    let refusal = |name| Resource::of_name(name).expect_err(name).to_string();
    assert_eq!(refusal("data/a/b/c"), "data/a/b/c is not a valid data resource name");
    assert_eq!(
        refusal("functions/ks/f"),
        "functions/ks/f is not a valid function resource name. It must end with \"[]\""
    );
    assert_eq!(refusal("functions/ks/[]"), "functions/ks/[] is not a valid function resource name");
    assert_eq!(refusal("functions/ks/f[No(]"), "functions/ks/f[No(] is not a valid function resource name");
    assert_eq!(refusal("datax/ks"), "datax/ks is not a valid data resource name");
    assert_eq!(refusal("x"), "Name x is not valid for any resource type");
    for name in ["", "other", "data/", "data//t", "roles/", "Data", "datax/ks"] {
        assert!(Resource::of_name(name).is_err(), "{name}");
    }
}

#[test]
fn what_may_be_granted_is_as_in_cassandra() {
    let names = |resource: Resource| resource.applicable().names();
    assert_eq!(names(Resource::table("ks", "t")), "ALTER, DROP, SELECT, MODIFY, AUTHORIZE, UNMASK, SELECT_MASKED");
    for resource in [Resource::AllKeyspaces, Resource::Keyspace("ks".into()), Resource::AllTables("ks".into())] {
        assert_eq!(names(resource), "CREATE, ALTER, DROP, SELECT, MODIFY, AUTHORIZE, UNMASK, SELECT_MASKED");
    }
    assert_eq!(names(Resource::AllRoles), "CREATE, ALTER, DROP, AUTHORIZE, DESCRIBE");
    assert_eq!(names(Resource::Role("r".into())), "ALTER, DROP, AUTHORIZE, DESCRIBE");
    assert_eq!(names(Resource::AllFunctions), "CREATE, ALTER, DROP, AUTHORIZE, EXECUTE");
    assert_eq!(names(Resource::KeyspaceFunctions("ks".into())), "CREATE, ALTER, DROP, AUTHORIZE, EXECUTE");
    assert_eq!(names(function()), "ALTER, DROP, AUTHORIZE, EXECUTE");
    assert_eq!(names(Resource::AllMBeans), "SELECT, MODIFY, AUTHORIZE, DESCRIBE, EXECUTE");
    assert_eq!(names(Resource::MBean("x".into())), "SELECT, MODIFY, AUTHORIZE, DESCRIBE, EXECUTE");
}
