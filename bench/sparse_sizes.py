#!/usr/bin/python3
"""What rbd_sparsify frees and how long it takes, for several sparse sizes.

usage: sparse_sizes.py CEPH_CONF [RUNS]

CEPH_CONF is of a cluster on bluestore that nobody else uses, with a pool
"replicapool", for example:

    scripts/testbed up /tmp/bed --objectstore bluestore
    bench/sparse_sizes.py /tmp/bed/a/ceph.conf
    scripts/testbed down /tmp/bed

Prints one line for each layout of zeros and each sparse size, measured on new
images of 256 MiB: what the pool stores less after the first run, and the median
times of RUNS (default 5) runs. It sets the cluster's periods of statistics to
one second. Needs python3-rados and python3-rbd, which come with ceph-common.
"""

import os
import statistics
import sys
import time

import rados
import rbd

KIB = 1 << 10
MIB = 1 << 20
IMAGE_BYTES = 256 * MIB
OBJECT_BYTES = 4 * MIB
SPARSE_SIZES = (4 * KIB, 64 * KIB, MIB, 4 * MIB)


def interleaved(run):
    """Half of each object is zeros, in runs of this length."""
    return lambda _: (os.urandom(run) + bytes(run)) * (OBJECT_BYTES // run // 2)


def mixed(index):
    """A quarter of the objects each: zeros, runs of 1 MiB, 64 KiB and 4 KiB."""
    if index % 4 == 0:
        return bytes(OBJECT_BYTES)
    return interleaved((0, MIB, 64 * KIB, 4 * KIB)[index % 4])(index)


LAYOUTS = {
    "whole objects of zeros": lambda _: bytes(OBJECT_BYTES),
    "half zeros, runs of 1 MiB": interleaved(MIB),
    "half zeros, runs of 64 KiB": interleaved(64 * KIB),
    "half zeros, runs of 4 KiB": interleaved(4 * KIB),
    "mixed": mixed,
    "no zeros (encrypted)": lambda _: os.urandom(OBJECT_BYTES),
    "sparse already": None,
}


def stored(pool):
    """What the pool has, once the statistics stand still."""
    last, same = -1, 0
    while same < 8:
        now = pool.get_stats()["num_bytes"]
        same = same + 1 if now == last else 0
        last = now
        time.sleep(0.5)
    return last


def seconds(action):
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def read_all(image):
    for offset in range(0, IMAGE_BYTES, OBJECT_BYTES):
        image.read(offset, OBJECT_BYTES)


def run_once(pool, layout, sparse_size, weigh):
    """Returns seconds of sparsify, seconds of reading all of it, bytes freed.

    The latter takes a while to see and is 0 without `weigh`.
    """
    name = "sparse-size"
    rbd.RBD().create(pool, name, IMAGE_BYTES, order=22)
    with rbd.Image(pool, name) as image:
        if layout:
            for index in range(IMAGE_BYTES // OBJECT_BYTES):
                image.write(layout(index), index * OBJECT_BYTES)
            image.flush()
    before = stored(pool) if weigh else 0
    with rbd.Image(pool, name) as image:
        took = seconds(lambda: image.sparsify(sparse_size))
    freed = before - stored(pool) if weigh else 0
    with rbd.Image(pool, name) as image:
        reading = seconds(lambda: read_all(image))
    rbd.RBD().remove(pool, name)
    return took, reading, freed


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with rados.Rados(conffile=sys.argv[1],
                     conf={"rbd_cache": "false"}) as cluster:
        for who, option in (("mgr", "mgr_stats_period"),
                            ("mon", "mon_mgr_digest_period")):
            cluster.mon_command(
                '{"prefix":"config set","who":"%s","name":"%s","value":"1"}' %
                (who, option), b"")
        with cluster.open_ioctx("replicapool") as pool:
            print("%-28s %8s %10s %12s %8s" % ("layout", "size KiB",
                                               "freed MiB", "sparsify s",
                                               "read s"), flush=True)
            for label, layout in LAYOUTS.items():
                for sparse_size in SPARSE_SIZES:
                    results = [run_once(pool, layout, sparse_size, run == 0)
                               for run in range(runs)]
                    took, reading = (statistics.median(column)
                                     for column in list(zip(*results))[:2])
                    print("%-28s %8d %10.1f %12.2f %8.2f" %
                          (label, sparse_size // KIB, results[0][2] / MIB, took, reading),
                          flush=True)


main()
