//! The workloads by name, the properties that change them, and what is refused.

use super::super::words::Groups;
use super::*;

fn group(line: &str) -> Group {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Groups::of(&words).unwrap().command().unwrap()
}

fn parse(line: &str) -> (YcsbSettings, Vec<(Kind, f64)>, Length) {
    let mut group = group(line);
    let parsed = of(&mut group).unwrap_or_else(|error| panic!("{line}: {error}"));
    group.finish().unwrap();
    parsed
}

fn refused(line: &str) -> String {
    match of(&mut group(line)) {
        Err(error) => error.to_string(),
        Ok(parsed) => panic!("{line} is not refused: {parsed:?}"),
    }
}

fn kinds(shares: &[(Transaction, f64)]) -> Vec<(Kind, f64)> {
    shares.iter().map(|(transaction, share)| (Kind::Ycsb(*transaction), *share)).collect()
}

#[test]
fn the_workloads_are_those_of_ycsb() {
    use Transaction::{Insert, Read, ReadModifyWrite, Scan, Update};
    for (name, shares, requests) in [
        ("a", &[(Read, 0.5), (Update, 0.5)][..], Requests::Zipfian),
        ("b", &[(Read, 0.95), (Update, 0.05)], Requests::Zipfian),
        ("C", &[(Read, 1.0)], Requests::Zipfian),
        ("workloadd", &[(Read, 0.95), (Insert, 0.05)], Requests::Latest),
        ("e", &[(Scan, 0.95), (Insert, 0.05)], Requests::Zipfian),
        ("f", &[(Read, 0.5), (ReadModifyWrite, 0.5)], Requests::Zipfian),
    ] {
        let (settings, found, length) = parse(&format!("ycsb run workload={name}"));
        assert_eq!((found, settings.requests), (kinds(shares), requests), "{name}");
        assert_eq!(length, Length::Operations(1_000));
        let scans = if name == "e" { (1, 100) } else { (1, 1_000) };
        assert_eq!(settings.scan_range, scans, "{name}");
    }
    let (settings, found, length) = parse("ycsb load workload=d recordcount=2M operationcount=5");
    assert_eq!((found, length), (kinds(&[(Insert, 1.0)]), Length::Operations(2_000_000)));
    assert_eq!(
        settings,
        YcsbSettings {
            is_load: true,
            records: 2_000_000,
            insert_count: 2_000_000,
            requests: Requests::Latest,
            ..YcsbSettings::default()
        }
    );
}

#[test]
fn properties_change_the_workload() {
    let (settings, found, length) = parse(
        "ycsb workload=a recordcount=1K operationcount=10K insertstart=100 insertcount=800 fieldcount=12 fieldlength=50 \
         minfieldlength=20 fieldlengthdistribution=uniform fieldnameprefix=f table=t readallfields=false writeallfields=true \
         readproportion=0.2 insertproportion=0.2 updateproportion=0 scanproportion=0.1 requestdistribution=uniform minscanlength=5 \
         maxscanlength=9 scanlengthdistribution=zipfian insertorder=ordered zeropadding=12",
    );
    use Transaction::{Insert, Read, Scan};
    assert_eq!((found, length), (kinds(&[(Read, 0.2), (Scan, 0.1), (Insert, 0.2)]), Length::Operations(10_000)));
    // Two fifths of the operations are inserts, and as many again may come.
    assert_eq!(settings.new_records_expected(), 8_000);
    let fields = settings.fields();
    assert_eq!((fields.len(), &fields[0], &fields[2]), (12, &"f0".to_owned(), &"f10".to_owned()));
    let expected = YcsbSettings {
        table: "t".to_owned(),
        insert_start: 100,
        insert_count: 800,
        field_count: 12,
        field_prefix: "f".to_owned(),
        field_length: "UNIFORM(20..50)".parse().unwrap(),
        reads_all: false,
        writes_all: true,
        scan_length: ScanLength::Zipfian,
        scan_range: (5, 9),
        hashed: false,
        digits: 12,
        inserts_expected: 4_000,
        ..YcsbSettings::default()
    };
    assert_eq!(settings, expected);
    assert_eq!(parse("ycsb workload=b duration=5s").2, Length::Time(std::time::Duration::from_secs(5)));
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (line, told) in [
        ("ycsb run", "workload="),
        ("ycsb workload=g", "workload=g"),
        ("ycsb load run workload=a", "exclude"),
        ("ycsb workload=a n=5", "operationcount="),
        ("ycsb workload=a operationcount=5 duration=5s", "exclude"),
        ("ycsb workload=a recordcount=0", "recordcount=0"),
        ("ycsb workload=a recordcount=5 insertstart=5", "insertstart="),
        ("ycsb workload=a recordcount=5 insertstart=2 insertcount=4", "insertcount="),
        ("ycsb workload=a requestdistribution=hotspot", "hotspot"),
        ("ycsb workload=a fieldlengthdistribution=histogram", "histogram"),
        ("ycsb workload=a fieldlengthdistribution=uniform minfieldlength=200", "minfieldlength="),
        ("ycsb workload=a fieldcount=0", "fieldcount=0"),
        ("ycsb workload=a fieldnameprefix=a\"b", "fieldnameprefix="),
        ("ycsb workload=a readproportion=2", "readproportion=2"),
        ("ycsb workload=c readproportion=0", "above 0"),
        ("ycsb workload=e minscanlength=200", "maxscanlength=100"),
        ("ycsb workload=a dataintegrity=true", "dataintegrity=true"),
        ("ycsb workload=a insertorder=any", "insertorder=any"),
    ] {
        let reason = refused(line);
        assert!(reason.contains(told), "{line}: {reason}");
    }
}
