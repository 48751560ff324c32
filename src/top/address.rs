//! Where an admin port is, as somebody writes it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use parity_schemas::secret::without_password;

/// Where an admin port is: a URL without a path.
#[derive(Clone, Debug)]
pub(crate) struct Base(pub(super) String);

/// Reads `--admin`.
pub(crate) fn base(text: &str) -> Result<Base, String> {
    let with_scheme = match text.parse::<SocketAddr>() {
        // Where a port listens, as a mirror takes it: on every address is on that of this machine.
        Ok(mut address) => {
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            format!("http://{address}")
        }
        Err(_) if text.contains("://") => text.to_owned(),
        Err(_) => format!("http://{text}"),
    };
    let wrong = || {
        let text = without_password(text);
        format!("`{text}` is not the address of an admin port; write http://HOST:PORT")
    };
    let uri: Uri = with_scheme.parse().map_err(|_| wrong())?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority())
    else {
        return Err(wrong());
    };
    if authority.as_str().contains('@') {
        return Err(
            "a token does not belong into an address; name its file by --token-file".to_owned(),
        );
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong());
    }
    Ok(Base(format!("{scheme}://{authority}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_with_a_port_and_nothing_else() {
        for (text, expected) in [
            ("127.0.0.1:9900", Some("http://127.0.0.1:9900")),
            ("0.0.0.0:9900", Some("http://127.0.0.1:9900")),
            ("[::]:9900", Some("http://[::1]:9900")),
            ("mirror-1:9900", Some("http://mirror-1:9900")),
            ("http://[::1]:9900/", Some("http://[::1]:9900")),
            ("https://parity.example", Some("https://parity.example")),
            ("", None),
            ("http://", None),
            ("ftp://host:1", None),
            ("http://host:1/pages", None),
            ("http://host:1/?a=b", None),
            ("http://user:secret@host:1", None),
            ("ho st:1", None),
        ] {
            let found = base(text).ok().map(|base| base.0);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let told = base("http://u:secret@host:1").expect_err("refused");
        assert!(!told.contains("secret"), "{told}");
    }
}
