"""Samples of the custom resources: complete, consistent, and with a Secret wherever the
operator needs one. They are held against custom_resources.yaml; CRDS, a folder with the
operator's CustomResourceDefinitions, lets that be held against these."""

import json
import os
import re
import textwrap
import unittest

import yaml

from custom_resources import complaints, from_definitions, known
from objects import OVERLAYS, SOURCE, load, main

SAMPLES = SOURCE / "deploy" / "samples"
# What agrees to the replication of a group member by member. Without it, Enable of a group is refused.
GROUPS_AGREED = ("groupReplication", "members")
KINDS = {"VolumeReplicationClass", "VolumeReplication", "VolumeGroupReplicationClass", "VolumeGroupReplication",
         "NetworkFenceClass", "NetworkFence", "ReclaimSpaceJob", "ReclaimSpaceCronJob"}
SECRET = {"VolumeReplicationClass": "replication.storage.openshift.io/replication-secret",
          "VolumeGroupReplicationClass": "replication.storage.openshift.io/group-replication-secret",
          "NetworkFenceClass": "csiaddons.openshift.io/networkfence-secret"}


def every(name):
    return [thing for path in sorted((SAMPLES / name).glob("*.yaml")) for thing in load(path.read_text())]


def namespace(name):
    return yaml.safe_load((OVERLAYS / name / "kustomization.yaml").read_text())["namespace"]


