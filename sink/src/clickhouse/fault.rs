//! Classification of server errors: retry, give up, or find the rows at fault.
//!
//! The server identifies errors by code; the codes are part of its interface and do not change. A code in none of the
//! lists below counts as transient: a needless retry is visible in metrics and logs, while wrongly stopping or
//! discarding a record is hard to repair.

use std::fmt;

use crate::error::StoreError;
use crate::url::ClickHouseUrl;

/// Longest error message that is kept: some messages of the server contain whole rows.
const MAX_MESSAGE_BYTES: usize = 500;

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It may pass: network, overload, a server that starts or stops, a full disk.
    Transient,
    /// Every insert will fail until somebody fixes the cause.
    Permanent,
    /// One or more of the rows are at fault.
    Data,
}

/// Errors that somebody must fix: names, rights, versions.
const PERMANENT: &[(u32, &str)] = &[
    (16, "NO_SUCH_COLUMN_IN_TABLE"),
    (36, "BAD_ARGUMENTS"),
    (44, "ILLEGAL_COLUMN"),
    (46, "UNKNOWN_FUNCTION"),
    (47, "UNKNOWN_IDENTIFIER"),
    (48, "NOT_IMPLEMENTED"),
    (53, "TYPE_MISMATCH"),
    (60, "UNKNOWN_TABLE"),
    (62, "SYNTAX_ERROR"),
    (81, "UNKNOWN_DATABASE"),
    (115, "UNKNOWN_SETTING"),
    (192, "UNKNOWN_USER"),
    (193, "WRONG_PASSWORD"),
    (194, "REQUIRED_PASSWORD"),
    (195, "IP_ADDRESS_NOT_ALLOWED"),
    (497, "ACCESS_DENIED"),
    (516, "AUTHENTICATION_FAILED"),
    (701, "CLUSTER_DOESNT_EXIST"),
];

/// Errors of the inserted data.
const DATA: &[(u32, &str)] = &[
    (6, "CANNOT_PARSE_TEXT"),
    (27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED"),
    (32, "ATTEMPT_TO_READ_AFTER_EOF"),
    (33, "CANNOT_READ_ALL_DATA"),
    (41, "CANNOT_PARSE_DATETIME"),
    (69, "ARGUMENT_OUT_OF_BOUND"),
    (70, "CANNOT_CONVERT_TYPE"),
    (72, "CANNOT_PARSE_NUMBER"),
    (117, "INCORRECT_DATA"),
    (128, "TOO_LARGE_ARRAY_SIZE"),
    (131, "TOO_LARGE_STRING_SIZE"),
    (190, "SIZES_OF_ARRAYS_DONT_MATCH"),
    (349, "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN"),
    (376, "CANNOT_PARSE_UUID"),
    (469, "VIOLATED_CONSTRAINT"),
];

/// Codes with a message of their own for the user.
const UNKNOWN_TABLE: u32 = 60;
const UNKNOWN_DATABASE: u32 = 81;
const LOGIN: &[u32] = &[192, 193, 194, 195, 497, 516];

/// An error of a server, or on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What to do about it.
    pub(crate) class: Class,
    /// The server's error code; `None` if the server sent none.
    pub(crate) code: Option<u32>,
    /// Whether the server answered at all.
    reached: bool,
    /// The error message, truncated.
    pub(crate) message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl From<clickhouse::error::Error> for Fault {
    fn from(error: clickhouse::error::Error) -> Self {
        use clickhouse::error::Error;
        match error {
            Error::BadResponse(text) => {
                let code = code(&text);
                Self {
                    class: code.map_or(Class::Transient, class_of),
                    code,
                    reached: code.is_some(),
                    message: tidy(&text),
                }
            }
            Error::Network(source) => Self {
                class: Class::Transient,
                code: None,
                reached: false,
                message: tidy(&chain(&*source)),
            },
            Error::TimedOut => Self {
                class: Class::Transient,
                code: None,
                reached: false,
                message: "no answer in time".to_owned(),
            },
            // Other errors mean that the crate did not understand the answer: another kind of server, or a bug.
            other => Self {
                class: Class::Transient,
                code: None,
                reached: true,
                message: tidy(&chain(&other)),
            },
        }
    }
}

impl Fault {
    /// Whether the table or the database does not exist.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.code, Some(UNKNOWN_DATABASE | UNKNOWN_TABLE))
    }

    /// The error for the user: where, what was tried, what the server said, what to do.
    pub(crate) fn to_store_error(&self, url: &ClickHouseUrl, action: &'static str) -> StoreError {
        let url = url.clone();
        let message = self.message.clone();
        match self.code {
            None if !self.reached => StoreError::Unreachable { url, message },
            Some(UNKNOWN_DATABASE | UNKNOWN_TABLE) => StoreError::NoTables { url, message },
            Some(code) if LOGIN.contains(&code) => StoreError::Refused { url, message },
            _ => StoreError::Server {
                url,
                action,
                message,
            },
        }
    }
}

fn class_of(code: u32) -> Class {
    let listed = |list: &[(u32, &str)]| list.iter().any(|(known, _)| *known == code);
    if listed(PERMANENT) {
        Class::Permanent
    } else if listed(DATA) {
        Class::Data
    } else {
        Class::Transient
    }
}

/// The code in `Code: 60. DB::Exception: …`, or the whole text if it is just a number.
fn code(text: &str) -> Option<u32> {
    let rest = match text.find("Code: ") {
        Some(at) => text.get(at + "Code: ".len()..)?,
        None => text,
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..digits)?.parse().ok()
}

/// The text as one line of bounded length.
fn tidy(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() > MAX_MESSAGE_BYTES {
        line.truncate(line.floor_char_boundary(MAX_MESSAGE_BYTES));
        line.push('…');
    }
    line
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        // Many errors repeat their source in their own text.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Fault {
        clickhouse::error::Error::BadResponse(text.to_owned()).into()
    }

    #[test]
    fn the_number_decides() {
        for (text, code, class) in [
            (
                "Code: 60. DB::Exception: Table x.y does not exist. (UNKNOWN_TABLE)",
                Some(60),
                Class::Permanent,
            ),
            (
                "Code: 252. DB::Exception: Too many parts",
                Some(252),
                Class::Transient,
            ),
            (
                "Code: 469. DB::Exception: Constraint `c`",
                Some(469),
                Class::Data,
            ),
            ("516", Some(516), Class::Permanent),
            ("<html>502 Bad Gateway</html>", None, Class::Transient),
            ("", None, Class::Transient),
            ("Code: 99999999999999", None, Class::Transient),
        ] {
            let fault = of(text);
            assert_eq!((fault.code, fault.class), (code, class), "{text}");
        }
    }

    #[test]
    fn a_message_is_one_bounded_line() {
        let fault = of(&format!("Code: 6. a\nb\u{1b}[31m {}", "é".repeat(1_000)));
        assert!(!fault.message.contains(['\n', '\u{1b}']));
        assert!(fault.message.len() <= MAX_MESSAGE_BYTES + '…'.len_utf8());
    }

    #[test]
    fn no_number_is_in_two_lists() {
        for (code, name) in PERMANENT {
            assert!(!DATA.iter().any(|(other, _)| other == code), "{name}");
        }
    }
}
