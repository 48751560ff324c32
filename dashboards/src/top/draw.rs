//! Puts the panes on a screen, however small it is.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Widget as _, Wrap};

use super::panes::{BAD, BOLD, DIM, Pane, lines};
use super::seen::{Connection, Seen};
use super::{Screen, detail};

/// The keys, for the last line.
const KEYS: &str = "q quit · j/k select · Enter open · Tab pane · p pause · ? help";
/// The same in full: what is pressed, and what it does.
const HELP: [(&str, &str); 11] = [
    ("q, Ctrl-C", "quit"),
    ("j, k, arrows", "select, or scroll what is open"),
    ("PgUp, PgDn", "by ten lines"),
    ("g, G", "the first, the last"),
    ("Enter", "show what is selected, and back"),
    ("Esc", "back"),
    ("Tab", "the next pane"),
    ("1 to 6", "this pane"),
    ("p", "pause, and go on"),
    ("?", "this"),
    ("any key", "closes this"),
];
/// A screen of fewer lines has no line of keys.
const LEAST_WITH_KEYS: u16 = 8;
/// Most rows of what is always in view: with more, a small screen would have nothing else.
const MOST_ALARMS: u16 = 3;
/// What a pane needs to be worth its title.
const LEAST_PANE: u16 = 2;

/// Draws everything. Without `colors` there are only bold, dim and reversed characters, and signs that say the same.
pub fn draw(frame: &mut Frame<'_>, screen: &Screen, seen: &Seen, colors: bool) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.height == 0 || area.width == 0 {
        return;
    }
    Clear.render(area, buffer);
    let title = if screen.paused {
        format!("PAUSED · {}", seen.title())
    } else {
        seen.title()
    };
    let style = match seen.connection {
        Connection::Lost { .. } => BAD,
        _ => BOLD,
    };
    put(&Line::styled(title, style), row_of(area, 0), buffer);
    let with_keys = area.height >= LEAST_WITH_KEYS;
    let alarms = alarms(seen, area);
    for (row, line) in (1..).zip(&alarms) {
        put(line, row_of(area, row), buffer);
    }
    let above = 1 + u16::try_from(alarms.len()).unwrap_or(0);
    let body = Rect {
        y: area.y + above,
        height: area.height - above - u16::from(with_keys),
        ..area
    };
    if screen.help {
        let lines = HELP.map(|(keys, does)| Line::raw(format!("{keys:14}{does}")));
        scrolled(lines.into(), 0, body, buffer);
    } else if let Some(opened) = &screen.opened {
        let shown = detail::lines(opened, screen.pane, seen);
        scrolled(shown, screen.scrolled, body, buffer);
    } else {
        panes(screen, seen, body, buffer);
    }
    if with_keys {
        put(
            &Line::styled(KEYS, DIM),
            row_of(area, area.height - 1),
            buffer,
        );
    }
    if !colors {
        for cell in &mut buffer.content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }
}

/// What must be in view whatever is: no pane has room for certain.
fn alarms(seen: &Seen, area: Rect) -> Vec<Line<'static>> {
    let alarms = seen.alarms();
    if alarms.is_empty() {
        return Vec::new();
    }
    let line = Line::styled(alarms.join(" · "), BAD);
    let room = area.height.saturating_sub(1).min(MOST_ALARMS);
    let mut rows = wrapped(Pane::Clients, vec![line], area.width);
    rows.truncate(usize::from(room));
    rows
}

fn row_of(area: Rect, row: u16) -> Rect {
    Rect {
        y: area.y + row,
        height: 1,
        ..area
    }
}

fn put(line: &Line<'_>, area: Rect, buffer: &mut Buffer) {
    buffer.set_line(area.x, area.y, line, area.width);
}

/// Lines that wrap, without the first of them. The last screen of them is never scrolled away.
fn scrolled(lines: Vec<Line<'static>>, skip: usize, area: Rect, buffer: &mut Buffer) {
    let skip = skip.min(lines.len().saturating_sub(usize::from(area.height.min(1))));
    let rest: Vec<Line<'_>> = lines.into_iter().skip(skip).collect();
    Paragraph::new(rest)
        .wrap(Wrap { trim: false })
        .render(area, buffer);
}

