//! What each of the services gets of a request, and what both are told about the client.

#[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
use super::*;

/// The settings of one side.
pub(crate) struct Side {
    pub(crate) url: &'static One<UpstreamUrl>,
    pub(crate) protocol: &'static One<Protocol>,
    pub(crate) host: &'static One<HeaderValue>,
    pub(crate) rewrite: &'static One<PathRewrite>,
    pub(crate) set_headers: &'static Many<(HeaderName, HeaderValue)>,
    pub(crate) remove_headers: &'static Many<HeaderName>,
    pub(crate) credentials_file: &'static One<PathBuf>,
}

/// Declares the settings of one side.
macro_rules! side {
    ($side:literal, $url:path) => {
        #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
        use super::*;

        settings! {
            PROTOCOL: One<Protocol> = text(
                concat!($side, ".protocol"),
                concat!("What the ", $side, " speaks: http1, http2, or auto (https: by ALPN; else HTTP/1.1, and HTTP/2 for gRPC)"),
            ).read_as(services::protocol).default("auto");
            HOST: One<HeaderValue> = text(
                concat!($side, ".host"),
                concat!("Host that the ", $side, " gets in the place of the client's"),
            ).read_as(services::host).example("payments.example");
            REWRITE: One<PathRewrite> = text(
                concat!($side, ".rewrite"),
                concat!("Prefix of the path that is replaced for the ", $side, ": \"/api -> /v2\""),
            ).read_as(services::rewrite).example("/api -> /v2");
            SET_HEADERS: Many<(HeaderName, HeaderValue)> = list(
                concat!($side, ".set_headers"),
                concat!("Headers set in requests for the ", $side, ": \"name: value\""),
            ).read_as(services::header).empty().hides_values();
            REMOVE_HEADERS: Many<HeaderName> = list(
                concat!($side, ".remove_headers"),
                concat!("Headers removed from requests for the ", $side),
            ).read_as(services::header_name).empty();
            CREDENTIALS_FILE: One<PathBuf> = path(
                concat!($side, ".credentials_file"),
                concat!("File with headers for the ", $side, " that are secret, one \"name: value\" on a line; # begins a comment"),
            );
        }

        /// All that is said about this side.
        pub(crate) static SIDE: Side = Side {
            url: &$url,
            protocol: &PROTOCOL,
            host: &HOST,
            rewrite: &REWRITE,
            set_headers: &SET_HEADERS,
            remove_headers: &REMOVE_HEADERS,
            credentials_file: &CREDENTIALS_FILE,
        };
    };
}

/// What requests for the legacy get.
pub(crate) mod legacy {
    side!("legacy", mirror::LEGACY);
}

/// What requests for the candidate get.
pub(crate) mod candidate {
    side!("candidate", mirror::CANDIDATE);
}

/// What a proxy tells the services about the client.
pub(crate) mod forwarding {
    #[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
    use super::*;

    settings! {
        X_FORWARDED_FOR: One<bool> = switch("forwarding.x_forwarded_for", "Add the client's address to X-Forwarded-For")
            .default_of(|| default::switch(Forwarding::default().x_forwarded_for));
        X_FORWARDED_ORIGIN: One<bool> = switch("forwarding.x_forwarded_origin", "Send X-Forwarded-Proto and X-Forwarded-Host")
            .default_of(|| default::switch(Forwarding::default().x_forwarded_origin));
        FORWARDED: One<bool> = switch("forwarding.forwarded", "Add an element to Forwarded (RFC 7239)")
            .default_of(|| default::switch(Forwarding::default().forwarded));
        VIA: One<Box<str>> = text("forwarding.via", "Name by which this proxy is added to Via; not sent without one")
            .read_as(services::pseudonym).example("parity");
        TRUSTED_PROXIES: Many<IpNet> = list("forwarding.trusted_proxies", "Addresses and networks whose X-Forwarded-… and Forwarded are passed on; with a list, those of others are removed")
            .read_as(services::network).example("10.0.0.0/8");
    }
}
