//! Names of well-known services, by the words that AdGuard Home has for them.
//!
//! The best known names of each, not all: whoever misses one adds a rule.

/// Services with their domains.
const SERVICES: [(&str, &[&str]); 46] = [
    ("4chan", &["4chan.org", "4channel.org", "4cdn.org"]),
    ("9gag", &["9gag.com", "9cache.com"]),
    ("activision_blizzard", &["activision.com", "callofduty.com", "blizzard.com", "battle.net"]),
    ("aliexpress", &["aliexpress.com", "alicdn.com"]),
    ("amazon", &["amazon.com", "amazon.de", "amazon.co.uk", "media-amazon.com"]),
    ("battle_net", &["battle.net", "blizzard.com"]),
    ("betway", &["betway.com"]),
    ("bilibili", &["bilibili.com", "bilivideo.com", "biliapi.net", "hdslb.com"]),
    ("blizzard_entertainment", &["blizzard.com", "battle.net", "playoverwatch.com"]),
    ("bluesky", &["bsky.app", "bsky.social", "bsky.network"]),
    ("chatgpt", &["chatgpt.com", "openai.com", "oaistatic.com"]),
    ("cloudflare", &["cloudflare.com", "cloudflare-dns.com"]),
    ("dailymotion", &["dailymotion.com", "dmcdn.net"]),
    (
        "discord",
        &["discord.com", "discord.gg", "discordapp.com", "discordapp.net", "discord.media"],
    ),
    ("disneyplus", &["disneyplus.com", "disney-plus.net", "dssott.com", "bamgrid.com"]),
    ("ebay", &["ebay.com", "ebay.de", "ebay.co.uk", "ebaystatic.com"]),
    ("electronic_arts", &["ea.com", "origin.com"]),
    ("epic_games", &["epicgames.com", "epicgames.dev", "unrealengine.com"]),
    ("facebook", &["facebook.com", "facebook.net", "fbcdn.net", "fb.com", "messenger.com"]),
    ("hulu", &["hulu.com", "hulustream.com"]),
    ("imgur", &["imgur.com"]),
    ("instagram", &["instagram.com", "cdninstagram.com"]),
    ("leagueoflegends", &["leagueoflegends.com", "riotgames.com"]),
    ("linkedin", &["linkedin.com", "licdn.com", "lnkd.in"]),
    ("mail_ru", &["mail.ru"]),
    ("minecraft", &["minecraft.net", "mojang.com", "minecraftservices.com"]),
    (
        "netflix",
        &[
            "netflix.com",
            "netflix.net",
            "nflxext.com",
            "nflximg.net",
            "nflxso.net",
            "nflxvideo.net",
        ],
    ),
    ("nintendo", &["nintendo.com", "nintendo.net"]),
    ("onlyfans", &["onlyfans.com"]),
    ("origin", &["origin.com", "ea.com"]),
    ("pinterest", &["pinterest.com", "pinimg.com", "pin.it"]),
    ("playstation", &["playstation.com", "playstation.net", "sonyentertainmentnetwork.com"]),
    ("reddit", &["reddit.com", "redd.it", "redditmedia.com", "redditstatic.com"]),
    ("roblox", &["roblox.com", "rbxcdn.com"]),
    ("signal", &["signal.org", "whispersystems.org"]),
    ("skype", &["skype.com", "skypeassets.com"]),
    ("snapchat", &["snapchat.com", "sc-cdn.net", "snap.com"]),
    ("spotify", &["spotify.com", "scdn.co", "spotifycdn.com"]),
    ("steam", &["steampowered.com", "steamcommunity.com", "steamstatic.com", "steamcontent.com"]),
    ("telegram", &["telegram.org", "telegram.me", "t.me"]),
    ("tiktok", &["tiktok.com", "tiktokcdn.com", "tiktokv.com", "ttwstatic.com", "musical.ly"]),
    ("twitch", &["twitch.tv", "ttvnw.net", "jtvnw.net"]),
    ("twitter", &["twitter.com", "x.com", "t.co", "twimg.com"]),
    ("whatsapp", &["whatsapp.com", "whatsapp.net", "wa.me"]),
    ("xboxlive", &["xboxlive.com", "xbox.com"]),
    (
        "youtube",
        &[
            "youtube.com",
            "youtu.be",
            "ytimg.com",
            "googlevideo.com",
            "youtube-nocookie.com",
            "youtubei.googleapis.com",
        ],
    ),
];

/// Domains of a service; none where it is not known here.
pub(super) fn domains(service: &str) -> Option<&'static [&'static str]> {
    SERVICES.iter().find(|(name, _)| *name == service).map(|(_, domains)| *domains)
}
