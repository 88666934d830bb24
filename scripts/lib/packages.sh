# shellcheck shell=bash
# What a fresh Debian 12 needs, by package name. Sourced by demo.sh and test.sh.

build_packages=(
  g++ cmake ninja-build
  librados-dev librbd-dev libradospp-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libabsl-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libssl-dev
  prometheus-cpp-dev libevent-dev
)
# Throwaway Ceph clusters: the demo and the integration tests.
ceph_packages=(ceph-mon ceph-mgr ceph-osd ceph-common rbd-mirror)
test_packages=(
  libgtest-dev libgmock-dev
  # Images as block devices without rbd or nbd, and filesystems on them.
  qemu-system-common qemu-block-extra xfsprogs e2fsprogs mount
  # Hosts with addresses of their own and wrong clocks, for the fencing tests.
  iproute2 faketime
)

# install_packages NAME...: installs what is missing, as root or through sudo.
install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null |
      grep -q 'install ok installed' || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "These packages are missing and only root can install them: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  # No daemons of the system are wanted: the clusters here are started by hand.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
