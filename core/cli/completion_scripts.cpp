// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/completion_scripts.hpp"

namespace sluice::cli {
namespace {

// In bash "=" is a word of its own; the program leaves it out.
constexpr const char* bash_script = R"bash(# bash completion of sluice: source <(sluice completion bash)
_sluice() {
  local current="${COMP_WORDS[COMP_CWORD]}" line word IFS=$'\n'
  [[ "$current" == "=" ]] && current=""
  COMPREPLY=()
  for line in $("$1" completion words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null); do
    case "$line" in
      :files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$current")) ;;
      :folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$current")) ;;
      *) word="${line%%$'\t'*}"; [[ "$word" == "$current"* ]] && COMPREPLY+=("$word") ;;
    esac
  done
  [[ ${#COMPREPLY[@]} == 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _sluice sluice
)bash";

constexpr const char* zsh_script = R"zsh(#compdef sluice
# zsh completion of sluice: source <(sluice completion zsh), or this file as _sluice in a folder of $fpath
_sluice() {
  local line offered=1
  local -a described
  for line in "${(@f)$("${words[1]}" completion words "${(@)words[2,CURRENT-1]}" 2>/dev/null)}"; do
    case "$line" in
      :files) _files && offered=0 ;;
      :folders) _files -/ && offered=0 ;;
      *$'\t'*) described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      ?*) described+=("${line//:/\\:}") ;;
    esac
  done
  (( ${#described} )) && _describe sluice described && offered=0
  return offered
}
if [[ "${funcstack[1]}" == _sluice ]]; then _sluice "$@"; elif (( $+functions[compdef] )); then compdef _sluice sluice; fi
)zsh";

constexpr const char* fish_script = R"fish(# fish completion of sluice: sluice completion fish | source
function __sluice_words
    set -l before (commandline -opc)
    for line in ($before[1] completion words $before[2..] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c sluice -f -a '(__sluice_words)'
)fish";

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

const char* completion_script(const std::string& shell) {
  if (shell == "bash") return bash_script;
  if (shell == "zsh") return zsh_script;
  return shell == "fish" ? fish_script : nullptr;
}

}  // namespace sluice::cli
