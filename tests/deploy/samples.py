"""Samples of the custom resources: complete, consistent, and with a Secret wherever the
operator needs one. CRDS, a folder with the operator's CustomResourceDefinitions, lets them be
held against these, too."""

import os
import re
import unittest
from pathlib import Path

import jsonschema
import yaml

from objects import OVERLAYS, SOURCE, load, main

SAMPLES = SOURCE / "deploy" / "samples"
KINDS = {"VolumeReplicationClass", "VolumeReplication", "VolumeGroupReplicationClass", "VolumeGroupReplication",
         "NetworkFenceClass", "NetworkFence", "ReclaimSpaceJob", "ReclaimSpaceCronJob"}
SECRET = {"VolumeReplicationClass": "replication.storage.openshift.io/replication-secret",
          "VolumeGroupReplicationClass": "replication.storage.openshift.io/group-replication-secret",
          "NetworkFenceClass": "csiaddons.openshift.io/networkfence-secret"}


def samples(name):
    return {thing["kind"]: thing for path in sorted((SAMPLES / name).glob("*.yaml")) for thing in load(path.read_text())}


def namespace(name):
    return yaml.safe_load((OVERLAYS / name / "kustomization.yaml").read_text())["namespace"]


class Samples(unittest.TestCase):
    def each(self):
        for name in ("ceph-csi", "rook"):
            yield name, samples(name)

    def test_every_resource_has_one(self):
        for _, things in self.each():
            self.assertEqual(set(things), KINDS)

    def test_classes_name_a_secret_of_the_drivers_namespace(self):
        for name, things in self.each():
            for kind, prefix in SECRET.items():
                parameters = things[kind]["spec"]["parameters"]
                self.assertTrue(parameters[prefix + "-name"])
                self.assertEqual(parameters[prefix + "-namespace"], namespace(name))

    def test_classes_name_the_overlays_driver(self):
        for name, things in self.each():
            patch = OVERLAYS / name / "driver-name.yaml"
            driver = "rbd.csi.ceph.com"
            if patch.exists():
                [daemon] = yaml.safe_load(patch.read_text())["spec"]["template"]["spec"]["containers"]
                driver = next(e["value"] for e in daemon["env"] if e["name"] == "RBD_ADDONS_DRIVERNAME")
            self.assertEqual({things[kind]["spec"]["provisioner"] for kind in SECRET}, {driver})

    def test_what_they_refer_to_is_there(self):
        for _, things in self.each():
            self.assertEqual(things["VolumeReplication"]["spec"]["volumeReplicationClass"],
                             things["VolumeReplicationClass"]["metadata"]["name"])
            group = things["VolumeGroupReplication"]["spec"]
            self.assertEqual(group["volumeReplicationClassName"], things["VolumeReplicationClass"]["metadata"]["name"])
            self.assertEqual(group["volumeGroupReplicationClassName"],
                             things["VolumeGroupReplicationClass"]["metadata"]["name"])
            self.assertEqual(things["NetworkFence"]["spec"]["networkFenceClassName"],
                             things["NetworkFenceClass"]["metadata"]["name"])

    def test_every_parameter_is_documented(self):
        pages = {"VolumeReplicationClass": ["replication"], "NetworkFenceClass": ["networkfence"],
                 "VolumeGroupReplicationClass": ["volumegroup", "replication"]}
        for _, things in self.each():
            for kind, names in pages.items():
                known = set()
                for page in names:
                    for line in re.findall(r"^\| (`.*?`) \|", (SOURCE / "docs" / f"{page}.md").read_text(), re.M):
                        known |= set(re.findall(r"`(\w+)`", line))
                for parameter in things[kind]["spec"]["parameters"]:
                    if not parameter.startswith(SECRET[kind]):
                        self.assertIn(parameter, known, kind)

    def test_the_demo_replicates_as_the_sample_says(self):
        demo = (SOURCE / "scripts" / "demo.sh").read_text()
        [used] = re.findall(r"^sample=(.*)$", demo, re.M)
        self.assertEqual(SOURCE / used, SAMPLES / "ceph-csi" / "volumereplicationclass.yaml")
        # Every call with parameters has those of the class.
        calls = re.findall(r"^ *expect_ok \w (?:Enable|Promote)\w* .*$", demo, re.M)
        self.assertGreater(len(calls), 4)
        for call in calls:
            self.assertIn("$class", call)

    def test_the_two_sets_are_one(self):
        def plain(folder):
            text = "".join(path.read_text() for path in sorted((SAMPLES / folder).glob("*.yaml")))
            text = re.sub(r"((?:provisioner|clusterID|secret-name|secret-namespace): ).*", r"\1X", text)
            return text
        self.assertEqual(plain("rook"), plain("ceph-csi"))

    @unittest.skipUnless(os.environ.get("CRDS"), "CRDS is not set")
    def test_the_operator_knows_every_field(self):
        schemas = {}
        for path in Path(os.environ["CRDS"]).rglob("*.yaml"):
            for crd in load(path.read_text()):
                if crd.get("kind") == "CustomResourceDefinition":
                    [version] = [v for v in crd["spec"]["versions"] if v["storage"]]
                    schemas[crd["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]

        def strict(schema):
            if isinstance(schema, dict):
                if schema.get("properties") and schema.get("type") == "object":
                    schema.setdefault("additionalProperties", False)
                for value in schema.values():
                    strict(value)
        for _, things in self.each():
            for kind, thing in things.items():
                schema = schemas[kind]
                strict(schema["properties"]["spec"])
                jsonschema.validate(thing, schema)


if __name__ == "__main__":
    main()
