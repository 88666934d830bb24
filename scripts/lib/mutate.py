"""Mutants for scripts/mutate.sh: writes them into sources, and runs the tests against each."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HEADER = """#ifndef ADDONS_MUTANT_H_
#define ADDONS_MUTANT_H_

#include <atomic>
#include <cstdio>
#include <cstdlib>

// The compiler sees that a call which is switched off leaves something without a value.
#pragma GCC diagnostic warning "-Wmaybe-uninitialized"

namespace addons_mutants {

inline constexpr int kMost = 20000;
inline std::atomic<bool> reached[kMost];

inline int Chosen() {
  static const int chosen = [] {
    std::atexit([] {
      const char* const path = std::getenv("MUTANTS_REACHED");
      std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
      if (file == nullptr) return;
      for (int i = 0; i < kMost; ++i) {
        if (reached[i]) std::fprintf(file, "%d\\n", i);
      }
      std::fclose(file);
    });
    const char* const text = std::getenv("MUTANT");
    return text != nullptr ? std::atoi(text) : -1;
  }();
  return chosen;
}

/// Whether mutant `number` is the one that was chosen.
inline bool On(int number) {
  const int chosen = Chosen();
  reached[number] = true;
  return chosen == number;
}

}  // namespace addons_mutants

#endif  // ADDONS_MUTANT_H_
"""

# What a call changes that nobody but a reader of logs sees.
SILENT = re.compile(r"^\s*(Log\(\)|\w*context\w*\.(Step|SetPending|Progress)|\(void\)|std::printf)")
CALL = re.compile(r"^\s+(?:[A-Za-z_][\w:]*(?:\.|->))*[A-Za-z_][\w:]*\(")
KEYWORDS = ("if", "for", "while", "switch", "return", "co_return", "case", "else", "do", "sizeof",
            "static_assert", "delete", "throw", "using", "const", "constexpr", "auto", "class",
            "struct", "enum", "template", "ADDONS_ASSIGN_OR_RETURN", "TEST", "TEST_F", "TEST_P")


def after_literal(text, at):
    """The index of the quote that closes the text or character at `at`; `at` where none begins there."""
    if text.startswith('R"(', at):
        return text.index(')"', at) + 1
    quote = text[at]
    if quote != '"' and (quote != "'" or text[at - 1].isalnum()):
        return at
    at += 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at


def matching(text, at):
    """The index after the bracket that closes the one at `at`; -1 where none does."""
    depth = 0
    i = at
    while i < len(text):
        i = after_literal(text, i)
        c = text[i]
        if text.startswith("//", i):
            i = text.index("\n", i)
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    return -1


def split_top(text, token):
    """`text` at each `token` outside brackets and strings."""
    parts, start, i = [], 0, 0
    while i < len(text):
        c = text[i]
        if c in "([{":
            end = matching(text, i)
            if end < 0:
                return [text]
            i = end
            continue
        if after_literal(text, i) != i:
            i = after_literal(text, i)
        elif text.startswith("//", i):
            i = text.index("\n", i) if "\n" in text[i:] else len(text)
            continue
        elif c in "?" and token != "?":
            return [text]  # a choice between values: left alone
        elif text.startswith(token, i):
            parts.append(text[start:i])
            start = i + len(token)
            i = start
            continue
        i += 1
    parts.append(text[start:])
    return parts


def statement_end(text, at):
    """The index of the semicolon that ends the statement; -1 where a bracket ends before it."""
    while at < len(text):
        c = text[at]
        if c in "([{":
            at = matching(text, at)
            if at < 0:
                return -1
            continue
        if c == ";":
            return at
        if c in ")]}":
            return -1
        at = after_literal(text, at) + 1
    return -1


def only_logs(text, at):
    """Whether the statement at `at`, what an `if` decides, does nothing but log, with its `else`."""
    body = re.compile(r"\s*(\{\s*)?").match(text, at)
    at = body.end()
    logged = False
    while re.match(r"Log\(\)", text[at:]):
        end = statement_end(text, at)
        if end < 0:
            return False
        logged = True
        at = re.compile(r"\s*").match(text, end + 1).end()
        if body.group(1) is None:
            at = end + 1
            break
    if not logged:
        return False
    if body.group(1) is not None:
        if text[at] != "}":
            return False
        at += 1
    other = re.compile(r"\s*else\b").match(text, at)
    return other is None or only_logs(text, other.end())


class Writer:
    # Numbers stand in the sources: those of a file stay when another file is edited a little,
    # so that only what was edited is compiled again.
    ROOM = 50

    def __init__(self):
        self.mutants = []
        self.next = 0

    def new(self, path, text, at, what):
        line = text.count("\n", 0, at) + 1
        self.mutants.append({"number": self.next, "file": path, "line": line,
                             "what": " ".join(what.split())[:160]})
        self.next += 1
        return self.next - 1

    def end_file(self):
        self.next = (self.next + self.ROOM // 5 + self.ROOM - 1) // self.ROOM * self.ROOM

    def operands(self, path, text, at, condition):
        """Each operand alone, also of those that stand in brackets; None where there is but one."""
        for token, form in (("||", "(!addons_mutants::On({n}) && ({op}))"),
                            ("&&", "(addons_mutants::On({n}) || ({op}))")):
            parts = split_top(condition, token)
            if len(parts) < 2:
                continue
            where, made = at, []
            for part in parts:
                begin = where + len(part) - len(part.lstrip())
                n = self.new(path, text, begin, part)
                made.append(form.format(n=n, op=self.in_brackets(path, text, begin, part.strip())))
                where += len(part) + len(token)
            return (" " + token + " ").join(made)
        return None

    def in_brackets(self, path, text, at, operand):
        head = "!(" if operand.startswith("!(") else "("
        if not operand.startswith(head) or matching(operand, len(head) - 1) != len(operand):
            return operand
        inner = self.operands(path, text, at + len(head), operand[len(head):-1])
        return operand if inner is None else head + inner + ")"

    def condition(self, path, text, at, condition, what):
        """The operands, or the whole where there is but one: then it never holds."""
        mutated = self.operands(path, text, at, condition)
        if mutated is not None:
            return mutated
        n = self.new(path, text, at + len(condition) - len(condition.lstrip()), what)
        return f"!addons_mutants::On({n}) && ({condition.strip()})"

    def value(self, path, text, at, expression):
        """The condition of a choice between two values, or the operands of a condition."""
        parts = split_top(expression, "?")
        if len(parts) < 2:
            return self.operands(path, text, at, expression)
        what = f"{parts[0].strip()} ?"
        return "(" + self.condition(path, text, at, parts[0], what) + ") ?" + "?".join(parts[1:])

    def file(self, path, text):
        out, i = [], 0
        pattern = re.compile(
            r"""//[^\n]*|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
            r"""|\bif \((?!constexpr)|\breturn |(?<=\w) =\s+|^( +)(?=[A-Za-z_(])""", re.M | re.S)
        while True:
            found = pattern.search(text, i)
            if not found:
                out.append(text[i:])
                return "".join(out)
            token = found.group(0)
            if token[0] in "/R\"'":
                out.append(text[i:found.end()])
                i = found.end()
            elif token == "if (":
                at = found.end() - 1
                end = matching(text, at)
                whole = text[at + 1:end - 1]
                parts = split_top(whole, ";")
                init = ";".join(parts[:-1]) + ";" if len(parts) > 1 else ""
                condition = parts[-1]
                out.append(text[i:at + 1] + init)
                start = at + 1 + len(init)
                if only_logs(text, end) or re.match(r"\s*(const )?(auto|[A-Z]\w*)[*&]? \w+ = ", condition):
                    out.append(condition)
                else:
                    mutated = self.condition(path, text, start, condition, f"if ({condition.strip()})")
                    out.append((" " if init else "") + mutated)
                out.append(")")
                i = end
            elif token == "return " or token.startswith(" ="):
                start = found.end()
                end = statement_end(text, start)
                expression = text[start:end]
                line = text[text.rfind("\n", 0, start) + 1:start]
                mutated = None
                if end >= 0 and "<<" not in expression and "constexpr" not in line:
                    mutated = self.value(path, text, start, expression)
                if mutated is None:
                    out.append(text[i:start])
                    i = start
                else:
                    out.append(text[i:start] + mutated)
                    i = end
            else:
                start = found.end()
                line_end = text.index("\n", start) if "\n" in text[start:] else len(text)
                line = text[found.start():line_end]
                word = re.match(r"[A-Za-z_]\w*", text[start:])
                before = text[:found.start()].rstrip()
                if (not word or word.group(0) in KEYWORDS or SILENT.match(line) or not CALL.match(line)
                        or not before or before[-1] not in ";{}" or text[:found.start()][-1:] not in ("\n", "")):
                    out.append(text[i:start])
                    i = start
                    continue
                at = text.index("(", start)
                end = matching(text, at)
                # a.b(c).d(e);
                while end > 0 and re.match(r"\s*(\.|->)\w+\(", text[end:]):
                    end = matching(text, text.index("(", end))
                if end < 0 or text[end:end + 1] != ";" or re.search(r"^\s*[~\w:<>]+\s+\w+\(", line):
                    out.append(text[i:start])
                    i = start
                    continue
                statement = text[start:end + 1]
                n = self.new(path, text, start, statement)
                out.append(text[i:start] + f"if (!addons_mutants::On({n})) {{ {statement} }}")
                i = end + 1


