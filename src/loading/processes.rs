//! CPU, memory, open files and threads of the processes of a service, read from the system while it is loaded.
//!
//! What cannot be read is told and never 0. A number of a process may be given to another process when it has ended: the time of the
//! start tells them apart, and what was read of another one does not count.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::config::ProcessSettings;

/// Ticks a second in which Linux tells CPU times to programs; fixed on every architecture that this program is built for.
const TICKS: f64 = 100.0;
/// Samples that are kept: further ones make every second one go. A trend is seen in as many.
const MOST: usize = 4_096;
/// What of a control group's memory is its processes' own, by `memory.stat`: `memory.current` has the page cache besides, which grows with
/// every file that is read or written until the system needs it, and is no leak.
const OWN_MEMORY: [&str; 5] = ["anon", "shmem", "kernel_stack", "pagetables", "sock"];

/// What was read at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// CPU seconds since the start.
    pub(crate) cpu: f64,
    /// Resident bytes.
    pub(crate) memory: f64,
    /// What of them is no page of a file, which the system takes back when it needs room; `None` where it is not told apart.
    pub(crate) anonymous: Option<f64>,
    /// Open files and sockets; `None` where they cannot be counted.
    pub(crate) descriptors: Option<f64>,
    pub(crate) threads: Option<f64>,
}

/// Where the numbers are from, in a word.
#[derive(Clone, Debug)]
pub(crate) enum Watched {
    /// Processes, each with its start.
    Pids(Vec<(u32, u64)>),
    /// The folder of a control group.
    Cgroup(PathBuf),
}

impl Watched {
    /// Looks whether it is there. `None` if nothing is to be watched.
    pub(crate) fn of(settings: &ProcessSettings) -> Result<Option<Self>> {
        let watched = match settings {
            ProcessSettings::Unknown => return Ok(None),
            ProcessSettings::Pids(pids) => {
                let started = pids.iter().map(|pid| Ok((*pid, read_stat(*pid)?.started)));
                Self::Pids(started.collect::<Result<_>>()?)
            }
            ProcessSettings::Cgroup(path) => Self::Cgroup(path.clone()),
        };
        // What cannot be read now is better told before the load than after it.
        watched.sample()?;
        Ok(Some(watched))
    }

    /// This process.
    pub(crate) fn own() -> Option<Self> {
        let pid = std::process::id();
        let started = read_stat(pid).ok()?.started;
        Some(Self::Pids(vec![(pid, started)]))
    }

    pub(crate) fn source(&self) -> &'static str {
        match self {
            Self::Pids(_) => "process",
            Self::Cgroup(_) => "cgroup",
        }
    }

    pub(crate) fn sample(&self) -> Result<Sample> {
        match self {
            Self::Pids(pids) => of_processes(pids),
            Self::Cgroup(path) => of_cgroup(path),
        }
    }
}

fn of_processes(pids: &[(u32, u64)]) -> Result<Sample> {
    let mut all = Sample {
        at: Instant::now(),
        cpu: 0.0,
        memory: 0.0,
        anonymous: Some(0.0),
        descriptors: Some(0.0),
        threads: Some(0.0),
    };
    for (pid, started) in pids {
        let stat = read_stat(*pid)?;
        if stat.started != *started {
            bail!("process {pid} has ended, and another one has its number");
        }
        all.cpu += stat.cpu;
        let (resident, anonymous) = memory(*pid)?;
        all.memory += resident;
        all.anonymous = all.anonymous.zip(anonymous).map(|(sum, own)| sum + own);
        all.threads = all.threads.map(|threads| threads + stat.threads);
        // Of another user's process they cannot be seen.
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok();
        let open = open.map(|files| files.count() as f64);
        all.descriptors = all.descriptors.zip(open).map(|(sum, open)| sum + open);
    }
    Ok(all)
}

struct Stat {
    cpu: f64,
    threads: f64,
    started: u64,
}

fn read_stat(pid: u32) -> Result<Stat> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!("process {pid} has ended, or there is no process {pid}"),
        _ => anyhow!("process {pid} cannot be read: {error}"),
    })?;
    let fields = fields(&text);
    if fields.as_deref().is_some_and(has_ended) {
        bail!("process {pid} has ended");
    }
    let stat = fields.as_deref().and_then(stat);
    stat.ok_or_else(|| anyhow!("{path} is not as Linux writes it"))
}

