//! Logins that browsers have made: a cookie of 128 random bits stands for a role, for 12 hours and in this process alone.
//!
//! Bounded: beyond that many, of one role or of all, the oldest one ends. A cookie says who asks and no more: if the login holds, and what its role may do, is looked at for each request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use login::LoggedIn;
use tokio::time::Instant;

use crate::guard::PortKind;

/// The longest that a login lasts.
const LIFE: Duration = Duration::from_secs(12 * 3600);
/// Logins at a time.
const SESSIONS_MAX: usize = 256;
/// Those of one role: it ends its own by further ones, not those of others.
const SESSIONS_OF_ROLE_MAX: usize = 16;

/// A login's secret. Debug text does not show it.
#[derive(Clone, Copy)]
pub(crate) struct Cookie([u8; 16]);

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie")
    }
}

impl Cookie {
    pub(crate) fn new(secret: [u8; 16]) -> Cookie {
        Cookie(secret)
    }

    /// The cookie of a request to this port. Browsers send cookies to all ports of a host, so the port is in the name.
    pub(crate) fn read(headers: &HeaderMap, port: PortKind) -> Option<Cookie> {
        let name = name(port);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == name)?;
        let is_hex = value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = is_hex.then_some(value)?;
        u128::from_str_radix(value, 16).ok().map(|number| Cookie(number.to_be_bytes()))
    }

    /// The header that gives the cookie to a browser.
    pub(crate) fn set(self, port: PortKind) -> HeaderValue {
        header_of(port, &format!("{:032x}", u128::from_be_bytes(self.0)), LIFE)
    }

    /// The header that takes it back.
    pub(crate) fn unset(port: PortKind) -> HeaderValue {
        header_of(port, "", Duration::ZERO)
    }

    /// In a time that does not depend on where the two differ.
    fn is(self, other: Cookie) -> bool {
        let difference = self.0.iter().zip(other.0).fold(0, |all, (one, other)| all | (one ^ other));
        std::hint::black_box(difference) == 0
    }
}

fn name(port: PortKind) -> String {
    format!("helenus-{}", port.number)
}

fn header_of(port: PortKind, value: &str, life: Duration) -> HeaderValue {
    let secure = if port.is_tls { "; Secure" } else { "" };
    let (name, seconds) = (name(port), life.as_secs());
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).expect("it is ASCII")
}

#[derive(Debug)]
struct Session {
    cookie: Cookie,
    login: LoggedIn,
    ends: Instant,
}

/// The logins there are, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<VecDeque<Session>>);

impl Sessions {
    /// Adds a login.
    pub(crate) fn add(&self, cookie: Cookie, login: LoggedIn) {
        self.with(|sessions| {
            let is_own = |session: &Session| session.login.role() == login.role();
            if sessions.iter().filter(|session| is_own(session)).count() == SESSIONS_OF_ROLE_MAX {
                let oldest = sessions.iter().position(is_own);
                oldest.and_then(|oldest| sessions.remove(oldest));
            }
            if sessions.len() == SESSIONS_MAX {
                sessions.pop_front();
            }
            sessions.push_back(Session { cookie, login, ends: Instant::now() + LIFE });
            assert!(sessions.len() <= SESSIONS_MAX, "the table is bounded");
        });
    }

    /// The login of a cookie, as long as it lasts here. Its role may have changed meanwhile.
    pub(crate) fn login(&self, cookie: &Cookie) -> Option<LoggedIn> {
        self.with(|sessions| {
            let found = sessions.iter().find(|session| session.cookie.is(*cookie));
            found.map(|session| session.login.clone())
        })
    }

    /// Ends a login.
    pub(crate) fn end(&self, cookie: &Cookie) {
        self.with(|sessions| sessions.retain(|session| !session.cookie.is(*cookie)));
    }

