//! Fairness, bounds and memory of the lines.

use super::*;

const MILLI: u64 = 1_000_000;
const NO_BOUNDS: Bounds = Bounds {
    items: usize::MAX,
    nanos: u64::MAX,
};

/// Lines of names, each item with the time that it takes.
struct Rig {
    fair: Fair<(&'static str, u64)>,
    shed: Vec<&'static str>,
    spent: HashMap<&'static str, u64>,
}

impl Rig {
    fn new(bounds: Bounds) -> Self {
        Self {
            fair: Fair::new(bounds),
            shed: Vec::new(),
            spent: HashMap::new(),
        }
    }

    fn push(&mut self, name: &'static str, nanos: u64, assumed: u64) {
        let (line, shed) = (self.fair.line(name), &mut self.shed);
        self.fair.push(
            line,
            1_000,
            || assumed,
            (name, nanos),
            |item| shed.push(item.0),
        );
    }

    fn serve(&mut self) -> Option<&'static str> {
        let Taken { item, bill } = self.fair.pop()?;
        self.fair.took(bill, item.1);
        *self.spent.entry(item.0).or_default() += item.1;
        Some(item.0)
    }
}

#[test]
fn a_cheap_route_waits_for_one_comparison_of_an_expensive_one_at_most() {
    let mut rig = Rig::new(NO_BOUNDS);
    for _ in 0..500 {
        rig.push("bombs", 20 * MILLI, MILLI);
    }
    for _ in 0..5 {
        assert_eq!(rig.serve(), Some("bombs"));
    }
    for _ in 0..100 {
        rig.push("healthy", MILLI / 50, MILLI);
        assert_eq!(rig.serve(), Some("healthy"));
        assert_eq!(rig.serve(), Some("bombs"));
    }
}

#[test]
fn two_routes_that_wait_get_the_same_time() {
    let mut rig = Rig::new(NO_BOUNDS);
    for _ in 0..10_000 {
        rig.push("bombs", 20 * MILLI, MILLI);
        rig.push("many", MILLI / 10, MILLI);
    }
    for _ in 0..5_000 {
        rig.serve();
    }
    let (bombs, many) = (rig.spent["bombs"], rig.spent["many"]);
    assert!(bombs.abs_diff(many) <= 40 * MILLI, "{bombs} and {many}");
}

#[test]
fn what_is_too_much_is_taken_from_the_route_that_wants_the_most_time() {
    let mut rig = Rig::new(Bounds {
        items: 100,
        nanos: u64::MAX,
    });
    rig.push("bombs", 20 * MILLI, MILLI);
    assert_eq!(rig.serve(), Some("bombs"));
    for _ in 0..60 {
        rig.push("bombs", 20 * MILLI, MILLI);
        rig.push("healthy", MILLI / 50, MILLI / 50);
    }
    assert_eq!(rig.fair.items, 100);
    assert_eq!(rig.shed, ["bombs"; 20]);
}

/// As it was seen on a busy machine: the first comparison of each line is a slow one, and all the others come while the
/// first expensive one goes on.
#[test]
fn a_first_comparison_that_goes_on_says_who_is_to_lose_an_item() {
    let cold = MILLI * 2 / 5;
    for goes_on in [false, true] {
        let mut rig = Rig::new(Bounds {
            items: 250,
            nanos: u64::MAX,
        });
        rig.push("healthy", cold, MILLI / 200);
        assert_eq!(rig.serve(), Some("healthy"));
        rig.push("bombs", 300 * MILLI, cold);
        let Taken { bill, .. } = rig.fair.pop().expect("it waits");
        assert!(bill.is_first);
        for _ in 0..200 {
            rig.push("bombs", 300 * MILLI, cold);
            rig.push("healthy", MILLI / 200, MILLI / 200);
            if goes_on {
                rig.fair.goes_on(bill, 80 * MILLI);
            }
        }
        assert_eq!(rig.shed.len(), 150);
        let is_bomb = |name: &&str| *name == "bombs";
        assert_eq!(rig.shed.iter().all(is_bomb), goes_on, "{:?}", rig.shed);
        // Only who loses is chosen by it: it may be a pause of the machine. What waits is bounded by what is known.
        assert_eq!(rig.fair.items, 250);
        rig.fair.took(bill, MILLI / 200);
        let Taken { bill, .. } = rig.fair.pop().expect("it waits");
        assert!(!bill.is_first);
    }
}

#[test]
fn waiting_is_bounded_by_time_as_soon_as_the_cost_is_known() {
    let mut rig = Rig::new(Bounds {
        items: 10_000,
        nanos: 1_000 * MILLI,
    });
    // Assumed to be cheap at first.
    for _ in 0..500 {
        rig.push("bombs", 20 * MILLI, MILLI / 50);
    }
    assert!(rig.shed.is_empty());
    assert_eq!(rig.serve(), Some("bombs"));
    rig.push("healthy", MILLI / 50, MILLI / 50);
    assert_eq!(rig.fair.items, 1_000 / 20);
    assert!(rig.shed.iter().all(|name| *name == "bombs"));
    // A single item is kept, however long it takes.
    let mut rig = Rig::new(Bounds {
        items: 10,
        nanos: 1,
    });
    rig.push("bombs", 20 * MILLI, MILLI);
    assert_eq!(rig.serve(), Some("bombs"));
}

#[test]
fn routes_beyond_the_cap_share_a_line_and_room_is_given_back() {
    let mut fair = Fair::new(NO_BOUNDS);
    for number in 0..3 * MAX_LINES {
        let line = fair.line(&format!("GET /{number}"));
        fair.push(line, 1, || 1, number, |_| {});
    }
    assert_eq!(fair.lines.len(), MAX_LINES + 1);
    assert_eq!(fair.by_label.len(), MAX_LINES);
    let mut seen: Vec<_> = std::iter::from_fn(|| fair.pop())
        .map(|taken| taken.item)
        .collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..3 * MAX_LINES));
    assert!(fair.lines.iter().all(|line| line.items.capacity() <= ROOM));
    assert_eq!((fair.items, fair.nanos), (0, 0));
}

#[test]
fn all_that_waits_can_be_taken_at_once() {
    let mut rig = Rig::new(NO_BOUNDS);
    for name in ["one", "two", "one"] {
        rig.push(name, MILLI, MILLI);
    }
    assert_eq!(rig.fair.take_all().count(), 3);
    assert_eq!((rig.fair.items, rig.fair.nanos), (0, 0));
    assert!(rig.serve().is_none());
    rig.push("one", MILLI, MILLI);
    assert_eq!(rig.serve(), Some("one"));
}
