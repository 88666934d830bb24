"""docs/operations.md cannot drift: each command that it shows is run, as it stands there, against the daemon on
simulated sites, and what is shown of it is what it prints, but for ids, times and numbers. What is named in the
text exists."""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from model import CLI, Model
from objects import SOURCE, main, run

DAEMON = os.environ.get("DAEMON")
PAGE = SOURCE / "docs" / "operations.md"
# The volume of the page.
UUID = "5ef79ce1-81e8-439b-8405-35138edf5b89"
# Sections that may have a block without a command: a line of the log.
WITHOUT_COMMAND = {"Log"}
# Before a block: what is wrong on the site while its commands are run; the troubles are those of model_daemon.cc.
WHILE = re.compile(r"<!-- while: (.+) -->")
# Commands of the text that are not this program's, and need a host with Ceph or Kubernetes.
ELSEWHERE = ("rbd-addonsd ", "rbd ", "rados ", "ceph ", "kubectl ", "systemctl ")
VOLATILE = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{4,}-\d+\b"), "REQUEST"),
    (re.compile(r"\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|s)\b"), "DURATION"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "ID"),
    (re.compile(r"\d+(?:\.\d+)?"), "N"),
    (re.compile(r"-{2,}"), "--"),
    (re.compile(r" {2,}"), "  "),
]


def shape(text):
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def blocks():
    """Section, trouble ("" for none), language and lines of each block of the page."""
    section, trouble, found, block = "", "", [], None
    for line in PAGE.read_text().splitlines():
        if block is None and line.startswith("## "):
            section = line[3:]
        elif block is None and WHILE.fullmatch(line):
            trouble = WHILE.fullmatch(line)[1]
        elif line.startswith("```"):
            if block is None:
                block = (section, trouble, line[3:], [])
            else:
                found.append(block)
                block, trouble = None, ""
        elif block is not None:
            block[3].append(line)
    return found


def commands(lines):
    """Each "$ command" of a block with the lines that are shown of it."""
    found = []
    for line in lines:
        if found and found[-1][0].endswith("\\"):
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Shell:
    """Runs commands where `rbd-addons` finds the model's daemon by itself, as it does in the daemon's container."""

    def __init__(self, model):
        self.model = model
        (model.folder / "bin").mkdir()
        (model.folder / "bin" / "rbd-addons").symlink_to(CLI)
        self.environment = {
            **os.environ, "PATH": f"{model.folder}/bin:{os.environ['PATH']}", "NO_COLOR": "1",
            "RBD_ADDONS_SECRETS_FILE": f"{model.folder}/secrets.json",
            "RBD_ADDONS_CSI_ADDONS_ENDPOINT": f"unix://{model.folder}/s",
            "RBD_ADDONS_ADMIN_ENDPOINT": f"unix://{model.folder}/a"}
        self.uuid = model.volumes[0][-36:]

    def run(self, command):
        done = subprocess.run(["bash", "-c", command.replace(UUID, self.uuid)], cwd=self.model.folder, text=True,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              stdin=subprocess.DEVNULL)
        return done.stdout


class Operations(unittest.TestCase):
    maxDiff = None

    def agrees(self, shown, printed):
        """Line by line; a shown "..." stands for any number of lines."""
        pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown)
        return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None

    def printed_as_shown(self, wanted, printed):
        """Lines of progress that are not shown are no difference: they come when a call waits for 20 s, as on a busy
        machine. One tells the clock of the wait anew."""
        without = "".join(line for line in printed.splitlines(True)
                          if not line.startswith("waiting: ") and not line.endswith("; Ctrl-C is safe\n"))
        return self.agrees(wanted, shape(printed)) or self.agrees(wanted, shape(without))

    def runs_as_shown(self, shell, section, command, shown):
        wanted = shape("\n".join(shown))
        printed = shell.run(command)
        # What happened is written a second later.
        until = time.monotonic() + (20 if command.startswith("rbd-addons history ") else 0)
        while not self.printed_as_shown(wanted, printed) and time.monotonic() < until:
            time.sleep(0.5)
            printed = shell.run(command)
        if not self.printed_as_shown(wanted, printed):
            self.assertEqual("\n".join(shown), printed, f"in the section '{section}'")

    def test_each_command_prints_what_is_shown(self):
        tried, troubles = [], set()
        with Model(3) as model:
            shell = Shell(model)
            for section, trouble, language, lines in blocks():
                if language != "console":
                    self.assertIn(section, WITHOUT_COMMAND)
                    continue
                if trouble:
                    model.make(trouble)
                    troubles.add(trouble)
                for command, shown in commands(lines):
                    with self.subTest(command=command):
                        self.runs_as_shown(shell, section, command, shown)
                    tried.append(command)
                if trouble:
                    model.make(f"mend {trouble}")
        self.assertGreater(len(tried), 10)
        self.assertGreater(len(troubles), 3)
        shown = " ".join(tried)
        for verb in ("status", "doctor", "audit", "check-failover", "history", "info"):
            self.assertIn(f"rbd-addons {verb} ", shown.replace(";", " "))

    @unittest.skipUnless(DAEMON, "DAEMON is not set")
    def test_the_line_of_the_log_is_of_the_form_that_the_daemon_writes(self):
        [shown] = [json.loads("\n".join(lines)) for section, _, language, lines in blocks()
                   if section in WITHOUT_COMMAND and language != "console"]
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            # A folder that is not there: it says so, and ends.
            done = subprocess.run([DAEMON, "--controllerserver", "--drivername=d", "--log-format=json",
                                   f"--csi-addons-endpoint=unix://{folder}/none/s",
                                   f"--admin-endpoint=unix://{folder}/a", f"--config-dir={folder}"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        written = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        self.assertTrue(written, done.stderr)
        for line in written:
            self.assertEqual(list(line), list(shown))
            self.assertEqual({type(value) for value in line["fields"].values()} | {str}, {str})
            self.assertEqual(shape(line["time"]), shape(shown["time"]))

    def spans(self):
        text = re.sub(r"^```.*?^```", "", PAGE.read_text(), flags=re.M | re.S)
        return re.findall(r"`([^`\n]+)`", text)

    def test_what_the_text_names_exists(self):
        if not CLI:
            self.skipTest("CLI is not set")
        helps, named = {}, 0
        for span in self.spans():
            if span.startswith(ELSEWHERE) or not span.startswith("rbd-addons "):
                continue
            words = span.split()[1:]
            # "site relocate|failover POOL": the first one stands for all.
            verb = tuple(word.split("|")[0] for word in words[:2 if words[0] in ("site", "group") else 1])
            if verb not in helps:
                helps[verb] = run(CLI, *verb, "--help")
            for option in re.findall(r"(?<!\S)\[?(--[a-z-]+)", " ".join(words)):
                self.assertIn(option, helps[verb], span)
            named += 1
        self.assertGreater(named, 5)


if __name__ == "__main__":
    main()
