"""What kubectl talks to: an API server on loopback that answers from objects of a file, with the forms, errors and
protocols of a real one, and runs `kubectl exec` as a container runtime does.

A container here has two programs and no shell: whatever else is to be run is refused with the runtime's words. When
its client goes away a command goes on, without standard input, as it does in a container.
"""

import base64
import hashlib
import json
import os
import pty
import socketserver
import struct
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

# Kind: group and version, plural, is it in a namespace, short name.
KINDS = {
    "Namespace": ("v1", "namespaces", False, "ns"),
    "Pod": ("v1", "pods", True, "po"),
    "Secret": ("v1", "secrets", True, ""),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True, "pvc"),
    "PersistentVolume": ("v1", "persistentvolumes", False, "pv"),
    "StorageClass": ("storage.k8s.io/v1", "storageclasses", False, "sc"),
    "Lease": ("coordination.k8s.io/v1", "leases", True, ""),
    "Deployment": ("apps/v1", "deployments", True, "deploy"),
    "NetworkFenceClass": ("csiaddons.openshift.io/v1alpha1", "networkfenceclasses", False, ""),
} | {kind: ("replication.storage.openshift.io/v1alpha1", plural, namespaced, short) for kind, plural, namespaced, short in (
    ("VolumeReplication", "volumereplications", True, "vr"),
    ("VolumeReplicationClass", "volumereplicationclasses", False, "vrc"),
    ("VolumeGroupReplication", "volumegroupreplications", True, "vgr"),
    ("VolumeGroupReplicationClass", "volumegroupreplicationclasses", False, "vgrclass"),
    ("VolumeGroupReplicationContent", "volumegroupreplicationcontents", False, "vgrcontent"),
)}
KIND_OF = {(group, plural): kind for kind, (group, plural, _, _) in KINDS.items()}
USER = "jane"
CHANNELS = "v5.channel.k8s.io"
FORWARD = "SPDY/3.1+portforward.k8s.io"
WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255


