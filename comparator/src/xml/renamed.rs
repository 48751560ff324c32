//! Elements that rules say are one under two names. Only the name is another: their form, their namespace and their place in
//! the order are compared as with equal names. So they share a shape, whether or not the rule pairs them in the end.

use std::rc::Rc;

use super::shapes::{Namespace, Shapes};
use crate::rules::{Renames, RenamesAt};

/// For each shape its children: their names and numbers.
type Children = Vec<Vec<(Rc<str>, usize)>>;

impl Shapes {
    /// Lets the elements share a shape that rules rename. To be called when all is learned but the orders.
    pub(super) fn join_renamed(&mut self, renames: Renames<'_>) {
        let (mut roots, mut children): (Vec<_>, Children) =
            (Vec::new(), vec![Vec::new(); self.all.len()]);
        for ((parent, name), number) in &self.numbers {
            let siblings = parent.map_or(&mut roots, |parent| &mut children[parent]);
            siblings.push((Rc::clone(name), *number));
        }
        self.join_siblings(None, roots, &mut children, renames, &renames.body());
    }

    fn join_siblings(
        &mut self,
        parent: Option<usize>,
        mut siblings: Vec<(Rc<str>, usize)>,
        children: &mut Children,
        renames: Renames<'_>,
        place: &RenamesAt,
    ) {
        if place.is_empty() {
            return;
        }
        for rename in renames.at(place) {
            let number = |name: &str| {
                let found = siblings.iter().find(|(own, _)| **own == *name);
                found.map(|(_, number)| *number)
            };
            let (Some(from), Some(to)) = (number(&rename.from), number(&rename.to)) else {
                continue;
            };
            if from == to {
                continue;
            }
            self.has_joined = true;
            self.join(from, to, children);
            for (name, number) in &mut siblings {
                if *number == to {
                    *number = from;
                    self.numbers.insert((parent, Rc::clone(name)), from);
                }
            }
        }
        siblings.sort_unstable_by_key(|(_, number)| *number);
        for alike in siblings.chunk_by(|one, two| one.1 == two.1) {
            let number = alike[0].1;
            let mut below = renames.member(place, alike.iter().map(|(name, _)| &**name));
            if self.all[number].is_repeated {
                below = renames.element(&below);
            }
            if self.all[number].is_mixed {
                below = renames.element(&renames.member(&below, ["#mixed"]));
            }
            let own = std::mem::take(&mut children[number]);
            self.join_siblings(Some(number), own, children, renames, &below);
        }
    }

    /// Adds all that is known of the shape `other`, and of those in it, to `number`.
    fn join(&mut self, number: usize, other: usize, children: &mut Children) {
        let namespace = std::mem::take(&mut self.all[other].namespace);
        let Ok([one, two]) = self.all.get_disjoint_mut([number, other]) else {
            return;
        };
        one.is_object |= two.is_object;
        one.is_mixed |= two.is_mixed;
        one.is_repeated |= two.is_repeated;
        one.is_apart |= two.is_apart;
        one.has_children |= two.has_children;
        if one.namespace == Namespace::Unseen {
            one.namespace = namespace;
        } else if one.namespace != namespace && namespace != Namespace::Unseen {
            one.is_apart = true;
            one.is_object = true;
        }
        for (name, below) in std::mem::take(&mut children[other]) {
            let key = (Some(number), Rc::clone(&name));
            if let Some(same) = self.numbers.get(&key).copied() {
                self.join(same, below, children);
            } else {
                self.numbers.insert(key, below);
                children[number].push((name, below));
            }
        }
    }
}
