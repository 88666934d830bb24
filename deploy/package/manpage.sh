#!/usr/bin/env bash
# Writes the manual page of the daemon from what it says of itself with --help:
#
#   manpage.sh PROGRAM
set -euo pipefail
program=$1

# Text as troff takes it.
escape() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }

version=$("$program" --version | sed 's/^[^0-9]*//')
printf '.TH RBD\\-ADDONSD 8 "" "rbd\\-addons %s"\n' "$version"
printf '.SH NAME\nrbd\\-addonsd \\- CSI-Addons server for Ceph RBD\n'
printf '.SH SYNOPSIS\n.B rbd\\-addonsd\n[\\fIFLAG\\fR...]\n'
printf '.SH DESCRIPTION\n'
# The paragraphs before the first flag; the first line is the name again.
"$program" --help | sed -n '2,/^  --/{/^  --/!p}' | escape
printf '.SH OPTIONS\n'
# "  --flag=VALUE" and below it, indented, what it means.
"$program" --help | sed -n '/^  --/,/^$/p' | escape |
  sed -e '/^$/d' -e 's/^  \(\\-\\-.*\)$/.TP\n.B \1/' -e 's/^        //'
printf '.SH "EXIT STATUS"\n'
"$program" --help | sed -n '/^Exit codes:/,$p' | sed 's/^Exit codes: //' | escape
printf '.SH SIGNALS\n.TP\n.B SIGTERM, SIGINT\nstop; the same again: at once\n.TP\n.B SIGHUP\nread the configuration again\n'
printf '.SH "SEE ALSO"\n.BR rbd\\-addons (1)\n'