class Samples(unittest.TestCase):
    def each(self):
        for name in ("ceph-csi", "rook"):
            yield name, every(name)

    def test_every_resource_has_one(self):
        for _, things in self.each():
            self.assertEqual({thing["kind"] for thing in things}, KINDS)

    def test_classes_name_a_secret_of_the_drivers_namespace(self):
        for name, things in self.each():
            for thing in things:
                if prefix := SECRET.get(thing["kind"]):
                    parameters = thing["spec"]["parameters"]
                    self.assertTrue(parameters[prefix + "-name"])
                    self.assertEqual(parameters[prefix + "-namespace"], namespace(name))

    def test_classes_name_the_overlays_driver(self):
        for name, things in self.each():
            patch = OVERLAYS / name / "driver-name.yaml"
            driver = "rbd.csi.ceph.com"
            if patch.exists():
                [daemon] = yaml.safe_load(patch.read_text())["spec"]["template"]["spec"]["containers"]
                driver = next(e["value"] for e in daemon["env"] if e["name"] == "RBD_ADDONS_DRIVERNAME")
            self.assertEqual({thing["spec"]["provisioner"] for thing in things if thing["kind"] in SECRET}, {driver})

    def test_what_they_refer_to_is_there(self):
        # Each kind of reference, and the kind that it names.
        references = {"volumeReplicationClass": "VolumeReplicationClass",
                      "volumeReplicationClassName": "VolumeReplicationClass",
                      "volumeGroupReplicationClassName": "VolumeGroupReplicationClass",
                      "networkFenceClassName": "NetworkFenceClass"}
        for _, things in self.each():
            there = {(thing["kind"], thing["metadata"]["name"]) for thing in things}
            self.assertEqual(len(there), len(things))
            seen = set()
            for thing in things:
                for field, kind in references.items():
                    if field in thing["spec"]:
                        self.assertIn((kind, thing["spec"][field]), there)
                        seen.add(field)
            self.assertEqual(seen, set(references))

    def test_the_class_of_a_group_agrees_to_its_replication(self):
        key, value = GROUPS_AGREED
        for name, things in self.each():
            classes = {thing["metadata"]["name"]: thing["spec"]["parameters"] for thing in things
                       if thing["kind"] == "VolumeReplicationClass"}
            used = [thing["spec"]["volumeReplicationClassName"] for thing in things
                    if thing["kind"] == "VolumeGroupReplication"]
            self.assertTrue(used)
            for used_class in used:
                self.assertEqual(classes[used_class].get(key), value, f"{name}: {used_class}")
        # The words are those that the daemon reads.
        enable = (SOURCE / "replication" / "group" / "enable.cc").read_text()
        self.assertIn(f'kParameter[] = "{key}"', enable)
        self.assertIn(f'it->second == "{value}"', enable)

    def test_what_ramen_looks_for_is_there_as_comments(self):
        """Without the "# " they are labels, and an annotation, that docs/ramen.md explains for the kind."""
        page = (SOURCE / "docs" / "ramen.md").read_text()
        told = {(kind, name, "annotations" if more else "labels") for kind, name, more
                in re.findall(r"^\| (\w+) \| `(ramendr[\w./]+)`(, as an \*annotation\*)? \|", page, re.M) if kind != "StorageClass"}
        self.assertGreater(len(told), 4)
        prefix = "ramendr.openshift.io/"
        for name in ("rook", "ceph-csi"):
            seen, ids = set(), {}
            for path in sorted((SAMPLES / name).glob("*.yaml")):
                [plain] = load(path.read_text())
                [thing] = load(re.sub(r"^  # (labels:|annotations:|  ramendr[.].*)$", r"  \1", path.read_text(), flags=re.M))
                self.assertEqual(thing["spec"], plain["spec"])
                self.assertNotIn("labels", plain["metadata"])
                self.assertEqual(complaints(thing), [])
                for place in ("labels", "annotations"):
                    for key, value in thing["metadata"].get(place, {}).items():
                        seen.add((thing["kind"], key, place))
                        ids.setdefault(key.removeprefix(prefix), set()).add(value)
                        self.assertIsInstance(value, str)
            self.assertEqual(seen, told, name)
            # Of one site and one pair of sites.
            self.assertEqual({key: len(values) for key, values in ids.items()},
                             {"storageid": 1, "replicationid": 1, "groupreplicationid": 1})
        # A failover would wait for a controller that is not there.
        self.assertNotIn("maintenancemodes", "".join(path.read_text() for path in SAMPLES.rglob("*.yaml")))

    def test_every_parameter_is_documented(self):
        pages = {"VolumeReplicationClass": ["replication"], "NetworkFenceClass": ["networkfence"],
                 "VolumeGroupReplicationClass": ["volumegroup", "replication"]}
        for _, things in self.each():
            for kind, names in pages.items():
                known = set()
                for page in names:
                    for line in re.findall(r"^\| (`.*?`) \|", (SOURCE / "docs" / f"{page}.md").read_text(), re.M):
                        known |= set(re.findall(r"`(\w+)`", line))
                for thing in things:
                    if thing["kind"] != kind:
                        continue
                    for parameter in thing["spec"]["parameters"]:
                        if not parameter.startswith(SECRET[kind]):
                            self.assertIn(parameter, known, kind)

    def test_the_demo_tells_the_story_of_the_samples(self):
        demo = (SOURCE / "scripts" / "demo.sh").read_text()
        [folder] = re.findall(r"^samples=(.*)$", demo, re.M)
        self.assertEqual(SOURCE / folder, SAMPLES / "ceph-csi")
        # It names no objects of Kubernetes (VolumeReplication, ...), but what they lead to.
        for path in (SAMPLES / "ceph-csi").glob("*.yaml"):
            [thing] = load(path.read_text())
            if thing["kind"] in SECRET:
                self.assertIn(f"(of_class {path.name})", demo)
        for name in ("networkfence.yaml", "reclaimspacejob.yaml"):
            self.assertIn(f"$samples/{name}", demo)
        # Every call with parameters has those of the class.
        calls = re.findall(r"\brun \d \S+ ((?:enable|promote) .*)$", demo, re.M)
        self.assertGreater(len(calls), 4)
        for call in calls:
            self.assertIn('"${members[@]}"' if "--group" in call else '"${class[@]}"', call)

    def test_the_demo_shows_what_tells_how_volumes_are(self):
        demo = (SOURCE / "scripts" / "demo.sh").read_text()
        typed = set(re.findall(r"\brun \d \S+ ([a-z-]+)", demo))
        self.assertLessEqual({"check-failover", "info", "explain", "status", "history", "doctor"}, typed)
        self.assertNotIn("call", typed)
        self.assertIn("status page of site", demo)

    def test_the_two_sets_are_one(self):
        def plain(folder):
            text = "".join(path.read_text() for path in sorted((SAMPLES / folder).glob("*.yaml")))
            text = re.sub(r"((?:provisioner|clusterID|secret-name|secret-namespace): ).*", r"\1X", text)
            return text
        self.assertEqual(plain("rook"), plain("ceph-csi"))

    def test_the_operator_knows_every_field(self):
        for name, things in self.each():
            for thing in things:
                self.assertEqual(complaints(thing), [], name)

    def test_what_the_operator_would_refuse_is_seen(self):
        things = {thing["kind"]: thing for thing in every("rook")}
        wrong = [("VolumeReplication", {"replicationState": "Primary"}, "replicationState is no"),
                 ("VolumeReplication", {"dataSource": {"kind": "PersistentVolumeClaim"}}, "dataSource.name is missing"),
                 ("VolumeReplication", {"volumeReplicationClassName": "x"}, "volumeReplicationClassName is not known"),
                 ("VolumeReplication", {"autoResync": "false"}, "autoResync is no boolean"),
                 ("NetworkFence", {"cidrs": "192.0.2.5/32"}, "cidrs is no strings"),
                 ("ReclaimSpaceJob", {"timeout": "5m"}, "timeout is no integer"),
                 ("VolumeGroupReplication", {"source": {"selector": {"matchExpressions": [{"key": "a"}]}}},
                  "matchExpressions[].operator is missing"),
                 ("NetworkFenceClass", {"parameters": {"clusterID": 1}}, "parameters is no map")]
        for kind, changed, complaint in wrong:
            thing = {**things[kind], "spec": {**things[kind]["spec"], **changed}}
            self.assertIn(complaint, "".join(complaints(thing)))
        fence = {**things["NetworkFence"], "spec": {"fenceState": "Fenced", "cidrs": [], "driver": "d"}}
        self.assertIn("needs one of networkFenceClassName, secret", "".join(complaints(fence)))
        fence["metadata"] = {"name": "x", "namespace": "y"}
        self.assertIn("it is Cluster", "".join(complaints(fence)))

    def test_the_operator_knows_what_the_pages_show(self):
        shown = []
        for page in sorted((SOURCE / "docs").rglob("*.md")):
            for block in re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text(), re.M | re.S):
                for thing in load(textwrap.dedent(block)):
                    if isinstance(thing, dict) and (thing.get("apiVersion"), thing.get("kind")) in known():
                        shown.append(thing)
                        self.assertEqual(complaints(thing), [], page.name)
        self.assertTrue(shown)

    def test_what_the_pages_patch_may_be_changed(self):
        kinds = {kind.lower(): fields for (_, kind), (_, _, fields) in known().items()}
        patches = []
        for page in sorted((SOURCE / "docs").rglob("*.md")):
            for kind, patch in re.findall(r"kubectl [^\n`]*patch (\w+) [^\n`]*-p '(\{.*?\})'", page.read_text()):
                patches.append((page.name, kind, json.loads(patch)["spec"]))
        self.assertTrue(patches)
        for page, kind, spec in patches:
            for field in spec:
                self.assertIn(field, kinds[kind], page)
                self.assertFalse(kinds[kind][field][2], f"{page}: {kind}'s {field} cannot be changed")

    @unittest.skipUnless(os.environ.get("CRDS"), "CRDS is not set")
    def test_our_list_is_what_the_operators_definitions_say(self):
        theirs = from_definitions(os.environ["CRDS"])
        for key, (scope, _, fields) in known().items():
            self.assertEqual((scope, fields), theirs[key], key)


if __name__ == "__main__":
    main()
