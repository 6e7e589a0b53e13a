//! The numbers of DNS that Tidegate knows by name: types, classes, response codes, extended errors.

/// Record types (IANA, "Resource Record TYPEs").
pub mod record_type {
    /// An IPv4 address.
    pub const A: u16 = 1;
    /// A name server.
    pub const NS: u16 = 2;
    /// An alias.
    pub const CNAME: u16 = 5;
    /// Start of authority, which bounds how long a negative answer may be kept (RFC 2308).
    pub const SOA: u16 = 6;
    /// A name for an address.
    pub const PTR: u16 = 12;
    /// A mail server.
    pub const MX: u16 = 15;
    /// Text.
    pub const TXT: u16 = 16;
    /// An IPv6 address.
    pub const AAAA: u16 = 28;
    /// A service's host and port.
    pub const SRV: u16 = 33;
    /// An alias for everything below a name.
    pub const DNAME: u16 = 39;
    /// The pseudo-record of EDNS (RFC 6891).
    pub const OPT: u16 = 41;
    /// A delegation's key (RFC 4034 §5).
    pub const DS: u16 = 43;
    /// A signature (RFC 4034 §3).
    pub const RRSIG: u16 = 46;
    /// The next name, as a proof that there is none between (RFC 4034 §4).
    pub const NSEC: u16 = 47;
    /// The same of hashed names (RFC 5155).
    pub const NSEC3: u16 = 50;
    /// A service binding (RFC 9460).
    pub const SVCB: u16 = 64;
    /// A service binding for HTTPS (RFC 9460).
    pub const HTTPS: u16 = 65;
    /// Transaction signature (RFC 8945).
    pub const TSIG: u16 = 250;
    /// Whatever there is (RFC 8482).
    pub const ANY: u16 = 255;
}

/// The Internet class.
pub const CLASS_IN: u16 = 1;

/// A response code that we give (RFC 1035 §4.1.1, RFC 6891 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rcode {
    /// Fine, with or without records.
    NoError,
    /// The query could not be read.
    FormErr,
    /// We could not find out.
    ServFail,
    /// There is no such name.
    NxDomain,
    /// We do not do that kind of query.
    NotImp,
    /// We will not answer that.
    Refused,
    /// That version of EDNS is unknown here; needs an OPT record to say so.
    BadVers,
}

impl Rcode {
    /// The number; over 15 only with EDNS.
    pub const fn code(self) -> u16 {
        match self {
            Self::NoError => 0,
            Self::FormErr => 1,
            Self::ServFail => 2,
            Self::NxDomain => 3,
            Self::NotImp => 4,
            Self::Refused => 5,
            Self::BadVers => 16,
        }
    }
}

/// Why an answer is as it is (RFC 8914).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdeCode {
    /// 3: the answer's time is over, but nothing newer could be had.
    StaleAnswer,
    /// 15: the operator blocks the name.
    Blocked,
    /// 17: the client's own rules block the name.
    Filtered,
    /// 18: this client may not ask.
    Prohibited,
    /// 19: the same as `StaleAnswer`, for a name that did not exist.
    StaleNxDomain,
    /// 20: nobody here is in charge of that.
    NotAuthoritative,
    /// 21: that is not supported.
    NotSupported,
    /// 22: no upstream answered.
    NoReachableAuthority,
    /// 23: the network failed.
    NetworkError,
}

impl EdeCode {
    /// The number.
    pub const fn code(self) -> u16 {
        match self {
            Self::StaleAnswer => 3,
            Self::Blocked => 15,
            Self::Filtered => 17,
            Self::Prohibited => 18,
            Self::StaleNxDomain => 19,
            Self::NotAuthoritative => 20,
            Self::NotSupported => 21,
            Self::NoReachableAuthority => 22,
            Self::NetworkError => 23,
        }
    }
}

/// An extended error: a code, and a few words for people. Of the text, at most
/// [`EDE_TEXT_BYTES_MAX`] are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ede<'t> {
    /// What is the matter.
    pub code: EdeCode,
    /// The same in words, or more exactly; may be empty.
    pub text: &'t str,
}

/// Longest text of an extended error, in bytes: enough for a structured one with a rule, a contact
/// and who is in charge. One that would outgrow the client's limit goes as a whole.
pub const EDE_TEXT_BYTES_MAX: usize = 480;
