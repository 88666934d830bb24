# shellcheck shell=bash
# How a check of the tree says what it finds. Sourced; it ends with:
#   ((offences == 0)) || exit 1

# shellcheck disable=SC2034 # read by the checks
offences=0
offend() {
  printf '%s\n' "$*" >&2
  offences=$((offences + 1))
}