/// What stands behind the name of the program, which stands in parentheses and may have others in it.
fn fields(text: &str) -> Option<Vec<&str>> {
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().collect())
}

/// A zombie has ended: its numbers stay until somebody asks for its exit code.
fn has_ended(fields: &[&str]) -> bool {
    matches!(fields.first(), Some(&("Z" | "X" | "x")))
}

fn stat(fields: &[&str]) -> Option<Stat> {
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        cpu: (number(11)? + number(12)?) as f64 / TICKS,
        threads: number(17)? as f64,
        started: number(19)?,
    })
}

/// Resident bytes, and those of them that are anonymous.
fn memory(pid: u32) -> Result<(f64, Option<f64>)> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    memory_in(&text).ok_or_else(|| anyhow!("process {pid} has ended"))
}

/// Shared memory has no file to be written back to, so it counts as anonymous.
fn memory_in(status: &str) -> Option<(f64, Option<f64>)> {
    let of = |name: &str| {
        status.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?.strip_prefix(':')?.trim();
            let kib = rest.strip_suffix("kB")?.trim().parse::<f64>().ok()?;
            Some(kib * 1_024.0)
        })
    };
    let anonymous = of("RssAnon").map(|anonymous| anonymous + of("RssShmem").unwrap_or(0.0));
    Some((of("VmRSS")?, anonymous))
}

fn of_cgroup(path: &Path) -> Result<Sample> {
    let read = |name: &str| {
        let file = path.join(name);
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let number = |name: &str| {
        let text = read(name)?;
        let number = text.trim().parse::<f64>();
        number.with_context(|| format!("{} is no number", path.join(name).display()))
    };
    let stat = read("cpu.stat")?;
    let micros = stat.lines().find_map(|line| {
        let number = line.strip_prefix("usage_usec ")?;
        number.trim().parse::<f64>().ok()
    });
    let micros = micros.with_context(|| {
        format!(
            "{} has no usage_usec; is it a control group of version 2?",
            path.join("cpu.stat").display()
        )
    })?;
    Ok(Sample {
        at: Instant::now(),
        cpu: micros / 1e6,
        memory: own_memory(&path.join("memory.stat"), &read("memory.stat")?)?,
        // Pages of files are not in it anyway.
        anonymous: None,
        descriptors: None,
        threads: number("pids.current").ok(),
    })
}

/// The bytes of a control group that are its own.
fn own_memory(path: &Path, stat: &str) -> Result<f64> {
    let of = |wanted: &str| {
        stat.lines().find_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            (name == wanted).then(|| bytes.trim().parse::<f64>().ok())?
        })
    };
    // An older system does not tell all of them apart; without the first one nothing is known.
    if of(OWN_MEMORY[0]).is_none() {
        bail!(
            "{} has no `anon`; is it a control group of version 2?",
            path.display()
        );
    }
    Ok(OWN_MEMORY.iter().filter_map(|name| of(name)).sum())
}

/// Samples without end in bounded memory: as far apart in the end as at the beginning, so that no part of the time counts more.
#[derive(Debug, Default)]
struct Kept {
    samples: Vec<Sample>,
    /// How many there were.
    taken: u64,
    /// How often they were halved: one in two to the power of this stays.
    halved: u32,
}

impl Kept {
    fn take(&mut self, sample: Sample) {
        let every = 1_u64.checked_shl(self.halved).unwrap_or(u64::MAX);
        if self.taken.is_multiple_of(every) {
            self.samples.push(sample);
        }
        self.taken += 1;
        if self.samples.len() == MOST {
            let mut at = 0_usize;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.halved += 1;
        }
    }
}

/// What was seen in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// In the order of time.
    pub(crate) samples: Vec<Sample>,
    /// Why nothing more could be read.
    pub(crate) lost: Option<String>,
}

impl Seen {
    /// Those within a time.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> &[Sample] {
        let from = self.samples.partition_point(|sample| sample.at < from);
        let to = self.samples.partition_point(|sample| sample.at <= to);
        self.samples.get(from..to).unwrap_or_default()
    }
}

/// A thread that reads from time to time. It ends when it is told to, or when nothing can be read any more.
pub(crate) struct Watching {
    thread: JoinHandle<Seen>,
    stop: SyncSender<()>,
}

