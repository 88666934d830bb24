"""docs/operations.md cannot drift: each command that it shows is run, as it stands there, against the daemon on
simulated sites, and what is shown of it is what it prints, but for ids, times and numbers. What is named in the
text exists."""

import os
import re
import subprocess
import time
import unittest
from pathlib import Path

from model import CLI, Model
from objects import SOURCE, main, run

PAGE = SOURCE / "docs" / "operations.md"
# The volume of the page.
UUID = "5ef79ce1-81e8-439b-8405-35138edf5b89"
# Sections that may have blocks without a command: a line of the log, and findings of a site that has the trouble
# that they are about, which the model has not. Tests of their own have each of these: cli_inspection_test.cc,
# audit_test.cc, doctor_test.cc, log_test.cc.
WITHOUT_COMMAND = {"Log", "Is the installation in order?", "Before a failover",
                   "Looking for damage that no status shows"}
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
    """Section, language and lines of each block of the page."""
    section, found, block = "", [], None
    for line in PAGE.read_text().splitlines():
        if block is None and line.startswith("## "):
            section = line[3:]
        elif line.startswith("```"):
            if block is None:
                block = (section, line[3:], [])
            else:
                found.append(block)
                block = None
        elif block is not None:
            block[2].append(line)
    return found


def commands(lines):
    """Each "$ command" of a block with the lines that are shown of it."""
    found = []
    for line in lines:
        if line.startswith("$ "):
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

    def test_each_command_prints_what_is_shown(self):
        tried = 0
        with Model(3) as model:
            shell = Shell(model)
            for section, language, lines in blocks():
                if language != "console":
                    self.assertIn(section, WITHOUT_COMMAND)
                    continue
                for command, shown in commands(lines):
                    with self.subTest(command=command):
                        wanted = shape("\n".join(shown))
                        printed = shell.run(command)
                        # What happened is written a second later.
                        until = time.monotonic() + (20 if command.startswith("rbd-addons history ") else 0)
                        while not self.agrees(wanted, shape(printed)) and time.monotonic() < until:
                            time.sleep(0.5)
                            printed = shell.run(command)
                        if not self.agrees(wanted, shape(printed)):
                            self.assertEqual("\n".join(shown), printed, f"in the section '{section}'")
                    tried += 1
        self.assertGreater(tried, 10)
        shown = " ".join(command for _, language, lines in blocks() if language == "console"
                         for command, _ in commands(lines))
        for verb in ("doctor", "audit", "check-failover", "history", "info"):
            self.assertIn(f"rbd-addons {verb} ", shown.replace(";", " "))

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
