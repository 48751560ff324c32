//! Names and tokens that are secret, and those that are not.

use super::lists::*;
use super::*;

#[test]
fn secret_names_are_known_by_their_words() {
    let names = "
        password Password user_password passwords password_confirmation passwordHash PasswordHash PASSWORD_2
        dbpassword1 passWord pass-word p.a.s.s.w.d db_pass pass passwd pwd userPwd clientSecret secrets
        token tokens accessToken accessTokenV2 access_token_2 refresh_token id_token x-csrf-token tokenValue
        accesstokenvalue a-very-long-prefixed-refresh_token API-Key apiKey APIKeys x-api-key api_keys private_key
        session_key aws_access_key_id AWSSecretAccessKey signing.key ssh-key pin PIN PINs pins pin_code pinCode
        userPIN otp totp_code cvv cvv2 cvc auth X-Auth basic_auth bearer credentials sid connect.sid session
        sessionId session-id JSESSIONID PHPSESSID set-cookie cookies Authorization proxy_authorization ssn sig
        signature X-Amz-Signature verification_code recoveryCodes 2fa_code wsse:Password user[password][]
        ｐａｓｓｗｏｒｄ $password @token seed_phrase pw PW user_pw userPw dbpw cred creds clave passphrase
        Passwort kennwort contraseña Contrasena senha motDePasse mot_de_passe mdp wachtwoord lösenord hasło
        parola salasana şifre heslo mật_khẩu пароль Пароль_2 密码 密碼 口令 パスワード ﾊﾟｽﾜｰﾄﾞ 비밀번호
        pаsswоrd ρassword ТОКЕN paßwort passw0rd psk wpa_psk preSharedKey pre-shared-key presharedkey code_verifier
        passw sms_code smsCode enrollment_key wifiKey cert_key keystore pem community_string samlResponse
        invitation_code codeVerifier seed_words walletSeed recovery_seed _wpnonce paymentMethodNonce conn_str connectionString";
    for name in names.split_whitespace() {
        assert!(is_secret_name(name), "{name} is secret");
    }
}

#[test]
fn harmless_names_stay_harmless() {
    let names = "
        id name key keys value primary_key sortKey sort_key foreign-key cache_key keyboard keyword monkey turkey
        key_id public_key idempotency_key i18n_key pinned pinterest spin shipping tokens_used max_tokens
        prompt_tokens totalTokens tokenizer tokenized_at token_type token_count passenger passed compass
        boarding_pass bypass sessions session_count author authority authors secretary secretariat country_code
        zip_code code status_code order balance users transactions accounts iban signal design
        company span pandas oauth2 v1 address2 pwa upward has_location the_slot is_enhanced pass_order
        credits created café übersicht цена 名称 パン seed nonce random_seed seeds code_challenge announcement see
        non_null dsn dna_seed
        community sample_response product_key rememberMe pepper temperature invitation invited_by enrollment
        keystore_type itemKey wifi certificate";
    for name in names.split_whitespace() {
        assert!(!is_secret_name(name), "{name} is harmless");
    }
    for name in ["", "_", "42", "€"] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn an_exact_name_says_nothing_else() {
    for name in [
        "password",
        "newPassword",
        "X-Api-Key",
        "client_secret",
        "refresh-token",
        "Set-Cookie",
        "Proxy-Authorization",
        "пароль",
        "Contraseña",
        "pw",
    ] {
        assert!(is_exactly_secret(name), "{name}");
    }
    for name in [
        "password_changed",
        "invalid_token",
        "token",
        "auth",
        "session",
        "auth-service",
        "your password is wrong",
        "bearer",
        "user",
        "",
    ] {
        assert!(!is_exactly_secret(name), "{name}");
    }
}

#[test]
fn every_secret_word_has_a_stem() {
    let others: &[&[u8]] = &[b"token", b"key", b"code", b"session"];
    for word in [CONTAINED, WORDS, WHOLE, others].concat() {
        let word = std::str::from_utf8(word).expect("ASCII");
        assert!(may_be_secret(word), "{word}");
    }
}

#[test]
fn tokens_are_told_from_words_and_ids() {
    for token in [
        "kjhqwexzvbnmasdfghjkl",
        "dGhpc0lzQVRva2VuRm9yWW91",
        "xkcdqwrtzpvbnmlkjhg",
        "aGVsbG8td29ybGQtdGhpcy1pcy1h",
        "QWERTZXCVBNMASDFGHJKL",
        "tok_hZrqTbLwXnKcVpMsDfGj",
    ] {
        assert!(is_token(token), "{token} is a token");
    }
    let harmless = "
        users 42 3fa85f64-5717-4562-b3fc-2c963f66afa6 507f1f77bcf86cd799439011 01HZXK7E4C9JQ5V2M8T3R6W1YB
        da39a3ee5e6b4b0d3255bfef95601890afd80709 this-is-a-long-slug-for-a-post internationalization
        getCustomerAccountDetails notificationpreferences authenticationproviders transactionhistoryexport
        subscriptionmanagement telecommunications misunderstandings configurationmanagement order-10023
        passwordresetconfirmation UserAuthenticationController";
    for segment in harmless.split_whitespace() {
        assert!(!is_token(segment), "{segment} is no token");
    }
}
