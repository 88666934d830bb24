"""The daemon on simulated sites (model_daemon.cc), for tests that look at it from outside."""

import json
import os
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

MODEL = os.environ.get("MODEL")
CLI = os.environ.get("CLI")


def await_it(what, condition, limit=120):
    """The first result of `condition` that is not false; fails with `what` after `limit` seconds."""
    until = time.monotonic() + limit
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > until:
            raise AssertionError(f"waited {limit} s for this: {what}")
        time.sleep(0.2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Model:
    """With it, a daemon whose site has `volumes` mirrored ones, which the watch has seen."""

    def __init__(self, volumes):
        if not MODEL or not CLI:
            raise unittest.SkipTest("MODEL and CLI are not set")
        self.count = volumes

    def __enter__(self):
        # A socket's path must be short.
        self.place = tempfile.TemporaryDirectory(dir="/tmp")
        self.folder = Path(self.place.name)
        self.process = subprocess.Popen([MODEL, self.folder, str(self.count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        try:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"the model ended with {self.process.wait()}")
            said = json.loads(line)
            self.metrics_url = said["metrics"]
            self.volumes = said["volumes"]
            self.cli("info", self.volumes[0])
            await_it("the watch sees all volumes",
                     lambda: f'rbd_addons_replication_images_truncated{{' in self.metrics()
                     and self.value("rbd_addons_replication_images") == self.count, limit=240)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()
        self.place.cleanup()

    def make(self, trouble):
        """Makes a trouble that the model knows; "mend ..." ends it. "log ..." is a line of its log."""
        print(trouble, file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != "done\n":
            raise AssertionError(f"the model did not do '{trouble}'")

    def cli(self, *arguments, ok=(0,), secrets=True):
        """What the command line prints for `arguments`."""
        command = [CLI, *arguments, "--endpoint", f"unix://{self.folder}/s"]
        if secrets:
            command += ["--secrets-file", self.folder / "secrets.json"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        if done.returncode not in ok:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def get(self, path):
        base = self.metrics_url.rsplit("/", 1)[0]
        with urllib.request.urlopen(base + path, timeout=60) as answer:
            return answer.read().decode()

    def metrics(self):
        return self.get("/metrics")

    def value(self, name):
        """The sum over all series of a metric."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.metrics().splitlines()
                   if line.startswith((name + "{", name + " ")))