def write(root, listing, sources):
    """The files that standard input names, below `root`; with mutants where they are sources."""
    writer, mutated, kept = Writer(), 0, set()
    names = [name for name in sys.stdin.read().split("\0") if os.path.isfile(name)]
    for name in sorted(names):
        with open(name, "rb") as file:
            content = file.read()
        if name.endswith(".cc") and any(name == s or name.startswith(s + "/") for s in sources):
            mutated += 1
            content = ('#include "base/mutant.h"\n' + writer.file(name, content.decode())).encode()
            writer.end_file()
        kept.add(put(root, name, content, os.stat(name).st_mode))
    kept.add(put(root, "base/mutant.h", HEADER.encode(), 0o644))
    for folder, folders, files in os.walk(root):
        if folder == root and "build" in folders:
            folders.remove("build")
        for name in files:
            if os.path.join(folder, name) not in kept:
                os.remove(os.path.join(folder, name))
    with open(listing, "w", encoding="utf-8") as file:
        json.dump(writer.mutants, file)
    print(f"{len(writer.mutants)} conditions and calls in {mutated} files")


def put(root, name, content, mode):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == content:
                return path
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode & 0o777)
    return path


def suites_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(\S+\.)(?:\s+#.*)?$", listed, re.M)


def run_suite(program, suite, number, seconds, reached=None):
    """Whether it passed."""
    env = dict(os.environ)
    env.pop("MUTANT", None)
    if number is not None:
        env["MUTANT"] = str(number)
    if reached:
        env["MUTANTS_REACHED"] = reached
    with tempfile.TemporaryDirectory() as folder:
        env["TMPDIR"] = folder
        try:
            done = subprocess.run(
                [program, f"--gtest_filter={suite}*", "--gtest_fail_fast"], env=env, timeout=seconds,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def run(listing, folder, excuses, jobs, programs):
    with open(listing, encoding="utf-8") as file:
        mutants = json.load(file)
    known = {}
    if os.path.exists(excuses):
        with open(excuses, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    place, what, reason = (part.strip() for part in line.rstrip("\n").split("\t"))
                    known[place, what] = reason
    suites = []  # program, suite, seconds, what it reaches
    with tempfile.TemporaryDirectory() as scratch:
        def look(job):
            program, suite = job
            path = os.path.join(scratch, re.sub(r"\W", "_", os.path.basename(program) + suite))
            begin = time.monotonic()
            passed = run_suite(program, suite, None, 900, path)
            seconds = time.monotonic() - begin
            numbers = set()
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    numbers = {int(line) for line in file}
            return program, suite, seconds, numbers, passed

        todo = [(os.path.join(folder, name), suite) for name in programs
                for suite in suites_of(os.path.join(folder, name))]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for program, suite, seconds, numbers, passed in pool.map(look, todo):
                if not passed:
                    print(f"left out: {suite} fails without a mutant")
                elif numbers:
                    suites.append((seconds, program, suite, numbers))
    suites.sort(key=lambda entry: entry[0])
    begin, done, left = time.monotonic(), 0, []

    def survives(number):
        for seconds, program, suite, numbers in suites:
            if number in numbers and not run_suite(program, suite, number, 20 + 5 * seconds):
                return None
        return number, any(number in numbers for _, _, _, numbers in suites)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(survives, [mutant["number"] for mutant in mutants]):
            done += 1
            if done % 25 == 0 or done == len(mutants):
                elapsed = time.monotonic() - begin
                rest = elapsed / done * (len(mutants) - done)
                print(f"  {done} of {len(mutants)}, {elapsed:.0f} s, about {rest:.0f} s left", flush=True)
            if result:
                left.append(result)
    told = 0
    by_number = {mutant["number"]: mutant for mutant in mutants}
    for number, is_reached in left:
        mutant = by_number[number]
        if (mutant["file"], mutant["what"]) in known:
            continue
        told += 1
        how = "no test notices" if is_reached else "no test reaches"
        print(f"{mutant['file']}:{mutant['line']}: {how} (MUTANT={number}): {mutant['what']}")
    print(f"{len(mutants)} switched off, {len(left)} not noticed, {len(left) - told} of them named in {excuses}")
    return 1 if told else 0


def main():
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4:])
        return 0
    return run(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6:])


sys.exit(main())
