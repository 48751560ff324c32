//! The words that make a name secret, and those beside which they are harmless.

use super::letters;

/// Secret wherever they stand in a name, also within words that are written together (`dbpassword1`).
pub(super) const CONTAINED: &[&[u8]] = &[
    b"password",
    b"passwort",
    b"kennwort",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"passkey",
    b"pwd",
    b"secret",
    b"credential",
    b"authorization",
    b"bearer",
    b"jwt",
    b"apikey",
    b"privatekey",
    b"secretkey",
    b"accesskey",
    b"sessionkey",
    b"signingkey",
    b"encryptionkey",
    b"masterkey",
    b"sessionid",
    b"sessid",
    b"sessiontoken",
    b"authtoken",
    b"cardnumber",
    b"securitycode",
    b"verificationcode",
    b"recoverycode",
    b"backupcode",
    b"pincode",
    b"onetimecode",
    b"recoveryphrase",
    b"seedphrase",
    b"connectionstring",
    b"passwrd",
    b"psswrd",
    b"mnemonic",
    b"maidenname",
    b"securityanswer",
    b"magiclink",
    // German, Spanish and Catalan, French, Portuguese, Dutch, Swedish, Finnish, Danish, Vietnamese.
    b"geheim",
    b"zugangsdaten",
    b"zugangscode",
    b"contrasen",
    b"motdepasse",
    b"palavrapasse",
    b"wachtwoord",
    b"losenord",
    b"salasana",
    b"adgangskode",
    b"matkhau",
];
/// The same in other alphabets, whose words are written together or parted by what is dropped.
pub(super) const FOREIGN: &[&str] = &[
    "пароль",
    "пароли",
    "секрет",
    "токен",
    "лозинка",
    "парола",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "암호",
    "סיסמה",
    "كلمةالمرور",
    "كلمةالسر",
    "συνθηματικό",
    "κωδικός",
];
/// The letters of each, so that nearly every name is done with after one operation for each word.
pub(super) const CONTAINED_LETTERS: [u32; CONTAINED.len()] = {
    let mut all = [0; CONTAINED.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = letters(CONTAINED[at]);
        at += 1;
    }
    all
};
/// Secret as a word of a name, unless its last word is one of [`TAILS`].
pub(super) const WORDS: &[&[u8]] = &[
    b"assertion",
    b"auth",
    b"clave",
    b"cookie",
    b"cred",
    b"csc",
    b"csrf",
    b"cvc",
    b"cvn",
    b"cvv",
    b"haslo",
    b"heslo",
    b"jelszo",
    b"kodeord",
    b"lozinka",
    b"mdp",
    b"otp",
    b"pan",
    b"parola",
    b"passord",
    b"pin",
    b"puk",
    b"senha",
    b"sid",
    b"sifre",
    b"signature",
    b"ssn",
    b"totp",
    b"xsrf",
];
/// Secret as the whole name only.
pub(super) const WHOLE: &[&[u8]] = &[b"pass", b"session", b"sess", b"sig"];
/// What is said of a secret and is none.
pub(super) const TAILS: &[&[u8]] = &[
    b"algorithm",
    b"at",
    b"budget",
    b"count",
    b"enabled",
    b"expiration",
    b"expiry",
    b"in",
    b"length",
    b"limit",
    b"method",
    b"mode",
    b"policy",
    b"provider",
    b"required",
    b"scheme",
    b"ttl",
    b"type",
    b"usage",
];
/// Beside `tokens`: what a language model counts.
pub(super) const COUNTED: &[&[u8]] = &[
    b"audio",
    b"cached",
    b"completion",
    b"consumed",
    b"input",
    b"max",
    b"min",
    b"num",
    b"output",
    b"per",
    b"prompt",
    b"reasoning",
    b"remaining",
    b"total",
    b"used",
];
/// Before `key`: what a key opens or signs.
pub(super) const KEY_OF: &[&[u8]] = &[
    b"access",
    b"account",
    b"activation",
    b"aes",
    b"api",
    b"app",
    b"application",
    b"auth",
    b"client",
    b"consumer",
    b"crypto",
    b"decryption",
    b"deploy",
    b"encryption",
    b"gpg",
    b"hmac",
    b"host",
    b"integration",
    b"licence",
    b"license",
    b"master",
    b"pgp",
    b"private",
    b"rsa",
    b"secret",
    b"security",
    b"server",
    b"service",
    b"session",
    b"shared",
    b"signature",
    b"signing",
    b"ssh",
    b"ssl",
    b"storage",
    b"subscription",
    b"symmetric",
    b"tls",
    b"webhook",
];
/// Before `code`: what proves who somebody is.
pub(super) const CODE_OF: &[&[u8]] = &[
    b"access",
    b"activation",
    b"auth",
    b"backup",
    b"device",
    b"fa",
    b"mfa",
    b"otp",
    b"pass",
    b"pin",
    b"recovery",
    b"reset",
    b"security",
    b"sms",
    b"verification",
];
/// Before `pass` as the last word: what is no password.
pub(super) const PASS_OF: &[&[u8]] = &[b"boarding", b"by", b"day", b"season", b"ski", b"test"];

