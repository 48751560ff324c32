//! Tables in CSV, compared by row and column.

use parity_schemas::verdict::{Explanation, Finding, Kind, Part};

use super::{Structured, one_byte_order_mark, text, without_bom};
use crate::collect::Flow;
use crate::comparator::body::as_text;
use crate::csv::{self, Renamed};
use crate::notation::pointer::push_escaped;

impl Structured<'_, '_> {
    /// Compares by row and column, or as text where the first lines are no names.
    pub(in crate::comparator::body) fn csv(self) -> Flow {
        let by_name = self.declared.iter().all(|declared| declared.says_header);
        let tables = self
            .bodies
            .map(|body| csv::parse(text(without_bom(body)).ok()?));
        let [legacy, candidate] = self.bodies;
        let [Some(one), Some(two)] = &tables else {
            return as_text(legacy, candidate, self.scope, self.out);
        };
        let rules = self.scope.renamed_in_rows(self.out.rules);
        if one.is_without_rows() && two.is_without_rows() {
            // Then no value tells that a name is another one.
            for (rule, [from, to]) in &rules {
                if one.has(from) && !one.has(to) && two.has(to) && !two.has(from) {
                    self.out.excused(*rule, Part::Body, String::new);
                }
            }
        }
        let ruled: Vec<Renamed<'_>> = rules.into_iter().map(|(_, names)| names).collect();
        let Some(json) = csv::as_json([one, two], by_name, &ruled) else {
            return as_text(legacy, candidate, self.scope, self.out);
        };
        let out = self.out;
        one_byte_order_mark([legacy, candidate], self.scope, out)?;
        let told = out.findings.len();
        let of_it = Structured {
            out: &mut *out,
            ..self
        };
        let flow = of_it.compared(json.map(|json| Ok(vec![json])));
        if out.findings.len() > told {
            let renamed = csv::other_names([one, two], by_name, &ruled);
            explain(&renamed, &mut out.findings[told..]);
        }
        flow
    }
}

/// Says of the cells of columns that have another name in the candidate that nothing is lost. A cell that is equal to an absent
/// one is no matter of its own there, and no other place has what stands beside it under that name.
fn explain(renamed: &[Renamed<'_>], findings: &mut [Finding]) {
    for finding in findings {
        let side = match finding.kind {
            Kind::Missing => 0,
            Kind::Extra => 1,
            _ => continue,
        };
        let is_open = matches!(
            finding.explanation,
            None | Some(Explanation::Moved | Explanation::EmptyVsMissing)
        );
        if is_open
            && renamed
                .iter()
                .any(|names| is_cell(&finding.path, names[side]))
        {
            finding.explanation = Some(Explanation::OtherName);
        }
    }
}

/// Whether a path is that of a cell in a column.
fn is_cell(path: &str, name: &str) -> bool {
    let mut column = String::from("/");
    push_escaped(&mut column, name);
    let row = path
        .strip_suffix(&column)
        .and_then(|row| row.strip_prefix('/'));
    row.is_some_and(|row| !row.is_empty() && row.bytes().all(|digit| digit.is_ascii_digit()))
}
