"""Time from the start of the daemon of a root file system to the first answer of its Probe:
first_probe.py ROOT TRIES LIMIT. Prints the shortest and the median, and fails when the shortest
is more than LIMIT milliseconds. gRPC is spoken by hand, so that the time is the daemon's and
not a client's."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

root, tries, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


HEADERS = b"".join(literal(n, v) for n, v in [
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/identity.Identity/Probe"), (b":authority", b"localhost"),
    (b"te", b"trailers"), (b"content-type", b"application/grpc")])
REQUEST = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, HEADERS)
           + frame(0, 1, 1, b"\x00\x00\x00\x00\x00"))


def answered(connection):
    data = b""
    while True:
        more = connection.recv(65536)
        if not more:
            return False
        data += more
        at = 0
        while len(data) >= at + 9:
            size, kind = int.from_bytes(data[at:at + 3], "big"), data[at + 3]
            if len(data) < at + 9 + size:
                break
            if kind == 0 and int.from_bytes(data[at + 5:at + 9], "big") == 1:
                return True
            at += 9 + size


times = []
for _ in range(tries):
    with tempfile.TemporaryDirectory(dir=root) as folder:
        inside = "/" + os.path.basename(folder)
        handle = os.open(folder, os.O_PATH)
        with open(folder + "/config.json", "w") as file:
            file.write("[]")
        began = time.monotonic()
        daemon = subprocess.Popen(
            ["chroot", root, "/usr/sbin/rbd-addonsd", "--controllerserver", "--log-level=error", "--config-dir=" + inside,
             f"--csi-addons-endpoint=unix://{inside}/s",
             f"--admin-endpoint=unix://{inside}/admin"])
        try:
            while True:
                connection = socket.socket(socket.AF_UNIX)
                try:
                    # Paths of sockets are short, those of an image's layers are not.
                    connection.connect(f"/proc/self/fd/{handle}/s")
                    break
                except OSError:
                    connection.close()
                    if daemon.poll() is not None or time.monotonic() - began > 60:
                        sys.exit("the daemon does not serve")
                    time.sleep(0.001)
            connection.sendall(REQUEST)
            if not answered(connection):
                sys.exit("no answer")
            times.append((time.monotonic() - began) * 1000)
            connection.close()
        finally:
            daemon.terminate()
            daemon.wait()
            os.close(handle)
print(f"start to the first Probe: {min(times):.0f} ms, median {statistics.median(times):.0f} ms of {tries}")
sys.exit(min(times) > limit)
