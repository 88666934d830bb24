#!/usr/bin/env bash
# An image is encrypted by librbd (`rbd encryption format`), and QEMU uses it. The virtual machine
# discards: mkfs does so with the whole disk before it begins, fstrim with all that is free. One would
# guess that this gives space back, or that it does nothing, since LUKS hides what is in use. But
# librbd 16.2.15 writes encrypted zeros there, exit code 0. An empty disk of 64 MiB takes 64 MiB then,
# and a trim of what was never written takes space, too. Nothing gives it back: for `rbd sparsify`
# encrypted zeros are no zeros. An image that is not encrypted, used the same way, is empty at the end.
#
# Such a disk is best used without discard=unmap, and formatted without discards.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
qemu=1:7.2+dfsg-7+deb12u18+b3
need_ceph 16.2.15+ds-0+deb12u2 "qemu-utils=$qemu" "qemu-block-extra=$qemu"

start_site_at 127.0.0.1 bluestore
printf secret >"$root/tmp/passphrase"
guest() { # IMAGE COMMAND...: what the guest does with its disk; prints the exit code
  local disk=driver=rbd,pool=rbd,image=$1,discard=unmap command=()
  [[ $1 != encrypted ]] || disk+=,encrypt.format=luks2,encrypt.key-secret=passphrase
  shift
  for line; do command+=(-c "$line"); done
  in_site qemu-io --object secret,id=passphrase,file=/tmp/passphrase --image-opts "$disk" "${command[@]}" >"$root/tmp/said" && echo 0
}
used() { # MiB of both images, as the object map has it
  local image count=
  for image in plain encrypted; do
    count+=" $(in_site rbd du --format json "rbd/$image" | grep -oE '"used_size":[0-9]+' | head -n 1 |
      awk -F: '{ print $2 / 1048576 }')"
  done
  echo "${count# }"
}

seen "$(in_site qemu-io --version | head -n 1)"
in_site rbd create --size 64M rbd/plain
in_site rbd create --size 80M rbd/encrypted
in_site rbd encryption format rbd/encrypted luks2 /tmp/passphrase
expect "the encrypted disk without its LUKS header" "0 64 MiB" "$(guest encrypted length) $(cat "$root/tmp/said")"
expect "MiB used, plain and encrypted" "0 16" "$(used)"
both() { # COMMAND...
  echo "$(guest plain "$@") $(guest encrypted "$@")"
}
expect "a discard of 1 MiB that was never written, exit codes" "0 0" "$(both 'discard 4M 1M')"
expect "MiB used" "0 20" "$(used)"
expect "a discard of all, exit codes" "0 0" "$(both 'discard 0 64M')"
expect "MiB used" "0 80" "$(used)"
expect "a write of 32 MiB, exit codes" "0 0" "$(both 'write -P 1 0 32M')"
expect "MiB used" "32 80" "$(used)"
expect "a discard of all, after which zeros are read, exit codes" "0 0" "$(both 'discard 0 64M' 'read -P 0 0 64M')"
expect "MiB used" "0 80" "$(used)"
in_site rbd sparsify --no-progress rbd/encrypted
expect "MiB used after rbd sparsify" "0 80" "$(used)"
pool_has() { # MiB in all objects, as the OSD counts
  in_site ceph df --format json | grep -o '"name":"rbd".*' | grep -oE '"stored":[0-9]+' | head -n 1 |
    awk -F: '{ print int($2 / 1048576 + 0.5) }'
}
is_told() { (($(pool_has) >= 80)); }
until_true is_told
expect "MiB in the pool" 80 "$(pool_has)"
