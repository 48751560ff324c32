//! The processes that came of this one: its children, theirs, and what was left behind by any of them.
//!
//! A process that makes itself independent (a session of its own, a parent that has ended) leaves its group, so a signal to a
//! group does not reach it. On Linux a *subreaper* inherits such orphans instead of the first process of the system, so all that
//! came of it can be found by their parents. Elsewhere only the group is known.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use rustix::process::{Pid, Signal};

/// Inherits orphans from now on, where the system can do that.
pub(crate) fn inherit_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "what makes itself independent of its command cannot be found");
    }
}

/// A process that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// As the system calls it: up to 15 characters, chosen by the process.
    pub(crate) name: String,
    parent: i32,
}

/// All that came of this process and lives. Zombies do not.
pub(crate) fn descendants() -> Vec<Process> {
    of(rustix::process::getpid().as_raw_nonzero().get(), all())
}

/// All that came of a command that this process has started in a group of its own.
#[cfg(target_os = "linux")]
pub(crate) fn of_command(_group: Pid) -> Vec<Process> {
    descendants()
}

/// The same where no orphans are inherited: the group, as if it were one process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_command(group: Pid) -> Vec<Process> {
    let lives = rustix::process::test_kill_process_group(group).is_ok();
    let process = || Process {
        pid: group,
        name: "its group".to_owned(),
        parent: 0,
    };
    lives.then(process).into_iter().collect()
}

/// Sends a signal to one of [`of_command`].
pub(crate) fn signal(process: &Process, signal: Signal) {
    // One that is gone by now needs none; one that belongs to somebody else is still there at the next look.
    #[cfg(target_os = "linux")]
    let _gone = rustix::process::kill_process(process.pid, signal);
    #[cfg(not(target_os = "linux"))]
    let _gone = rustix::process::kill_process_group(process.pid, signal);
}

/// The TCP ports on which any of what came of a process listens, as far as the system tells.
pub(crate) fn listening(root: Pid) -> BTreeSet<u16> {
    let mut sockets = HashSet::new();
    for process in of(root.as_raw_nonzero().get(), all()) {
        let files = Path::new("/proc").join(process.pid.to_string()).join("fd");
        let files = std::fs::read_dir(files).into_iter().flatten();
        sockets.extend(files.filter_map(|file| {
            let target = std::fs::read_link(file.ok()?.path()).ok()?;
            let number = target.to_str()?.strip_prefix("socket:[")?;
            number.strip_suffix(']')?.parse::<u64>().ok()
        }));
    }
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().filter_map(listener).collect::<Vec<_>>())
        .filter(|(_, socket)| sockets.contains(socket))
        .map(|(port, _)| port)
        .collect()
}

/// The port and the number of a socket that listens, from a line of the system's table.
fn listener(line: &str) -> Option<(u16, u64)> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, _, LISTENS, _, _, _, _, _, socket, ..] = fields.as_slice() else {
        return None;
    };
    let (_, port) = local.rsplit_once(':')?;
    Some((u16::from_str_radix(port, 16).ok()?, socket.parse().ok()?))
}

/// Those whose parents lead to `root`.
fn of(root: i32, all: Vec<Process>) -> Vec<Process> {
    let mut children = HashMap::<i32, Vec<Process>>::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // Removed, so that a table that changes while it is read cannot lead in a circle.
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid.as_raw_nonzero().get());
            found.push(child);
        }
    }
    found
}

/// Every process that can be seen; none where the system does not tell it so.
fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(read).collect()
}

fn read(pid: i32) -> Option<Process> {
    // The name may hold any bytes.
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// `pid (name) state parent …`; the name may hold brackets and spaces, so its end is the last bracket.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process {
        pid: Pid::from_raw(pid)?,
        name: name.to_owned(),
        parent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        parse(pid, &format!("{pid} (a) S {parent} 1 1")).expect("a process")
    }

    #[test]
    fn a_name_is_the_process_s_own_and_a_zombie_does_not_live() {
        let odd = parse(7, "7 (a) R 1 (b c) S 3 7 7 0").expect("a process");
        assert_eq!((odd.name.as_str(), odd.parent), ("a) R 1 (b c", 3));
        assert_eq!(parse(7, "7 (a) Z 3 7 7 0"), None);
        for cut in ["", "7", "7 (a", "7 (a)", "7 (a) S", "7 (a) S x"] {
            assert_eq!(parse(7, cut), None, "{cut}");
        }
    }

    #[test]
    fn a_socket_that_listens_has_a_port() {
        let line = "  1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 47 1 0 100 0 0 10 0";
        assert_eq!(listener(line), Some((8080, 47)));
        let connected = line.replace(" 0A ", " 01 ");
        for other in [&*connected, "", "  sl  local_address rem_address   st"] {
            assert_eq!(listener(other), None, "{other}");
        }
    }

    #[test]
    fn those_of_others_are_none_of_ours_and_a_circle_ends() {
        let all = vec![
            process(2, 1),
            process(3, 2),
            process(4, 3),
            process(9, 1),
            process(20, 21),
            process(21, 20),
        ];
        let mut found: Vec<i32> = of(2, all.clone())
            .iter()
            .map(|one| one.pid.as_raw_nonzero().get())
            .collect();
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
        assert_eq!(of(20, all).len(), 2);
    }
}
