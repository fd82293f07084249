# Refuses wrong arguments before anything is installed or built, in the words of the command line program, which checks the rest.
# shellcheck shell=bash

refuse() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

refuse_option() {
  local of="$owner "
  [[ $owner != kubus ]] || of=''
  refuse "unknown option '$1'
\"./kubus $of--help\" lists the options"
}

# check_arguments TABLE COMMAND ARGUMENT...: COMMAND is the first of the arguments that is one. The table (packages/tools/cli/arguments.tsv) has
# a line for the arguments of each command (`*`: not checked) and one for each option, in columns: command (`kubus`: before any), as the help
# shows it, pattern of its value, options that exclude it (`-`: none), and what is said to another value.
check_arguments() {
  local table=$1 command=$2
  shift 2
  [[ -n $command ]] || return 0
  local -A flags=() patterns=() excluded=() notes=() given=()
  local names='' owner flag pattern others note name other
  while IFS=$'\t' read -r owner flag pattern others note; do
    if [[ $owner == "$command" && $flag != -* ]]; then names=$flag; fi
    [[ $flag == -* ]] || continue
    for name in ${flag//,/}; do
      [[ $name != -* ]] || flags[$owner $name]=$flag
    done
    patterns[$owner $flag]=$pattern excluded[$owner $flag]=$others notes[$owner $flag]=$note
  done <"$table"
  [[ -n $names ]] || refuse "unknown command '$command'"
  [[ $names != '*' ]] || return 0
  [[ $names != none ]] || names=''

  local arguments=() many=''
  owner=kubus
  [[ -z ${KUBUS_NODE-} ]] || take_option --node "$KUBUS_NODE"
  while (($# > 0)); do
    case $1 in
      -h | --help) return 0 ;;
      --)
        arguments+=("${@:2}")
        break
        ;;
      --*=*) take_option "${1%%=*}" "${1#*=}" || refuse_option "$1" ;;
      --* | -?) ! take_option "$1" "${@:2:1}" || shift ;;
      -*) take_option "${1:0:2}" "${1:2}" || set -- "$1" "-${1:2}" "${@:2}" ;;
      *)
        if [[ -n $many ]]; then
          take_option "$many" "$1"
        elif [[ $owner == kubus ]]; then
          owner=$command
        else
          arguments+=("$1")
        fi
        ;;
    esac
    shift
  done
  check_number "${arguments[@]}"
  check_exclusions
  # For scripts/progress.sh.
  quiet=${given[--quiet]-} verbose=${given[--verbose]-}
}

# take_option NAME [VALUE]: succeeds when the option takes the value.
take_option() {
  local of=$owner
  # The option of all commands.
  [[ $1 != --node ]] || of=kubus
  flag=${flags[$of $1]-} many=''
  [[ -n $flag ]] || refuse_option "$1"
  given[$flag]=1
  [[ $flag == *\<* ]] || return 1
  (($# > 1)) || refuse "option '$flag' argument missing"
  pattern=${patterns[$of $flag]}
  if [[ $pattern == @path ]]; then
    [[ -e $2 ]] || refuse "option '$flag' argument '$2' is invalid. It does not exist."
  else
    [[ $2 =~ ^($pattern)$ ]] || refuse "option '$flag' argument '$2' is invalid.$(note_of "$of $flag")"
  fi
  if [[ $flag == *...\> ]]; then many=$1; fi
}

# What is said to another value: the note of the option, or its choices.
note_of() {
  if [[ -n ${notes[$1]} ]]; then
    printf ' %s' "${notes[$1]}"
  elif [[ $pattern == *\|* && $pattern =~ ^[a-z|-]+$ ]]; then
    printf ' Allowed choices are %s.' "${pattern//|/, }"
  fi
}

check_number() {
  local wanted
  read -r -a wanted <<<"$names"
  (($# <= ${#wanted[@]})) || refuse "too many arguments for '$command'. Expected ${#wanted[@]} arguments but got $#."
  for name in "${wanted[@]:$#}"; do
    [[ $name == \[* ]] || refuse "missing required argument '${name//[<>]/}'"
  done
}

check_exclusions() {
  for flag in "${!given[@]}"; do
    for name in ${excluded[$owner $flag]-}; do
      other=${flags[$owner $name]-}
      [[ -z ${given[$other]-} ]] || refuse "option '$flag' cannot be used with option '$other'"
    done
  done
}