    fn with<T>(&self, does: impl FnOnce(&mut VecDeque<Session>) -> T) -> T {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while sessions.front().is_some_and(|oldest| oldest.ends <= now) {
            sessions.pop_front();
        }
        does(&mut sessions)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use auth::{Access, AccessChange, Attributes, PasswordHash};

    use super::*;

    /// A login that was verified.
    pub(crate) fn login(role: &str) -> LoggedIn {
        let hash = PasswordHash::dummy();
        let attributes = Attributes { may_log_in: true, hash: Some(hash.clone()), ..Attributes::default() };
        let access = Access::default().with(&AccessChange::PutRole(role.to_owned(), attributes));
        LoggedIn::judge(&access, role.to_owned(), hash, true).expect("the role may log in")
    }

    fn role(sessions: &Sessions, cookie: Cookie) -> Option<String> {
        sessions.login(&cookie).map(|login| login.role().to_owned())
    }

    const PLAIN: PortKind =
        PortKind { ip: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), number: 10000, is_tls: false };

    fn headers(line: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_str(line).unwrap());
        headers
    }

    #[test]
    fn a_cookie_comes_back_by_the_name_of_its_port() {
        let set = Cookie::new([0xab; 16]).set(PLAIN);
        let set = set.to_str().unwrap();
        let hex = "ab".repeat(16);
        assert_eq!(set, format!("helenus-10000={hex}; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"));
        assert!(Cookie::new([1; 16]).set(PortKind { is_tls: true, ..PLAIN }).to_str().unwrap().ends_with("; Secure"));
        let read = |line: &str| Cookie::read(&headers(line), PLAIN).map(|cookie| cookie.0);
        assert_eq!(read(&format!("a=b; helenus-10000={hex}; c=d")), Some([0xab; 16]));
        for wrong in ["helenus-10001=", "helenus-10000=ab", "helenus-10000", ""] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&format!("helenus-10000=+{}", "a".repeat(31))), None, "digits alone");
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_login_lasts_twelve_hours_and_until_it_is_ended() {
        let sessions = Sessions::default();
        let (one, other) = (Cookie::new([1; 16]), Cookie::new([2; 16]));
        sessions.add(one, login("ada"));
        tokio::time::advance(LIFE / 2).await;
        sessions.add(other, login("eve"));
        assert_eq!(role(&sessions, one).as_deref(), Some("ada"));
        assert_eq!(role(&sessions, Cookie::new([3; 16])), None);
        tokio::time::advance(LIFE / 2).await;
        assert_eq!((role(&sessions, one), role(&sessions, other).as_deref()), (None, Some("eve")));
        sessions.end(&other);
        assert_eq!(role(&sessions, other), None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn beyond_the_bound_the_oldest_login_ends() {
        let sessions = Sessions::default();
        let cookie = |number: usize| Cookie::new((number as u128).to_be_bytes());
        for number in 0..=SESSIONS_MAX {
            sessions.add(cookie(number), login(&number.to_string()));
        }
        assert_eq!(role(&sessions, cookie(0)), None);
        assert_eq!(role(&sessions, cookie(1)).as_deref(), Some("1"));
        assert_eq!(role(&sessions, cookie(SESSIONS_MAX)), Some(SESSIONS_MAX.to_string()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_role_that_logs_in_again_and_again_ends_no_login_but_its_own() {
        let sessions = Sessions::default();
        let cookie = |number: usize| Cookie::new((number as u128).to_be_bytes());
        sessions.add(cookie(0), login("ada"));
        for number in 1..=SESSIONS_MAX {
            sessions.add(cookie(number), login("eve"));
        }
        assert_eq!(role(&sessions, cookie(0)).as_deref(), Some("ada"));
        let left = (1..=SESSIONS_MAX).filter(|number| role(&sessions, cookie(*number)).is_some());
        assert_eq!(
            left.collect::<Vec<_>>(),
            (SESSIONS_MAX - SESSIONS_OF_ROLE_MAX + 1..=SESSIONS_MAX).collect::<Vec<_>>()
        );
    }
}