impl Watching {
    pub(crate) fn start(watched: Watched, interval: Duration) -> Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("processes".to_owned())
            .spawn(move || {
                let mut kept = Kept::default();
                let lost = loop {
                    match watched.sample() {
                        Ok(sample) => kept.take(sample),
                        Err(why) => break Some(format!("{why:#}")),
                    }
                    if stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
                        // The last moment counts, too.
                        kept.samples.extend(watched.sample().ok());
                        break None;
                    }
                };
                Seen {
                    samples: kept.samples,
                    lost,
                }
            })
            .context("cannot start the thread that reads processes")?;
        Ok(Self { thread, stop })
    }

    /// Whether it still reads.
    pub(crate) fn finish(self) -> Result<Seen> {
        // Fails only if it has ended by itself.
        let _ended = self.stop.try_send(());
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the thread that reads processes panicked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_are_told_apart_where_the_system_does() {
        let kib = |count: f64| count * 1_024.0;
        let status =
            "Name:\tx\nVmRSS:\t  100 kB\nRssAnon:\t  60 kB\nRssFile:\t  30 kB\nRssShmem:\t 10 kB\n";
        assert_eq!(memory_in(status), Some((kib(100.0), Some(kib(70.0)))));
        // Before Linux 4.5.
        assert_eq!(memory_in("VmRSS:\t100 kB\n"), Some((kib(100.0), None)));
        // A process that has ended has none.
        assert_eq!(memory_in("Name:\tx\nState:\tZ\n"), None);
    }

    #[test]
    fn the_line_of_a_process_is_read_whatever_its_name_is() {
        let line = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 12345 1000 200 18446744073709551615";
        let read = |line| fields(line).as_deref().and_then(super::stat);
        let stat = read(line).expect("a line");
        assert!((stat.cpu - 3.0).abs() < 1e-9);
        assert!((stat.threads - 7.0).abs() < 1e-9);
        assert_eq!(stat.started, 12_345);
        for wrong in ["", "42 (a", "42 (a) S 1"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
        let ended = "42 (a) Z 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 12345";
        assert!(fields(ended).as_deref().is_some_and(has_ended));
        assert!(!fields(line).as_deref().is_some_and(has_ended));
    }

    #[test]
    fn a_control_group_is_read_from_its_files_and_one_that_is_none_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = Watched::Cgroup(folder.path().to_owned());
        let told = format!("{:#}", group.sample().expect_err("nothing is there"));
        assert!(told.contains("cpu.stat"), "{told}");
        for (name, text) in [
            ("cpu.stat", "usage_usec 2500000\nuser_usec 1\n"),
            ("memory.current", "99999999\n"),
            ("pids.current", "3\n"),
            ("memory.stat", "file 88888888\nanon_thp 7\nsock 1\n"),
        ] {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let told = group.sample().expect_err("no anon").to_string();
        assert!(told.contains("memory.stat has no `anon`"), "{told}");
        let stat = "anon 1048576\nfile 88888888\nkernel 9\nkernel_stack 4096\npagetables 100\nsock 20\nshmem 3\n";
        std::fs::write(folder.path().join("memory.stat"), stat).expect("written");
        let sample = group.sample().expect("it is there");
        assert!((sample.cpu - 2.5).abs() < 1e-9 && sample.descriptors.is_none());
        let own = f64::from(1_048_576 + 4_096 + 100 + 20 + 3);
        assert!((sample.memory - own).abs() < 1e-9, "{}", sample.memory);
        assert_eq!(sample.anonymous, None);
        assert_eq!(sample.threads, Some(3.0));
    }

    #[test]
    fn this_process_is_seen_and_samples_stay_few_and_evenly_apart() {
        let own = Watched::own().expect("this is Linux");
        let sample = own.sample().expect("it runs");
        assert!(sample.memory > 1e6 && sample.threads >= Some(1.0));
        let mut kept = Kept::default();
        for number in 0..MOST * 7 {
            let cpu = number as f64;
            kept.take(Sample { cpu, ..sample });
            assert!(kept.samples.len() < MOST);
        }
        assert!(kept.samples.len() >= MOST / 2);
        let steps = kept
            .samples
            .windows(2)
            .map(|pair| pair[1].cpu - pair[0].cpu);
        let steps: Vec<u64> = steps.map(|step| step as u64).collect();
        assert!(
            steps.iter().all(|step| *step == steps[0]),
            "as far apart as at the beginning"
        );
        let gone = Watched::Pids(vec![(std::process::id(), 1)]);
        let told = gone.sample().expect_err("another start").to_string();
        assert!(told.contains("another one has its number"), "{told}");
    }
}
