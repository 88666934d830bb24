#!/usr/bin/env bash
# Writes a manual page from what a program says of itself with --help:
#
#   manpage.sh PROGRAM NAME SECTION SEE-ALSO
set -euo pipefail
program=$1 name=$2 section=$3 see_also=$4

# Text as troff takes it.
escape() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }
verbatim() {
  printf '.PP\n.nf\n'
  escape
  printf '.fi\n'
}

version=$("$program" --version | sed 's/^[^0-9]*//')
case $name in
  rbd-addonsd)
    title='CSI-Addons server for Ceph RBD'
    synopsis='[\fIFLAG\fR...]'
    ;;
  *)
    title='talks to the daemon rbd\-addonsd'
    synopsis='\fISUBCOMMAND\fR [\fIOPTION\fR...]'
    ;;
esac
printf '.TH %s %s "" "rbd\\-addons %s"\n' "${name^^}" "$section" "$version" | sed 's/RBD-/RBD\\-/'
printf '.SH NAME\n%s \\- %s\n' "${name//-/\\-}" "$title"
printf '.SH SYNOPSIS\n.B %s\n%s\n' "${name//-/\\-}" "$synopsis"

case $name in
  rbd-addonsd)
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
    ;;
  *)
    printf '.SH DESCRIPTION\n'
    "$program" --help | verbatim
    while read -r subcommand; do
      printf '.SS %s\n' "$subcommand"
      "$program" "$subcommand" --help | verbatim
    done < <("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
    ;;
esac
printf '.SH "SEE ALSO"\n.BR %s\n' "$see_also"
