//! A network namespace of the test's own: its own loopback, addresses and resolv.conf.
//!
//! Needs root, as CI has. The thread that enters sees only this network, and so does every thread
//! and process it starts from then on.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace whose loopback carries `addresses`, and whose processes ask `nameserver`.
    pub fn new(name: &str, addresses: &[&str], nameserver: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        ip(&["netns", "add", &name]);
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"]);
        for address in addresses {
            namespace.ip(&["address", "add", &format!("{address}/32"), "dev", "lo"]);
        }
        // `ip netns exec` lays this over /etc/resolv.conf for what it starts.
        let etc = Path::new("/etc/netns").join(&namespace.name);
        std::fs::create_dir_all(&etc).unwrap();
        std::fs::write(etc.join("resolv.conf"), format!("nameserver {nameserver}\n")).unwrap();
        namespace
    }

    /// Lays a cable: our end is `device` with the addresses `ours`, the other is `eth0` of `far`
    /// with this hardware address and the addresses `theirs`, each with its prefix.
    pub fn link(&self, device: &str, ours: &[&str], far: &Self, mac: &str, theirs: &[&str]) {
        self.ip(&[
            "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", &far.name,
        ]);
        far.ip(&["link", "set", "eth0", "address", mac]);
        for (end, device, addresses) in [(self, device, ours), (far, "eth0", theirs)] {
            end.ip(&["link", "set", device, "up"]);
            for address in addresses {
                // Nobody else can have it, so it need not be asked for.
                let nodad: &[&str] = if address.contains(':') { &["nodad"] } else { &[] };
                end.ip(&[&["address", "add", address, "dev", device], nodad].concat());
            }
        }
    }

    fn ip(&self, args: &[&str]) {
        let mut all = vec!["-n", &self.name];
        all.extend(args);
        ip(&all);
    }

    /// Moves the calling thread into the namespace, for good.
    pub fn enter(&self) {
        let handle = File::open(Path::new("/run/netns").join(&self.name)).unwrap();
        move_into_link_name_space(handle.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// A command inside, with the namespace's resolv.conf.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
        let _ = std::fs::remove_dir_all(Path::new("/etc/netns").join(&self.name));
    }
}

fn ip(args: &[&str]) {
    let status = Command::new("ip").args(args).status().unwrap();
    assert!(status.success(), "ip {} failed; namespaces need root", args.join(" "));
}
