//! Why a certificate is refused, in words.

use std::fmt;

use rustls::CertificateError;

/// Why a certificate is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// Its time is over.
    Expired {
        /// Seconds since the Unix epoch, if they are known.
        not_after: Option<u64>,
    },
    /// Its time has not begun.
    NotValidYet {
        /// Seconds since the Unix epoch, if they are known.
        not_before: Option<u64>,
    },
    /// It is not signed by a trusted certificate.
    UnknownIssuer,
    /// It is for another address.
    OtherAddress {
        /// The address that it should be for.
        expected: String,
    },
    /// Its extended key usage lacks this end's.
    WrongPurpose,
    /// Its signature does not fit, or the algorithm is not supported.
    BadSignature,
    /// It cannot be parsed, or has something critical that is not known.
    Malformed,
}

impl From<&CertificateError> for Flaw {
    fn from(error: &CertificateError) -> Flaw {
        match error {
            CertificateError::Expired => Flaw::Expired { not_after: None },
            CertificateError::ExpiredContext { not_after, .. } => {
                Flaw::Expired { not_after: Some(not_after.as_secs()) }
            }
            CertificateError::NotValidYet => Flaw::NotValidYet { not_before: None },
            CertificateError::NotValidYetContext { not_before, .. } => {
                Flaw::NotValidYet { not_before: Some(not_before.as_secs()) }
            }
            CertificateError::UnknownIssuer => Flaw::UnknownIssuer,
            CertificateError::NotValidForNameContext { expected, .. } => {
                Flaw::OtherAddress { expected: expected.to_str().into_owned() }
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => Flaw::WrongPurpose,
            CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => Flaw::BadSignature,
            _ => Flaw::Malformed,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Expired { not_after: Some(seconds) } => write!(f, "it expired at {}", Date(*seconds)),
            Flaw::Expired { not_after: None } => f.write_str("it has expired"),
            Flaw::NotValidYet { not_before: Some(seconds) } => write!(f, "it is not valid before {}", Date(*seconds)),
            Flaw::NotValidYet { not_before: None } => f.write_str("it is not valid yet"),
            Flaw::UnknownIssuer => f.write_str("it is not signed by a trusted certificate"),
            Flaw::OtherAddress { expected } => {
                write!(f, "{expected} is not among its subject alternative names")
            }
            Flaw::WrongPurpose => {
                f.write_str("its extended key usage must have both serverAuth and clientAuth, or none")
            }
            Flaw::BadSignature => f.write_str("its signature is wrong, or of an algorithm that is not supported"),
            Flaw::Malformed => f.write_str("it is malformed, or has a critical extension that is not supported"),
        }
    }
}

/// Seconds since the Unix epoch as a date: `2026-11-27T19:40:15Z`.
struct Date(u64);

const DAY: u64 = 24 * 60 * 60;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.0 / DAY, self.0 % DAY);
        // Years of 400 have 146,097 days; a year begins with March, so that its leap day is its last. After Howard Hinnant's `civil_from_days`.
        let from_march = days + 719_468;
        let (era, day_of_era) = (from_march / 146_097, from_march % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let dates = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_795_808_415, "2026-11-27T19:40:15Z"),
        ];
        for (seconds, text) in dates {
            assert_eq!(Date(seconds).to_string(), text);
        }
    }
}
