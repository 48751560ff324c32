//! Random tokens within texts keep one shape, and words are no tokens.

use super::super::letters::{Reading, reading};
use super::*;

/// Words, identifiers, constants, paths and addresses as services answer them.
const WORDS: &str = "
    PAYMENT_METHOD_DECLINED INSUFFICIENT_FUNDS CARD_EXPIRED_OR_BLOCKED REFUND_PENDING_APPROVAL ORDER_ALREADY_SHIPPED
    ACCOUNT_TEMPORARILY_LOCKED INVALID_CUSTOMER_REFERENCE RATE_LIMIT_EXCEEDED SHIPPING_ADDRESS_REQUIRED OUT_OF_STOCK_ITEM
    ERR_CONNECTION_REFUSED CERTIFICATE_VERIFY_FAILED NETWORK_UNREACHABLE OPERATION_NOT_PERMITTED PRECONDITION_FAILED
    VERIFICATION_IN_PROGRESS MANUAL_REVIEW_NEEDED CHARGEBACK_RECEIVED SUBSCRIPTION_CANCELLED DOCUMENT_REJECTED
    internalServerErrorCode getUserAccountDetails currencyExchangeRate idempotencyKeyReused rateLimitExceeded
    schemaVersionMismatch backgroundColorPrimary addEventListener preventDefaultBehaviour calculateShippingCosts
    customerAddressLineOne billingPeriodStartDate lastSuccessfulLoginAttempt isEmailAddressVerified numberOfOpenInvoices
    maximumUploadSizeReached defaultPaymentInstrument preferredContactLanguage allowPartialShipments totalAmountIncludingTax
    NullPointerException AuthenticationException TransactionRollbackException IllegalArgumentException XMLHttpRequest
    HttpServletRequest ConcurrentModificationException ClassNotFoundException SQLSyntaxErrorException JSONDecodeError
    HTTPSConnectionPool OptimisticLockException DeadlineExceeded ResourceExhausted FailedPrecondition PermissionDenied
    CancellationTokenSource ObjectRelationalMapper AccountHolderName ShippingAddressLine MaximumRetriesExceeded
    ClusterRoleBinding PersistentVolumeClaim ImagePullBackOff CrashLoopBackOff FailedScheduling PodDisruptionBudget
    unauthorized_client invalid_grant access_denied temporarily_unavailable unsupported_response_type interaction_required
    insufficient_scope consent_required authorization_pending expired_authorization_code invalid_redirect_uri
    connection_reset_by_peer no_route_to_host too_many_open_files broken_pipe_error permission_denied_by_policy
    out_for_delivery awaiting_payment_confirmation partially_refunded ready_for_collection returned_to_sender
    payment_intent.succeeded checkout.session.completed customer.subscription.deleted invoice.payment_failed
    charge.dispute.created account.application.deauthorized product.catalog.updated shipment.label.printed
    customer-service-representative wishlist-item-removed terms-and-conditions free-returns-within-thirty-days
    frequently-asked-questions privacy-policy-update gift-card-balance track-your-parcel forgotten-password-help
    /usr/local/share/applications /var/log/application/error.log /etc/ssl/certs/ca-certificates.crt /home/deploy/releases
    src/main/java/com/example/OrderService.java node_modules/express/lib/router target/debug/build/output
    C:/Users/Administrator/Documents ../templates/emails/welcome.html assets/stylesheets/application.css
    /customers/addresses /orders/pending/confirm /accounts/settings/security /search/suggestions /basket/items/remove
    www.example.org/contact-us/locations mail.google.com/attachments api.payments.example.net static.shop.example.de
    application/json text/html;charset=utf-8 multipart/form-data application/problem+json image/svg+xml
    responsibilities internationalization antidisestablishmentarianism incomprehensibilities uncharacteristically
    counterrevolutionaries misunderstanding acknowledgements characteristically disproportionately
    straightforwardness telecommunications interdisciplinary recommendations congratulations
    unconstitutional extraordinarily professionalism notwithstanding entrepreneurship
    Donaudampfschifffahrtsgesellschaft Rechtsschutzversicherung Geschwindigkeitsbegrenzung Bundesverfassungsgericht
    Krankenversicherungsbeitrag Arbeitsunfaehigkeitsbescheinigung Zahlungsempfaenger Kreditkarteninstitut
    Kraftfahrzeughaftpflichtversicherung Wirtschaftspruefungsgesellschaft Wohnungseigentumsgesetz Lieferadresse
    Umsatzsteuervoranmeldung Grundstuecksverkehrsgenehmigung Lebensversicherungsgesellschaft Verkehrsinfrastruktur
    Sicherheitsabfrage Datenschutzgrundverordnung Widerrufsbelehrung Mehrwertsteuersatz Rechnungsnummer
    Haftpflichtversicherung Jahreshauptversammlung Qualitaetssicherung Bestellbestaetigung Rueckerstattung
    Fussballweltmeisterschaft Strassenbahnhaltestelle Nahrungsmittelunvertraeglichkeit Betriebskostenabrechnung
    Schadensersatzanspruch Versandkostenpauschale Gewaehrleistungsfrist Kontoueberziehung Steueridentifikation
    responsabilidades desafortunadamente anticonstitutionnellement remboursement confirmation-de-commande
    direccion_de_facturacion numero_de_telefono metodo_de_pago contrasena_incorrecta pedido_enviado
    betaling_mislukt bezorgadres indirizzo_di_spedizione ordine_annullato fattura_elettronica
    Elasticsearch PostgreSQLDatabaseError MongoConnectionFailure RedisClusterDown KafkaBrokerNotAvailable
    MasterCardSecureCode AmericanExpressPlatinum VisaElectronDebit PayPalExpressCheckout KlarnaPayLater
    FreeStandardDelivery NextDayExpressShipping ClickAndCollect SaturdayMorningDelivery InternationalTracked
    AmsterdamCentraal Wolfenbuettel Aschaffenburg Northamptonshire Newfoundland Massachusetts Liechtenstein
    ElizabethMontgomery ChristopherWilliams AlexanderHamilton KatharinaSchmidt FrancescaBianchi
    sha256WithRSAEncryption base64EncodedPayload oauth2AuthorizationServer ISO8601TimestampFormat UTF8EncodingRequired
    X509CertificateExpired http2StreamReset Windows10Professional version2BetaProgramme covid19TestCertificate
