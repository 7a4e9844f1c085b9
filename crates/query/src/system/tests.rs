//! The system tables' definitions and rows, against what Cassandra 5.0.6 has.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use auth::{AccessChange, Attributes, PasswordHash, Permission, PermissionSet, Resource};
use cluster::coordinator::PendingHints;
use schema::{DdlContext, TableId};
use topology::{Epoch, HostId, NodeIndex, Token, token_of};

use super::*;
use crate::clients::{Encryption, Started};

fn node() -> NodeInfo {
    let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    NodeInfo {
        cluster_name: "Test Cluster".to_owned(),
        datacenter: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        host_id: HostId([0x11; 16]),
        tokens: vec![Token(-42)],
        native_address: address(9042),
        listen_address: address(7000),
        boot: 3,
        settings: vec![("commitlog_sync".to_owned(), Some("group".to_owned()))],
    }
}

/// This node and two others, one of which has an IPv6 address.
fn ring() -> Ring {
    let NodeInfo { host_id, native_address, listen_address, datacenter, rack, tokens, .. } = node();
    let own = Node { host_id, address: native_address, internode: listen_address, datacenter, rack, tokens };
    let other = |number: u8, ip: &str, tokens: &[i64]| {
        let ip: IpAddr = ip.parse().expect("an address");
        Node {
            host_id: HostId([number; 16]),
            address: SocketAddr::new(ip, 9042),
            internode: SocketAddr::new(ip, 7001),
            rack: format!("rack{number}"),
            tokens: tokens.iter().map(|token| Token(*token)).collect(),
            ..own.clone()
        }
    };
    let nodes = vec![own.clone(), other(2, "10.0.0.2", &[9, 10]), other(3, "fd00::3", &[70])];
    Ring::new(Epoch::FIRST, nodes, NodeIndex(0))
}

/// A schema with one keyspace and one table.
fn user_schema() -> Schema {
    let datacenters = [("datacenter1".to_owned(), 1)].into();
    let mut schema = Schema::empty();
    for text in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.t (a int, b text, c text static, v list<int>, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)",
    ] {
        let context = DdlContext {
            current_keyspace: None,
            new_id: TableId([5; 16]),
            datacenters: &datacenters,
            strategies: &topology::Strategies::default(),
            now_micros: 0,
            masks_enabled: false,
        };
        let statement = cql_syntax::parse(text).expect("the statement is CQL");
        schema = schema.with_all(&schema::plan_ddl(&schema, &statement, &context).expect("it is valid").changes);
    }
    schema
}

/// A client that has started, and one that has not.
fn clients() -> Vec<ClientInfo> {
    let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let options = [("DRIVER_NAME", "a driver"), ("DRIVER_VERSION", "1.2"), ("X", &"x".repeat(300))];
    let started = Some(Started::new(5, options.into_iter()));
    let encryption = Some(Encryption { version: "TLSv1.3", suite: "TLS_AES_256_GCM_SHA384".to_owned() });
    vec![
        ClientInfo {
            address: address(50_002),
            keyspace: None,
            username: "anonymous".to_owned(),
            request_count: 0,
            started: None,
            encryption: None,
        },
        ClientInfo {
            address: address(50_001),
            keyspace: Some("k".to_owned()),
            username: "ada".to_owned(),
            request_count: 7,
            started,
            encryption,
        },
    ]
}

/// Hints for a node of the ring, and for one that left it.
fn hints() -> Vec<NodeHints> {
    let pending = |number: u8, oldest_ms| PendingHints {
        host_id: HostId([number; 16]),
        files: 2,
        bytes: 100,
        oldest_ms,
        newest_ms: oldest_ms + 1000,
    };
    vec![
        NodeHints { pending: pending(2, 1_000_000), is_up: false },
        NodeHints { pending: pending(9, 2_000_000), is_up: false },
    ]
}

/// Two roles, one of which inherits the other, with a grant, restrictions and an identity.
fn access() -> Access {
    let attributes = |may_log_in| Attributes { may_log_in, ..Attributes::default() };
    let hash = Some(PasswordHash::dummy());
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let select = PermissionSet::of(&[Permission::Select, Permission::Modify]);
    let cidrs = ["10.0.0.0/8", "9.0.0.0/8", "fd00::/8"].map(|range| range.parse().expect("a range"));
    Access::default().with_all(&[
        AccessChange::PutRole("team".to_owned(), attributes(false)),
        AccessChange::PutRole("ada".to_owned(), Attributes { hash, ..attributes(true) }),
        AccessChange::AddMember { role: "team".to_owned(), member: "ada".to_owned() },
        AccessChange::Grant("team".to_owned(), vec![(Resource::table("k", "t"), select)]),
        AccessChange::Grant("ada".to_owned(), vec![(Resource::table("k", "t"), Permission::Alter.into())]),
        AccessChange::PutDatacenters("ada".to_owned(), set(&["dc2", "dc1"])),
        AccessChange::PutCidrGroup("office".to_owned(), cidrs.into()),
        AccessChange::PutCidrGroups("ada".to_owned(), set(&["office"])),
        AccessChange::PutIdentity { identity: "spiffe://a".to_owned(), role: "ada".to_owned() },
    ])
}

