//! A file of `--report KIND=FILE`: what is wrong with it is known before the work begins, and it is written whole or not at all.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parity_schemas::spelling;
use parity_schemas::visible::visible;
use tempfile::{Builder, NamedTempFile};

use crate::config::problem::{Origin, Problem, Problems};

/// What a new file may be, before the user's mask: other steps of a job read it, often as another user.
const MODE: u32 = 0o666;

/// Form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Json,
    Markdown,
    Html,
    Junit,
}

impl Kind {
    const ALL: [(&str, Self); 5] = [
        ("text", Self::Text),
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
        ("junit", Self::Junit),
    ];

    pub(super) fn as_str(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }
}

/// Where to.
#[derive(Debug)]
pub(super) enum Target {
    /// Standard output.
    Stdout,
    /// A file that may be there already, and is replaced; links to it are followed.
    File(PathBuf),
    /// What is written to as it is: a device or a pipe.
    Device(PathBuf),
}

/// One of them.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) kind: Kind,
    pub(super) target: Target,
}

/// Reads all `KIND=FILE`, and looks whether each can be written.
pub(super) fn destinations(given: &[String]) -> Result<Vec<Destination>, Problems> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    let mut taken: HashMap<PathBuf, &str> = HashMap::new();
    for text in given {
        let checked = one(text).and_then(|destination| {
            let key = match &destination.target {
                Target::Stdout => PathBuf::from("-"),
                Target::File(path) => path.clone(),
                // Several may be written to a device.
                Target::Device(_) => return Ok(destination),
            };
            match taken.insert(key, text) {
                Some(other) => Err((
                    format!("`{text}` is written to the same place as `{other}`"),
                    "give each a file of its own".to_owned(),
                )),
                None => Ok(destination),
            }
        });
        match checked {
            Ok(destination) => found.push(destination),
            Err((message, hint)) => {
                let problem = Problem::new(Origin::Flag("--report"), visible(&message));
                problems.push(problem.hint(visible(&hint)));
            }
        }
    }
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(Problems(problems))
    }
}

/// A page that is asked for by `--html FILE`.
pub(super) fn html(path: &Path) -> Result<Destination, Problems> {
    let found = if path == Path::new("-") {
        Ok(Target::Stdout)
    } else {
        target(path)
    };
    match found {
        Ok(target) => Ok(Destination {
            kind: Kind::Html,
            target,
        }),
        Err((message, hint)) => {
            let problem = Problem::new(Origin::Flag("--html"), visible(&message));
            Err(Problems(vec![problem.hint(visible(&hint))]))
        }
    }
}

/// What is wrong, and what to do.
type Wrong = (String, String);

fn one(text: &str) -> Result<Destination, Wrong> {
    let names: Vec<&str> = Kind::ALL.iter().map(|(name, _)| *name).collect();
    let Some((name, file)) = text.split_once('=') else {
        let message = format!("`{text}` is not KIND=FILE");
        return Err((
            message,
            "write a kind and a file, such as junit=parity.xml".to_owned(),
        ));
    };
    let kind = Kind::ALL.iter().find(|(known, _)| *known == name);
    let Some((_, kind)) = kind else {
        let message = format!("`{text}`: there is no kind `{name}`");
        return Err((message, spelling::hint(name, &names)));
    };
    if file.is_empty() {
        return Err((
            format!("`{text}` names no file"),
            format!("write {name}=FILE, or {name}=- for standard output"),
        ));
    }
    let target = if file == "-" {
        Target::Stdout
    } else {
        target(Path::new(file)).map_err(|(error, hint)| (format!("`{text}`: {error}"), hint))?
    };
    Ok(Destination {
        kind: *kind,
        target,
    })
}

