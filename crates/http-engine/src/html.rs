//! Pages for people: templates filled, and text from outside made safe for them.
//!
//! It holds the frame and the style sheet that all of them share, and no page. Called by the pixel
//! door's pages and by the admin's.

/// The frame, with the slots `title` (escaped), `style` (an element) and `content`.
pub const FRAME: &str = include_str!("html/frame.html");
/// The style sheet, light and dark, for any width.
pub const STYLE: &str = include_str!("html/style.css");

/// Puts texts into the `{{slots}}` of a template. What is put in is not searched for slots, and not
/// escaped: see [`escape`].
pub fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, behind) = after.split_once("}}").unwrap_or((after, ""));
        let slot = slots.iter().find(|(slot, _)| *slot == name);
        filled.push_str(slot.map_or("", |(_, text)| text));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Text from outside made safe, for text and for quoted attributes alike.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            plain => safe.push(plain),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_slot_is_not_searched_for_slots() {
        assert_eq!(fill("a {{x}} {{y}}.", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} 1.");
        assert_eq!(fill("{{unknown}}|", &[]), "|");
    }

    #[test]
    fn text_from_outside_stays_text() {
        let safe = "&lt;a b=&quot;&#39;&amp;&quot;&gt;";
        assert_eq!(escape("<a b=\"'&\">"), safe);
    }
}
