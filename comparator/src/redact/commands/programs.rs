//! The programs that take a password on their command line, and how each of them does.

/// How a program takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `-pSECRET`; what follows `-p ` is something else.
    Joined,
    /// `-p SECRET`, and `-pSECRET`, too.
    Either,
    /// `-k SECRET`; what is joined to it is another option.
    Apart,
    /// `-u user:SECRET`, also joined.
    Login,
    /// `-U user%SECRET`, also joined.
    Percent,
    /// `--from-literal=name=SECRET`, also apart.
    Pair,
}

impl Form {
    /// Where the secret begins in the value of the option.
    pub(super) fn secret_in(self, value: &str) -> Option<usize> {
        match self {
            Self::Joined | Self::Either | Self::Apart => (!value.is_empty()).then_some(0),
            Self::Login => value.contains(':').then_some(0),
            Self::Percent => value.find('%').map(|at| at + 1),
            Self::Pair => value.find('=').map(|at| at + 1),
        }
    }
}

/// Where a program takes its password.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Behind one of these options.
    Options(&'static [(&'static str, Form)]),
    /// The same, once this word has been read: `kubectl create secret …`, for other kinds the same option gives no secret.
    After(&'static str, &'static [(&'static str, Form)]),
    /// `htpasswd -b file user SECRET`, and `htpasswd -nb user SECRET`.
    LastOfBatch,
    /// `sqlplus user/SECRET@database`.
    Slash,
    /// `net use Z: \\host\share SECRET`, once this word has been read.
    BehindShare(&'static str),
    /// `vault kv put path name=SECRET`, once one of these words has been read; `vault login SECRET`.
    Pairs(&'static [&'static str]),
}

const MYSQL: Place = Place::Options(&[("-p", Form::Joined)]);
const SMB: Place = Place::Options(&[("-U", Form::Percent), ("--user", Form::Percent)]);
const ZIP: Place = Place::Options(&[("-P", Form::Either)]);
const LOGIN_OF_REGISTRY: Place = Place::After("login", &[("-p", Form::Either)]);
const HTTPIE: Place = Place::Options(&[("-a", Form::Login), ("--auth", Form::Login)]);
const SEVEN_ZIP: Place = Place::Options(&[("-p", Form::Joined)]);
const LDAP: Place = Place::Options(&[("-w", Form::Either)]);

/// A program that a command line calls.
#[derive(Clone, Copy)]
pub(super) struct Called {
    pub(super) place: Place,
    /// Whether its command ends with `;`, a pipe and the like. In a statement that another one is given these are ordinary.
    pub(super) ends: bool,
}

/// Programs by the begin of their names.
const PROGRAMS: [(&str, Place); 20] = [
    ("mysql", MYSQL),
    ("mariadb", MYSQL),
    ("mycli", Place::Options(&[("-p", Form::Either)])),
    ("sshpass", Place::Options(&[("-p", Form::Either)])),
    ("mongo", Place::Options(&[("-p", Form::Either)])),
    ("sqlcmd", Place::Options(&[("-P", Form::Either)])),
    ("redis-cli", Place::Options(&[("-a", Form::Either)])),
    ("ldapsearch", LDAP),
    ("ldapmodify", LDAP),
    (
        "curl",
        Place::Options(&[
            ("-u", Form::Login),
            ("-U", Form::Login),
            ("--user", Form::Login),
            ("--proxy-user", Form::Login),
            ("--cert", Form::Login),
            ("-E", Form::Login),
        ]),
    ),
    ("openssl", Place::After("enc", &[("-k", Form::Apart)])),
    ("smbclient", SMB),
    ("rpcclient", SMB),
    (
        "kubectl",
        Place::After("secret", &[("--from-literal", Form::Pair)]),
    ),
    ("htpasswd", Place::LastOfBatch),
    ("sqlplus", Place::Slash),
    ("docker", LOGIN_OF_REGISTRY),
    ("podman", LOGIN_OF_REGISTRY),
    (
        "keytool",
        Place::Options(&[
            ("-storepass", Form::Apart),
            ("-keypass", Form::Apart),
            ("-srcstorepass", Form::Apart),
            ("-deststorepass", Form::Apart),
        ]),
    ),
    ("ipmitool", ZIP),
];

/// Programs whose names begin or are other words: only the whole name calls them, and only where a command begins.
const WHOLE: [(&str, Place); 9] = [
    ("zip", ZIP),
    ("unzip", ZIP),
    ("net", Place::BehindShare("use")),
    ("http", HTTPIE),
    ("https", HTTPIE),
    ("7z", SEVEN_ZIP),
    ("7za", SEVEN_ZIP),
    ("7zz", SEVEN_ZIP),
    ("vault", Place::Pairs(&["put", "patch", "write"])),
];

/// Directives of a configuration, and options, behind which a password stands: `requirepass SECRET` of Redis, which is no name
/// with a separator.
const DIRECTIVES: [&str; 2] = ["requirepass", "masterauth"];

/// Whether a text may call any of them.
pub(super) fn calls_any(text: &str) -> bool {
    let programs = PROGRAMS.iter().chain(&WHOLE).map(|(name, _)| *name);
    programs.chain(DIRECTIVES).any(|name| text.contains(name))
}

/// Whether a word is a directive whose value is a password.
pub(super) fn is_directive(word: &str) -> bool {
    DIRECTIVES.contains(&word.trim_start_matches('-'))
}

/// Where a program takes its password that a word calls, by whatever path. `begins` says that a command may begin with it.
pub(super) fn program(word: &str, begins: bool) -> Option<Called> {
    let word = word.trim_matches(['"', '\'', '`', '$', '(', '#', '>']);
    let name = word.rsplit(['/', '\\']).next()?;
    // A text with blanks is a sentence about the program, or a command line in itself.
    if name.contains(char::is_whitespace) {
        return None;
    }
    let stem = name.strip_suffix(".exe").unwrap_or(name);
    let mut programs = PROGRAMS.iter();
    let known = programs.find(|(program, _)| name.starts_with(program));
    if let Some((_, place)) = known {
        return Some(Called {
            place: *place,
            ends: false,
        });
    }
    let mut whole = WHOLE.iter().filter(|_| begins);
    let (_, place) = whole.find(|(program, _)| stem == *program)?;
    Some(Called {
        place: *place,
        ends: true,
    })
}
