//! Reading the single values of settings. Those that requests have, too, are read by [`parity_schemas::value`]; here is the rest.

pub(crate) mod metrics;
pub(crate) mod rollout;
pub(crate) mod services;
pub(crate) mod stress;

use std::net::SocketAddr;
use std::time::Duration;

use parity_comparator::redact::PlainText;
use parity_schemas::value::split_unit;
pub(crate) use parity_schemas::value::{duration, parsed, percent, share, switch};

/// A duration that is not zero.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|duration| {
        if duration.is_zero() {
            Err(format!("`{text}` leaves no time at all"))
        } else {
            Ok(duration)
        }
    })
}

/// `512KiB`, `32MiB`, `4GiB`, or bytes as a plain number.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "" | "B" => 1_u64,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => 0,
    };
    number
        .parse::<u64>()
        .ok()
        .filter(|_| factor > 0)
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("`{text}` is not a size; write for example 512KiB, 32MiB or 4GiB"))
}

/// A whole number of at least one.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse::<usize>()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("`{text}` is not a whole number of at least 1"))
}

/// A whole number.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a whole number"))
}

/// Most exchanges that may wait: room for all of them is made at the start, about a kilobyte each.
const MOST_WAITING: usize = 100_000;

/// A number, not an infinite one.
pub(crate) fn decimal(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{text}` is not a number; write for example 10 or 0.5"))
}

/// How many exchanges may wait.
pub(crate) fn waiting(text: &str) -> Result<usize, String> {
    count(text).and_then(|count| {
        if count <= MOST_WAITING {
            Ok(count)
        } else {
            Err(format!(
                "`{text}` is more than {MOST_WAITING}, for which room is made at the start; what waits that long comes too late"
            ))
        }
    })
}

/// The address of an admin port, also as the URL by which others ask it: one variable tells both where it is.
pub(crate) fn admin(text: &str) -> Result<SocketAddr, String> {
    let of_url = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let Some(of_url) = of_url else {
        return address(text);
    };
    let found = of_url.strip_suffix('/').unwrap_or(of_url);
    address(found).map_err(|_| {
        format!("`{text}` names no address to listen on; write for example 127.0.0.1:9900 or http://127.0.0.1:9900")
    })
}

/// Whether a text may say where an admin port is, for whoever binds it or asks it: a host that is no address of this machine is fine for
/// those who bind none.
pub(crate) fn admin_form(text: &str) -> Result<(), String> {
    let is_url = ["http://", "https://"].iter().any(|scheme| {
        let host = text.strip_prefix(scheme);
        host.is_some_and(|host| !host.trim_end_matches('/').is_empty())
    });
    if is_url {
        Ok(())
    } else {
        admin(text).map(drop)
    }
}

/// `127.0.0.1:8080`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not an address; write for example 127.0.0.1:8080 or [::1]:8080")
    })
}

/// Text that can stand in a header of a report: one line, bounded.
pub(crate) fn text(text: &str) -> Result<String, String> {
    /// Versions and names are labels in every row of the record.
    const MAX_BYTES: usize = 200;
    if text.len() > MAX_BYTES {
        return Err(format!(
            "the text has {} bytes, {MAX_BYTES} are allowed",
            text.len()
        ));
    }
    if text.chars().any(char::is_control) {
        return Err("the text has a control character; write one plain line".to_owned());
    }
    Ok(text.to_owned())
}

/// The words for how plain text is recorded.
pub(crate) const PLAIN_TEXT: [(&str, PlainText); 2] = [
    ("patterns", PlainText::Patterns),
    ("hidden", PlainText::Hidden),
];

/// How plain text is recorded.
pub(crate) fn plain_text(text: &str) -> Result<PlainText, String> {
    let found = PLAIN_TEXT.iter().find(|(word, _)| *word == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| format!("`{text}` is neither patterns nor hidden"))
}

/// One of the known words, in any letter case.
pub(crate) fn word<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, String> {
    words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(text))
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("`{text}` is none of {}", known.join(", "))
        })
}

/// Comma-separated, for the environment.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_may_wait_than_there_is_room_for_at_the_start() {
        assert_eq!(waiting("100000"), Ok(100_000));
        for text in ["0", "100001", "100000000000", "9223372036854775807"] {
            assert!(waiting(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_read_as_people_write_them() {
        assert_eq!(size("32MiB"), Ok(32 << 20));
        assert_eq!(size("17"), Ok(17));
        assert_eq!(list("a, b,,c"), ["a", "b", "c"]);
    }

    /// `PARITY_ADMIN` was a URL for who asks the port and an address for who binds it, and each refused the other's.
    #[test]
    fn where_an_admin_port_is_reads_the_same_as_an_address_and_as_a_url() {
        for text in [
            "127.0.0.1:9900",
            "http://127.0.0.1:9900",
            "https://127.0.0.1:9900/",
        ] {
            assert_eq!(admin(text), Ok(([127, 0, 0, 1], 9900).into()), "{text}");
            assert_eq!(admin_form(text), Ok(()), "{text}");
        }
        let elsewhere = "https://mirror-1.example:9900";
        assert!(admin(elsewhere).is_err_and(|error| error.contains(elsewhere)));
        assert_eq!(admin_form(elsewhere), Ok(()));
        for text in ["", "http://", "ftp://127.0.0.1:1", "127.0.0.1", "mirror-1"] {
            assert!(admin_form(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_text() {
        for text in ["", "MiB", "1.5MiB", "1TiB", "18446744073709551615GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(count("0").is_err());
    }
}
