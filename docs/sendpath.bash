# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion for bash: what --help lists is what is offered, but no options of another command.
_sendpath() {
	local command=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} i
	local verb=${COMP_WORDS[1]} all==all
	local option=${COMP_WORDS[COMP_CWORD-1]}

	[[ $command == \~/* ]] && command=$HOME${command:1} # nobody expanded it
	# bash takes "=" for a word of its own.
	if [ "$word" = "=" ]; then word=; elif [ "$option" = "=" ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do # behind -- the command's own words
		[ "${COMP_WORDS[i]}" = "--" ] && return
	done
	case $verb in
	-*) verb= ;;
	sweep | timeline | top | exporter) ;;
	*) all= ;;
	esac
	[ -z "$verb" ] && all==all
	case $option in
	--variant | --server-model | --grid | --sort)
		set -- $("$command" $([[ $option = --grid ]] && echo sweep; [[ $option = --sort ]] && echo top) "$option" '?' 2>&1 |
			sed -n 's/.*there are //; s/,\|\<or\>/ /gp')
		COMPREPLY=($(compgen -W "$*" -- "$word"))
		;;
	*)
		case $word in
		-*)
			COMPREPLY=($(compgen -W "$("$command" $verb --help$all 2>&1 |
				sed -n "/(analyze $verb):/!{/^ .*(analyze [a-z]*):/,/^$/d}
					s/^ \{2,6\}\(-., \)*\(--[a-z-]*=\?\).*/\2/p" | sort -u)" -- "$word"))
			[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
			;;
		*)
			[ "$COMP_CWORD" = 1 ] && COMPREPLY=($(compgen -W "help $("$command" --help 2>/dev/null |
				sed -n '/^ Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')" -- "$word"))
			;;
		esac
		;;
	esac
}
complete -o default -F _sendpath sendpath analyze
