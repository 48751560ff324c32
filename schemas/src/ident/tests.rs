//! Which words are values: both directions, and how keys and segments differ.

use proptest::prelude::*;

use super::path::STEPS;
use super::*;

#[test]
fn values_are_told_from_names() {
    let spaced = ["+41 79 123 45 67", "4111 1111 1111 1111", "account 10023"];
    let values = "
        1 42 -5 1.5 99.9 10.0.0.1 12:30 2026 2026-01 2026-01-31 31/01/2026 51.5074,-0.1278 1.2.3 18-25
        2026-01-31T00:00:00Z 2026-01-31T00:00:00.000+01:00 20260131T120000Z 2026Q1 2026-W05 2026-Q1 jan-2026
        3fa85f64-5717-4562-b3fc-2c963f66afa6 3FA85F64-5717-4562-B3FC-2C963F66AFA6
        urn:uuid:3fa85f64-5717-4562-b3fc-2c963f66afa6 {3fa85f64-5717-4562-b3fc-2c963f66afa6}
        user_aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa 3fa85f6457174562b3fc2c963f66afa6 507f1f77bcf86cd799439011
        1a2b3c4d sess_9f86d081 0x52908400098527886E0F7030069857D2E4169EE7
        acc-1001 acc-2001 ord-10023 ORD-10023 usr_10023 user:42 issue#7 /users/42 orders/42/items 1001-eur
        inv-2026-00017 acc-1001-eur ns.pod.10023
        usr_01HZXK7E4C9JQ5V2M8T3R6W1YB 01HZXK7E4C9JQ5V2M8T3R6W1YB 01hzxk7e4c9jq5v2m8t3r6w1yb
        cus_9s6XKzkNRiz8i3 pi_3MtwBwLkdIwHu7ix28a3tqPa cjld2cjxh0000qzrmn831i7rn sku-AB12CD34 00Q5g000003XyZaEAK
        ann@example.com ann.lee+x@mail.example.com 2001:db8::1 00:1a:2b:3c:4d:5e";
    for key in values.split_whitespace().chain(spaced) {
        assert!(is_value_as_key(key), "{key} is a value");
    }
}

#[test]
fn names_stay_names() {
    let spaced = ["", "first name", "line 2", "about me @ work. or not"];
    let names = "
        a id name address2 addressLine2 line1 line-1 line_10 x1 _1 _12 $0 v1 v2.1 v1beta1 ns1:Order xs:element
        md5 sha1 sha256 sha-256 SHA-256 sha_512_256 md5sum sha256sum ipv4 ipv6_address http2 http_2 oauth2_token
        isOAuth2Enabled utf8 utf-8 utf8mb4_unicode_ci latin1 iso3166 iso_3166 iso-8601 ISO-8859-15 iso3166_1_alpha2
        rfc3339 rfc-3339 windows-1252 rsa-4096 base64 base64url file_base64url ed25519 x25519mlkem768 secp256k1
        key_secp256k1 chacha20poly1305 cipher_aes256gcm TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        TLS_CHACHA20_POLY1305_SHA256 i18n a11y e2e k8s s3_bucket x86_64 arm64 h264 mp4
        p50 p99_9 p50p90p99 top_10 last_30_days lastThirtyDays numberOfOrdersLast30Days p50p90p99Latency
        averageLatencyP99Last30Days total_2026 q1_2026 thumb_1024 image_1920x1080 1080p 1080p_url 2fa 2fa_enabled
        3ds2 24h_volume 30d 1st 2xx 404_page cafe2024 face2face deadbeef feedback decade added2023
        @id @type #text en-US zh-Hans-CN de_DE EUR/USD a.b.c order.created.v2
        x-request-id x-amzn-trace-id Content-MD5 straße2 naïve größe_1 ключ 鍵 ключ-1 9é";
    for key in names.split_whitespace().chain(spaced) {
        assert!(!is_value_as_key(key), "{key} is a name");
    }
}

