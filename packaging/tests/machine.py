"""A machine for tests of packages: this one's file system as it is, with changes kept in memory and then forgotten, and
systemd as the first process of its own namespaces. It takes a second or two to start.

It wants root, and a kernel with overlayfs and cgroup2, as the end-to-end tests want network namespaces.
"""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

BOOT_S = 60
# What a machine for one service has no use for, and what would reach for the hardware.
MASKED = [
    "systemd-udevd.service",
    "systemd-udev-trigger.service",
    "systemd-udev-settle.service",
    "systemd-logind.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "systemd-remount-fs.service",
    "systemd-modules-load.service",
    "systemd-sysctl.service",
    "systemd-journal-flush.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "proc-sys-fs-binfmt_misc.automount",
]
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
}

BEGIN = r"""
set -eu
at=$1; size=$2; shift 2
mount -t tmpfs -o "size=$size,mode=755" tmpfs "$at"
mkdir "$at/up" "$at/work" "$at/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$at/up,workdir=$at/work" "$at/root"
root=$at/root
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
chmod 1777 "$root/tmp"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for wanted in "$root"/etc/systemd/system/*.wants; do rm -rf "$wanted"; done
ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
rm -rf "$root"/usr/lib/systemd/system/multi-user.target.wants "$root"/usr/lib/systemd/system/getty.target.wants
for unit in "$@"; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
echo 0123456789abcdef0123456789abcdef > "$root/etc/machine-id"
rm -rf "$root"/var/log/journal "$root"/var/lib/tidegate "$root"/etc/tidegate
# Containers have one so that nothing is started in them.
rm -f "$root"/usr/sbin/policy-rc.d
ip link set lo up
# As container managers do: systemd mounts credentials in a namespace of its own, from where they come by propagation.
mount --make-rshared "$root"
export container=tests
exec chroot "$root" /usr/lib/systemd/systemd --system --show-status=no --log-target=null
"""


class Failed(Exception):
    """A command inside that ended badly."""


class Machine:
    """One machine, from `with` to its end."""

    def __init__(self, size="900m"):
        self.size = size

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="tidegate-machine-")
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "--net"]
        self.outer = subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", BEGIN, "machine", self.folder, self.size, *MASKED],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            self.wait_for(lambda: self.first_process() and self.is_up(), "systemd does not come up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.outer.kill()
        self.outer.wait()
        self.outer.stderr.close()
        pathlib.Path(self.folder).rmdir()

    def wait_for(self, condition, what):
        """Waits until it holds."""
        end = time.monotonic() + BOOT_S
        while not condition():
            if self.outer.poll() is not None:
                raise Failed(f"{what}: {self.outer.stderr.read().decode()}")
            if time.monotonic() > end:
                raise Failed(f"{what}\n{self.journal()}")
            time.sleep(0.05)

    def first_process(self):
        """The number of its first process, seen from outside; none until it is in its own root."""
        children = pathlib.Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        numbers = children.read_text().split() if children.exists() else []
        if not numbers or os.readlink(f"/proc/{numbers[0]}/exe") == os.path.realpath("/bin/sh"):
            return None
        return numbers[0]

    def is_up(self):
        told = self.try_run("systemctl", "is-system-running").stdout.strip()
        return told in ("running", "degraded")

    def inside(self, *command):
        """The command line that runs a command inside."""
        enter = ["nsenter", "--target", self.first_process(), "-m", "-p", "-n", "-u", "-i", "-C", "--root", "--wd"]
        return [*enter, "--", *map(str, command)]

    def try_run(self, *command, env=None, stdin=""):
        """Runs a command, however it ends."""
        return subprocess.run(
            self.inside(*command),
            input=stdin,
            env={**ENVIRONMENT, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, *command, **more):
        """Runs a command that must end well; what it prints, with what it says on standard error."""
        done = self.try_run(*command, **more)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.journal()}")
        return done.stdout + done.stderr

    def begin(self, *command):
        """Starts a command that goes on; it ends with the machine."""
        return subprocess.Popen(
            self.inside(*command), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )

    def path(self, inside):
        """A file inside, seen from outside."""
        return pathlib.Path(f"/proc/{self.first_process()}/root{inside}")

    def write(self, inside, text, mode=0o644):
        """Writes a file inside."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)

    def put(self, source, inside, mode=0o644):
        """Copies a file into it."""
        self.write(inside, pathlib.Path(source).read_bytes(), mode)

    def journal(self):
        """What the service said."""
        return self.try_run("journalctl", "--no-pager", "-n", "40", "-u", "tidegate*", "-o", "cat").stdout

    def kill(self, number):
        """Ends a process inside, by its number inside."""
        self.try_run("kill", f"-{signal.SIGKILL}", str(number))
