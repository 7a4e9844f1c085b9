//! Ranges, groups and roles that are bound to them.

use super::*;
use crate::change::AccessChange;
use crate::samples::{login, superuser};

fn group(name: &str, cidrs: &[&str]) -> AccessChange {
    AccessChange::PutCidrGroup(name.into(), cidrs.iter().map(|cidr| cidr.parse().expect("a range")).collect())
}

fn bound_to(role: &str, groups: &[&str]) -> AccessChange {
    AccessChange::PutCidrGroups(role.into(), groups.iter().map(|group| (*group).to_owned()).collect())
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn ranges_are_parsed_without_the_bits_after_the_prefix() {
    for (text, range) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("10.1.2.3/32", "10.1.2.3/32"),
        ("10.1.2.3/0", "0.0.0.0/0"),
        ("2001:db8::1/32", "2001:db8:0:0:0:0:0:0/32"),
        ("::1/128", "0:0:0:0:0:0:0:1/128"),
        ("::1/0", "0:0:0:0:0:0:0:0/0"),
        ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
    ] {
        assert_eq!(text.parse::<Cidr>().expect(text).to_string(), range);
    }
    for text in [
        "",
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/+8",
        "10.0.0/8",
        "::/129",
        "a/8",
        "1.1.1.1/8/8",
        "::ffff:1.1.1.1/95",
    ] {
        let error = text.parse::<Cidr>().expect_err(text).to_string();
        assert_eq!(error, format!("{text} is not a valid CIDR String"));
    }
}

#[test]
fn the_longest_range_around_an_address_has_its_groups() {
    let changes = [
        group("all", &["0.0.0.0/0", "::/0"]),
        group("site", &["10.0.0.0/8", "2001:db8::/32"]),
        group("office", &["10.1.0.0/16"]),
        group("lab", &["10.1.0.0/16", "10.2.0.0/16"]),
    ];
    let access = Access::default().with_all(&changes);
    let groups = |text| access.cidr_groups_of(address(text)).into_iter().collect::<Vec<_>>();
    assert_eq!(groups("10.1.9.9"), ["lab", "office"]);
    assert_eq!(groups("10.3.9.9"), ["site"]);
    assert_eq!(groups("192.168.1.1"), ["all"]);
    assert_eq!(groups("2001:db8::7"), ["site"]);
    assert_eq!(groups("::7"), ["all"]);
    // An address of IPv4 in IPv6's form is the one of IPv4.
    assert_eq!(groups("::ffff:10.1.9.9"), ["lab", "office"]);
    let without = access.with(&group("lab", &[]));
    assert!(without.cidr_group("lab").is_none());
    assert!(Access::default().cidr_groups_of(address("10.0.0.1")).is_empty());
}

#[test]
fn addresses_are_judged_as_in_cassandra() {
    let changes = [
        group("office", &["10.1.0.0/16"]),
        login("free"),
        login("bound"),
        superuser("root"),
        AccessChange::PutRole("group".into(), crate::Attributes::default()),
        bound_to("bound", &["office"]),
        bound_to("root", &["office"]),
        bound_to("group", &["office"]),
    ];
    let access = Access::default().with_all(&changes);
    let verdict = |role, from, mode, supers| access.cidr_verdict(role, address(from), mode, supers);
    let (inside, outside) = ("10.1.2.3", "10.2.2.3");
    use CidrMode::{Enforce, Monitor, Off};
    use CidrVerdict::{Accepted, Monitored, Refused};
    for (role, from, mode, supers, expected) in [
        ("free", outside, Enforce, false, Accepted),
        ("bound", inside, Enforce, false, Accepted),
        ("bound", outside, Enforce, false, Refused),
        ("bound", outside, Monitor, false, Monitored),
        ("bound", outside, Off, false, Accepted),
        ("root", outside, Enforce, false, Accepted),
        ("root", outside, Enforce, true, Refused),
        ("root", inside, Enforce, true, Accepted),
        // It may not log in.
        ("group", inside, Enforce, false, Refused),
        ("none", inside, Enforce, false, Refused),
    ] {
        assert_eq!(verdict(role, from, mode, supers), expected, "{role} from {from}, {mode:?}");
    }
    assert_eq!(wrong_address(address(outside)).to_string(), "You do not have access from this IP 10.2.2.3");
}

#[test]
fn datacenters_are_judged_as_in_cassandra() {
    let only = |role: &str| AccessChange::PutDatacenters(role.into(), ["dc1".to_owned()].into());
    let changes = [
        login("free"),
        login("bound"),
        superuser("root"),
        AccessChange::PutRole("group".into(), crate::Attributes::default()),
        only("bound"),
        only("root"),
        only("group"),
    ];
    let access = Access::default().with_all(&changes);
    for (role, datacenter, expected) in [
        ("free", "dc2", true),
        ("bound", "dc1", true),
        ("bound", "dc2", false),
        ("root", "dc2", true),
        ("group", "dc1", false),
        ("none", "dc1", false),
    ] {
        assert_eq!(access.may_use_datacenter(role, datacenter), expected, "{role} in {datacenter}");
    }
    assert_eq!(wrong_datacenter("dc2").to_string(), "You do not have access to this datacenter (dc2)");
}

