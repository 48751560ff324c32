//! Lists and objects whose elements are others in each answer.

use super::{Fault, Noise, World};

/// Words of which each is in an answer, or not.
const WORDS: [&str; 8] = [
    "red", "blue", "green", "black", "white", "brown", "pink", "grey",
];

impl World {
    /// The JSON of a list, or of an object whose keys are ids.
    pub(super) fn elements(&mut self, noise: Noise, fault: Fault) -> String {
        match (noise, fault) {
            (Noise::Subset, _) => self.words(fault),
            (Noise::Ids(in_sentence), _) => self.ids(in_sentence, fault),
            (Noise::Keyed, Fault::Constant) => "{}".to_owned(),
            (_, Fault::Constant) => "[]".to_owned(),
            _ => {
                let count = if noise == Noise::Keyed {
                    3
                } else {
                    2 + self.random.below(5)
                };
                let count = count - u64::from(fault == Fault::Lost);
                let elements: Vec<String> = (0..count)
                    .map(|_| {
                        let id = self.uuid();
                        let state = if fault == Fault::Kind { "lost" } else { "sent" };
                        if noise == Noise::Keyed {
                            format!("\"{id}\":{{\"state\":\"{state}\"}}")
                        } else {
                            format!("{{\"id\":\"{id}\",\"state\":\"{state}\"}}")
                        }
                    })
                    .collect();
                let elements = elements.join(",");
                if noise == Noise::Keyed {
                    format!("{{{elements}}}")
                } else {
                    format!("[{elements}]")
                }
            }
        }
    }

    /// Four ids.
    fn ids(&mut self, in_sentence: bool, fault: Fault) -> String {
        let one = self.uuid();
        let ids = (0..4).map(|_| {
            let id = if fault == Fault::Twins {
                one.clone()
            } else {
                self.uuid()
            };
            if in_sentence {
                format!("\"{} items, see /orders/{id}\"", self.random.below(1_000))
            } else {
                format!("\"{id}\"")
            }
        });
        let ids: Vec<String> = ids.collect();
        format!("[{}]", ids.join(","))
    }

    /// Some words, in their order.
    fn words(&mut self, fault: Fault) -> String {
        let mut words: Vec<String> = Vec::new();
        for word in WORDS {
            if self.random.chance(0.5) && !(fault == Fault::Lost && word == WORDS[0]) {
                words.push(format!("\"{word}\""));
            }
        }
        match fault {
            Fault::Constant => words.clear(),
            Fault::Kind => words.push("\"no color\"".to_owned()),
            _ => {}
        }
        format!("[{}]", words.join(","))
    }
}
