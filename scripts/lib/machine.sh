# shellcheck shell=bash disable=SC2154 # the colours are set in common.sh
# What this machine lacks, said before anything starts. Sourced, after packages.sh.

lacks() { wrapped "  " "${bold}note:${plain} $*"; }

free_megabytes() { df -Pm "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# What may still be used, by the kernel's word or the container's limit.
memory_megabytes() {
  local free limit used
  free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  if read -r limit 2>/dev/null </sys/fs/cgroup/memory.max && [[ $limit != max ]]; then
    read -r used </sys/fs/cgroup/memory.current
    limit=$(((limit - used) / 1048576))
    if ((limit < free)); then free=$limit; fi
  fi
  printf '%s' "$free"
}

# How many compilers at a time: one takes up to 1.2 GB (measured).
compile_jobs() {
  local jobs=${JOBS:-$(nproc)} fitting
  fitting=$(($(memory_megabytes) / 1200))
  if ((fitting < jobs)); then jobs=$((fitting > 1 ? fitting : 1)); fi
  printf '%s' "$jobs"
}

check_space() { # FOLDER MEGABYTES FOR_WHAT
  local free
  free=$(free_megabytes "$1")
  if [[ $free ]] && ((free < $2)); then
    lacks "$1 has $free MB free, and $3 takes about $2 MB."
  fi
}

check_packages() { # PURPOSE...
  local missing codename=''
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this script installs what it needs with apt and is made for Debian 12, 13 and testing." \
      "Elsewhere see 'Building by hand' in CONTRIBUTING.md."
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-${ID:-unknown}}")
  case $codename in
    bookworm | trixie | forky | sid) ;;
    *) lacks "this is '$codename'; Debian 12 (bookworm), 13 (trixie) and testing (forky) were tried." ;;
  esac
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "packages are missing and there is no sudo; let root run:" \
        "apt-get install --no-install-recommends ${missing[*]}"
    sudo -n true 2>/dev/null || [[ -t 0 ]] ||
      die "packages are missing, and sudo asks for a password that nobody can type here; let root run:" \
        "apt-get install --no-install-recommends ${missing[*]}"
  fi
  if grep -rqsE '^(deb .*https:|URIs: *https:)' /etc/apt/sources.list /etc/apt/sources.list.d &&
    [[ ! -e /etc/ssl/certs/ca-certificates.crt ]]; then
    lacks "apt's sources say https, but the package ca-certificates is not installed; if apt fails, that is why."
  fi
  check_space / $((${#missing[@]} > 10 ? 1500 : 300)) "what is to be installed"
}

check_clusters() {
  if [[ $(cat /sys/class/net/lo/flags 2>/dev/null) == 0x8 ]]; then
    lacks "the network interface lo is down; the clusters talk over it: ip link set lo up"
  fi
  check_space "${TMPDIR:-/tmp}" 1500 "running two clusters"
  if (($(memory_megabytes) < 1200)); then
    lacks "$(memory_megabytes) MB of memory are free, and two clusters with their daemons take 400 MB, and up to 600 MB more for what is written into them."
  fi
}

# What tests on real hosts and filesystems need; without it they are skipped.
check_privileges() {
  if ((EUID != 0)); then
    lacks "not root: tests of fencing (network namespaces) and trimming (FUSE, loop devices) will be skipped;" \
      "as root they run."
    return
  fi
  unshare --net --mount true 2>/dev/null ||
    lacks "network namespaces cannot be made here: tests of fencing will be skipped" \
      "(in a container: --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN)."
  [[ -c /dev/fuse && -c /dev/loop-control ]] ||
    lacks "/dev/fuse or /dev/loop-control is missing: tests of trimming will be skipped" \
      "(modprobe fuse loop; in a container --device /dev/fuse and the loop devices, or --privileged)."
}

# check_machine PURPOSE...: see packages_for. Ends the script when it could not succeed.
check_machine() {
  local purpose clusters='' privileges='' tree=0
  [[ -r /proc/self/stat ]] || die "/proc is not mounted; mount -t proc proc /proc"
  if [[ ! -w build && (-e build || ! -w .) ]]; then
    die "$PWD/build cannot be written to, and that is where the build goes"
  fi
  for purpose; do
    case $purpose in
      contract | demo) clusters=1 ;;
      integration | long) clusters=1 privileges=1 ;;
    esac
    case $purpose in
      release | demo) tree=$((tree + 100)) ;;
      unit | rpc | deploy | contract | integration | long) tree=$((tree + 350)) ;;
    esac
  done
  check_packages "$@"
  if [[ ! -d build ]]; then check_space . "$tree" "the build"; fi
  if (($(compile_jobs) < ${JOBS:-$(nproc)})); then
    lacks "$(memory_megabytes) MB of memory are free: $(compile_jobs) compiler(s) at a time instead of ${JOBS:-$(nproc)}."
  fi
  if [[ $clusters ]]; then check_clusters; fi
  if [[ $privileges ]]; then check_privileges; fi
}
