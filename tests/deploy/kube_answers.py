"""kube_api.py answers as a kube-apiserver does: both are asked the same, and what the real one said is kept in
kube_answers.json. With KUBE_APISERVER and ETCD the real one is asked now; RECORD=1 writes down what it says."""

import json
import os
import unittest
from pathlib import Path

import yaml

from kube_api import KINDS, KubeApi
from kubectl import LEASE, OBJECTS, PV
from objects import main
from real_kube_api import OF_THE_SERVER, RealKubeApi, why_not

RECORDING = Path(__file__).with_suffix(".json")
REPLICATION = "/apis/replication.storage.openshift.io/v1alpha1"
# (path, what the user may not: (resource, by its name))
QUESTIONS = [
    *((f"{'/apis/' if '/' in group else '/api/'}{group}", ())
      for group in sorted({told[0] for told in KINDS.values()})),
    ("/api/v1/namespaces/app", ()),
    ("/api/v1/namespaces/nope", ()),
    ("/api/v1/namespaces/app/persistentvolumeclaims/data", ()),
    ("/api/v1/namespaces/app/persistentvolumeclaims/nope", ()),
    ("/api/v1/namespaces/nope/persistentvolumeclaims/data", ()),
    (f"/api/v1/persistentvolumes/{PV}", ()),
    ("/api/v1/persistentvolumes/nope", ()),
    ("/api/v1/namespaces/rook-ceph/pods", ()),
    ("/api/v1/pods?labelSelector=app%3Drook-ceph.cephfs.csi.ceph.com-ctrlplugin", ()),
    ("/api/v1/pods?labelSelector=app%3Dnope", ()),
    ("/apis/storage.k8s.io/v1/storageclasses", ()),
    ("/apis/storage.k8s.io/v1/storageclasses/nope", ()),
    ("/apis/coordination.k8s.io/v1/namespaces/rook-ceph/leases", ()),
    (f"/apis/coordination.k8s.io/v1/namespaces/rook-ceph/leases/{LEASE}", ()),
    (f"{REPLICATION}/volumereplicationclasses/every-5m", ()),
    (f"{REPLICATION}/volumereplicationclasses/nope", ()),
    (f"{REPLICATION}/namespaces/app/volumereplications", ()),
    (f"{REPLICATION}/namespaces/nope/volumereplications", ()),
    (f"{REPLICATION}/nopes", ()),
    ("/apis/nope.example/v1", ()),
    ("/api/v1/nopes", ()),
    *((path, ((path.split("?")[0].split("/")[-2 if named else -1], named),)) for path, named in (
        ("/api/v1/namespaces/app/persistentvolumeclaims/data", True),
        ("/api/v1/namespaces/app/persistentvolumeclaims", False),
        (f"/api/v1/persistentvolumes/{PV}", True),
        ("/apis/coordination.k8s.io/v1/leases", False),
        ("/apis/storage.k8s.io/v1/storageclasses", False),
        (f"{REPLICATION}/namespaces/app/volumereplications/data", True),
        (f"{REPLICATION}/namespaces/app/volumereplications", False))),
]


def objects():
    """Those of the plugin's test, with no keys in them."""
    text = OBJECTS.read_text()
    for word in ("VOLUME0", "VOLUME1", "VOLUME2", "VOLUME3", "GROUP"):
        text = text.replace(word, "0001-0006-site-a-" + word.lower())
    return [thing for thing in yaml.safe_load_all(text) if thing["kind"] != "Secret"]


def ask_all(api):
    """{question: (code, answer)}, with each question's refusals."""
    answers = {}
    for path, refused in QUESTIONS:
        api.forbidden = {("get" if named else "list", plural) for plural, named in refused}
        api.settle()
        code, text = api.ask(path)
        answer = json.loads(text) if text.startswith("{") else text
        answers[path + (" forbidden" if refused else "")] = {"code": code, "answer": told(answer)}
    return answers


def told(answer):
    """Without what differs from one server to the next."""
    if not isinstance(answer, dict):
        return answer
    if answer.get("kind") == "APIResourceList":
        kept = ("name", "singularName", "namespaced", "kind", "shortNames")
        ours = {(group, plural) for group, plural, _, _ in KINDS.values()}
        answer["resources"] = sorted(({name: one[name] for name in kept if name in one} for one in answer["resources"]
                                      if (answer["groupVersion"], one["name"]) in ours), key=lambda one: one["name"])
    if "metadata" in answer:
        for field in OF_THE_SERVER:
            answer["metadata"].pop(field, None)
    # When it was made.
    if isinstance(answer.get("status"), dict):
        answer["status"].pop("lastPhaseTransitionTime", None)
    if "items" in answer:
        answer["items"] = [told(item) for item in answer["items"]]
    return answer


def lacks(said, real, where=""):
    """What the imitation says otherwise than the real one, which may say more of an object."""
    if isinstance(said, dict) and isinstance(real, dict):
        return [line for name, value in said.items() for line in (
            lacks(value, real[name], f"{where}.{name}") if name in real
            else [f"{where}.{name}: the real one has none"])]
    if isinstance(said, list) and isinstance(real, list) and len(said) == len(real):
        return [line for i, value in enumerate(said) for line in lacks(value, real[i], f"{where}[{i}]")]
    return [] if said == real else [f"{where}: {said!r}, and the real one {real!r}"]


class Answers(unittest.TestCase):
    maxDiff = None

    def test_the_imitation_answers_as_the_recording_says(self):
        recorded = json.loads(RECORDING.read_text())
        with KubeApi(objects(), {}, {}) as api:
            said = ask_all(api)
        self.assertEqual(sorted(said), sorted(recorded["answers"]))
        self.assertGreater(len(said), 30)
        for question, answer in said.items():
            real = recorded["answers"][question]
            with self.subTest(question):
                self.assertEqual(lacks(answer, real), [])
                body, its = answer["answer"], real["answer"]
                # Errors and lists of kinds are said in full; of objects and their lists, each key at the top.
                if answer["code"] != 200 or body["kind"] == "APIResourceList":
                    self.assertEqual(answer, real)
                    continue
                self.assertEqual(set(body), set(its))
                for one, its_one in zip(body.get("items", []), its.get("items", [])):
                    self.assertEqual("kind" in one, "kind" in its_one)

    @unittest.skipIf(why_not(), why_not())
    def test_a_real_one_says_what_is_recorded(self):
        with RealKubeApi(objects(), {}, {}) as api:
            said = ask_all(api)
            version = json.loads(api.ask("/version")[1])["gitVersion"]
        if os.environ.get("RECORD"):
            RECORDING.write_text(json.dumps({"version": version, "answers": said}, indent=1, sort_keys=True) + "\n")
        self.assertEqual(json.loads(RECORDING.read_text())["answers"], said)


if __name__ == "__main__":
    main()
