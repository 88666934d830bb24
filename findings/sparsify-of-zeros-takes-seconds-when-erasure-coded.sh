#!/usr/bin/env bash
# `rbd sparsify` of an image whose data lies in an erasure-coded pool, and which holds zeros. One
# would guess that it costs about what it costs in a replicated pool: the zeros are found, and
# each object goes. With Ceph 16.2.15 one object of 4 MiB keeps an OSD busy for seconds, in
# place of milliseconds, and whoever else wants something of that placement group waits.
#
# Who wins back space there asks for the release of the OSDs first (Ceph 18 and 20 take 0.1 s).
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd
start_site

# Two OSDs more, for two pieces of data and one of parity.
for id in 1 2; do
  uuid=0d4c9c0f-7a0f-4a4e-9f0b-4a27d3a27a2$id
  mkdir -p "$root/var/lib/ceph/osd/ceph-$id"
  in_site ceph osd new "$uuid" "$id" >/dev/null
  in_site ceph auth get-or-create "osd.$id" mon 'allow profile osd' mgr 'allow profile osd' osd 'allow *' >>"$root/etc/ceph/keyring"
  in_site ceph-osd --mkfs -i "$id" --osd-uuid "$uuid" >/dev/null 2>&1
  there ceph-osd -f -i "$id" >/dev/null 2>&1 &
done
until_true in_site sh -c 'ceph osd stat | grep -q "3 up"'
in_site ceph osd erasure-code-profile set two-and-one k=2 m=1 crush-failure-domain=osd
in_site ceph osd pool create data 1 1 erasure two-and-one 2>/dev/null
# The OSDs of this site have their objects in memory; the monitor asks for bluestore.
in_site ceph config set mon mon_debug_no_require_bluestore_for_ec_overwrites true
in_site ceph osd pool set data allow_ec_overwrites true 2>/dev/null
in_site ceph osd pool application enable data rbd 2>/dev/null
in_site rbd create --size 4M rbd/replicated
in_site rbd create --size 4M --data-pool data rbd/erasure

milliseconds=
sparsify() { # IMAGE: full of zeros
  local began
  in_site python3 -c 'import rados, rbd, sys
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    with rbd.Image(pool, sys.argv[1]) as image:
        image.write(bytes(4 << 20), 0)' "$1"
  began=$(date +%s%3N)
  in_site rbd sparsify --no-progress "rbd/$1"
  milliseconds=$(($(date +%s%3N) - began))
}
sparsify replicated
replicated=$milliseconds
sparsify erasure
erasure=$milliseconds
seen "sparsify of one object of zeros: $replicated ms in a replicated pool, $erasure ms in an erasure-coded one"
expect "at least 1 s, and ten times as long" yes "$( ((erasure >= 1000 && erasure >= 10 * replicated)) && echo yes || echo no)"
