"""A kube-apiserver in place of kube_api.py: the same objects and the same rights, on loopback, with a database of its
own. KUBE_APISERVER and ETCD are the programs.

There is no kubelet and no controller. What `kubectl exec` runs, runs as in kube_api.py: the API server takes its
request to the node, and the node's address is that of a small server here.
"""

import copy
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from custom_resources import known
from kube_api import CHANNELS, KINDS, USER, Cluster, Handler, Server
from model import await_it, free_port

PROGRAMS = {name: os.environ.get(name) for name in ("KUBE_APISERVER", "ETCD")}
# Who sets it up, and whose words with it stand in no list of requests.
ADMIN = "setup"
# What the server says of an object on its own.
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
CUSTOM = {kind for kind, (group, _, _, _) in KINDS.items() if "openshift.io" in group}
WITH_STATUS = CUSTOM | {"Pod", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "Node"}
OWN_NAMESPACES = ("default", "kube-system")


def why_not():
    """None: a real one can be had."""
    missing = [name for name, path in PROGRAMS.items() if not path or not os.access(path, os.X_OK)]
    return f"{' and '.join(missing)}: not set, or no program" if missing else None


class Kubelet(Handler):
    """The parts of a node's agent that the API server passes on: a command and a forwarded port."""

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        what = url.path.split("/")[1]
        if what == "exec" and self.upgrade(CHANNELS):
            self.execute(query["command"], "input" in query, "tty" in query)
        elif what == "portForward":
            self.forward()


