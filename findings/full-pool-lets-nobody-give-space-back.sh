#!/usr/bin/env bash
# A pool that has reached its quota. One would guess that what only frees space goes on there, as
# `rbd sparsify` of an image full of zeros. Ceph 16.2.15 lets it wait, without a word and without
# end, like a write; so does the lock of an object that is not there yet.
# `rbd snap rm` goes on: it asks for that (librados: rados_set_pool_full_try). `rbd rm` asks for it,
# too, and fails all the same with "No such file or directory" where nothing was ever removed
# before: the object that lists the trash would be a new one. The image is still there.
#
# Raise the quota for a moment, or remove snapshots.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

# Each waits for 15 s in place of for ever.
bounded() { in_site "$1" --rados-osd-op-timeout 15 "${@:2}"; }
code() { bounded "$@" >/dev/null 2>&1 && echo 0 || echo $?; }

in_site rbd create --size 16M rbd/zeros
in_site rbd bench --io-type write --io-total 8M --io-size 1M rbd/zeros >/dev/null
in_site rbd snap create --no-progress rbd/zeros@mine
full() { in_site sh -c 'ceph osd dump | grep -q full_quota'; }
has_room() { ! full; }
in_site ceph osd pool set-quota rbd max_objects 1 >/dev/null 2>&1
until_true full

expect "rbd sparsify, exit code (110: it waited)" 110 "$(code rbd sparsify --no-progress rbd/zeros)"
expect "a lock of a new object, exit code (1: it waited)" 1 "$(code rados --pool rbd lock get mine lock)"
expect "rbd snap rm, exit code" 0 "$(code rbd snap rm --no-progress rbd/zeros@mine)"
expect "rbd rm, exit code" 2 "$(code rbd rm --no-progress rbd/zeros)"
expect "images" zeros "$(in_site rbd ls rbd)"

in_site ceph osd pool set-quota rbd max_objects 0 >/dev/null 2>&1
until_true has_room
in_site rbd create --size 4M rbd/other
in_site rbd rm --no-progress rbd/other
in_site ceph osd pool set-quota rbd max_objects 1 >/dev/null 2>&1
until_true full
expect "rbd rm after an earlier one, exit code" 0 "$(code rbd rm --no-progress rbd/zeros)"
