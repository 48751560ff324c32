//! What a path leads to besides what its steps name, as usual servers find it.
//!
//! Many frameworks take what stands behind the dot of the last step for the format that is wanted (`/logout.json`). A directory is its
//! default document (`/logout/index.php`), and so is a controller its default action (`/Logout/Index`). What follows a script is an argument of the
//! script (`/logout.php/x`), or the path that a front controller routes by (`/index.php/logout`). Which is one is told by its ending, because a dot
//! alone is in versions and domains, too.

use smallvec::{SmallVec, smallvec};

use super::Names;

/// Names of default documents and actions.
const DEFAULTS: [&str; 2] = ["index", "default"];

/// Endings of scripts that a server runs with the rest of a path. Not of `.jsp`, which only the end of a path names.
const SCRIPTS: [&str; 12] = [
    "php", "php5", "php7", "php8", "phtml", "asp", "aspx", "ashx", "asmx", "cgi", "fcgi", "pl",
];

/// All that these steps may lead to, as they are first.
pub(super) fn variants<'a>(names: &[&'a str]) -> impl Iterator<Item = Names<'a>> {
    let mut all: SmallVec<[Names<'a>; 4]> = smallvec![names.into()];
    let is_before_end = |at: &usize| at + 1 < names.len();
    if let Some(at) = names
        .iter()
        .position(|name| is_script(name))
        .filter(is_before_end)
    {
        all.push(names[..=at].into());
        all.push(names[at + 1..].into());
    }
    for at in 0..all.len() {
        all.extend(without_default(&all[at].clone()).map(Names::from));
        all.extend(without_format(&all[at]));
    }
    all.into_iter()
}

/// Without the default document at the end; `None` if there is none.
pub(super) fn without_default<'a, 'n>(names: &'n [&'a str]) -> Option<&'n [&'a str]> {
    let (last, before) = names.split_last()?;
    is_default(last).then_some(before)
}

/// Whether a step is a default document or action, in any format.
pub(super) fn is_default(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    DEFAULTS.contains(&stem)
}

fn is_script(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
}

/// The steps without what stands behind the last dot of the last one; `None` without such a dot.
fn without_format<'a>(names: &[&'a str]) -> Option<Names<'a>> {
    let (last, before) = names.split_last()?;
    let (name, _format) = last.rsplit_once('.')?;
    let name = name.trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return None;
    }
    Some(before.iter().copied().chain([name]).collect())
}
