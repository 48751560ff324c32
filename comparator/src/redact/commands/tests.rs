//! Which words of a command line are passwords.

use super::*;

#[test]
fn a_password_is_one_only_behind_a_program_that_takes_it_so() {
    let found = |text: &str| {
        let spans = passwords(text).into_iter();
        spans
            .map(|span| text.get(span).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    for (text, password) in [
        ("mysql -uroot -pHUNTER2 shop", "HUNTER2"),
        (
            "$ /usr/bin/mysqldump -u root -p'HUN TER2' shop > x.sql",
            "'HUN TER2'",
        ),
        ("cd /x; mariadb-admin -pHUNTER2 ping", "HUNTER2"),
        ("sshpass -p HUNTER2 ssh -p 2222 ada@host", "HUNTER2"),
        ("sshpass -pHUNTER2 scp -P 22 a b", "HUNTER2"),
        ("mongodump -u ada -p HUNTER2", "HUNTER2"),
        ("redis-cli -h h -a HUNTER2 ping", "HUNTER2"),
        ("sqlcmd -S h -U sa -P HUNTER2", "HUNTER2"),
        ("mysql -p'HUNTER2", "'HUNTER2"),
        ("sh -c \"mysql -uroot -pHUNTER2 shop\"", "HUNTER2"),
        ("cmd=\"mysqldump -pHUNTER2 shop\"", "HUNTER2"),
        ("mysql \"-pHUNTER2\"", "HUNTER2"),
        ("don't run mysql -pHUNTER2, it isn't safe", "HUNTER2,"),
        ("mysql -p'ab;HUNTER2' x", "'ab;HUNTER2'"),
        ("mysql -uroot \\\n -pHUNTER2", "HUNTER2"),
        ("mysql -e 'select 1; select 2' -pHUNTER2", "HUNTER2"),
    ] {
        assert!(
            found(text).contains(&password.to_owned()),
            "{text}: {:?}",
            found(text)
        );
    }
    for text in [
        "mysql -u root -p shop",
        "mysql -P 3306 --port=3306 shop",
        "ssh -p 2222 ada@host",
        "docker run -p 8080:80 mysql",
        "mkdir -p a/b; echo mysql",
        "mysql",
        "mysql ",
        "sshpass -p",
        "mysql\nssh -pX",
        "the mysql server listens on port 3306",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}
