"""What the build of the image takes along, and what the image says of itself. The image itself is
tried by image.sh, where it can be built."""

import re
import unittest

from objects import SOURCE, main

LABELS = {"title", "description", "version", "revision", "created", "licenses"}
CONTAINERFILE = (SOURCE / "deploy" / "image" / "Containerfile").read_text()


def lines(path):
    return {line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")}


class Containerfile(unittest.TestCase):
    def test_what_git_ignores_is_not_copied(self):
        self.assertIn("COPY . /source", CONTAINERFILE)
        left_out = lines(SOURCE / ".containerignore")
        for ignored in lines(SOURCE / ".gitignore"):
            self.assertTrue({ignored.rstrip("/"), "**/" + ignored} & left_out, f"{ignored} would be copied")
        # The history says nothing that the build needs.
        self.assertIn(".git", left_out)

    def test_nothing_that_the_build_needs_is_left_out(self):
        for pattern in lines(SOURCE / ".containerignore"):
            self.assertNotIn("!", pattern)
        kept = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "proto", "scripts", "deploy", "server"}
        self.assertFalse(kept & lines(SOURCE / ".containerignore"))

    def test_its_labels(self):
        shipped = CONTAINERFILE[CONTAINERFILE.index("FROM scratch"):]
        labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]+)"', shipped))
        self.assertEqual(set(labels), LABELS)
        # Each build says what it is made of.
        build = (SOURCE / "deploy" / "image" / "build.sh").read_text()
        ways = len(re.findall(r"^ *buildah bud ", build, re.M))
        for name in re.findall(r"^ARG (\w+)", shipped, re.M):
            self.assertEqual(len(re.findall(rf'--build-arg {name}="\$\w+"', build)), ways, name)
            self.assertIn("${" + name + "}", labels.values())


if __name__ == "__main__":
    main()
