#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What cpack asks dpkg-shlibdeps, which knows the packages of this machine only: on which packages arm64 programs and libraries depend, by the shlibs
# files (deb-shlibs(5)) that libraries.sh has collected.
#   dependencies.sh SHLIBS [OPTION...] FILE...
set -euo pipefail
shlibs=$1
shift
for file in "$@"; do
  [[ $file == -* ]] || readelf -d "$file"
done | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u | awk '
  NR == FNR { if ($1 !~ /:$/) depends[$1 " " $2] = substr($0, index($0, $3)); next }
  {
    if (match($0, /\.so\./)) key = substr($0, 1, RSTART - 1) " " substr($0, RSTART + RLENGTH)
    else if (match($0, /-[0-9.]+\.so$/)) key = substr($0, 1, RSTART - 1) " " substr($0, RSTART + 1, RLENGTH - 4)
    else next # of this project: it has no version
    if (!(key in depends)) { print "no package has " $0 >"/dev/stderr"; exit 1 }
    if (!seen[depends[key]]++) all = all (all == "" ? "" : ", ") depends[key]
  }
  END { print "shlibs:Depends=" all }' "$shlibs" -
