"""README and the pages about replication and what to do: links lead somewhere, what they name exists, and they are
written for somebody in a hurry."""

import os
import re
import unittest
from pathlib import Path

from objects import SOURCE, main, run

DAEMON = os.environ.get("DAEMON")
CLI = os.environ.get("CLI")
DOCS = SOURCE / "docs"
RUNBOOKS = sorted(path for path in (DOCS / "runbooks").glob("*.md") if path.name != "README.md")
INDEX = DOCS / "runbooks" / "README.md"
# Those that are held to short sentences.
SHORT = [SOURCE / "README.md", DOCS / "comparison.md", DOCS / "flags.md", DOCS / "kubernetes.md", DOCS / "ramen.md", DOCS / "replication.md",
         DOCS / "replication-decisions.md", DOCS / "ceph-faults.md", INDEX, *RUNBOOKS]
MOST_WORDS = 25
MOST_LINES_OF_README = 80
HEADINGS = ["What you see", "What it means", "What to do", "How you know it is over"]
# Quoted in the runbooks, and not this program's words.
OTHERS_WORDS = {"failed to create local mirror snapshot", "health: OK"}  # rbd-mirror's
OTHER_PROGRAMS = ("rbd ", "rados ", "ceph ", "kubectl ", "systemctl ", "rbd-addons ")


def pages():
    """All pages for people, without those of build trees."""
    found = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md"]
    for folder in ("docs", "deploy", "findings"):
        found += sorted((SOURCE / folder).rglob("*.md"))
    return found


def lines_of_text(page):
    """Number and text of each line that is no code block."""
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line


def blocks(page, language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.M | re.S)


def anchors(page):
    found = set()
    for _, line in lines_of_text(page):
        if heading := re.fullmatch(r"#+ (.*)", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").strip().lower()
            anchor = first = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            count = 0
            while anchor in found:
                count += 1
                anchor = f"{first}-{count}"
            found.add(anchor)
    return found


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)] if line.startswith("|") else [line]


