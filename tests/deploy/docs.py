"""The pages about installing tell the truth about what is there: files, flags, settings, names."""

import os
import re
import unittest
from pathlib import Path

import yaml

from objects import CHART, SOURCE, main, run

PAGES = ["install", "handover", "upgrade", "uninstall", "security", "standalone"]
DAEMON = os.environ.get("DAEMON")
CLI = os.environ.get("CLI")


class Docs(unittest.TestCase):
    def each(self):
        for name in PAGES:
            yield name, (SOURCE / "docs" / f"{name}.md").read_text()

    def test_files_of_deploy_are_there(self):
        for name, text in self.each():
            for path in re.findall(r"(?:\btests/)?\bdeploy/[\w./-]*\w", text):
                # "kubectl ... deploy/NAME" is an object.
                if path != "deploy/rbd-addons-controller":
                    self.assertTrue((SOURCE / path).exists(), f"{name}: {path}")

    def test_settings_exist(self):
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        flags = set(re.findall(r"^  --([a-z0-9-]+)", run(DAEMON, "--help"), re.M)) if DAEMON else None
        for name, text in self.each():
            for setting in re.findall(r"(?:--set |`)((?:image|sidecar|config|controller|node|metrics|networkPolicy|rbac|"
                                      r"namespace|settings|probes|cephUser|watchUser|test)(?:\.[a-zA-Z-]+)+)", text):
                if setting.endswith((".yaml", ".json")):  # a file
                    continue
                here, path = values, setting.split(".")
                for index, word in enumerate(path):
                    if index and path[index - 1] == "settings":
                        self.assertTrue(flags is None or word in flags, f"{name}: {setting}")
                        break
                    self.assertIn(word, here, f"{name}: {setting}")
                    here = here[word]

    def test_variables_are_flags(self):
        if not DAEMON:
            self.skipTest("DAEMON is not set")
        known = {"RBD_ADDONS_" + flag.upper().replace("-", "_")
                 for flag in re.findall(r"^  --([a-z0-9-]+)", run(DAEMON, "--help"), re.M)}
        if CLI:  # it has some of its own
            known |= set(re.findall(r"\bRBD_ADDONS_[A-Z_]+", run(CLI, "manual")))
        pages = [text for _, text in self.each()]
        pages.append((SOURCE / "deploy" / "systemd" / "rbd-addons.default").read_text())
        for text in pages:
            self.assertLessEqual(set(re.findall(r"\bRBD_ADDONS_[A-Z_]+", text)), known)

    def test_one_version(self):
        version = re.search(r"^project\(rbd-addons VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))
        newest = re.search(r"^## ([\d.]+)", (SOURCE / "CHANGELOG.md").read_text(), re.M)[1]
        self.assertEqual(newest, version)
        for name, text in self.each():
            for tag in re.findall(r"\brbd-addons:(\d[\w.]*)", text):
                self.assertEqual(tag, version, f"{name}: rbd-addons:{tag}")
        if DAEMON:
            self.assertEqual(run(DAEMON, "--version").strip(), f"rbd-addonsd {version}")

    def test_no_host_of_a_registry_is_named(self):
        # Also not where this test would find it by itself.
        host = re.compile(r"\b(?:" + "|".join(["qu" + "ay", "gh" + "cr", "dock" + "er", "g" + "cr", "registry" + r"\.k8s"])
                          + r")\.io\b")
        for folder in ("deploy", "docs", "tests/deploy"):
            for path in Path(SOURCE / folder).rglob("*"):
                if path.is_file():
                    self.assertIsNone(host.search(path.read_text(errors="replace")), path)


if __name__ == "__main__":
    main()
