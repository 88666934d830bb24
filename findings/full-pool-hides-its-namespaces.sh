#!/usr/bin/env bash
# A pool that has reached its quota, with an image in it and one in a RADOS namespace of it. One
# would guess that both can be looked at: nothing is written, and `rbd info` of the first one
# answers. In the namespace each command of Ceph 16.2.15 waits, without a word and without end, also
# `rbd ls`, `rbd status` and `rbd export`. Before it opens an image it asks whether the namespace is
# there, with an assertion, and an assertion counts as a write.
#
# `rbd map` asks the same way, so a node that has to map such an image hangs as well, though pods
# could read from it. The data are there: librbd itself does not ask. (Ceph 20.2.4 waits at the same
# call, seen by hand.) Raise the quota for a moment.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd
start_site

in_site rbd namespace create rbd/tenant
in_site rbd create --size 8M rbd/disk
in_site rbd create --size 8M rbd/tenant/disk
full() { in_site sh -c 'ceph osd dump | grep -q full_quota'; }
has_room() { ! full; }
# What waits is ended after 15 s: 124.
code() { there timeout 15 rbd "$@" >/dev/null 2>&1 && echo 0 || echo $?; }

in_site ceph osd pool set-quota rbd max_objects 1 >/dev/null 2>&1
until_true full
expect "rbd info of the image in the pool, exit code" 0 "$(code info rbd/disk)"
expect "rbd ls of the pool" 0 "$(code ls rbd)"
expect "rbd info of the image in the namespace (124: it waited)" 124 "$(code info rbd/tenant/disk)"
expect "rbd ls of the namespace" 124 "$(code ls rbd/tenant)"
expect "rbd status of that image" 124 "$(code status rbd/tenant/disk)"
expect "rbd export of that image" 124 "$(code export --no-progress rbd/tenant/disk -)"
expect "rbd namespace ls" 0 "$(code namespace ls rbd)"
expect "librbd, its size" 8388608 "$(in_site python3 -c '
import rados, rbd
with rados.Rados(conffile="") as cluster, cluster.open_ioctx("rbd") as pool:
    pool.set_namespace("tenant")
    with rbd.Image(pool, "disk", read_only=True) as image: print(image.size())')"
in_site ceph osd pool set-quota rbd max_objects 0 >/dev/null 2>&1
until_true has_room
expect "rbd info of the image in the namespace, with room" 0 "$(code info rbd/tenant/disk)"