def sentences(page):
    """Number of the line and each sentence of a paragraph, an item of a list or a cell of a table."""
    for number, line in lines_of_text(page):
        if line.startswith("#") or re.fullmatch(r"[\s|:-]*", line):
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
        text = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", re.sub(r"`[^`]*`", "code", text))
        for cell in cells(text):
            for sentence in re.split(r"(?<=[.!?])[)\"*]*\s+", cell.strip("*")):
                yield number, sentence


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        known = {}
        for page in pages():
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                there = (page.parent / path).resolve() if path else page
                self.assertTrue(there.exists(), f"{page}: {target}")
                if anchor and there.suffix == ".md":
                    if there not in known:
                        known[there] = anchors(there)
                    self.assertIn(anchor, known[there], f"{page}: {target}")

    def test_readme_is_one_page(self):
        self.assertLessEqual(len((SOURCE / "README.md").read_text().splitlines()), MOST_LINES_OF_README)

    def test_each_row_of_a_verbs_table_is_on_the_page_of_decisions(self):
        page = (SOURCE / "docs/replication-decisions.md").read_text()
        for verb in ("Promote", "Demote", "Resync", "Enable", "Disable"):
            section = re.search(rf"^## {verb}$(.*?)(?=^## )", page, re.S | re.M).group(1)
            labels = re.findall(r"^\| ([a-z-]+(?:, [a-z-]+)*)", section, re.M)
            shown = {name for label in labels for name in label.split(", ")}
            table = "".join(path.read_text()
                            for path in (SOURCE / "replication/decide").glob(f"{verb.lower()}*.cc"))
            rows = re.findall(r'^ {4}\{"([a-z-]+)",', table, re.M)
            self.assertGreater(len(rows), 10, verb)
            self.assertEqual(set(rows) - shown, set(), f"{verb}: rows of the code that the page lacks")

    def test_sentences_are_short(self):
        for page in SHORT:
            for number, sentence in sentences(page):
                words = len(re.findall(r"[\w'./-]*\w[\w'./-]*", sentence))
                self.assertLessEqual(words, MOST_WORDS, f"{page}:{number}: {sentence}")

    def test_named_tests_exist(self):
        names = set()
        for path in (SOURCE / "tests").rglob("*"):
            if path.suffix in (".cc", ".h"):
                names |= set(re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text()))
        suites = {suite for suite, _ in names}
        named = 0
        for page in [SOURCE / "README.md", DOCS / "comparison.md", DOCS / "replication-decisions.md",
                     DOCS / "ceph-faults.md"]:
            for suite, test in re.findall(r"`(\w+Test)(?:\.(\w+))?`", page.read_text()):
                named += 1
                if test:
                    self.assertTrue((suite, test) in names, f"{page}: there is no test {suite}.{test}")
                else:
                    self.assertTrue(suite in suites, f"{page}: there is no test {suite}")
        self.assertGreater(named, 100)

    def test_each_unit_that_makes_up_for_a_fault_of_ceph_is_on_its_page(self):
        rows = [cells(line) for _, line in lines_of_text(DOCS / "ceph-faults.md")
                if line.startswith("|") and not re.fullmatch(r"[\s|:-]*", line)][1:]
        units = {path.stem for path in (SOURCE / "replication/steps/ceph_faults").glob("*.h")}
        shown = {unit for row in rows for unit in re.findall(r"`(\w+)`", row[5])}
        self.assertEqual(units - shown, set())
        for row in rows:
            self.assertRegex(row[6], r"`\w+Test", row[1])
            self.assertRegex(row[2], r"\d+\.\d+", row[1])

    def test_each_row_of_a_decision_names_a_test(self):
        rows, wanted = 0, False
        for number, line in lines_of_text(DOCS / "replication-decisions.md"):
            if not line.startswith("|"):
                wanted = False
            elif wanted and not re.fullmatch(r"[\s|:-]*", line):
                rows += 1
                self.assertRegex(cells(line)[-2], r"`\w+Test", f"line {number}")
            wanted = wanted or line.endswith("| test |")
        self.assertGreater(rows, 100)

    def test_runbooks_have_one_form(self):
        index = INDEX.read_text()
        self.assertGreater(len(RUNBOOKS), 20)
        for page in RUNBOOKS:
            headings = [line[3:] for _, line in lines_of_text(page) if line.startswith("## ")]
            self.assertEqual(headings, HEADINGS, page)
            self.assertIn(f"]({page.name})", index)

    def test_quoted_messages_are_those_of_the_source(self):
        texts = []
        for path in SOURCE.rglob("*"):
            if path.suffix in (".cc", ".h") and path.relative_to(SOURCE).parts[0] not in ("build", "tests", "bench"):
                # Adjacent literals are one text.
                texts.append(re.sub(r'"\s*\n\s*"', "", path.read_text()))
        source = "\n".join(texts)
        quoted, missing = 0, []
        for page in [INDEX, *RUNBOOKS]:
            for number, line in lines_of_text(page):
                if not line.startswith("|"):
                    continue
                for text in re.findall(r"`([^`]+)`", cells(line)[1]):
                    if " " not in text or text in OTHERS_WORDS or text.startswith(OTHER_PROGRAMS):
                        continue
                    # What stands for a name, a number or more words is not looked for.
                    for part in re.split(r"\.\.\.|'[^' ]*'|\d+", text):
                        part = part.strip().replace('"', '\\"')
                        if len(part) > 3:
                            if part not in source:
                                missing.append(f"{page.name}:{number}: '{part}' of '{text}'")
                            quoted += 1
        self.assertEqual(missing, [])
        self.assertGreater(quoted, 50)

    @unittest.skipUnless(CLI, "CLI is not set")
    def test_commands_exist(self):
        helps, named = {}, 0
        for page in [SOURCE / "README.md", DOCS / "replication.md", INDEX, *RUNBOOKS]:
            commands = re.findall(r"`(rbd-addons [^`]+)`", page.read_text())
            for block in blocks(page, "sh") + blocks(page, "console"):
                commands += re.findall(r"^(?:\$ )?(rbd-addons .*?)(?:  +#.*)?$", block, re.M)
            for command in commands:
                words = command.split()[1:]
                verb = tuple(words[:2 if words[0] in ("site", "group") else 1])
                if verb not in helps:
                    helps[verb] = run(CLI, *verb, "--help")
                for option in re.findall(r"(?<!\S)(--[a-z-]+)", command):
                    self.assertIn(option, helps[verb], f"{page}: {command}")
                named += 1
        self.assertGreater(named, 20)

    @unittest.skipUnless(DAEMON, "DAEMON is not set")
    def test_flags_are_those_of_the_daemon(self):
        real = set(re.findall(r"^  (--[a-z0-9-]+)", run(DAEMON, "--help"), re.M))
        told = set()
        for _, line in lines_of_text(DOCS / "flags.md"):
            if line.startswith("| `--"):
                told |= set(re.findall(r"`(--[a-z0-9-]+)`", cells(line)[1]))
        self.assertEqual(told, real)


if __name__ == "__main__":
    main()
