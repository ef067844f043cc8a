"""Network namespaces of one round: a hub (the coordinator's host) and hosts around it, each connected to it by separate links, and the faults
of a link. Every name has the pid of the process that made it, so that rounds can run at the same time, and the next round finds and removes
the namespaces of a killed round. Needs root, iproute2 and nftables.

A fault is set at the hub's end, in both directions or one: `in` is traffic to the hub. tc netem is not needed (and often missing)."""
import ctypes
import itertools
import os
import re
import shutil
import signal
import subprocess
import threading

PREFIX = "vqc"
CLONE_NEWNET = 0x40000000
counter = itertools.count()
lock = threading.Lock()


def run(*words, text=None, check=True):
    return subprocess.run(list(map(str, words)), input=text, check=check, capture_output=True, text=True)


def why_not():
    """None if namespaces and rules work, else the reason."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "nft", "tc"):
        if shutil.which(program) is None:
            return f"{program} is not installed (deploy/install-deps --ci)"
    name = f"{PREFIX}{os.getpid()}x"
    with lock:
        made = run("ip", "netns", "add", name, check=False)
        try:
            if made.returncode != 0:
                return f"ip netns add: {made.stderr.strip()}"
            rules = run("ip", "netns", "exec", name, "nft", "-f", "-", text="table inet t {\n}\n", check=False)
            return None if rules.returncode == 0 else f"nft: {rules.stderr.strip()}"
        finally:
            run("ip", "netns", "del", name, check=False)


def kill_all(name):
    for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
        try:
            if int(pid) != os.getpid():  # a process that entered it
                os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass


def remove(name):
    kill_all(name)
    run("ip", "netns", "del", name, check=False)


def sweep():
    """Removes the namespaces of processes that have ended."""
    for line in run("ip", "netns", "list", check=False).stdout.splitlines():
        found = re.match(rf"({PREFIX}(\d+)\D\S*)", line)
        if found and not os.path.exists(f"/proc/{found.group(2)}"):
            remove(found.group(1))


class Link:
    """One cable between the hub and a host: `near` is the hub's address on it, `far` the host's."""

    def __init__(self, lab, host, number):
        self.lab, self.host = lab, host
        self.name = f"l{number}"
        self.near, self.far = f"10.77.{number}.1", f"10.77.{number}.2"
        ip = ("ip", "-n", lab.spaces["hub"])
        run(*ip, "link", "add", self.name, "type", "veth", "peer", "name", self.name, "netns", lab.spaces[host])
        for space, address in ((lab.spaces["hub"], self.near), (lab.spaces[host], self.far)):
            run("ip", "-n", space, "addr", "add", address + "/24", "dev", self.name)
            run("ip", "-n", space, "link", "set", self.name, "up")
        lab.rules(f"add chain inet t in_{self.name}\nadd chain inet t out_{self.name}\n"
                  f'add rule inet t input iifname "{self.name}" jump in_{self.name}\n'
                  f'add rule inet t output oifname "{self.name}" jump out_{self.name}\n')

    def rules(self, inward=None, outward=None):
        """Replaces the rules in force, in one step."""
        text = f"flush chain inet t in_{self.name}\nflush chain inet t out_{self.name}\n"
        for chain, rule in (("in", inward), ("out", outward)):
            if rule:
                text += f"add rule inet t {chain}_{self.name} {rule}\n"
        self.lab.rules(text)

    def heal(self):
        self.rules()

    def drop(self, way="both"):
        self.rules("drop" if way in ("both", "in") else None, "drop" if way in ("both", "out") else None)

    def reset(self):
        """Every segment, of either side, is answered with a reset: all connections on the link die."""
        rule = "tcp flags & rst == 0 reject with tcp reset"  # the resets themselves pass
        self.rules(rule, rule)

    def loss(self, percent):
        self.rules(f"numgen random mod 1000 < {round(percent * 10)} drop", f"numgen random mod 1000 < {round(percent * 10)} drop")

    def slow(self, rate="64kbit"):
        for space in (self.lab.spaces["hub"], self.lab.spaces[self.host]):
            run("tc", "-n", space, "qdisc", "replace", "dev", self.name, "root", "tbf", "rate", rate, "burst", "3000", "latency", "2s")

    def fast(self):
        for space in (self.lab.spaces["hub"], self.lab.spaces[self.host]):
            run("tc", "-n", space, "qdisc", "del", "dev", self.name, "root", check=False)


class Lab:
    """lab = Lab("workers", "redis"); lab.link("workers"); lab.words("hub") are the first words of a command that runs on the hub."""

    def __init__(self, *hosts):
        self.spaces, self.links = {}, []
        n = next(counter)
        try:
            for host in ("hub",) + hosts:
                name = f"{PREFIX}{os.getpid()}-{n}{host[0]}"
                with lock:
                    run("ip", "netns", "add", name)
                self.spaces[host] = name
                run("ip", "-n", name, "link", "set", "lo", "up")
            self.rules("table inet t {\n chain input {\n type filter hook input priority 0; policy accept;\n }\n"
                       " chain output {\n type filter hook output priority 0; policy accept;\n }\n}\n")
        except BaseException:
            self.close()
            raise

    def rules(self, text):
        run("ip", "netns", "exec", self.spaces["hub"], "nft", "-f", "-", text=text)

    def link(self, host):
        self.links.append(Link(self, host, len(self.links) + 1))
        return self.links[-1]

    def enter(self, host):
        """Moves this process, and its later children, to that host."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.spaces[host]}", encoding="ascii") as space:
            if libc.setns(space.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def words(self, host):
        return ["ip", "netns", "exec", self.spaces[host]]

    def close(self):
        for name in self.spaces.values():
            remove(name)
        self.spaces = {}
