# shellcheck shell=bash
# What packages and image are made of: the commit of a clone, or the files of an unpacked
# release. Sourced, at the root of the source.

# copy_source FOLDER, which is made. Of a clone nothing that is not committed.
copy_source() {
  mkdir -p "$1"
  if [[ -e .git ]]; then
    git archive --format=tar HEAD | tar -x -C "$1"
  else
    tar -c --exclude=./build --exclude=./dist . | tar -x -C "$1"
  fi
}

# source_epoch: when it was made, in seconds.
source_epoch() {
  if [[ -e .git ]] && git log -1 --format=%ct 2>/dev/null; then return; fi
  stat -c %Y CHANGELOG.md
}
