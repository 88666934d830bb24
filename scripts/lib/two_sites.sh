# shellcheck shell=bash
# What scripts share that try things on two throwaway Ceph sites: a temporary folder, the
# bed in it, and daemons that end with the script. Sourced.

# shellcheck disable=SC2034  # for who sources this
pool=replicapool
daemons=()

# have_ceph: otherwise the script is skipped.
have_ceph() {
  local program
  for program in ceph-mon ceph-osd rbd-mirror; do
    command -v "$program" >/dev/null || { echo "skipped: $program is not here"; exit 77; }
  done
}

# make_work NAME: $work, and $bed for `scripts/testbed up`; both go when the script ends.
make_work() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-$1.XXXXXX")
  bed=$work/bed
  trap clean_up EXIT
  trap 'exit 130' INT TERM
}
stop_daemons() {
  local pid
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
  daemons=()
}
clean_up() {
  stop_daemons
  scripts/testbed down "$bed" || true
  rm -rf "$work"
}

rbd() { scripts/testbed rbd "$bed" "$@"; }