/// All panes, or as many as there is room for: the chosen one, then the others from the top.
fn panes(screen: &Screen, seen: &Seen, area: Rect, buffer: &mut Buffer) {
    let all: Vec<(Pane, Vec<Line<'static>>)> = Pane::ALL
        .into_iter()
        .map(|pane| (pane, wrapped(pane, lines(pane, seen), area.width)))
        .collect();
    let heights = heights(screen.pane, &all, area.height);
    let mut y = area.y;
    for ((pane, lines), height) in all.iter().zip(heights) {
        if height == 0 {
            continue;
        }
        let place = Rect { y, height, ..area };
        y += height;
        pane_at(screen, *pane, lines, place, buffer);
    }
}

/// Panes that are no lists wrap, so that no sentence is cut.
fn wrapped(pane: Pane, lines: Vec<Line<'static>>, width: u16) -> Vec<Line<'static>> {
    if pane.is_list() {
        return lines;
    }
    let width = usize::from(width.max(1));
    let mut out = Vec::new();
    for line in lines {
        let mut rows = vec![Line::default()];
        let mut used = 0;
        for span in line.spans {
            for word in span.content.split_inclusive(' ') {
                let length = Span::raw(word).width();
                if used > 0 && used + length > width {
                    rows.push(Line::default());
                    used = 0;
                }
                used += length;
                if let Some(row) = rows.last_mut() {
                    row.push_span(Span::styled(word.to_owned(), span.style.patch(line.style)));
                }
            }
        }
        out.append(&mut rows);
    }
    out
}

fn heights(chosen: Pane, all: &[(Pane, Vec<Line<'static>>)], room: u16) -> Vec<u16> {
    let mut heights = vec![0; all.len()];
    let mut left = room;
    let order = |heights: &mut Vec<u16>, left: &mut u16, want: &dyn Fn(&[Line<'static>]) -> u16| {
        let first = all.iter().position(|(pane, _)| *pane == chosen);
        for at in first.into_iter().chain(0..all.len()) {
            let wanted = want(&all[at].1).saturating_sub(heights[at]);
            // Less than a title and a line is worth nothing.
            let given = wanted.min(*left);
            if heights[at] == 0 && given < LEAST_PANE {
                continue;
            }
            heights[at] += given;
            *left -= given;
        }
    };
    order(&mut heights, &mut left, &|_| LEAST_PANE);
    order(&mut heights, &mut left, &|lines| {
        u16::try_from(lines.len() + 1).unwrap_or(u16::MAX)
    });
    if heights.iter().all(|height| *height == 0) && room > 0 {
        heights[chosen as usize] = room;
    }
    heights
}

fn pane_at(screen: &Screen, pane: Pane, lines: &[Line<'static>], area: Rect, buffer: &mut Buffer) {
    let is_chosen = screen.pane == pane;
    let number = pane as usize + 1;
    let title = format!(
        "{number} {} {}",
        pane.name(),
        if is_chosen { "◂" } else { "" }
    );
    let style = if is_chosen {
        BOLD.add_modifier(Modifier::UNDERLINED)
    } else {
        BOLD
    };
    put(
        &Line::styled(title.trim_end().to_owned(), style),
        row_of(area, 0),
        buffer,
    );
    let room = usize::from(area.height - 1);
    let at = screen.at(pane).min(lines.len().saturating_sub(1));
    // What is selected is always seen.
    let skip = if is_chosen {
        (at + 1).saturating_sub(room)
    } else {
        0
    };
    let rows = lines.iter().enumerate().skip(skip).take(room);
    for (row, (number, line)) in (1..).zip(rows) {
        let place = row_of(area, row);
        if !pane.is_list() {
            put(line, place, buffer);
            continue;
        }
        let is_selected = is_chosen && number == at;
        let mut marked = Line::from(Span::raw(if is_selected { "> " } else { "  " }));
        marked.spans.extend(
            line.spans
                .iter()
                .map(|span| Span::styled(span.content.clone(), line.style.patch(span.style))),
        );
        put(&marked, place, buffer);
        if is_selected {
            buffer.set_style(place, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
    let hidden = lines.len().saturating_sub(skip + room);
    if hidden > 0 && area.width > 12 {
        let told = format!("+{hidden}");
        let width = u16::try_from(told.len()).unwrap_or(0);
        let x = area.x + area.width.saturating_sub(width);
        buffer.set_string(x, area.y, told, DIM);
    }
}
