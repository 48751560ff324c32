//! What form the elements of each path take, and where the order of their children differs.

use std::rc::Rc;

use hashbrown::HashMap;

use super::tree::Element;

/// The path of the root's shape.
const ROOT: usize = 0;

/// What is known of the namespace of the elements of one path.
#[derive(Default, PartialEq)]
pub(super) enum Namespace {
    #[default]
    Unseen,
    OfParent,
    /// By its number in the list that both documents share.
    Own(Option<usize>),
}

/// How the elements of one path are written.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that an element may add"
)]
pub(super) struct Shape {
    pub(super) name: Rc<str>,
    /// As objects, because one of them has more than text.
    pub(super) is_object: bool,
    /// With their text in its place among their children.
    pub(super) is_mixed: bool,
    /// In a list, because one of them stands beside another.
    pub(super) is_repeated: bool,
    /// With their namespace, because not all have the same. The namespace of one of them beside that of its parent.
    pub(super) is_apart: bool,
    pub(super) namespace: Namespace,
    /// One of them has children, so that white space alone is no text.
    pub(super) has_children: bool,
    /// With the order of their children.
    pub(super) is_ordered: bool,
}

/// The shapes of all paths, each known by a number.
#[derive(Default)]
pub(super) struct Shapes {
    pub(super) all: Vec<Shape>,
    /// By the parent's number and the name. The service chooses names, so the hash must not be predictable for it.
    pub(super) numbers: HashMap<(Option<usize>, Rc<str>), usize, foldhash::fast::RandomState>,
    /// Elements of several names share a shape, because rules rename the one to the other.
    pub(super) has_joined: bool,
}

impl Shapes {
    pub(super) fn at(&mut self, parent: Option<usize>, name: &str) -> usize {
        let name: Rc<str> = name.into();
        let next = self.all.len();
        let number = *self
            .numbers
            .entry((parent, Rc::clone(&name)))
            .or_insert(next);
        if number == next {
            self.all.push(Shape {
                name,
                ..Shape::default()
            });
        }
        number
    }

    pub(super) fn known(&self, parent: Option<usize>, name: &str) -> usize {
        let number = self.numbers.get(&(parent, name.into()));
        number.copied().unwrap_or(ROOT)
    }

    /// `shared` are the numbers of the document's namespaces that both documents share.
    pub(super) fn learn(
        &mut self,
        element: &Element,
        number: usize,
        around: usize,
        shared: &[usize],
    ) {
        let namespace = if element.namespace == around {
            Namespace::OfParent
        } else {
            Namespace::Own(shared.get(element.namespace).copied())
        };
        let shape = &mut self.all[number];
        shape.is_mixed |= element.is_mixed();
        shape.has_children |= element.children().next().is_some();
        shape.is_object |= shape.has_children || !element.attributes.is_empty();
        match &shape.namespace {
            Namespace::Unseen => shape.namespace = namespace,
            other if *other != namespace => {
                shape.is_apart = true;
                shape.is_object = true;
            }
            _ => {}
        }
        let mut seen: HashMap<usize, (), foldhash::fast::FixedState> = HashMap::default();
        for child in element.children() {
            let below = self.at(Some(number), &child.name);
            self.all[below].is_repeated |= seen.insert(below, ()).is_some();
            self.learn(child, below, element.namespace, shared);
        }
    }

    /// Pairs the elements of both documents by name and position, and finds where the order of their children differs.
    pub(super) fn learn_orders(&mut self, pair: [&Element; 2], number: usize) {
        let lone = pair.map(|element| self.lone_names(element, number));
        let are_lone = |below: usize| {
            let is_lone = |names: &Lone<'_>| matches!(names.get(&below), Some(Some(_)));
            lone.iter().all(is_lone)
        };
        let numbered = pair.map(|element| {
            let mut counts: HashMap<Known<'_>, u32, foldhash::fast::RandomState> =
                HashMap::default();
            let mut children: Vec<((Known<'_>, u32), &Element)> = Vec::new();
            for child in element.children() {
                let below = self.known(Some(number), &child.name);
                let apart = self.has_joined && !are_lone(below);
                let known = (below, if apart { &*child.name } else { "" });
                let count = counts.entry(known).or_default();
                children.push(((known, *count), child));
                *count += 1;
            }
            children
        });
        let [legacy, candidate] = &numbered;
        let places: HashMap<(Known<'_>, u32), usize, foldhash::fast::RandomState> = legacy
            .iter()
            .enumerate()
            .map(|(place, (key, _))| (*key, place))
            .collect();
        let mut last = None;
        let mut in_order = true;
        for (key, child) in candidate {
            if let Some(place) = places.get(key) {
                in_order &= last.is_none_or(|last| last < *place);
                last = Some(*place);
                if let Some((_, partner)) = legacy.get(*place) {
                    self.learn_orders([partner, child], key.0.0);
                }
            }
        }
        // If all that one has is in the other in the same order, an element is missing, and nothing has moved.
        let (one, two) = (known_names(legacy), known_names(candidate));
        if !in_order && !is_part(&one, &two) && !is_part(&two, &one) {
            self.all[number].is_ordered = true;
        }
    }

    /// The names of the children in their order. Of an element that rules rename it is the legacy's name, in both documents,
    /// unless it has both.
    pub(super) fn ordered_names<'a>(&'a self, element: &'a Element, number: usize) -> Vec<&'a str> {
        let lone = self.lone_names(element, number);
        let name = |child: &'a Element| {
            let below = self.known(Some(number), &child.name);
            match lone.get(&below) {
                Some(Some(_)) => &*self.all[below].name,
                _ => &*child.name,
            }
        };
        element.children().map(name).collect()
    }

    /// The name of the children of each shape, or `None` if they have several.
    fn lone_names<'e>(&self, element: &'e Element, number: usize) -> Lone<'e> {
        let mut lone = Lone::default();
        if !self.has_joined {
            return lone;
        }
        for child in element.children() {
            let below = self.known(Some(number), &child.name);
            let name = lone.entry(below).or_insert(Some(&*child.name));
            if *name != Some(&*child.name) {
                *name = None;
            }
        }
        lone
    }
}

/// What children are alike in their order: the number of their shape, and their name if the shape does not tell it.
type Known<'e> = (usize, &'e str);
/// By the number of a shape.
type Lone<'e> = HashMap<usize, Option<&'e str>, foldhash::fast::FixedState>;

fn known_names<'e>(children: &[((Known<'e>, u32), &Element)]) -> Vec<Known<'e>> {
    children.iter().map(|((known, _), _)| *known).collect()
}

/// Whether a sequence is another one with some of it left out.
fn is_part(part: &[Known<'_>], whole: &[Known<'_>]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|wanted| rest.any(|found| found == wanted))
}