class Servers:
    """etcd, kube-apiserver and the address of a node, once for all tests of a program."""

    one = None

    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = cls()
            unittest.addModuleCleanup(cls.one.end)
            cls.one.begin()
        return cls.one

    def __init__(self):
        self.processes, self.kept, self.allowed = [], {}, None
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)
        self.audit = self.folder / "audit"
        self.kinds = set(KINDS) - CUSTOM
        self.namespaces = set(OWN_NAMESPACES)

    def start(self, name, *words):
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def log_of(self, name):
        return "".join((self.folder / f"{name}.log").read_text().splitlines(True)[-20:])

    def begin(self):
        clients, peers, self.port = free_port(), free_port(), free_port()
        self.start("etcd", PROGRAMS["ETCD"], "--data-dir", f"{self.folder}/data", "--unsafe-no-fsync",
                   "--listen-client-urls", f"http://127.0.0.1:{clients}",
                   "--advertise-client-urls", f"http://127.0.0.1:{clients}",
                   "--listen-peer-urls", f"http://127.0.0.1:{peers}",
                   "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers}",
                   "--initial-cluster", f"default=http://127.0.0.1:{peers}")
        # One for all: the server, the node and the signing of tokens that nobody asks for.
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "key", "-out",
                        self.folder / "certificate"], check=True, capture_output=True)
        (self.folder / "tokens").write_text(f'of-{ADMIN},{ADMIN},1,"system:masters"\nof-{USER},{USER},2\n')
        (self.folder / "policy").write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}]}))
        self.start("kube-apiserver", PROGRAMS["KUBE_APISERVER"], f"--etcd-servers=http://127.0.0.1:{clients}",
                   "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                   f"--tls-cert-file={self.folder}/certificate", f"--tls-private-key-file={self.folder}/key",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   f"--service-account-key-file={self.folder}/certificate",
                   f"--service-account-signing-key-file={self.folder}/key",
                   f"--token-auth-file={self.folder}/tokens", "--authorization-mode=RBAC",
                   "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
                   "--kubelet-preferred-address-types=InternalIP",
                   # They wait for controllers, which are not here.
                   "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition",
                   f"--audit-policy-file={self.folder}/policy", f"--audit-log-path={self.audit}")
        await_it("the API server is ready", self.is_ready)
        self.start_node()

    def is_ready(self):
        for process in self.processes:
            if process.poll() is not None:
                raise AssertionError(f"{process.args[0]} ended with {process.returncode}:\n"
                                     + self.log_of(Path(process.args[0]).name))
        try:
            # In its own namespace others' objects are made first.
            return self.call("GET", "/readyz", ok=())[0] == 200 and \
                self.call("GET", "/api/v1/namespaces/kube-system", ok=())[0] == 200
        except OSError:
            return False

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.place.cleanup()
        Servers.one = None

    def start_node(self):
        self.kubelet = Server(("127.0.0.1", 0), Kubelet)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "certificate", self.folder / "key")
        self.kubelet.socket = context.wrap_socket(self.kubelet.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.kubelet.serve_forever, daemon=True).start()
        # With the feature the API server leaves kubectl's WebSocket as it is.
        self.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-1"}, "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet.server_address[1]}},
            "declaredFeatures": ["ExtendWebSocketsToKubelet"]}}, "/api/v1/nodes")

    # --- requests --------------------------------------------------------------------------

    def ask(self, path, user=ADMIN, method="GET", body=None, accept="application/json", kind="application/json"):
        """(code, body as text)"""
        context = ssl.create_default_context(cafile=self.folder / "certificate")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        try:
            connection.request(method, path, body=None if body is None else json.dumps(body), headers={
                "Authorization": f"Bearer of-{user}", "Accept": accept, "Content-Type": kind})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call(self, method, path, body=None, ok=(200, 201), **more):
        code, text = self.ask(path, method=method, body=body, **more)
        if ok and code not in ok:
            raise AssertionError(f"{method} {path}: {code} {text}")
        return code, text

    @staticmethod
    def folder_of(kind, namespace):
        group, plural, _, _ = KINDS[kind]
        place = f"namespaces/{namespace}/" if namespace else ""
        return f"/{'apis' if '/' in group else 'api'}/{group}/{place}{plural}"

    def make(self, thing, folder):
        thing = copy.deepcopy(thing)
        for field in OF_THE_SERVER:
            thing["metadata"].pop(field, None)
        status = thing.pop("status", None)
        path = f"{folder}/{thing['metadata']['name']}"
        made = json.loads(self.call("POST", folder, thing)[1])
        if status is not None and thing["kind"] in WITH_STATUS:
            self.call("PUT", path + "/status", {**made, "status": status})

    def remove(self, folder, name):
        path = f"{folder}/{name}"
        self.call("PATCH", path, {"metadata": {"finalizers": None}}, kind="application/merge-patch+json")
        self.call("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}, (200, 202))
        await_it(f"{path} is gone", lambda: self.call("GET", path, ok=())[0] == 404)

    # --- what the tests change -------------------------------------------------------------

    def settle(self, objects, kinds, forbidden):
        for kind in sorted(self.kinds - kinds):
            group, plural, _, _ = KINDS[kind]
            self.remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"{plural}.{group.split('/')[0]}")
            self.kept = {key: thing for key, thing in self.kept.items() if key[0] != kind}
        for kind in sorted(kinds - self.kinds):
            self.define(kind)
        self.kinds = set(kinds)
        wanted = {key: thing for key, thing in objects.items() if key[0] in kinds}
        for (kind, namespace, name), thing in list(self.kept.items()):
            if wanted.get((kind, namespace, name)) != thing:
                self.remove(self.folder_of(kind, namespace), name)
                del self.kept[kind, namespace, name]
        for kind, namespace, name in sorted(wanted, key=lambda key: (key[0] != "Namespace", key)):
            if kind == "Namespace":
                self.add_namespace(name)
            elif (kind, namespace, name) not in self.kept:
                self.add_namespace(namespace)
                thing = wanted[kind, namespace, name]
                self.make(thing, self.folder_of(kind, namespace))
                self.kept[kind, namespace, name] = copy.deepcopy(thing)
        self.allow(forbidden)

    def add_namespace(self, name):
        """They stay: only a controller could remove one."""
        if name and name not in self.namespaces:
            self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "/api/v1/namespaces")
            self.namespaces.add(name)
            self.allowed = None

    def define(self, kind):
        group, plural, namespaced, short = KINDS[kind]
        group, version = group.split("/")
        name = f"{plural}.{group}"
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": kind + "List"}
        if short:
            names["shortNames"] = [short]
        folder = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.make({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                   # Some groups are the project's own, and ask for the word of a reviewer.
                   "metadata": {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
                   "spec": {"group": group, "scope": "Namespaced" if namespaced else "Cluster", "names": names,
                            "versions": [{"name": version, "served": True, "storage": True,
                                          "subresources": {"status": {}}, "schema": {
                                              "openAPIV3Schema": schema_of(f"{group}/{version}", kind)}}]}}, folder)

        def is_there():
            conditions = json.loads(self.call("GET", f"{folder}/{name}")[1]).get("status", {}).get("conditions") or []
            return any(one["type"] == "Established" and one["status"] == "True" for one in conditions) and \
                self.call("GET", f"/apis/{group}/{version}/{plural}", ok=())[0] == 200 and \
                plural in self.call("GET", f"/apis/{group}/{version}")[1]
        await_it(f"{name} is served", is_there)

    def allow(self, forbidden):
        """Rules that give the user all that the plugin needs, but for these."""
        if self.allowed == forbidden:
            return
        everywhere, in_one = [], {namespace: [] for namespace in self.namespaces}
        asked = []
        for verb, plural, group, namespaced in needed():
            places = {rest[0] for v, p, *rest in forbidden if (v, p) == (verb, plural) and rest}
            nowhere = (verb, plural) in forbidden
            rule = {"apiGroups": [group], "resources": [plural], "verbs": [verb]}
            if not nowhere and not places:
                everywhere.append(rule)
            elif not nowhere and namespaced:
                for namespace in self.namespaces - places:
                    in_one[namespace].append(rule)
            for namespace in sorted(self.namespaces) if namespaced else [""]:
                asked.append((verb, plural, group, namespace, not nowhere and namespace not in places))
            if namespaced:
                asked.append((verb, plural, group, "", not nowhere and not places))
        everywhere.append({"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]})
        subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in (USER, "admin")]
        for namespace, rules in [("", everywhere), *in_one.items()]:
            kind = "Role" if namespace else "ClusterRole"
            folder = "/apis/rbac.authorization.k8s.io/v1/" + (f"namespaces/{namespace}/" if namespace else "")
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "of-the-test"}
            for plural, thing in ((kind.lower() + "s", {"kind": kind, "rules": rules}),
                                  (kind.lower() + "bindings",
                                   {"kind": kind + "Binding", "subjects": subjects, "roleRef": role})):
                thing = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "of-the-test"}, **thing}
                if self.call("PUT", f"{folder}{plural}/of-the-test", thing, ok=())[0] not in (200, 201):
                    self.call("POST", folder + plural, thing)
        for verb, plural, group, namespace, allowed in asked:
            if self.allowed is None or plural in {word[1] for word in forbidden | self.allowed}:
                await_it(f"{verb} {plural} in '{namespace}' is {allowed}",
                         lambda: self.may(verb, plural, group, namespace) == allowed)
        self.allowed = set(forbidden)

    def may(self, verb, resource, group, namespace):
        plural, _, part = resource.partition("/")
        _, text = self.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
                "user": USER, "resourceAttributes": {"verb": verb, "resource": plural, "subresource": part,
                                                     "group": group, "namespace": namespace}}})
        return json.loads(text)["status"]["allowed"]

    def requests(self):
        """The paths that the user has asked for."""
        lines = self.audit.read_text().splitlines() if self.audit.exists() else []
        return [urlsplit(json.loads(line)["requestURI"]).path for line in lines]


