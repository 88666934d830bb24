#!/usr/bin/env bash
# A volume is a clone, as of a VolumeSnapshot that was restored, and a client of librbd (here QEMU)
# trims it. A trim is made to give space back. One would guess that a clone that has nothing of its
# own yet takes nothing afterwards, either. But librbd 16.2.15 makes an empty object for each one that
# is discarded, to hide the parent's, and does not look whether the parent has any. `rbd du` and the
# sizes that are made of the object map then call the clone full, also that of an empty parent.
#
# Where a part of an object is discarded, all of the parent's object is copied first: 64 KiB that are
# given back take 4032 KiB of the pool. `rbd sparsify` ends neither. A trim after `rbd flatten` does.
# (By hand: a clone that Linux 6.1.187 had mounted had one object of 64 after fstrim, which said that
# it had trimmed 206 MiB.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
qemu=1:7.2+dfsg-7+deb12u18+b3
need_ceph 16.2.15+ds-0+deb12u2 "qemu-utils=$qemu" "qemu-block-extra=$qemu"

start_site_at 127.0.0.1 bluestore
guest() { # IMAGE COMMAND...: what the guest does; prints the exit code
  local image=$1 command=()
  shift
  for line; do command+=(-c "$line"); done
  in_site qemu-io --image-opts "driver=rbd,pool=rbd,image=$image,discard=unmap" "${command[@]}" >/dev/null
  echo $?
}
used() { # MiB of an image without its parent: what the object map says, and what its objects hold
  local way count=
  for way in '' --exact; do
    # shellcheck disable=SC2086 # nothing, or one word
    count+=" $(in_site rbd du $way --format json "rbd/$1" 2>/dev/null | grep -oE '"used_size":[0-9]+' | head -n 1 |
      awk -F: '{ print $2 / 1048576 }')"
  done
  echo "${count# }"
}
objects() { # how many an image has
  local prefix
  prefix=$(in_site rbd info --format json "rbd/$1" | grep -o '"block_name_prefix":"[^"]*' | cut -d'"' -f4)
  in_site rados -p rbd ls | grep -c "$prefix" || true
}
pool_has() { # MiB, as the OSD counts
  in_site ceph df --format json | grep -o '"name":"rbd".*' | grep -oE '"stored":[0-9]+' | head -n 1 |
    awk -F: '{ print int($2 / 1048576 + 0.5) }'
}
is_told() { [[ $(pool_has) == "$1" ]]; }

seen "$(in_site qemu-io --version | head -n 1)"
in_site rbd create --size 64M rbd/full
in_site rbd create --size 64M rbd/empty
expect "64 MiB are written into the parent, exit code" 0 "$(guest full 'write -P 1 0 64M')"
for parent in full empty; do
  in_site rbd snap create --no-progress "rbd/$parent@s"
  in_site rbd clone --rbd-default-clone-format 2 "rbd/$parent@s" "rbd/clone-of-$parent"
done
in_site rbd clone --rbd-default-clone-format 2 rbd/full@s rbd/second
until_true is_told 64
expect "MiB in the pool" 64 "$(pool_has)"
for parent in full empty; do
  clone=clone-of-$parent
  expect "$clone: MiB used as the map says, and exactly" "0 0" "$(used $clone)"
  expect "$clone: discard of all, exit code" 0 "$(guest $clone 'discard 0 64M')"
  expect "$clone: MiB used as the map says, and exactly" "64 0" "$(used $clone)"
  expect "$clone: objects" 16 "$(objects $clone)"
done
in_site rbd sparsify --no-progress rbd/clone-of-full
expect "clone-of-full: MiB used after rbd sparsify" "64 0" "$(used clone-of-full)"

parts=()
for ((object = 0; object < 16; object++)); do parts+=("discard $((object * 4096))k 64k"); done
expect "second: discard of 16 times 64 KiB, exit code" 0 "$(guest second "${parts[@]}")"
until_true is_told 127
expect "MiB in the pool" 127 "$(pool_has)"
in_site rbd sparsify --no-progress rbd/second
expect "second: the same discard again, exit code" 0 "$(guest second "${parts[@]}")"
expect "second: MiB used after it and rbd sparsify" "64 64" "$(used second)"

in_site rbd flatten --no-progress rbd/clone-of-full
expect "clone-of-full: MiB used after rbd flatten" "64 0" "$(used clone-of-full)"
expect "clone-of-full: discard of all, exit code" 0 "$(guest clone-of-full 'discard 0 64M')"
expect "clone-of-full: MiB used as the map says, and exactly" "0 0" "$(used clone-of-full)"
