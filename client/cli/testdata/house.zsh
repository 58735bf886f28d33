#compdef house
# zsh completion of house. In ~/.zshrc, after compinit: source <(house completion zsh)
_house() {
  local at= word i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    case "$at $word" in
      ' door'|' door open'|' door paint'|' lock') at="$at $word" ;;
    esac
  done
  case "$at $words[CURRENT-1]" in
    ' door paint --colour') compadd -- green red; return ;;
    ' door paint -c') compadd -- green red; return ;;
    ' door paint --with') _files; return ;;
  esac
  case "$at" in
    '') found=('door:Doors' 'lock:Lock all' '--help:Show context-sensitive help' '-h:Show context-sensitive help') ;;
    ' door') found=('open:Open it' 'paint:Paint it: slowly' '--help:Show context-sensitive help' '-h:Show context-sensitive help') ;;
    ' door open') found=('--help:Show context-sensitive help' '-h:Show context-sensitive help' '--wide:Open it wide' '-w:Open it wide') ;;
    ' door paint') found=('first' 'second' '--help:Show context-sensitive help' '-h:Show context-sensitive help' '--colour:What isn'\''t white' '-c:What isn'\''t white' '--with:The brush') ;;
    ' lock') found=('--help:Show context-sensitive help' '-h:Show context-sensitive help') ;;
  esac
  # Flags are offered after a dash only.
  [[ $PREFIX == -* ]] || found=(${found:#-*})
  (( $#found )) && _describe house found || _files
}
if [[ $funcstack[1] == _house ]]; then _house "$@"; else compdef _house house; fi