/// Three letters of every word above, at the least: a name without any of them, which is nearly every one, is done with
/// in a few nanoseconds.
pub(super) const STEMS: &[[u8; 3]] = &[
    *b"aro", *b"asa", *b"asl", *b"ass", *b"aut", *b"bea", *b"car", *b"cod", *b"con", *b"coo",
    *b"cre", *b"csc", *b"csr", *b"cvc", *b"cvn", *b"cvv", *b"dga", *b"eno", *b"esl", *b"geh",
    *b"gic", *b"htw", *b"ifr", *b"jwt", *b"ken", *b"key", *b"kod", *b"lav", *b"lsz", *b"mdp",
    *b"mne", *b"nha", *b"nna", *b"otp", *b"ozi", *b"pan", *b"pas", *b"phr", *b"pin", *b"puk",
    *b"pwd", *b"sec", *b"ses", *b"sid", *b"sig", *b"ssn", *b"ssw", *b"tkh", *b"tok", *b"xsr",
    *b"zug",
];
/// By first letter, the second ones that begin a stem.
pub(super) const PAIRS: [u32; 32] = {
    let mut pairs = [0; 32];
    let mut at = 0;
    while at < STEMS.len() {
        pairs[(STEMS[at][0] & 31) as usize] |= 1 << (STEMS[at][1] & 31);
        at += 1;
    }
    pairs
};
/// What a word ends with that is a short form of `password`: `dbpw`. No word of a language does.
pub(super) const SHORT_PASSWORD: &[u8] = b"pw";
/// Names that are secret wherever they are said, with nothing else in them; in small letters, written together.
pub(super) const EXACT: &[&[u8]] = &[
    b"accesskey",
    b"apikey",
    b"authorization",
    b"authtoken",
    b"cardnumber",
    b"contrasena",
    b"credential",
    b"cvc",
    b"cvv",
    b"haslo",
    b"jwt",
    b"kennwort",
    b"losenord",
    b"mdp",
    b"motdepasse",
    b"otp",
    b"passcode",
    b"passphrase",
    b"passwd",
    b"password",
    b"passwort",
    b"pincode",
    b"privatekey",
    b"pw",
    b"pwd",
    b"recoverycode",
    b"salasana",
    b"secret",
    b"secretkey",
    b"securitycode",
    b"senha",
    b"sessionid",
    b"sessionkey",
    b"setcookie",
    b"signingkey",
    b"ssn",
    b"verificationcode",
    b"wachtwoord",
];
/// Before a secret word, what says whose it is or of which kind. `token` is exact behind one of them only, because alone
/// it names many other things.
pub(super) const QUALIFIERS: &[&[u8]] = &[
    b"access",
    b"account",
    b"admin",
    b"api",
    b"auth",
    b"aws",
    b"bearer",
    b"card",
    b"client",
    b"confirm",
    b"current",
    b"database",
    b"db",
    b"id",
    b"login",
    b"new",
    b"old",
    b"proxy",
    b"refresh",
    b"repeat",
    b"reset",
    b"root",
    b"security",
    b"session",
    b"shared",
    b"user",
    b"x",
];
