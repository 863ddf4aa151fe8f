# zsh zsh_completions.zsh COMPLETION-FILE LINE: what an interactive zsh offers at the end of LINE, a word a line, and last the
# line as the tab key leaves it.
zmodload zsh/zpty
export folder=$(mktemp -d)
cp "$1" $folder/_gputopo
export dump=$1.dump  # what compinit found, which takes it a second, for the next call
cat >$folder/setup <<'SETUP'
fpath=($folder $fpath)
autoload -Uz compinit
compinit -u -d $dump
unsetopt beep
compadd() {
  local -a offered
  if [[ "$*" != *-[OAD]* ]]; then
    builtin compadd -O offered "$@"
    print -rl -- $offered >>$folder/offered
  fi
  builtin compadd "$@"
}
press-tab() {
  zle complete-word
  print -r -- "$BUFFER" >$folder/line.new
  mv $folder/line.new $folder/line
}
zle -N press-tab
bindkey '^T' press-tab
: >$folder/ready
SETUP
zpty -b shell "TERM=dumb zsh -f -i"
# Waits for a file that the shell writes; what it prints is read, or it would stop.
await() {
  for ((i = 0; i < 200; ++i)); do
    [[ -e $folder/$1 ]] && return
    zpty -r -t shell ignored '*'
    sleep 0.05
  done
  print -u2 "the shell did not get to '$1'"
  return 1
}
{
  zpty -w shell "source $folder/setup"
  await ready
  zpty -w -n shell "$2"$'\024'
  await line
  [[ -e $folder/offered ]] && grep . $folder/offered
  cat $folder/line
} always {
  zpty -d shell
  rm -r $folder
}
