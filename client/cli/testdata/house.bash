# bash completion of house. In ~/.bashrc: source <(house completion bash)
_house() {
  local cur=${COMP_WORDS[COMP_CWORD]} at= word words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "$at $word" in
      ' door'|' door open'|' door paint'|' lock') at="$at $word" ;;
    esac
  done
  COMPREPLY=()
  case "$at ${COMP_WORDS[COMP_CWORD-1]}" in
    ' door paint --colour') COMPREPLY=($(compgen -W 'green red' -- "$cur")); return ;;
    ' door paint -c') COMPREPLY=($(compgen -W 'green red' -- "$cur")); return ;;
    ' door paint --with') COMPREPLY=($(compgen -W '' -- "$cur")); return ;;
  esac
  case "$at" in
    '') words='door lock --help -h' ;;
    ' door') words='open paint --help -h' ;;
    ' door open') words='--help -h --wide -w' ;;
    ' door paint') words='first second --help -h --colour -c --with' ;;
    ' lock') words='--help -h' ;;
  esac
  # Flags are offered after a dash, or where there is nothing else.
  if [[ $cur != -* ]]; then
    words=" $words" words=${words%% -*}
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _house house
