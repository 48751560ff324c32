//! `parity gate --gone`: a name that no instance has excuses nobody, which is said.

use crate::support::process::Place;
use crate::support::service::Service;

#[test]
fn a_name_that_no_instance_has_is_told_with_the_one_that_was_meant() {
    let place = Place::new();
    let service = Service::json("{}");
    let mirror = place.mirror(&service.url(), &service.url(), &["--instance", "north-1"]);
    mirror.get("/a");
    mirror.settled(1);
    assert_eq!(mirror.stop().0, 0);
    for (name, told) in [
        ("nroth-1", Some("`nroth-1`; did you mean `north-1`?")),
        ("zzz", Some("`zzz`; use one of north-1")),
        ("north-1", None),
    ] {
        let ended = place.run(&["gate", "--gone", name]);
        let words = "--gone: no instance of this evidence is called";
        assert_eq!(
            ended.stderr.contains(words),
            told.is_some(),
            "{}",
            ended.stderr
        );
        if let Some(told) = told {
            assert!(ended.stderr.contains(told), "{}", ended.stderr);
        }
    }
}