/// Rows as text, a line each.
fn system_tables() -> SystemTables {
    let making = std::pin::pin!(SystemTables::new(node(), async || {}));
    match Future::poll(making, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(tables) => tables,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn shown(tables: &SystemTables, keyspace: &str, name: &str, partition: Option<&[u8]>) -> String {
    let table = tables.table(keyspace, name).expect("the table is there");
    let mut lines = Vec::new();
    for row in tables
        .parts(
            table,
            (&user_schema(), &ring()),
            &Gathered { clients: clients(), hints: hints(), access: access(), ..Gathered::default() },
            partition,
        )
        .flatten()
    {
        assert_eq!(row.len(), table.columns().len());
        let values: Vec<String> = table
            .columns()
            .iter()
            .zip(&row)
            .filter_map(|(column, value)| {
                let value = value.as_ref()?;
                cql_types::validate(&column.ty, value).expect("a value is of its column's type");
                Some(format!("{}={}", column.name, cql_types::print(&column.ty, value)))
            })
            .collect();
        lines.push(values.join(" "));
    }
    lines.join("\n")
}

#[test]
fn definitions_are_cassandras() {
    let tables = system_tables();
    let count = |keyspace: &str| tables.schema().keyspace(keyspace).map_or(0, |keyspace| keyspace.tables.len());
    for (keyspace, expected) in [
        ("system", 23),
        ("system_schema", 11),
        ("system_auth", 8),
        ("system_distributed", 4),
        ("system_traces", 2),
        ("system_virtual_schema", 3),
        ("system_views", 6),
    ] {
        assert_eq!(count(keyspace), expected, "{keyspace}");
    }
    // Drivers and dumps know this id.
    let local = tables.table("system", "local").expect("the table is there");
    assert_eq!(local.id.to_string(), "7ad54392-bcdd-35a6-8417-4e047860b377");
}

#[test]
fn local_is_one_row_of_this_node() {
    let tables = system_tables();
    let shown_row = shown(&tables, "system", "local", None);
    for part in [
        "key='local'",
        "bootstrapped='COMPLETED'",
        "cluster_name='Test Cluster'",
        "cql_version='3.4.7'",
        "data_center='datacenter1'",
        "host_id=11111111-1111-1111-1111-111111111111",
        "native_protocol_version='5'",
        "partitioner='org.apache.cassandra.dht.Murmur3Partitioner'",
        "rack='rack1'",
        "release_version='5.0.6'",
        "rpc_port=9042",
        "tokens={'-42'}",
    ] {
        assert!(shown_row.contains(part), "{part} is not in {shown_row}");
    }
    assert_eq!(shown(&tables, "system", "local", Some(b"elsewhere")), "");
}

#[test]
fn peers_are_the_other_nodes_of_the_ring() {
    let tables = system_tables();
    let version =
        |text: String| text.replace(&cql_types::print(&cql_types::CqlType::Uuid, &user_schema().version()), "VERSION");
    expect_test::expect![[r#"
        peer='10.0.0.2' data_center='datacenter1' host_id=02020202-0202-0202-0202-020202020202 rack='rack2' release_version='5.0.6' rpc_address='10.0.0.2' schema_version=VERSION tokens={'10', '9'}
        peer='fd00:0:0:0:0:0:0:3' data_center='datacenter1' host_id=03030303-0303-0303-0303-030303030303 rack='rack3' release_version='5.0.6' rpc_address='fd00:0:0:0:0:0:0:3' schema_version=VERSION tokens={'70'}"#]].assert_eq(&version(shown(&tables, "system", "peers", None)));
    expect_test::expect![[r#"
        peer='10.0.0.2' peer_port=7001 data_center='datacenter1' host_id=02020202-0202-0202-0202-020202020202 native_address='10.0.0.2' native_port=9042 rack='rack2' release_version='5.0.6' schema_version=VERSION tokens={'10', '9'}
        peer='fd00:0:0:0:0:0:0:3' peer_port=7001 data_center='datacenter1' host_id=03030303-0303-0303-0303-030303030303 native_address='fd00:0:0:0:0:0:0:3' native_port=9042 rack='rack3' release_version='5.0.6' schema_version=VERSION tokens={'70'}"#]].assert_eq(&version(shown(&tables, "system", "peers_v2", None)));
    assert_eq!(shown(&tables, "system", "peers", Some(&[10, 0, 0, 2])).lines().count(), 1);
    assert_eq!(shown(&tables, "system", "peers_v2", Some(&[127, 0, 0, 1])), "", "this node is none of its peers");
}

#[test]
fn pending_hints_have_the_place_of_their_node_as_long_as_it_is_in_the_ring() {
    let tables = system_tables();
    expect_test::expect![[r#"
        host_id=02020202-0202-0202-0202-020202020202 address='10.0.0.2' dc='datacenter1' files=2 newest='1970-01-01T00:16:41.000Z' oldest='1970-01-01T00:16:40.000Z' port=7001 rack='rack2' status='DOWN'
        host_id=09090909-0909-0909-0909-090909090909 dc='Unknown' files=2 newest='1970-01-01T00:33:21.000Z' oldest='1970-01-01T00:33:20.000Z' rack='Unknown' status='Unknown'"#]].assert_eq(&shown(&tables, "system_views", "pending_hints", None));
    assert_eq!(shown(&tables, "system_views", "pending_hints", Some(&[9; 16])).lines().count(), 1);
}

#[test]
fn a_users_table_is_listed_as_cassandra_lists_it() {
    let tables = system_tables();
    expect_test::expect![[r#"
        keyspace_name='k' table_name='t' column_name='a' clustering_order='none' column_name_bytes=0x61 kind='partition_key' position=0 type='int'
        keyspace_name='k' table_name='t' column_name='b' clustering_order='desc' column_name_bytes=0x62 kind='clustering' position=0 type='text'
        keyspace_name='k' table_name='t' column_name='c' clustering_order='none' column_name_bytes=0x63 kind='static' position=-1 type='text'
        keyspace_name='k' table_name='t' column_name='v' clustering_order='none' column_name_bytes=0x76 kind='regular' position=-1 type='list<int>'"#]]
    .assert_eq(&shown(&tables, "system_schema", "columns", Some(b"k")));
    expect_test::expect![[r#"keyspace_name='k' durable_writes=true replication={'class': 'org.apache.cassandra.locator.SimpleStrategy', 'replication_factor': '1'}"#]]
        .assert_eq(&shown(&tables, "system_schema", "keyspaces", Some(b"k")));
    let row = shown(&tables, "system_schema", "tables", Some(b"k"));
    assert!(row.contains("flags={'compound'}") && row.contains("id=05050505-0505-0505-0505-050505050505"), "{row}");
}

#[test]
fn every_value_of_every_table_is_of_its_type() {
    let tables = system_tables();
    for table in tables.schema().tables() {
        shown(&tables, &table.keyspace, &table.name, None);
    }
}

#[test]
fn rows_come_in_the_order_of_tokens_and_clustering_keys() {
    let tables = system_tables();
    // As recorded from Cassandra, with the user's keyspace where its token puts it.
    let keyspaces = shown(&tables, "system_schema", "keyspaces", None);
    let names: Vec<&str> = keyspaces.lines().filter_map(|line| line.split('\'').nth(1)).collect();
    let mut sorted = names.clone();
    sorted.sort_by_key(|name| token_of(name.as_bytes()));
    assert_eq!(names, sorted);
    let of_system: Vec<&str> = names.into_iter().filter(|name| name.starts_with("system")).collect();
    assert_eq!(of_system, ["system_auth", "system_schema", "system_distributed", "system", "system_traces"]);
}

#[test]
fn a_partition_has_the_rows_that_it_has_in_the_whole_table() {
    let tables = system_tables();
    for name in ["keyspaces", "tables", "columns"] {
        let whole = shown(&tables, "system_schema", name, None);
        let part = shown(&tables, "system_schema", name, Some(b"system_auth"));
        assert!(!part.is_empty());
        let mut of_whole = whole.lines().filter(|line| line.starts_with("keyspace_name='system_auth'"));
        assert!(part.lines().all(|line| of_whole.next() == Some(line)), "{name}");
        assert_eq!(of_whole.next(), None);
    }
}

#[test]
fn a_partition_of_a_view_is_made_alone() {
    let tables = system_tables();
    assert_eq!(
        shown(&tables, "system_views", "settings", Some(b"commitlog_sync")),
        "name='commitlog_sync' value='group'"
    );
    assert_eq!(shown(&tables, "system_views", "settings", Some(b"commitlog")), "");
    assert_eq!(shown(&tables, "system_views", "clients", Some(&[127, 0, 0, 1])).lines().count(), 2);
    assert_eq!(shown(&tables, "system_views", "clients", Some(&[127, 0, 0, 2])), "");
}

#[test]
fn places_are_in_the_order_of_tokens_or_of_keys() {
    let tables = system_tables();
    let sorted = |keyspace: &str, name: &str, keys: &[&'static [u8]]| {
        let table = tables.table(keyspace, name).expect("the table is there");
        let mut keys = keys.to_vec();
        keys.sort_by_key(|key| PartitionOrder::of(table).place(table, key));
        keys
    };
    let names: [&[u8]; 3] = [b"system_traces", b"system_auth", b"system"];
    assert_eq!(sorted("system_schema", "tables", &names), [b"system_auth" as &[u8], b"system", b"system_traces"]);
    assert_eq!(
        sorted("system_virtual_schema", "tables", &names),
        [b"system" as &[u8], b"system_auth", b"system_traces"]
    );
    // A key of several columns, component by component, and not by their lengths, which stand first.
    let composite = tables.table("system", "sstable_activity_v2").expect("the table is there");
    let key = |components: [&str; 3]| {
        let of = |component: &str| [&(component.len() as u16).to_be_bytes()[..], component.as_bytes(), &[0]].concat();
        components.map(of).concat()
    };
    let place = |components| PartitionOrder::Keys.place(composite, &key(components));
    assert!(place(["aa", "b", "c"]) < place(["b", "a", "a"]));
    assert!(place(["a", "bb", "c"]) < place(["a", "c", "a"]));
}

#[test]
fn views_show_the_node_as_it_is() {
    let tables = system_tables();
    expect_test::expect![[r#"
        address='127.0.0.1' port=50001 client_options={'DRIVER_NAME': 'a driver', 'DRIVER_VERSION': '1.2'} connection_stage='ready' driver_name='a driver' driver_version='1.2' keyspace_name='k' protocol_version=5 request_count=7 ssl_cipher_suite='TLS_AES_256_GCM_SHA384' ssl_enabled=true ssl_protocol='TLSv1.3' username='ada'
        address='127.0.0.1' port=50002 connection_stage='establishing' request_count=0 ssl_enabled=false username='anonymous'"#]].assert_eq(&shown(&tables, "system_views", "clients", None));
    expect_test::expect!["name='commitlog_sync' value='group'"].assert_eq(&shown(
        &tables,
        "system_views",
        "settings",
        None,
    ));
    assert_eq!(shown(&tables, "system_views", "sstable_tasks", None), "");
}

#[test]
fn virtual_tables_are_listed_apart() {
    let tables = system_tables();
    let keyspaces = shown(&tables, "system_virtual_schema", "keyspaces", None);
    assert!(keyspaces.contains("'system_virtual_schema'") && keyspaces.contains("'system_views'"), "{keyspaces}");
    assert!(!shown(&tables, "system_schema", "keyspaces", None).contains("system_virtual_schema"));
    expect_test::expect![[r#"
        keyspace_name='system_views'
        keyspace_name='system_virtual_schema'"#]]
    .assert_eq(&keyspaces);
    assert!(shown(&tables, "system_virtual_schema", "columns", None).contains("column_name='keyspace_name'"));
}

#[test]
fn tables_of_system_auth_show_roles_and_permissions() {
    let tables = system_tables();
    let mut all = String::new();
    for name in [
        "roles",
        "role_members",
        "role_permissions",
        "resource_role_permissons_index",
        "network_permissions",
        "cidr_permissions",
        "cidr_groups",
        "identity_to_role",
    ] {
        all.push_str(&format!("{name}\n{}\n", shown(&tables, "system_auth", name, None)));
    }
    expect_test::expect![[r#"
        roles
        role='team' can_login=false is_superuser=false
        role='ada' can_login=true is_superuser=false member_of={'team'} salted_hash='$2a$10$abcdefghijklmnopqrstuuMoDrhIhDgUqbdSNZcoNfCqWG2JqGG62'
        role_members
        role='team' member='ada'
        role_permissions
        role='team' resource='data/k/t' permissions={'MODIFY', 'SELECT'}
        role='ada' resource='data/k/t' permissions={'ALTER'}
        resource_role_permissons_index
        resource='data/k/t' role='ada'
        resource='data/k/t' role='team'
        network_permissions
        role='roles/ada' dcs={'dc1', 'dc2'}
        cidr_permissions
        role='ada' cidr_groups={'office'}
        cidr_groups
        cidr_group='office' cidrs={('9.0.0.0', 8), ('10.0.0.0', 8), ('fd00:0:0:0:0:0:0:0', 8)}
        identity_to_role
        identity='spiffe://a' role='ada'
    "#]].assert_eq(&all);
    let ada = shown(&tables, "system_auth", "role_permissions", Some(b"ada"));
    assert_eq!(ada, "role='ada' resource='data/k/t' permissions={'ALTER'}");
    assert_eq!(shown(&tables, "system_auth", "roles", Some(b"nobody")), "");
}