class Frames:
    """Messages of a WebSocket, at the server's side."""

    def __init__(self, handler):
        self.file, self.out = handler.rfile, handler.wfile
        self.lock = threading.Lock()

    def exactly(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def receive(self):
        """The next message; None: the other side is gone."""
        message = b""
        try:
            while True:
                first, second = self.exactly(2)
                length = second & 127
                if length == 126:
                    [length] = struct.unpack(">H", self.exactly(2))
                elif length == 127:
                    [length] = struct.unpack(">Q", self.exactly(8))
                mask = self.exactly(4) if second & 128 else bytes(4)
                data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.exactly(length)))
                operation = first & 15
                if operation == 8:
                    return None
                if operation == 9:
                    self.send(data, 10)
                elif operation in (0, 1, 2):
                    message += data
                    if first & 128:
                        return message
        except (EOFError, OSError):
            return None

    def send(self, data, operation=2):
        size = struct.pack(">BB", 128 | operation, len(data)) if len(data) < 126 else struct.pack(
            ">BBH", 128 | operation, 126, len(data))
        try:
            with self.lock:
                self.out.write(size + data)
                self.out.flush()
        except OSError:
            pass  # the client is gone, and the command goes on


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, reason, message, **details):
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                "reason": reason, "code": code}
        if details := {name: text for name, text in details.items() if text}:
            body["details"] = details
        self.answer(code, body)

    def no_page(self):
        """A path that no group has, which is no object's error."""
        data = b"404 page not found\n"
        self.send_response(404)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        self.do_GET()

    def do_GET(self):
        url = urlsplit(self.path)
        parts = url.path.strip("/").split("/")
        query = parse_qs(url.query, keep_blank_values=True)
        self.server.api.requests.append(url.path)
        if parts == ["version"]:
            self.answer(200, {"major": "1", "minor": "31", "gitVersion": "v1.31.0"})
        elif parts == ["api"]:
            self.answer(200, {"kind": "APIVersions", "versions": ["v1"]})
        elif parts == ["apis"]:
            self.answer(200, self.server.api.groups())
        elif parts[0] == "api":
            self.group(parts[1], parts[2:], query)
        elif parts[0] == "apis" and len(parts) > 2:
            self.group("/".join(parts[1:3]), parts[3:], query)
        else:
            self.no_page()

    def group(self, group, parts, query):
        api = self.server.api
        if not parts:
            if group in {told[0] for told in KINDS.values()}:
                self.answer(200, api.resources(group))
            else:
                self.no_page()
            return
        namespace = ""
        if len(parts) > 2 and parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        plural, name = parts[0], parts[1] if len(parts) > 1 else ""
        kind = KIND_OF.get((group, plural))
        if kind is not None and kind not in api.kinds:
            self.no_page()
            return
        long_name = plural if group == "v1" else f"{plural}.{group.split('/')[0]}"
        verb = "create" if len(parts) > 2 else "get" if name else "list"
        of = "/".join([plural, *parts[2:]])
        in_group = group.rpartition("/")[0]
        # Rights come first: nobody may what is not known.
        if kind is None or (verb, of) in api.forbidden or (verb, of, namespace) in api.forbidden:
            where = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
            named = f' "{name}"' if name else ""
            self.refuse(403, "Forbidden", f'{long_name}{named} is forbidden: User "{USER}" cannot {verb} resource '
                        f'"{of}" in API group "{in_group}"{where}', name=name, group=in_group, kind=plural)
            return
        if not name:
            wanted = dict(text.split("=", 1) for text in query.get("labelSelector", [""])[0].split(",") if text)
            found = [thing for (its_kind, its_namespace, _), thing in sorted(api.objects.items())
                     if its_kind == kind and namespace in ("", its_namespace)
                     and wanted.items() <= thing["metadata"].get("labels", {}).items()]
            # Of the server's own kinds the list alone says which they are.
            if "openshift.io" not in group:
                found = [{name: value for name, value in thing.items() if name not in ("kind", "apiVersion")}
                         for thing in found]
            self.answer(200, {"kind": kind + "List", "apiVersion": group, "metadata": {"resourceVersion": "9999"},
                              "items": found})
            return
        thing = api.objects.get((kind, namespace, name))
        if thing is None:
            self.refuse(404, "NotFound", f'{long_name} "{name}" not found', name=name, group=in_group, kind=plural)
        elif len(parts) == 2:
            self.answer(200, thing)
        elif parts[2] == "exec":
            self.run(thing, query)
        elif parts[2] == "portforward":
            self.forward()

    def upgrade(self, *known):
        """False: the client speaks none of these, and was told so."""
        offered = [text.strip() for text in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        chosen = next((name for name in known if name in offered), None)
        if chosen is None:
            self.refuse(400, "BadRequest", "Upgrade request required")
            return False
        key = self.headers["Sec-WebSocket-Key"] + WEBSOCKET
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", chosen)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        return True

    def forward(self):
        self.server.api.forwards += 1
        if self.upgrade(FORWARD):
            frames = Frames(self)
            while frames.receive() is not None:
                pass

    def run(self, pod, query):
        if self.upgrade(CHANNELS):
            assert query["container"][0] in [thing["name"] for thing in pod["spec"]["containers"]], query
            self.execute(query["command"], "stdin" in query, "tty" in query)

    def execute(self, command, stdin, tty):
        frames, api = Frames(self), self.server.api
        api.commands.append(command)
        if command[0] in api.programs:
            api.run(frames, [api.programs[command[0]], *command[1:]], stdin, tty)
        else:
            self.finish(frames, {"status": "Failure", "reason": "InternalError", "message":
                                 f'error executing command in container: exec: "{command[0]}": executable file not '
                                 'found in $PATH: unknown'})

    @staticmethod
    def finish(frames, status):
        frames.send(bytes([ERROR]) + json.dumps({"metadata": {}, **status}).encode())
        frames.send(struct.pack(">H", 1000), 8)


def exit_status(code):
    if code == 0:
        return {"status": "Success"}
    code = 128 - code if code < 0 else code
    return {"status": "Failure", "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: error executing command, exit code {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        pass  # clients go away in the middle


def config_of(cluster, user):
    """A kubeconfig for this cluster with these credentials, and contexts as a person has."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "site-a",
        "clusters": [{"name": "site-a", "cluster": cluster},
                     {"name": "gone", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": USER, "user": user}],
        "contexts": [{"name": "site-a", "context": {"cluster": "site-a", "user": USER}},
                     {"name": "of-app", "context": {"cluster": "site-a", "user": USER, "namespace": "app"}},
                     {"name": "gone", "context": {"cluster": "gone", "user": USER}}]})


class Cluster:
    """What a test has in a cluster: `objects`, and one container, whose `programs` are found by name and which has this
    `environment`. A kubeconfig for it is in `kubeconfig`."""

    def __init__(self, objects, programs, environment):
        self.objects = {}
        self.kinds = set(KINDS)
        self.forbidden = set()  # (verb, resource) or (verb, resource, namespace)
        self.programs, self.environment = programs, environment
        self.commands, self.ended, self.running = [], [], []
        self.forwards = 0
        for thing in objects:
            self.put(thing)

    def put(self, thing):
        metadata = thing["metadata"]
        self.objects[thing["kind"], metadata.get("namespace", ""), metadata["name"]] = thing

    def settle(self):
        """What was changed in `objects`, `kinds` and `forbidden` holds after it."""
        raise NotImplementedError

    def ask(self, path):
        """(code, text), as the user."""
        raise NotImplementedError

    def write_kubeconfig(self, cluster, user):
        self.place = tempfile.TemporaryDirectory()
        self.kubeconfig = Path(self.place.name) / "kubeconfig"
        self.kubeconfig.write_text(config_of(cluster, user))

    def __exit__(self, *_):
        self.stop()
        self.place.cleanup()

    def stop(self):
        """Ends what still runs in it."""
        for process in self.running:
            process.kill()

    def run(self, frames, command, stdin, tty):
        ours = theirs = None
        if tty:
            ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, env=self.environment, cwd="/", start_new_session=True,
            stdin=theirs if tty else subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=theirs if tty else subprocess.PIPE, stderr=theirs if tty else subprocess.PIPE)
        self.running.append(process)
        if tty:
            os.close(theirs)
        else:
            ours = process.stdin.fileno() if stdin else None
        readers = [threading.Thread(target=self.pump, args=(frames, channel, descriptor)) for channel, descriptor in (
            [(STDOUT, ours)] if tty else [(STDOUT, process.stdout.fileno()), (STDERR, process.stderr.fileno())])]
        feeder = threading.Thread(target=self.feed, args=(frames, ours, tty, process), daemon=True)
        for thread in [*readers, feeder]:
            thread.start()
        code = process.wait()
        for thread in readers:
            thread.join()
        if not tty:
            process.stdout.close()
            process.stderr.close()
        self.ended.append((command, code))
        Handler.finish(frames, exit_status(code))

    @staticmethod
    def pump(frames, channel, descriptor):
        while True:
            try:
                data = os.read(descriptor, 32768)
            except OSError:  # a terminal's end
                return
            if not data:
                return
            frames.send(bytes([channel]) + data)

    @staticmethod
    def feed(frames, descriptor, tty, process):
        """What the client types; its end, and the client's own, are the end of standard input."""
        stdin = process.stdin
        while (message := frames.receive()) is not None:  # it answers pings, too
            if message[:1] == bytes([CLOSE]) and message[1:2] == bytes([STDIN]) and stdin is not None:
                stdin.close()
                stdin = descriptor = None
            if message[:1] == bytes([STDIN]) and descriptor is not None:
                try:
                    os.write(descriptor, message[1:])
                except OSError:  # nobody reads any more
                    descriptor = None
        if stdin is not None:
            stdin.close()


class KubeApi(Cluster):
    """With it, an API server of our own."""

    def __init__(self, objects, programs, environment):
        super().__init__(objects, programs, environment)
        self.requests = []

    def settle(self):
        pass  # it holds at once

    def ask(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.api = self
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.write_kubeconfig({"server": self.url}, {})
        return self

    def __exit__(self, *_):
        super().__exit__()
        self.server.shutdown()
        self.server.server_close()

    def groups(self):
        versions = sorted({group for group, _, _, _ in KINDS.values() if "/" in group})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": version.split("/")[0], "versions": [{"groupVersion": version, "version": version.split("/")[1]}],
             "preferredVersion": {"groupVersion": version, "version": version.split("/")[1]}} for version in versions]}

    def resources(self, group):
        # The oldest group does not say of which version its list is.
        version = {"apiVersion": "v1"} if "/" in group else {}
        return {"kind": "APIResourceList", **version, "groupVersion": group, "resources": [
            {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind,
             "verbs": ["get", "list"], **({"shortNames": [short]} if short else {})}
            for kind, (its_group, plural, namespaced, short) in KINDS.items()
            if its_group == group and kind in self.kinds]}
