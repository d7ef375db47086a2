#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Each completion script, loaded in its shell and asked: commands, pipelines, options, the values of a choice, files, and nothing hidden.
#   completion.sh SLUICE
set -euo pipefail
sluice=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
export XDG_CONFIG_HOME="$work/config" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache" HOME="$work"  # shells write there
unset SLUICE_PIPELINE_PATH SLUICE_PLUGIN_PATH
cd "$work"
touch reads.fastq
mkdir folder
asked=0

# What each shell offers for a command line, one a line. ask_SHELL WORD...; the last word is the one being typed.
ask_bash() {
  bash --norc -c 'source <("$0" completion bash); complete -p sluice >/dev/null
    COMP_WORDS=("$0" "$@"); COMP_CWORD=$#; _sluice "$0" "${@: -1}"; printf "%s\n" "${COMPREPLY[@]}"' "$sluice" "$@"
}
ask_zsh() {
  zsh -f -c 'source <("$0" completion zsh)
    typed=${@: -1}
    _describe() { for entry in "${(@P)2}"; do [[ "$entry" == "$typed"* ]] && print -r -- "${entry%%:*}"; done; true; }
    _files() { print -rl -- ${typed}*(N); }
    words=("$0" "$@"); CURRENT=$#words; _sluice' "$sluice" "$@"
}
ask_fish() {
  local line=
  for word in "${@:1:$#-1}"; do line+="$word "; done
  fish --no-config -c 'set -p PATH $argv[1]; sluice completion fish | source; complete -C "$argv[2]"' "$(dirname "$sluice")" "sluice $line${*: -1}" | cut -f1
}

for shell in bash zsh fish; do
  command -v "$shell" >/dev/null || { echo "SKIPPED in $shell, which is not installed"; continue; }
  offers() { # EXPECTED WORD...
    "ask_$shell" "${@:2}" >"$work/answer" 2>"$work/errors" || { cat "$work/errors"; fail "$shell: ${*:2}"; }
    grep -qxF -- "$1" "$work/answer" || { cat "$work/answer" "$work/errors"; fail "$shell does not offer '$1' behind '${*:2}'"; }
  }
  offers_not() {
    "ask_$shell" "${@:2}" >"$work/answer" 2>/dev/null || true
    ! grep -qxF -- "$1" "$work/answer" || fail "$shell offers '$1' behind '${*:2}'"
  }
  offers new-plugin n
  offers methylation run meth
  offers methylation meth
  offers reads.fastq map ref.fa rea
  offers --preset map --pres
  offers bam map --format b
  offers reads.fastq run map --reads rea
  offers --max-bad-reads run map --m
  offers paf run map --format p
  offers_not sam run map --format p
  offers_not reads.fastq run map --format ''
  offers warning run map --log-level ''
  offers_not --watchdog run map --w
  offers_not --inject-device-fault run map --i
  asked=$((asked + 1))
done
[ $asked -gt 0 ] || { echo "SKIPPED: none of the shells is installed"; exit 77; }
echo "all good in $asked shells"
