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


def matching(text, at):
    """The index after the bracket that closes the one at `at`; -1 where none does."""
    depth = 0
    i = at
    while i < len(text):
        c = text[i]
        if text.startswith('R"(', i):
            i = text.index(')"', i) + 1
        elif c == '"' or (c == "'" and not text[i - 1].isalnum()):
            j = i + 1
            while text[j] != c:
                j += 2 if text[j] == "\\" else 1
            i = j
        elif text.startswith("//", i):
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
        if c == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
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


class Writer:
    def __init__(self):
        self.mutants = []

    def new(self, path, text, at, what):
        line = text.count("\n", 0, at) + 1
        self.mutants.append({"file": path, "line": line, "what": " ".join(what.split())[:160]})
        return len(self.mutants) - 1

    def condition(self, path, text, at, condition):
        """Each operand alone, and the whole where there is but one."""
        for token, form in (("||", "(!addons_mutants::On({n}) && ({op}))"),
                            ("&&", "(addons_mutants::On({n}) || ({op}))")):
            parts = split_top(condition, token)
            if len(parts) < 2:
                continue
            where, made = at, []
            for part in parts:
                n = self.new(path, text, where + len(part) - len(part.lstrip()), part)
                made.append(form.format(n=n, op=part.strip()))
                where += len(part) + len(token)
            return (" " + token + " ").join(made)
        return None

    def file(self, path, text):
        out, i = [], 0
        pattern = re.compile(r"\bif \((?!constexpr)|^ +return (?=[^;]*(?:&&|\|\|))|^( +)(?=[A-Za-z_(])", re.M)
        while True:
            found = pattern.search(text, i)
            if not found:
                out.append(text[i:])
                return "".join(out)
            token = found.group(0)
            if token == "if (":
                at = found.end() - 1
                end = matching(text, at)
                whole = text[at + 1:end - 1]
                parts = split_top(whole, ";")
                init = ";".join(parts[:-1]) + ";" if len(parts) > 1 else ""
                condition = parts[-1]
                out.append(text[i:at + 1] + init)
                start = at + 1 + len(init)
                if re.match(r"\s*(const )?(auto|[A-Z]\w*)[*&]? \w+ = ", condition):
                    out.append(condition)
                else:
                    mutated = self.condition(path, text, start, condition)
                    if mutated is None:
                        n = self.new(path, text, found.start(), f"if ({condition.strip()})")
                        mutated = f"!addons_mutants::On({n}) && ({condition.strip()})"
                    out.append((" " if init else "") + mutated)
                out.append(")")
                i = end
            elif token.lstrip().startswith("return "):
                start = found.end()
                # Up to the semicolon that ends it.
                j, end = start, -1
                while j < len(text):
                    if text[j] in "([{":
                        j = matching(text, j)
                        if j < 0:
                            break
                        continue
                    if text[j] == ";":
                        end = j
                        break
                    j += 1
                expression = text[start:end]
                mutated = None if end < 0 or "<<" in expression else self.condition(path, text, start, expression)
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
        for result in pool.map(survives, range(len(mutants))):
            done += 1
            if done % 25 == 0 or done == len(mutants):
                elapsed = time.monotonic() - begin
                rest = elapsed / done * (len(mutants) - done)
                print(f"  {done} of {len(mutants)}, {elapsed:.0f} s, about {rest:.0f} s left", flush=True)
            if result:
                left.append(result)
    told = 0
    for number, is_reached in left:
        mutant = mutants[number]
        if (mutant["file"], mutant["what"]) in known:
            continue
        told += 1
        how = "no test notices" if is_reached else "no test reaches"
        print(f"{mutant['file']}:{mutant['line']}: {how}: {mutant['what']}")
    print(f"{len(mutants)} switched off, {len(left)} not noticed, {len(left) - told} of them named in {excuses}")
    return 1 if told else 0


def main():
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4:])
        return 0
    return run(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6:])


sys.exit(main())