/// Follows links, so that a link stays one, and finds out whether the file can be made. That is tried: permissions say little.
fn target(path: &Path) -> Result<Target, Wrong> {
    let real = path.canonicalize();
    if let Ok(real) = &real {
        match real.metadata() {
            Ok(found) if found.is_dir() => {
                return Err((
                    format!("{} is a directory", path.display()),
                    "name a file in it".to_owned(),
                ));
            }
            Ok(found) if !found.is_file() => return Ok(Target::Device(real.clone())),
            _ => {}
        }
    }
    let Some(name) = path.file_name() else {
        return Err((
            format!("{} names no file", path.display()),
            "name a file in it".to_owned(),
        ));
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let real = real.or_else(|_| parent.canonicalize().map(|parent| parent.join(name)));
    let directory = match &real {
        Ok(real) => real.parent().unwrap_or(Path::new("/")),
        Err(error) => {
            let hint = match error.kind() {
                ErrorKind::NotFound => format!("create it first: mkdir -p {}", parent.display()),
                _ => "name a file in a directory that can be read".to_owned(),
            };
            return Err((
                format!("no file can be made in {}: {error}", parent.display()),
                hint,
            ));
        }
    };
    if let Err(error) = beside(directory) {
        return Err((
            format!("no file can be made in {}: {error}", directory.display()),
            "name a file in a directory that this user may write to".to_owned(),
        ));
    }
    match real {
        Ok(real) => Ok(Target::File(real)),
        Err(error) => Err((error.to_string(), String::new())),
    }
}

/// A file of no name that counts yet. It is removed when it is dropped.
fn beside(directory: &Path) -> std::io::Result<NamedTempFile> {
    Builder::new()
        .prefix(".parity-report-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(directory)
        // Its own error names the temporary file, which says nothing to anybody.
        .map_err(|error| error.raw_os_error().map_or(error, Error::from_raw_os_error))
}

/// Writes a file whole, or leaves what was there.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = beside(directory)?;
    if let Ok(before) = path.metadata() {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file_mut().write_all(text.as_bytes())?;
    // A disk may say only here that it is full.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Writes to what is no file.
pub(super) fn pass_on(path: &Path, text: &str) -> std::io::Result<()> {
    let mut device: File = OpenOptions::new().write(true).open(path)?;
    device.write_all(text.as_bytes())?;
    device.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(given: &[&str]) -> Vec<String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        match destinations(&given) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name).display().to_string();
        let missing = format!("html={}", at("none/x.html"));
        let twice = format!("json={}", at("./one"));
        let wrong = [
            "junit",
            "junt=x.xml",
            "text=",
            "json=/",
            "markdown=-",
            "text=-",
            missing.as_str(),
            &format!("text={}", at("one")),
            &twice,
        ];
        let told = told(&wrong);
        assert_eq!(told.len(), 7, "{told:#?}");
        for (found, part) in told.iter().zip([
            "`junit` is not KIND=FILE",
            "there is no kind `junt`",
            "names no file",
            "is a directory",
            "`text=-` is written to the same place as `markdown=-`",
            "no file can be made in",
            "is written to the same place as `text=",
        ]) {
            assert!(found.contains(part), "{found}\n{part}");
        }
        assert_eq!(place.path().read_dir().expect("readable").count(), 0);
    }

    #[test]
    fn a_file_is_replaced_through_its_link_and_keeps_its_mode() {
        let place = tempfile::tempdir().expect("a directory");
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::fs::write(&file, "before").expect("written");
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink("file", &link).expect("linked");
        let Ok(Target::File(found)) = target(&link) else {
            panic!("it is a file");
        };
        write(&found, "after").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("readable"), "after");
        assert!(link.is_symlink());
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(place.path().read_dir().expect("readable").count(), 2);
    }

    #[test]
    fn a_device_is_written_to_and_stays_one() {
        let Ok(Target::Device(full)) = target(Path::new("/dev/full")) else {
            panic!("it is a device");
        };
        let failed = pass_on(&full, "text").expect_err("it is full");
        assert_eq!(failed.kind(), ErrorKind::StorageFull);
    }
}
