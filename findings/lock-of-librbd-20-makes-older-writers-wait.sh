#!/usr/bin/env bash
# librbd 20.2.4 has a second kind of exclusive lock, RBD_LOCK_MODE_EXCLUSIVE_TRANSIENT: while it is
# held a writer waits, where the plain one makes each write fail ("read-only"). One would guess that
# it needs its release on all sides: OSDs that know it, and writers that know what to wait for. It
# needs neither. On a cluster of 16.2.15, writers with librbd 16.2.15 and 18.2.7 wait for it as well.
# What holds it has to be new, and no look for a name tells that: librbd 16.2.15 and 18.2.7 have the
# same function, and answer "not supported" to the new number. Calls that 20.2.4 has added and that
# can be looked for, such as rbd_group_get_id, work on the old cluster, too.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_client() { [[ $FINDING_STAGE != unpack ]] || unpack "$1" "$2" python3-rbd; } # SUITE VERSION
need_client trixie 18.2.7+ds-1+deb13u1
need_client forky 20.2.4+ds-2
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd
start_site
in_site rbd create --size 4M rbd/disk
in_site rbd group create rbd/disks
for release in trixie forky; do
  mkdir -p "$FINDING_ROOT/$release/etc/ceph"
  cp "$root"/etc/ceph/{ceph.conf,keyring} "$FINDING_ROOT/$release/etc/ceph"
  (use_site "$release" && enter_root)
done
cat >"$FINDING_ROOT/client.py" <<'PYTHON'
import ctypes, os, sys, time
rados, rbd = ctypes.CDLL("librados.so.2"), ctypes.CDLL("librbd.so.1")
cluster, pool, image, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(64)
def right(code): assert code == 0, code
right(rados.rados_create(ctypes.byref(cluster), b"admin"))
right(rados.rados_conf_read_file(cluster, b"/etc/ceph/ceph.conf"))
right(rados.rados_connect(cluster))
right(rados.rados_ioctx_create(cluster, b"rbd", ctypes.byref(pool)))
right(rbd.rbd_open(pool, b"disk", ctypes.byref(image), None))
def hold(mode, until):
    code = rbd.rbd_lock_acquire(image, int(mode))
    open("/tmp/held", "w").close()
    while until and not os.path.exists(until): time.sleep(0.1)
    if code == 0: right(rbd.rbd_lock_release(image))
    return code
def write():
    open("/tmp/writes", "w").close()
    return rbd.rbd_write(image, ctypes.c_uint64(0), ctypes.c_size_t(512), b"x" * 512)
def group_id():
    if not hasattr(rbd, "rbd_group_get_id"): return "no such call"
    return rbd.rbd_group_get_id(pool, b"disks", ctypes.create_string_buffer(64), ctypes.byref(size))
def version():
    numbers = [ctypes.c_int() for _ in range(3)]
    rbd.rbd_version(*map(ctypes.byref, numbers))
    return [number.value for number in numbers]
print({"version": version, "hold": hold, "write": write, "group_id": group_id}[sys.argv[1]](*sys.argv[2:]))
rbd.rbd_close(image)
rados.rados_shutdown(cluster)
PYTHON
client() { # RELEASE ACTION...: ends with what the call answered
  (
    use_site "$1"
    in_root python3 /tmp/client.py "${@:2}" 2>/dev/null
  )
}
plain=0 transient=2 # their numbers in rbd/librbd.h
for release in root trixie forky; do
  cp "$FINDING_ROOT/client.py" "$FINDING_ROOT/$release/tmp"
  seen "librbd $(client "$release" version)"
  case $release in
    forky) answers="0 0 0" ;;
    *) answers="0 -95 no such call" ;;
  esac
  expect "plain lock, transient lock, rbd_group_get_id" "$answers" \
    "$(client "$release" hold "$plain" '') $(client "$release" hold "$transient" '') $(client "$release" group_id)"
done
writes_against() { # MODE RELEASE: prints what a write answers while a client of 20.2.4 holds a lock
  local holder writer waited=
  rm -f "$FINDING_ROOT"/{forky/tmp/{held,enough},"$2"/tmp/writes}
  client forky hold "$1" /tmp/enough >/dev/null &
  holder=$!
  until_true test -e "$FINDING_ROOT/forky/tmp/held"
  client "$2" write >"$FINDING_ROOT/answer" &
  writer=$!
  until_true test -e "$FINDING_ROOT/$2/tmp/writes"
  sleep 5
  [[ -s $FINDING_ROOT/answer ]] || waited='waited, '
  touch "$FINDING_ROOT/forky/tmp/enough"
  wait "$holder" "$writer"
  echo "$waited$(cat "$FINDING_ROOT/answer")"
}
for release in root trixie; do
  expect "a write of $release against the plain lock" -30 "$(writes_against "$plain" "$release")"
  expect "a write of $release against the transient lock" "waited, 512" "$(writes_against "$transient" "$release")"
done
