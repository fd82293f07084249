/** What each shell runs to complete a command line of `kubus`. */
export const completionScripts = {
  bash: `# kubus completion for bash: source <(./kubus completion bash)
_kubus() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kubus kubus ./kubus`,
  zsh: `#compdef kubus
# kubus completion for zsh: source <(./kubus completion zsh)
_kubus() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n \${candidates[1]-} ]] && compadd -a candidates || _files
}
compdef _kubus kubus ./kubus`,
  fish: `# kubus completion for fish: ./kubus completion fish | source
function __kubus_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
  test (count $found) -gt 0; and printf '%s\\n' $found; or __fish_complete_path (commandline -ct)
end
complete -c kubus -f -a '(__kubus_complete)'`,
} as const;

export type Shell = keyof typeof completionScripts;
export const shells = Object.keys(completionScripts) as Shell[];