#[test]
fn a_node_enforces_the_rules_that_it_has() {
    let restricted = AccessChange::PutDatacenters("bound".into(), ["dc1".to_owned()].into());
    let changes = [group("office", &["10.1.0.0/16"]), login("bound"), bound_to("bound", &["office"]), restricted];
    let access = Access::default().with_all(&changes);
    let rules =
        |checks_datacenters, cidr_mode| NetworkRules { checks_datacenters, cidr_mode, cidr_checks_superusers: true };
    let refusal = |datacenter, from: Option<&str>, rules| {
        let checked = access.check_network("bound", (datacenter, from.map(address)), rules);
        checked.map_err(|error| error.to_string())
    };
    let (accepted, off) = (Ok(CidrVerdict::Accepted), NetworkRules::default());
    assert!(off.are_off() && !rules(true, CidrMode::Off).are_off() && !rules(false, CidrMode::Monitor).are_off());
    assert_eq!(refusal("dc2", Some("10.9.0.1"), off), accepted);
    let datacenter = Err("You do not have access to this datacenter (dc2)".to_owned());
    assert_eq!(refusal("dc2", Some("10.9.0.1"), rules(true, CidrMode::Enforce)), datacenter);
    assert_eq!(refusal("dc1", Some("10.1.0.1"), rules(true, CidrMode::Enforce)), accepted);
    let address = Err("You do not have access from this IP 10.9.0.1".to_owned());
    assert_eq!(refusal("dc1", Some("10.9.0.1"), rules(true, CidrMode::Enforce)), address);
    assert_eq!(refusal("dc2", Some("10.9.0.1"), rules(false, CidrMode::Monitor)), Ok(CidrVerdict::Monitored));
    assert_eq!(refusal("dc1", None, rules(true, CidrMode::Enforce)), accepted, "a session without an address");
}

fn statement(text: &str) -> cql_syntax::AccessStatement {
    match cql_syntax::parse(text) {
        Ok(cql_syntax::Statement::Access(statement)) => statement,
        other => panic!("not a statement about roles: {other:?}"),
    }
}

const NO_DATACENTERS: &str = "ACCESS TO DATACENTERS has no effect: network_authorizer is AllowAllNetworkAuthorizer, and the role may use all datacenters";
const NO_ADDRESSES: &str = "ACCESS FROM CIDRS is not enforced: cidr_authorizer is AllowAllCIDRAuthorizer, and the role may connect from all addresses";

#[test]
fn what_is_not_enforced_is_left_out_or_warned_of() {
    let restricted = "CREATE ROLE 'r' WITH LOGIN = true AND ACCESS TO DATACENTERS {'a'} AND ACCESS FROM CIDRS {'g'}";
    let groups_alone = "CREATE ROLE 'r' WITH LOGIN = true AND ACCESS FROM CIDRS {'g'}";
    let altered = "ALTER ROLE 'r' WITH ACCESS FROM CIDRS {'g'}";
    let free = "CREATE ROLE 'r' WITH ACCESS FROM ALL CIDRS";
    let rules =
        |checks_datacenters, cidr_mode| NetworkRules { checks_datacenters, cidr_mode, ..NetworkRules::default() };
    let both = [NO_DATACENTERS, NO_ADDRESSES];
    for (text, rules, left, warnings) in [
        (restricted, rules(false, CidrMode::Off), groups_alone, &both[..]),
        (restricted, rules(false, CidrMode::Monitor), groups_alone, &both[..1]),
        (restricted, rules(true, CidrMode::Off), restricted, &both[1..]),
        (restricted, rules(true, CidrMode::Enforce), restricted, &[]),
        (altered, rules(false, CidrMode::Off), altered, &both[1..]),
        (altered, rules(false, CidrMode::Enforce), altered, &[]),
        (free, rules(false, CidrMode::Off), free, &[]),
        (
            "CREATE ROLE 'r' WITH LOGIN = true AND ACCESS TO ALL DATACENTERS",
            rules(false, CidrMode::Off),
            "CREATE ROLE 'r' WITH LOGIN = true",
            &[],
        ),
    ] {
        let mut statement = statement(text);
        assert_eq!(leave_out_unenforced(&mut statement, rules), warnings, "{text}");
        assert_eq!(statement.to_string(), left);
        assert_eq!(
            leave_out_unenforced(&mut statement, rules).len(),
            warnings.len() - usize::from(warnings.contains(&NO_DATACENTERS))
        );
    }
}

#[test]
fn datacenters_are_altered_only_where_they_are_enforced() {
    let on = NetworkRules { checks_datacenters: true, ..NetworkRules::default() };
    let refused =
        Err(crate::error::invalid("ACCESS TO DATACENTERS operations not supported by AllowAllNetworkAuthorizer"));
    for restriction in ["DATACENTERS {'a'}", "ALL DATACENTERS"] {
        let altered = statement(&format!("ALTER ROLE r WITH LOGIN = true AND ACCESS TO {restriction}"));
        assert_eq!(ensure_enforced(&altered, NetworkRules::default()), refused);
        assert_eq!(ensure_enforced(&altered, on), Ok(()));
        let created = statement(&format!("CREATE ROLE r WITH ACCESS TO {restriction}"));
        assert_eq!(ensure_enforced(&created, NetworkRules::default()), Ok(()));
    }
    let other = statement("ALTER ROLE r WITH ACCESS FROM CIDRS {'g'}");
    assert_eq!(ensure_enforced(&other, NetworkRules::default()), Ok(()));
}