def needed():
    """(verb, resource, group, is it in a namespace)"""
    for group, plural, namespaced, _ in KINDS.values():
        for verb in ("get", "list"):
            yield verb, plural, group.rpartition("/")[0], namespaced
    for part in ("pods/exec", "pods/portforward"):
        for verb in ("get", "create"):
            yield verb, part, "", True


def schema_of(version, kind):
    """What custom_resources.yaml says of a kind's spec, as a definition has it."""
    open_one = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if (version, kind) not in known():
        return {"type": "object", "properties": {"spec": open_one, "status": open_one}}
    _, _, fields = known()[version, kind]
    simple = {"map": {"type": "object", "additionalProperties": {"type": "string"}},
              "strings": {"type": "array", "items": {"type": "string"}}}

    def inside(above):
        here = {path[len(above):]: field for path, field in fields.items()
                if path.startswith(above) and "." not in path[len(above):] and "[" not in path[len(above):]}
        if not here:
            return dict(open_one)
        schema = {"type": "object", "properties": {}}
        for name, (what, _, immutable) in here.items():
            if what == "object":
                one = inside(f"{above}{name}.")
            elif what == "objects":
                one = {"type": "array", "items": inside(f"{above}{name}[].")}
            elif what in simple:
                one = dict(simple[what])
            elif "|" in what:
                one = {"type": "string", "enum": what.split("|")}
            else:
                one = {"type": what}
            if immutable:
                one["x-kubernetes-validations"] = [{"rule": "self == oldSelf", "message": f"{name} is immutable"}]
            schema["properties"][name] = one
        if required := [name for name, (_, needs, _) in here.items() if needs]:
            schema["required"] = required
        return schema
    return {"type": "object", "required": ["spec"], "properties": {"spec": inside(""), "status": open_one}}


class RealKubeApi(Cluster):
    """With it, a kube-apiserver that has what a test has changed after settle()."""

    def settle(self):
        self.servers.settle(self.objects, self.kinds, self.forbidden)

    def ask(self, path):
        return self.servers.ask(path, USER)

    @property
    def requests(self):
        return self.servers.requests()[self.before:]

    def __enter__(self):
        self.servers = Servers.get()
        self.servers.kubelet.api = self
        self.settle()
        self.before = len(self.servers.requests())
        self.write_kubeconfig({"server": f"https://127.0.0.1:{self.servers.port}",
                               "certificate-authority": str(self.servers.folder / "certificate")},
                              {"token": f"of-{USER}"})
        return self
