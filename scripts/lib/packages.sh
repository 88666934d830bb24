# shellcheck shell=bash
# What is needed of Debian 12, 13 and testing, by package name; the names are the same in
# all three. Sourced. scripts/packages.sh prints them.

build_packages=(
  g++ cmake ninja-build
  librados-dev librbd-dev libradospp-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libabsl-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libssl-dev libcryptsetup-dev
  prometheus-cpp-dev zlib1g-dev libxxhash-dev libzstd-dev
)
# Tests without clusters.
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev iproute2 lld)
# Throwaway Ceph clusters, whose volumes are made with Ceph's own Python binding: the demo,
# and the tests on real clusters.
ceph_packages=(ceph-mon ceph-mgr ceph-osd ceph-common rbd-mirror python3 python3-rados python3-rbd)
integration_packages=(
  # Images as block devices without rbd or nbd, and filesystems on them. qemu-storage-daemon
  # is in the first of these in Debian 12, and in the second since.
  qemu-system-common qemu-utils qemu-block-extra xfsprogs e2fsprogs mount
  # LUKS by others than the daemon, and another reader of ceph-csi's metadata.
  cryptsetup-bin python3-cryptography
  # Wrong clocks, for the fencing tests.
  faketime
)
# What reads manifests, rules and packages. helm, kubectl and Kubernetes' schemas come from
# npm, where that is installed: tests/deploy/tools.sh.
deploy_packages=(python3 python3-yaml python3-jsonschema prometheus yamllint)
# The status page in a real browser. Large, so only where it is asked for: without it that
# test is skipped.
browser_packages=(chromium)
lint_packages=(clang clang-format clang-tidy shellcheck)
# libFuzzer and the sanitizers of clang.
fuzz_packages=(clang libclang-rt-dev)
# Measuring without clusters.
micro_packages=(libbenchmark-dev)
# What is shipped: Debian packages, and the image. Of a clone git takes the files.
package_packages=(build-essential debhelper dpkg-dev git)
image_packages=(buildah mmdebstrap git)
# Not needed, but used when they are there.
faster_packages=(ccache lld)

# packages_for PURPOSE...: prints the names, one per line. A purpose is a label of the
# tests, or release, demo, browser, lint, fuzz, micro, package, image or faster.
packages_for() {
  local purpose
  for purpose; do
    case $purpose in
      release) printf '%s\n' "${build_packages[@]}" ;;
      unit | rpc) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" ;;
      deploy) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${deploy_packages[@]}" ;;
      contract) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${ceph_packages[@]}" ;;
      integration | long)
        printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${ceph_packages[@]}" \
          "${integration_packages[@]}"
        ;;
      demo) printf '%s\n' "${build_packages[@]}" "${ceph_packages[@]}" ;;
      browser) printf '%s\n' "${browser_packages[@]}" ;;
      lint) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}" ;;
      fuzz) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}" ;;
      micro) printf '%s\n' "${build_packages[@]}" "${micro_packages[@]}" ;;
      package) printf '%s\n' "${package_packages[@]}" ;;
      image) printf '%s\n' "${image_packages[@]}" ;;
      faster) printf '%s\n' "${faster_packages[@]}" ;;
      *) return 1 ;;
    esac
  done | sort -u
}

# missing_packages PURPOSE...: prints those that are not installed.
missing_packages() {
  local name
  while IFS= read -r name; do
    # shellcheck disable=SC2016 # dpkg-query expands it
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$name"
  done < <(packages_for "$@")
}

# install_for PURPOSE...: installs what is missing, as root or through sudo.
install_for() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then as_root=(sudo); fi
  "${as_root[@]}" bash "$(dirname "${BASH_SOURCE[0]}")/install.sh" "${missing[@]}"
}

# offer_packages PURPOSE...: what is missing is installed when somebody at the terminal wants
# that; otherwise ends the script with 2 and the command that installs it.
offer_packages() {
  local missing answer='no'
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if [[ -t 0 && -t 1 ]]; then
    printf 'These packages are missing: %s\n' "${missing[*]}"
    read -r -p 'Install them now? [Y/n] ' answer
  fi
  case $answer in
    '' | [Yy]*) install_for "$@" ;;
    *)
      printf '%s: packages are missing; as root: apt-get install --no-install-recommends %s\n' \
        "${0##*/}" "${missing[*]}" >&2
      exit 2
      ;;
  esac
}
