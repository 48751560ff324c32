//! Which requests are shadowed: all of them, a share of them, or all requests of a share of the users.
//!
//! With a header or a cookie, the decision depends on a hash of its value, the same on every instance and after every
//! restart. So a user is always or never shadowed, and a larger share includes the users of a smaller one. A route may
//! have a share of its own.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};

/// Which share of the traffic is shadowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Share of the requests, or of the users, 0..=1.
    pub share: f64,
    /// What decides whether a request is in the share.
    pub by: SampleBy,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            share: 1.0,
            by: SampleBy::Request,
        }
    }
}

/// What decides whether a request is in the share. If a request lacks the header or cookie, chance decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleBy {
    /// Chance, anew for each request.
    Request,
    /// The value of this header.
    Header(HeaderName),
    /// The value of this cookie; cookie names are case-sensitive.
    Cookie(Box<str>),
}

/// The sampler of one worker.
pub(crate) struct Sampler {
    /// State of a linear congruential generator: random enough for sampling, and it costs one multiplication.
    state: Cell<u64>,
    sampling: Sampling,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self {
            state: Cell::new(RandomState::new().hash_one(0_u8)),
            sampling,
        }
    }

    /// Whether a request is sampled; `share` is that of its route, if it has one.
    pub(crate) fn takes(&self, share: Option<f64>, headers: &HeaderMap) -> bool {
        let share = share.unwrap_or(self.sampling.share);
        if share >= 1.0 {
            return true;
        }
        let point = match self.key(headers) {
            Some(key) => spread(key),
            None => self.random(),
        };
        (point >> 32) < threshold(share)
    }

    fn key<'a>(&self, headers: &'a HeaderMap) -> Option<&'a [u8]> {
        match &self.sampling.by {
            SampleBy::Request => None,
            SampleBy::Header(name) => headers.get(name).map(HeaderValue::as_bytes),
            SampleBy::Cookie(name) => cookie(headers, name),
        }
    }

    fn random(&self) -> u64 {
        // Knuth's MMIX constants; the upper half of the state is the random one.
        let state = self
            .state
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state.set(state);
        state
    }
}

/// A request is sampled if the upper half of its point is below this.
pub(super) fn threshold(share: f64) -> u64 {
    const HALF: f64 = 4_294_967_296.0;
    (share.clamp(0.0, 1.0) * HALF) as u64
}

/// FNV-1a, finished by the mixer of `MurmurHash3`: evenly distributed, and the same in every version, which the
/// standard library's hash is not.
pub(super) fn spread(key: &[u8]) -> u64 {
    spread_from(0xcbf2_9ce4_8422_2325, key)
}

/// The same from another start, which makes it another hash.
pub(super) fn spread_from(start: u64, key: &[u8]) -> u64 {
    let mut hash = start;
    for byte in key {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .find_map(|pair| {
            let rest = pair.trim_ascii().strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        headers
    }

    fn sampler(share: f64, by: SampleBy) -> Sampler {
        Sampler::new(Sampling { share, by })
    }

    #[test]
    fn the_share_is_kept_and_its_ends_are_exact() {
        let none = HeaderMap::new();
        let taken = |share| {
            let sampler = sampler(share, SampleBy::Request);
            (0..100_000).filter(|_| sampler.takes(None, &none)).count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 100_000));
        let tenth = taken(0.1);
        assert!((9_500..10_500).contains(&tenth), "{tenth}");
    }

    #[test]
    fn a_user_is_always_or_never_taken_and_a_larger_share_holds_the_smaller() {
        let by = || SampleBy::Cookie("session".into());
        let (tenth, half) = (sampler(0.1, by()), sampler(0.5, by()));
        let mut users = [0, 0];
        for user in 0..10_000 {
            let headers = with("cookie", &format!("a=1; session=user-{user}; b=2"));
            let first = tenth.takes(None, &headers);
            assert_eq!(first, sampler(0.1, by()).takes(None, &headers));
            assert!(!first || half.takes(None, &headers));
            users[0] += usize::from(first);
            users[1] += usize::from(half.takes(None, &headers));
        }
        assert!((900..1_100).contains(&users[0]), "{users:?}");
        assert!((4_800..5_200).contains(&users[1]), "{users:?}");
    }

    #[test]
    fn what_a_user_is_taken_by_is_fixed_for_ever() {
        // Another value here means that a rolling update of the instances would split users.
        assert_eq!(spread(b"user-1"), 0x41a2_fca5_c684_01c5);
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let headers = with("cookie", "xsession=1; session=2;session2=3");
        assert_eq!(cookie(&headers, "session"), Some(&b"2"[..]));
        assert_eq!(cookie(&headers, "Session"), None);
    }

    #[test]
    fn a_routes_share_wins() {
        let sampler = sampler(0.0, SampleBy::Header(HeaderName::from_static("x-user")));
        assert!(sampler.takes(Some(1.0), &with("x-user", "a")));
        assert!(!sampler.takes(None, &with("x-user", "a")));
    }
}