#[test]
fn values_in_paths_are_told_from_names() {
    let values = "
        42 7 2026 2026-01-31 1.2.3 10.0.0.1 acc_129 usr_7 acc-129 usr-7 acc-1001 ord-10023 cus_1 A-7 order_00042
        inv-2026-00017 prod-order-129 a_b_c_1000 terminal-4 gate-12 page-1234 step-100 acc_0 u42 INV2024
        usr_01HZXK7E4C9JQ5V2M8T3R6W1YB 01hzxk7e4c9jq5v2m8t3r6w1yb cus_9s6XKzkNRiz8i3 tok_9f86d0 sess_1a2b3c4d
        i-0abc12d3 3fa85f64-5717-4562-b3fc-2c963f66afa6 user-3fa85f64-5717-4562-b3fc-2c963f66afa6 deadbeef0
        sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 sha-9f86d081 sku-AB12CD34
        1001-eur 2024-eur 2024-01 2024-q1x20 dGhpc0lzQVRva2VuRm9yWW91 caf%C3%A9 a:b ann@example.com v1-4711002";
    for segment in values.split_whitespace() {
        assert!(is_value_in_path(segment), "{segment} is a value");
    }
}

#[test]
fn names_in_paths_stay_names() {
    let names = "
        users me api v1 v2 v10 V1 v1.2 v10.0.3 v2-beta v1beta1 v1alpha2 v2024 oauth2 oauth2-token sha256 sha-256 md5
        utf-8 utf8 iso-8601 iso8601 iso-8859-15 iso3166_1_alpha2 rfc-3339 rfc7231 windows-1252 cp1252 web-2 web-3
        web2 http-2 http2 h2 step-2 step_2 page-10 part-1 level-5 q-1 top-10 last-30 covid-19 base-64 base64 mp3 mp-4
        2024-report 2024-annual-report 1999-archive es-419 es256 x86 h264 p99 k8s s3 i18n 2fa 2fa-setup 3ds 404-page
        ipv6 e2e acc129 best-of-2 the-big-5 iphone-15-pro this-is-a-long-slug-for-a-post index.html app.js
        robots.txt en-US zh-Hans-CN .well-known openid-configuration a-b a_b - _ ~ . ..";
    for segment in names.split_whitespace().chain([""]) {
        assert!(!is_value_in_path(segment), "{segment} is a name");
    }
}

#[test]
fn what_is_a_value_as_a_key_is_one_in_a_path() {
    for segment in [
        "acc-1001",
        "usr_10023",
        "usr_01HZXK7E4C9JQ5V2M8T3R6W1YB",
        "cus_9s6XKzkNRiz8i3",
        "2026Q1",
        "1a2b3c4d",
        "sess_9f86d081",
        "ns.pod.10023",
    ] {
        assert!(
            is_value_as_key(segment) && is_value_in_path(segment),
            "{segment}"
        );
    }
}

proptest! {
    #[test]
    fn counted_records_share_a_route(
        word in "[a-z]{1,12}", separator in "[-_]", one in 0_u32..2_000_000, other in 0_u32..2_000_000,
    ) {
        let known = |word: &str| STEPS.contains(&word) || is_name_of_standard(word) || word == "es";
        prop_assume!(!known(&word));
        for number in [one, other] {
            let segment = format!("{word}{separator}{number}");
            prop_assert!(is_value_in_path(&segment), "{}", segment);
        }
    }

    #[test]
    fn hostile_keys_are_decided_too(key in "\\PC{0,60}|[0-9a-f{}@:_ -]{30,60}|[0-9TQé]{4,8}") {
        is_value_as_key(&key);
        is_value_in_path(&key);
    }

    #[test]
    fn fields_that_are_counted_up_by_hand_stay_names(word in "[a-z]{2,12}", number in 0..1_000_u32) {
        for key in [format!("{word}{number}"), format!("{word}_{number}"), format!("{word}-{number}")] {
            prop_assert!(!is_value_as_key(&key), "{}", key);
        }
    }

    #[test]
    fn ids_with_a_prefix_are_values(word in "[a-z]{1,8}", number in 10_000..u64::MAX) {
        prop_assume!(!STANDARDS.contains(&word.as_str()));
        for key in [format!("{word}_{number}"), format!("{word}-{number}"), format!("{word}:{number}")] {
            prop_assert!(is_value_as_key(&key), "{}", key);
        }
    }
}
