#!/usr/bin/env python3
"""A fleet on this machine, to look at: `make fleet`.

Three edges by one signed configuration, a Redis and a PostgreSQL that they share, all on loopback and in one folder that is removed at the end. It prints where
the dashboards are, publishes what is changed in the fleet's folder, and ends at Ctrl-C. Needs redis-server and PostgreSQL of Debian.
"""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TIDEGATE = os.environ.get("TIDEGATE_BIN", str(pathlib.Path(__file__).resolve().parents[1] / "target/debug/tidegate"))
EDGES = ["harbour", "hill", "mill"]
MAIN = """\
# The configuration of every machine. Change it here: it is published at once.
policy:
  lists:
    - { name: starter, builtin: starter }
    - { name: ours, rules: ["||blocked.example^"] }
fleet:
  live: { url: "redis://127.0.0.1:REDIS" }
  rows: { url: "postgresql://tidegate:demo@127.0.0.1:POSTGRES/postgres", sample: 1 }
"""


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def unprivileged():
    """Keyword arguments by which a server does not run as root."""
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid} if os.geteuid() == 0 else {}


def start_postgres(folder, port):
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    data = folder / "postgres"
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    (data / "word").write_text("demo\n")
    run = {**unprivileged(), "cwd": data}
    subprocess.run([programs[-1] / "initdb", "-D", data / "data", "-U", "tidegate", "-A", "scram-sha-256", "--pwfile", data / "word"], check=True, stdout=subprocess.DEVNULL, **run)
    command = [programs[-1] / "postgres", "-D", data / "data", "-k", data, "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **run)


def start_redis(folder, port):
    if not shutil.which("redis-server"):
        sys.exit("redis-server is not installed: apt-get install redis-server")
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def start_edge(folder, name, key):
    """One machine: its own file, its state; where its dashboard is."""
    home = folder / name
    home.mkdir()
    port = free()
    own = f"admin: {{ listen: \"127.0.0.1:{port}\" }}\nfleet:\n  name: {name}\n  bundles: \"{folder}/bundles\"\n  keys: [\"{key}\"]\n  poll: 2s\n"
    (home / "tidegate.yaml").write_text(own)
    command = [TIDEGATE, "run", "--config", home / "tidegate.yaml", "--state", home / "state"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if line == "ready\n":
            break
    else:
        sys.exit(f"{name} does not start")
    log = open(home / "log", "w")
    subprocess.Popen(["cat"], stdin=process.stdout, stdout=log)
    return process, f"http://127.0.0.1:{port}/#token={(home / 'state/admin.token').read_text().strip()}"


def publish(folder, why):
    told = subprocess.run([TIDEGATE, "fleet", "publish", folder / "home", "--key", folder / "key", "--why", why], capture_output=True, text=True)
    print((told.stdout + told.stderr).strip(), flush=True)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-fleet-"))
    folder.chmod(0o755)
    running = []
    # Stopped by `kill` as by Ctrl-C: nothing is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        demonstrate(folder, running)
    except KeyboardInterrupt:
        pass
    finally:
        for process in reversed(running):
            process.terminate()
        for process in reversed(running):
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def demonstrate(folder, running):
    redis, postgres = free(), free()
    running.append(start_redis(folder, redis))
    running.append(start_postgres(folder, postgres))
    home = folder / "home"
    subprocess.run([TIDEGATE, "fleet", "init", home, "--bundles", folder / "bundles", "--key", folder / "key"], check=True, stdout=subprocess.DEVNULL)
    (home / "overlays").mkdir()
    (home / "tidegate.yaml").write_text(MAIN.replace("REDIS", str(redis)).replace("POSTGRES", str(postgres)))
    doors = {name: free() for name in EDGES}
    for name, port in doors.items():
        (home / f"overlays/edge={name}.yaml").write_text(f"dns: {{ listen: [\"udp://127.0.0.1:{port}\"] }}\n")
    publish(folder, "the beginning")
    key = next(line for line in (home / "fleet.yaml").read_text().splitlines() if line.startswith("keys")).split('"')[1]
    for name in EDGES:
        process, dashboard = start_edge(folder, name, key)
        running.append(process)
        print(f"{name:<8} dig @127.0.0.1 -p {doors[name]} blocked.example   dashboard {dashboard}", flush=True)
    print(f"\nThe fleet's folder is {home}: what you change there is published.\nCtrl-C ends all.", flush=True)
    seen = changed(home)
    while True:
        time.sleep(1)
        if changed(home) != seen:
            seen = changed(home)
            publish(folder, "changed in the folder")


def changed(home):
    return max(path.stat().st_mtime for path in home.rglob("*"))


if __name__ == "__main__":
    main()
