//! The attributes of the exchange that a thread compares now, as numbers.
//!
//! What may be read of an exchange, and which of that may be shown, is the comparator's to say; what is counted is the tally
//! book's. Here both meet, with one list that a thread uses again for each exchange.

use std::sync::Arc;

use parity_comparator::redact::{AttributeConfig, Redactor};
use parity_schemas::exchange::Exchange;
use parity_sink::TallyBook;
use parity_sink::tally::{AttributeId, AttributeNumbers};

/// See the module. Empty if attributes are not counted.
#[derive(Default)]
pub(super) struct Attributes {
    reading: Option<(AttributeConfig, AttributeNumbers)>,
    ids: Vec<AttributeId>,
}

impl Attributes {
    pub(super) fn new(config: Option<&AttributeConfig>, book: &Arc<TallyBook>) -> Self {
        let reading = config.map(|config| {
            let names = config.names();
            let numbers = book.attribute_numbers(names.iter().map(String::as_str));
            (config.clone(), numbers)
        });
        Self {
            reading,
            ids: Vec::new(),
        }
    }

    /// Reads those of an exchange.
    pub(super) fn read(&mut self, exchange: &Exchange, redactor: &Redactor) {
        self.ids.clear();
        if let Some((config, numbers)) = &mut self.reading {
            config.each(exchange, |place, value| {
                numbers.add(place, value, &mut self.ids, |value| {
                    config.shown(redactor, place, value)
                });
            });
            // A parameter may come twice.
            self.ids.sort_unstable();
            self.ids.dedup();
        }
    }

    /// Those of the exchange that was read last, each once.
    pub(super) fn ids(&self) -> &[AttributeId] {
        &self.ids
    }
}
