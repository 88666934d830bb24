# shellcheck shell=bash disable=SC2154 # work, pool and bed are of who sources it
# A volume of a throwaway Ceph site on this machine without rbd and nbd: qemu-storage-daemon
# exports the image as a file through FUSE, and a loop device lies on that. Sourced, after
# two_sites.sh.

# have_exports: otherwise the script is skipped.
have_exports() {
  local program
  ((EUID == 0)) || { echo "skipped: not root"; exit 77; }
  for program in qemu-storage-daemon mkfs.ext4 mount; do
    command -v "$program" >/dev/null || { echo "skipped: $program is not here"; exit 77; }
  done
  [[ -c /dev/fuse && -c /dev/loop-control ]] ||
    { echo "skipped: /dev/fuse or /dev/loop-control is not here"; exit 77; }
}

exporter='' exported=''
# export_volume FOLDER: a volume of site a is $id, its image $image, and $exported the file
# FOLDER/POOL/IMAGE with an ext4 on it. unexport ends it.
export_volume() {
  id=$(scripts/testbed volume "$bed" a pvc-node --size 1G)
  image=csi-vol-${id: -36}
  exported=$1/$pool/$image
  mkdir -p "${exported%/*}"
  : >"$exported"
  qemu-storage-daemon \
    --blockdev "driver=rbd,node-name=disk0,pool=$pool,image=$image,conf=$bed/a/ceph.conf,discard=unmap" \
    --export "type=fuse,id=f0,node-name=disk0,mountpoint=$exported,writable=on" >"$work/export.log" 2>&1 </dev/null &
  exporter=$!
  for _ in $(seq 300); do
    if [[ $(stat -c %s "$exported") == 1073741824 ]]; then break; fi
    kill -0 "$exporter" 2>/dev/null || break
    sleep 0.1
  done
  [[ $(stat -c %s "$exported") == 1073741824 ]] || { cat "$work/export.log"; exit 1; }
  mkfs.ext4 -q -F -E nodiscard "$exported"
}
unexport() {
  if [[ $exporter ]]; then
    kill "$exporter" 2>/dev/null || true
    wait "$exporter" 2>/dev/null || true
    umount --lazy "$exported" 2>/dev/null || true
    exporter=''
  fi
}
# leave_garbage FOLDER: 96 MiB are written to the filesystem there and deleted again; a file
# of 8 MiB stays.
leave_garbage() {
  local name
  for name in kept:8 garbage:96; do
    dd if=/dev/urandom of="$1/${name%:*}" bs=1M count="${name#*:}" conv=fsync status=none
  done
  kept=$(sha256sum <"$1/kept")
  rm "$1/garbage"
  sync --file-system "$1"
}
# Read from the image, not from the page cache.
keeps_its_data() { # FOLDER
  echo 1 >/proc/sys/vm/drop_caches
  [[ $(sha256sum <"$1/kept") == "$kept" ]]
}
# What the pool stores of the image, in MiB.
stored() { rbd a du --format json "$pool/$image" 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["images"][0]["used_size"] >> 20)'; }
