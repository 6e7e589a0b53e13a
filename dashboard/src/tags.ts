// The tags of clients that rules with `$ctag=` name; as `crates/policy/src/clients/tags.rs` has
// them.

export const TAGS: readonly string[] = [
  "device_audio",
  "device_camera",
  "device_gameconsole",
  "device_laptop",
  "device_nas",
  "device_other",
  "device_pc",
  "device_phone",
  "device_printer",
  "device_securityalarm",
  "device_tablet",
  "device_tv",
  "os_android",
  "os_ios",
  "os_linux",
  "os_macos",
  "os_other",
  "os_windows",
  "user_admin",
  "user_child",
  "user_regular",
];
