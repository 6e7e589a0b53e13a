//! What can be set about whom to ask about what is blocked, for programs that show it.

use vocab::Complaint;

/// Contacts that can be named.
const CONTACTS_MAX: usize = 3;
/// Longest contact, in bytes.
const CONTACT_BYTES_MAX: usize = 80;
/// Longest name of whoever is in charge, in bytes.
const ORGANIZATION_BYTES_MAX: usize = 64;
/// Returns what is wrong with whom to ask, with paths relative to the section.
pub(crate) fn check(contact: &[String], organization: Option<&str>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if contact.len() > CONTACTS_MAX {
        let message = format!("{} contacts are over the {CONTACTS_MAX} allowed", contact.len());
        complaints.push(Complaint::new("contact", message).remedy("leave some out"));
    }
    for (index, contact) in contact.iter().enumerate() {
        let known = ["mailto:", "tel:"].iter().find_map(|scheme| contact.strip_prefix(scheme));
        let is_right = known.is_some_and(|rest| !rest.is_empty())
            && contact.len() <= CONTACT_BYTES_MAX
            && contact.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_right {
            let message = format!("{contact:?} is no contact of at most {CONTACT_BYTES_MAX} bytes");
            complaints.push(
                Complaint::new(format!("contact.{index}"), message)
                    .remedy("write mailto:NAME@HOST or tel:NUMBER"),
            );
        }
    }
    if let Some(name) = organization
        && (name.is_empty()
            || name.len() > ORGANIZATION_BYTES_MAX
            || name.chars().any(char::is_control))
    {
        let message = format!("{name:?} is no name of 1 to {ORGANIZATION_BYTES_MAX} bytes");
        complaints.push(Complaint::new("organization", message).remedy("write a name, or none"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contacts_are_such_as_programs_may_show() {
        let told = |contact: &[&str], organization: Option<&str>| {
            let contact: Vec<String> = contact.iter().map(|it| (*it).to_owned()).collect();
            check(&contact, organization).into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        assert!(told(&["mailto:a@b.example", "tel:+4930123456"], Some("Haus am See")).is_empty());
        assert_eq!(
            told(&["https://a.example", "mailto:", "tel:1 2", "mailto:a@b"], Some("")),
            ["contact", "contact.0", "contact.1", "contact.2", "organization"]
        );
        assert_eq!(told(&[], Some(&"a".repeat(65))), ["organization"]);
    }
}
