# fish completion of house: house completion fish | source
function __house_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ' door' ' door open' ' door paint' ' lock'
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c house -n '__house_at ""' -f -a 'door' -d 'Doors'
complete -c house -n '__house_at ""' -f -a 'lock' -d 'Lock all'
complete -c house -n '__house_at ""' -l help -s h -d 'Show context-sensitive help'
complete -c house -n '__house_at " door"' -f -a 'open' -d 'Open it'
complete -c house -n '__house_at " door"' -f -a 'paint' -d 'Paint it: slowly'
complete -c house -n '__house_at " door"' -l help -s h -d 'Show context-sensitive help'
complete -c house -n '__house_at " door open"' -l help -s h -d 'Show context-sensitive help'
complete -c house -n '__house_at " door open"' -l wide -s w -d 'Open it wide'
complete -c house -n '__house_at " door paint"' -f -a 'first second'
complete -c house -n '__house_at " door paint"' -l help -s h -d 'Show context-sensitive help'
complete -c house -n '__house_at " door paint"' -l colour -s c -x -a 'green red' -d 'What isn\'t white'
complete -c house -n '__house_at " door paint"' -l with -r -d 'The brush'
complete -c house -n '__house_at " lock"' -l help -s h -d 'Show context-sensitive help'
