#!/usr/bin/env bash
# librados tells of a pool whether it wants appends of an aligned size
# (rados_ioctx_pool_requires_alignment2, rados_ioctx_pool_required_alignment2): of an
# erasure-coded pool it says yes, and its stripe. So one would guess that this tells whether the
# data of an image lies in such a pool. Ceph 16.2.15 says no of an erasure-coded pool as soon as
# it may be overwritten, which each pool with data of images must be.
#
# The monitors tell: `osd pool ls detail`, type 3.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rados
start_site

in_site ceph osd erasure-code-profile set two k=2 m=1 crush-failure-domain=osd
in_site ceph osd pool create data 1 1 erasure two 2>/dev/null
alignment() { # of the pool "data"
  in_site python3 -c 'import rados
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("data") as pool:
    print(pool.alignment())'
}
type_of() { in_site ceph osd pool ls detail --format json | grep -o '"pool_name":"data",[^{}]*"type":[0-9]*' | grep -oE '[0-9]+$'; }
expect "alignment of an erasure-coded pool" 8192 "$(alignment)"
# The OSD of this site has its objects in memory; the monitor asks for bluestore.
in_site ceph config set mon mon_debug_no_require_bluestore_for_ec_overwrites true
in_site ceph osd pool set data allow_ec_overwrites true 2>/dev/null
expect "alignment since it may be overwritten" None "$(alignment)"
expect "type in the list of pools" 3 "$(type_of)"