";

fn words() -> Vec<&'static str> {
    WORDS.split_whitespace().collect()
}

/// `SplitMix64`: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn token(&mut self, alphabet: &[u8], length: usize) -> String {
        let character = |_| char::from(alphabet[self.below(alphabet.len())]);
        (0..length).map(character).collect()
    }
}

/// The usual alphabets of tokens: base64 in both kinds, base62, base58, base36 and base32 in both cases, Crockford's.
const ALPHABETS: [(&str, &[u8]); 8] = [
    (
        "base64url",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ),
    (
        "base64",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    ),
    (
        "base62",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    ),
    (
        "base58",
        b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    ),
    ("base36", b"0123456789abcdefghijklmnopqrstuvwxyz"),
    ("base32", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    ("base32 in lower case", b"abcdefghijklmnopqrstuvwxyz234567"),
    ("Crockford's base32", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
];
const LENGTHS: [usize; 9] = [16, 17, 20, 21, 22, 27, 32, 43, 64];

type Around = fn(&str) -> String;
/// Where tokens stand in texts, and a prefix of ids.
const AROUND: [Around; 5] = [
    |token| format!("Bearer {token}"),
    |token| format!("sid={token}; Path=/; HttpOnly"),
    |token| {
        format!(
            "sid={}; Path=/",
            token.replace('+', "%2B").replace('/', "%2F")
        )
    },
    |token| format!("https://a.example/reset?t={token}==&lang=de"),
    |token| format!("cus_{token}"),
];

fn shape(one: &str, two: &str) -> Shape {
    Shape::of_sides(Part::Header, &Side::value(one), &Side::value(two))
}

/// A wrong shape in one of a million pairs of tokens: that many are tried in an optimized build (tests/long), and all of each
/// alphabet and length count as one.
#[test]
fn random_tokens_in_texts_are_of_one_pattern_whatever_they_happen_to_be() {
    let pairs = if cfg!(debug_assertions) { 400 } else { 200_000 };
    let pattern: Shape = "pattern→pattern".parse().expect("a label");
    let mut random = Random(7);
    let (mut wrong, mut tried) = (Vec::new(), 0_u64);
    for (name, alphabet) in ALPHABETS {
        for length in LENGTHS {
            for around in AROUND {
                for _ in 0..pairs {
                    let (one, two) = (
                        around(&random.token(alphabet, length)),
                        around(&random.token(alphabet, length)),
                    );
                    tried += 1;
                    if shape(&one, &two) != pattern {
                        wrong.push(format!("{name} {length}: {one} {two}"));
                    }
                }
            }
        }
    }
    let most = tried / 1_000_000;
    assert!(
        wrong.len() as u64 <= most,
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn words_are_no_tokens() {
    let words = words();
    assert!(words.len() >= 200, "{}", words.len());
    for word in &words {
        assert_ne!(reading(word), Reading::Random, "{word}");
    }
    let text: Shape = "text→text".parse().expect("a label");
    for one in &words {
        for two in words.iter().filter(|two| *two != one) {
            let texts = [one, two].map(|word| format!("Bearer {word}"));
            assert_eq!(shape(&texts[0], &texts[1]), text, "{one} {two}");
        }
    }
}

#[test]
fn a_word_in_the_place_of_a_token_is_told() {
    let mut random = Random(11);
    let (mut told, mut tried) = (0, 0);
    for word in words() {
        for (_, alphabet) in ALPHABETS {
            let token = random.token(alphabet, word.len());
            let texts = [token, word.to_owned()].map(|text| format!("Bearer {text}"));
            tried += 1;
            told += u32::from(shape(&texts[0], &texts[1]).to_string() == "text→text");
        }
    }
    // The rest is short or unusual. It is told if it repeats: that is what constants are looked for by.
    assert!(told * 4 >= tried * 3, "{told} of {tried}");
}

#[test]
fn what_is_no_token_of_the_same_kind_is_told() {
    let token = "Bearer Kq_d2LxTvBzWnRgHcJsMpYfe";
    for other in [
        "Bearer invalid or expired",
        "Bearer ",
        "Bearer",
        "Bearer Kq_d2LxTv",
        "Bearer PAYMENT_METHOD_DECLINED",
        "Basic Vw_x9QzRtPkLmNbXcFdGhJsWq",
        "Bearer \u{fffd}",
    ] {
        let shape = shape(token, other).to_string();
        assert!(shape.starts_with("text→"), "{other}: {shape}");
    }
    // What stands between two tokens is looked at.
    for (one, two) in [
        (
            "/Kq8d2LxTvBzWnRg/paid/HcJsMpYfe7Wq",
            "/Vw3x9QzRtPkLmNb/open/XcFdGhJ5sWqz",
        ),
        ("paid-KqKdXLxTvBzWnRgHcJsM-x", "open-VwDxSQzRtPkLmNbXcFdG-x"),
    ] {
        let texts = [one, two].map(|text| format!("at {text}"));
        assert_eq!(shape(&texts[0], &texts[1]).to_string(), "text→text");
    }
}
