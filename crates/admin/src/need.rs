//! The needs of each request: a permission on the MBean that a Cassandra has for the same, or less.

use axum::http::Method;

/// The path of the console's statements.
pub(crate) const CQL_PATH: &str = "/helenus/cql";
/// The path of an import of roles.
pub(crate) const ROLES_PATH: &str = "/helenus/roles/import";
/// The path of logins.
pub(crate) const LOGIN_PATH: &str = "/helenus/login";
/// The path of their ends.
pub(crate) const LOGOUT_PATH: &str = "/helenus/logout";

/// The need of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: there is no data in the answer.
    Nothing,
    /// A login.
    Login,
    /// SELECT on the MBean of this name, or on all of them. Without a name, on all of them.
    Read(Option<&'static str>),
    /// MODIFY or EXECUTE, in the same way.
    Change(Option<&'static str>),
}

/// The MBeans of paths, by what the paths begin with. All others need the permission on all MBeans.
const MBEANS: [(&str, &str); 14] = [
    ("/storage_service/", "org.apache.cassandra.db:type=StorageService"),
    ("/storage_proxy/", "org.apache.cassandra.db:type=StorageProxy"),
    ("/compaction_manager/", "org.apache.cassandra.db:type=CompactionManager"),
    ("/column_family/", "org.apache.cassandra.db:type=Tables"),
    ("/cache_service/", "org.apache.cassandra.db:type=Caches"),
    ("/hinted_handoff/", "org.apache.cassandra.hints:type=HintsService"),
    ("/snitch/", "org.apache.cassandra.db:type=EndpointSnitchInfo"),
    ("/gossiper/", "org.apache.cassandra.net:type=Gossiper"),
    ("/failure_detector/", "org.apache.cassandra.net:type=FailureDetector"),
    ("/messaging_service/", "org.apache.cassandra.net:type=MessagingService"),
    ("/stream_manager/", "org.apache.cassandra.net:type=StreamManager"),
    ("/helenus/", "helenus:type=Node"),
    ("/metrics", "helenus:type=Metrics"),
    ("/", "helenus:type=Node"),
];

/// Files of the console, without data; the page asks for that with the rights of who has logged in.
const PAGE: [&str; 2] = ["/", "/console"];
/// Paths that are open on loopback, for those who watch the node from its own machine.
const WATCHED: [&str; 3] = ["/health", "/ready", "/metrics"];

impl Need {
    /// The need of a request on a port that listens on loopback, or beyond it.
    pub(crate) fn of(method: &Method, path: &str, is_loopback: bool) -> Need {
        let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        match path {
            LOGIN_PATH | LOGOUT_PATH => Need::Nothing,
            _ if is_read && (PAGE.contains(&path) || path.starts_with("/console/")) => Need::Nothing,
            _ if is_read && is_loopback && WATCHED.contains(&path) => Need::Nothing,
            CQL_PATH => Need::Login,
            _ if is_read => Need::Read(mbean(path)),
            _ => Need::Change(mbean(path)),
        }
    }
}

fn mbean(path: &str) -> Option<&'static str> {
    let found = MBEANS.iter().find(|(begin, _)| path.starts_with(begin));
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: Option<&str> = Some("org.apache.cassandra.db:type=StorageService");

    #[test]
    fn reads_need_select_and_all_else_a_change() {
        let of = |method: Method, path| Need::of(&method, path, true);
        assert_eq!(of(Method::GET, "/storage_service/load"), Need::Read(SERVICE));
        for method in [Method::POST, Method::DELETE, Method::PUT, Method::PATCH] {
            assert_eq!(of(method, "/storage_service/load"), Need::Change(SERVICE));
        }
        assert_eq!(of(Method::GET, "/helenus/console"), Need::Read(Some("helenus:type=Node")));
        assert_eq!(of(Method::POST, "/helenus/cql"), Need::Login);
        assert_eq!(of(Method::POST, "/health"), Need::Change(Some("helenus:type=Node")));
        assert_eq!(of(Method::GET, "nothing"), Need::Read(None));
    }

    #[test]
    fn the_page_is_open_and_the_watched_paths_are_on_loopback() {
        for path in ["/", "/console", "/console/app.js", "/helenus/login", "/helenus/logout"] {
            assert_eq!(Need::of(&Method::GET, path, false), Need::Nothing, "{path}");
        }
        for path in ["/health", "/ready", "/metrics"] {
            assert_eq!(Need::of(&Method::GET, path, true), Need::Nothing, "{path}");
            assert!(matches!(Need::of(&Method::GET, path, false), Need::Read(Some(_))), "{path}");
        }
        assert!(matches!(Need::of(&Method::GET, "/consoles", true), Need::Read(_)));
        assert!(matches!(Need::of(&Method::POST, "/console/app.js", true), Need::Change(_)));
    }
}
