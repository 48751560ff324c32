//! Reading what is said of a load: rates, prices, processes, hosts.

/// More is no rate that one machine can make, and a slip.
const MOST_RATE: u32 = 10_000_000;
/// More runs would take days.
const MOST_REPEATS: usize = 100;
/// A limit is known to a hundredth after this many.
const MOST_REFINEMENTS: usize = 10;

/// Requests a second.
pub(crate) fn rate(text: &str) -> Result<u32, String> {
    let rate = text.parse::<u32>().ok();
    rate.filter(|rate| (1..=MOST_RATE).contains(rate))
        .ok_or_else(|| {
            format!("`{text}` is no rate; write a whole number of requests a second, from 1 to {MOST_RATE}")
        })
}

/// By which a load escalates.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    factor
        .filter(|factor| (1.05..=10.0).contains(factor))
        .ok_or_else(|| format!("`{text}` is no factor; write a number from 1.05 to 10"))
}

/// Runs of a step.
pub(crate) fn repeats(text: &str) -> Result<usize, String> {
    at_most(super::count(text)?, MOST_REPEATS)
}

/// Steps between two others.
pub(crate) fn refinements(text: &str) -> Result<usize, String> {
    at_most(super::number(text)?, MOST_REFINEMENTS)
}

fn at_most(number: usize, most: usize) -> Result<usize, String> {
    if number > most {
        return Err(format!("{number} is more than {most}"));
    }
    Ok(number)
}

/// Of something, in some currency.
pub(crate) fn price(text: &str) -> Result<f64, String> {
    let price = text.parse::<f64>().ok();
    price
        .filter(|price| price.is_finite() && *price >= 0.0)
        .ok_or_else(|| format!("`{text}` is no price; write a number such as 25.5"))
}

/// How sure a test is.
pub(crate) fn confidence(text: &str) -> Result<f64, String> {
    let share = super::share(text)?;
    if (0.5..=0.9999).contains(&share) {
        Ok(share)
    } else {
        Err(format!(
            "`{text}` is no confidence; write a number from 0.5 to 0.9999"
        ))
    }
}

/// A process.
pub(crate) fn pid(text: &str) -> Result<u32, String> {
    let pid = text.parse::<u32>().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| format!("`{text}` is not the number of a process"))
}

/// A host, or a host and a port.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let is_host = !text.is_empty()
        && !text.contains("://")
        && !text.contains(|sign: char| sign.is_whitespace() || "/?#@*".contains(sign));
    if is_host {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(format!(
            "`{text}` is no host; write for example staging.example or 10.0.0.7:8080, without http:// and without patterns"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_with_its_text() {
        for text in ["", "0", "-1", "1.5", "10000001", "x"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["", "1", "NaN", "inf", "11", "-2"] {
            assert!(factor(text).is_err(), "{text}");
        }
        for text in ["", "-1", "NaN", "inf", "1€"] {
            assert!(price(text).is_err(), "{text}");
        }
        for text in ["", "http://a", "a/b", "*.example", "a b", "user@a"] {
            assert!(host(text).is_err(), "{text}");
        }
        assert_eq!(
            host("Staging.Example:80"),
            Ok("staging.example:80".to_owned())
        );
        assert!(confidence("1").is_err() && confidence("0.4").is_err());
        assert!(repeats("101").is_err() && refinements("11").is_err() && pid("0").is_err());
    }
}
