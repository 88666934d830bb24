"""The archive of `rbd-addons gather`, as those read it to whom it is sent: what is in it, what is said to be missing,
and that no key is."""

import base64
import io
import json
import os
import subprocess
import tarfile
import unittest

from model import CLI, Model
from objects import main

# Of a user that the command does not know.
OTHER_KEY = "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="
ROOT = "rbd-addons-gather/"


def encoded(key):
    """As it stands in a Secret, and in one that was encoded once more."""
    once = base64.b64encode(key.encode()).decode()
    return [key, once, base64.b64encode(once.encode()).decode().rstrip("=")]


class Gather(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # More than ten: some are in trouble.
        cls.model = Model(12)
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        cls.key = json.loads((cls.model.folder / "secrets.json").read_text())["userKey"]

    def gather(self, *more, code, secrets=True, endpoint=None, environment=None):
        """What it prints on its two outputs."""
        command = [CLI, "gather", "--admin-endpoint", endpoint or f"unix://{self.model.folder}/a", *more]
        if secrets:
            command += ["--secrets-file", self.model.folder / "secrets.json"]
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                              cwd=self.model.folder, stdin=subprocess.DEVNULL,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def one_line(self, text):
        self.assertEqual(text.count("\n"), 1, text)
        return text

    def files(self, path):
        with tarfile.open(path) as tar:
            self.assertEqual(tar.getnames()[0], ROOT + "index.txt")
            for member in tar.getmembers():
                self.assertTrue(member.isreg() and member.mode == 0o600 and member.name.startswith(ROOT), member.name)
            return {member.name[len(ROOT):]: tar.extractfile(member).read().decode() for member in tar.getmembers()}

    def new_file(self, name):
        path = self.model.folder / name
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def test_what_is_in_it(self):
        path = self.new_file("it.tar")
        self.model.make("log something happened volume=v1")
        _, said = self.gather("--output", path, code=0)
        files = self.files(path)
        self.assertRegex(files["this-site/log.txt"], r"(?m)^\S+T\S+ warning something happened volume=v1$")
        index = files["index.txt"]
        for name in files:
            if name != "index.txt":
                self.assertIn(f"  {name} ", index)
        self.assertIn("nothing is missing", index)
        self.assertIn("journalctl -u rbd-addonsd", index)
        self.assertIn("rbd-addonsd ", files["this-site/versions.txt"])
        self.assertIn("librados 0.0.0 (simulated)", files["this-site/versions.txt"])
        self.assertIn("Ceph 16.2.15", files["this-site/versions.txt"])
        self.assertIn("config_dir=", files["this-site/configuration/flags.txt"].replace("-", "_"))
        self.assertEqual(json.loads(files["this-site/configuration/config.json"])[0]["clusterID"], "site-a")
        self.assertIn("clusterIDMapping", files["this-site/configuration/cluster-mapping.json"])
        self.assertIn("rbd_addons_replication_images{", files["this-site/metrics.txt"])
        self.assertEqual(len(json.loads(files["this-site/status.json"])["volumes"]), 12)
        self.assertTrue(json.loads(files["this-site/doctor.json"])["findings"])
        self.assertIn("in order", files["this-site/doctor.txt"])
        for name in ("operations.txt", "operations-ended.txt", "history/01-replicapool.txt",
                     "audit/01-replicapool.json"):
            self.assertIn("this-site/" + name, files)
        # One of each volume in trouble, and of no other.
        broken = [v for v in json.loads(files["this-site/status.json"])["volumes"]
                  if v["state"] not in ("IN_STEP", "COPYING")]
        explained = [text for name, text in files.items() if name.startswith("this-site/explain/") and
                     name.endswith(".txt")]
        self.assertGreater(len(broken), 0)
        self.assertEqual(len(explained), len(broken))
        for volume in broken:
            self.assertTrue([text for text in explained if text.startswith(volume["image"] + ", 0001-")], volume)
        # How far it is, and where it ends.
        self.assertRegex(said, r"(?m)^\d+ s gone, at most \d+ s left: this-site: the audit of pool replicapool$")
        self.assertRegex(said, rf"(?m)^{path}: {len(files)} files in {path.stat().st_size} bytes after \d+ s$")

    def test_no_key_is_in_it(self):
        config = self.model.folder / "config.json"
        before = config.read_text()
        self.addCleanup(config.write_text, before)
        entries = json.loads(before)
        entries[0]["adminKey"] = self.key
        entries[0]["remark"] = " ".join(encoded(self.key)[:2] + encoded(OTHER_KEY)[:2])
        entries[0]["rbd"] = {"password": "SENTINEL-of-a-password"}
        config.write_text(json.dumps(entries))
        self.model.make("log no key belongs here: " + " ".join(encoded(self.key)[:2] + encoded(OTHER_KEY)[:2]))
        path = self.new_file("it.tar")
        _, said = self.gather("--output", path, code=0)
        files = self.files(path)
        # It looked at that file, and kept what is none.
        self.assertIn('"adminKey": "***"', files["this-site/configuration/config.json"])
        self.assertIn('"remark": "*** *** *** ***"', files["this-site/configuration/config.json"])
        self.assertIn("no key belongs here: *** *** *** ***\n", files["this-site/log.txt"])
        whole = path.read_bytes() + said.encode()
        for key in encoded(self.key) + encoded(OTHER_KEY) + ["SENTINEL"]:
            self.assertNotIn(key.encode(), whole)

    def test_a_file_that_is_there_is_kept(self):
        path = self.new_file("it.tar")
        path.write_text("old")
        _, said = self.gather("--output", path, code=64)
        self.assertIn("is there already", self.one_line(said))
        self.assertEqual(path.read_text(), "old")
        self.gather("--output", path, "--force", code=0)
        self.files(path)
        self.assertEqual([p.name for p in self.model.folder.glob("it.tar*")], ["it.tar"])

    def test_bad_input_is_one_line_and_no_file(self):
        before = set(self.model.folder.iterdir())
        _, said = self.gather("--output", "none/it.tar", code=64)
        self.assertIn("'none': No such file or directory", self.one_line(said))
        _, said = self.gather("--output", self.model.folder, code=64)
        self.assertIn("is a folder", self.one_line(said))
        _, said = self.gather(endpoint=f"unix://{self.model.folder}/nobody", code=14)
        self.assertIn("nobody listens at", self.one_line(said))
        _, said = self.gather("--secrets-file", "none.json", secrets=False, code=64)
        self.assertIn("none.json", self.one_line(said))
        self.assertEqual(set(self.model.folder.iterdir()), before)

    def test_standard_output_takes_it(self):
        tar, said = self.gather("--output", "-", code=0)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            self.assertIn(ROOT + "this-site/doctor.txt", archive.getnames())
        self.assertIn("written: ", said)

    def test_the_file_has_a_name_by_itself(self):
        _, said = self.gather(code=0)
        [path] = self.model.folder.glob("rbd-addons-gather-*Z.tar")
        self.addCleanup(path.unlink)
        self.assertIn(path.name, said)

    def test_what_needs_a_user_is_said_to_be_missing(self):
        path = self.new_file("it.tar")
        self.gather("--output", path, secrets=False, code=9)
        files = self.files(path)
        self.assertIn("this-site/doctor.txt\n    no Ceph user was given", files["index.txt"])
        self.assertIn("this-site/status.txt", files)
        self.assertIn("this-site/metrics.txt", files)

    def test_only_the_first_volumes_in_trouble_are_explained(self):
        with Model(30) as model:
            path = model.folder / "many.tar"
            self.gather("--output", path, code=9, endpoint=f"unix://{model.folder}/a")
            files = self.files(path)
        explained = [name for name in files if name.startswith("this-site/explain/") and name.endswith(".txt")]
        self.assertEqual(len(explained), 20)
        self.assertIn("this-site/explain\n    10 more volumes are in trouble: the first 20 are explained",
                      files["index.txt"])

    def test_the_user_of_this_site_is_not_sent_to_the_other(self):
        path = self.new_file("it.tar")
        self.gather("--output", path, "--from-admin", f"unix://{self.model.folder}/a", code=9, secrets=False,
                    environment={"RBD_ADDONS_SECRETS_FILE": str(self.model.folder / "secrets.json")})
        files = self.files(path)
        self.assertIn("this-site/doctor.txt", files)
        self.assertIn("other-site/doctor.txt\n    no Ceph user was given", files["index.txt"])

    def test_another_site_that_is_not_there_is_said_to_be_missing(self):
        path = self.new_file("it.tar")
        self.gather("--output", path, "--from-admin", f"unix://{self.model.folder}/nobody", code=9)
        files = self.files(path)
        self.assertIn("other-site/status.txt\n    UNAVAILABLE", files["index.txt"])
        self.assertIn("this-site/doctor.txt", files)

    def test_a_dead_cluster_is_the_first_line_of_doctor(self):
        path = self.new_file("it.tar")
        self.model.make("no monitor answers")
        try:
            self.gather("--output", path, code=9)
        finally:
            self.model.make("mend no monitor answers")
        files = self.files(path)
        self.assertTrue(files["this-site/doctor.txt"].startswith("problem  cluster.connect, cluster 'site-a'\n"),
                        files["this-site/doctor.txt"])
        # It is asked nothing more: that would take the time for the other site.
        self.assertIn("this-site/explain\n    12 volumes were not asked about: their cluster does not answer",
                      files["index.txt"])
        self.assertIn("this-site/history and audit of pool replicapool\n    not asked: their cluster does not answer",
                      files["index.txt"])
        self.assertIn("this-site/metrics.txt", files)


if __name__ == "__main__":
    main()
