"""What volumes.sh writes to a cluster, in one process and over one connection: a program
of Ceph for each key would take seconds of a busy machine for each volume.

  volumes.py volume INSTANCE POOL NAMESPACE UUID NAME OWNER SIZE FEATURES DATA_POOL PARENT
      Prints "POOL_ID UUID" of the volume NAME, which is made when there is none.
  volumes.py peer-journal INSTANCE POOL NAMESPACE UUID NAME OWNER SECONDS
      Waits for the image for so long, writes what the journal lacks, and prints the same.

CEPH_CONF names the cluster. Ends with 1 and one line when something failed.
"""

import os
import re
import sys
import time

import rados
import rbd


def say_and_end(text):
    sys.exit(text)


class Journal:
    """The entry of one volume, as ceph-csi writes it, in its order."""

    def __init__(self, ioctx, instance, uuid, name):
        self.ioctx = ioctx
        self.names = f"csi.volumes.{instance}"
        self.entry = f"csi.volume.{uuid}"
        self.uuid = uuid
        self.name = name

    def get(self, entry, key):
        with rados.ReadOpCtx() as read:
            values, _ = self.ioctx.get_omap_vals_by_keys(read, (key,))
            try:
                self.ioctx.operate_read_op(read, entry)
            except rados.ObjectNotFound:
                return None
            return dict(values).get(key, b"").decode() or None

    def set(self, entry, key, value):
        with rados.WriteOpCtx() as write:
            self.ioctx.set_omap(write, (key,), (value,))
            self.ioctx.operate_write_op(write, entry)

    def reserved(self):
        return self.get(self.names, f"csi.volume.{self.name}")

    def reserve(self, owner):
        with rados.WriteOpCtx() as write:
            write.new(rados.LIBRADOS_CREATE_EXCLUSIVE)
            self.ioctx.operate_write_op(write, self.entry)
        self.set(self.names, f"csi.volume.{self.name}", self.uuid)
        self.set(self.entry, "csi.volname", self.name)
        self.set(self.entry, "csi.imagename", f"csi-vol-{self.uuid}")
        if owner:
            self.set(self.entry, "csi.volume.owner", owner)

    def set_image_id(self, image_id):
        self.set(self.entry, "csi.imageid", image_id)

    def has_image_id(self):
        return self.get(self.entry, "csi.imageid") is not None


def image_id(ioctx, name):
    """None: there is no such image."""
    try:
        with rbd.Image(ioctx, name, read_only=True) as image:
            return image.id()
    except rbd.ImageNotFound:
        return None


def size_of(text):
    """As rbd reads it: without a unit it is in MiB."""
    found = re.fullmatch(r"(\d+)(?:([KMGT])(?:i?B)?|(B))?", text, re.IGNORECASE)
    if not found:
        say_and_end(f"'{text}' is no size")
    number, unit, bytes_unit = found.groups()
    if bytes_unit:
        return int(number)
    return int(number) << {"K": 10, "M": 20, "G": 30, "T": 40}[(unit or "M").upper()]


def mask_of(features):
    mask = 0
    for feature in features.split(","):
        mask |= getattr(rbd, "RBD_FEATURE_" + feature.upper().replace("-", "_"))
    return mask


def clone(cluster, parent, ioctx, image, features, data_pool):
    place, _, snapshot = parent.partition("@")
    pool, *space, name = place.split("/")
    with cluster.open_ioctx(pool) as source:
        source.set_namespace(space[0] if space else "")
        rbd.RBD().clone(source, name, snapshot, ioctx, image, features=features,
                        data_pool=data_pool)


def volume(cluster, ioctx, instance, uuid, name, owner, size, features, data_pool, parent):
    journal = Journal(ioctx, instance, uuid, name)
    made_before = journal.reserved()
    if made_before:
        return made_before
    size = size_of(size)
    journal.reserve(owner)
    image = f"csi-vol-{uuid}"
    if parent:
        clone(cluster, parent, ioctx, image, mask_of(features), data_pool or None)
    else:
        rbd.RBD().create(ioctx, image, size, old_format=False,
                         features=mask_of(features), data_pool=data_pool or None)
    journal.set_image_id(image_id(ioctx, image))
    return uuid


def peer_journal(_, ioctx, instance, uuid, name, owner, seconds):
    image = f"csi-vol-{uuid}"
    end = time.monotonic() + float(seconds)
    found = image_id(ioctx, image)
    while found is None:
        if not os.path.exists(os.environ["CEPH_CONF"]):
            say_and_end(f"image {image}: the bed was brought down meanwhile")
        if time.monotonic() > end:
            say_and_end(f"image {image}: not within {seconds} s")
        time.sleep(0.1)
        found = image_id(ioctx, image)
    journal = Journal(ioctx, instance, uuid, name)
    current = journal.reserved()
    if current is None:
        journal.reserve(owner)
    elif current != uuid:
        say_and_end(f"the name {name} belongs to volume {current}")
    if not journal.has_image_id():
        journal.set_image_id(found)
    return uuid


def main(command, instance, pool, namespace, *arguments):
    cluster = rados.Rados(conffile=os.environ["CEPH_CONF"], conf={
        # A client that was here before the OSD would look for a newer map every 5 s only.
        "objecter_tick_interval": "0.2",
        # As ceph-csi has it: the snapshot of a parent needs no protection.
        "rbd_default_clone_format": "2"})
    cluster.connect()
    with cluster.open_ioctx(pool) as ioctx:
        ioctx.set_namespace(namespace)
        made = {"volume": volume, "peer-journal": peer_journal}[command](
            cluster, ioctx, instance, *arguments)
        print(cluster.pool_lookup(pool), made)
    cluster.shutdown()


try:
    main(*sys.argv[1:])
except (rados.Error, rbd.Error) as error:
    say_and_end(str(error))
