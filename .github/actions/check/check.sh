#!/usr/bin/env bash
# Runs `tilelint check` once and writes the report in every form that a workflow needs.
#
# Takes TILELINT_PATHS and TILELINT_ARGS (one per line), TILELINT_FORMAT, TILELINT_FAIL_ON,
# TILELINT_DIFF_BASE and TILELINT_SHARD; sets the outputs report, sarif, status and failed.
set -euo pipefail

bin="$RUNNER_TEMP/tilelint-environment/bin"
[ -d "$bin" ] || bin="$RUNNER_TEMP/tilelint-environment/Scripts"
tilelint="$bin/tilelint"

# The lines of $1 that are not blank, without blanks around them, in the array `words`.
split() {
  words=()
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [ -n "$line" ]; then words+=("$line"); fi
  done <<<"$1"
}

folder=$(mktemp -d "$RUNNER_TEMP/tilelint-report.XXXXXX")
report="$folder/tilelint.json"
sarif="$folder/tilelint.sarif"
options=(--format=json "--output=$report")

case "$TILELINT_FAIL_ON" in
  error | never) ;;
  warning) options+=(--strict) ;;
  *)
    echo "::error title=tilelint::fail-on is error, warning or never"
    exit 2
    ;;
esac
case "$TILELINT_FORMAT" in
  github | full | concise) ;;
  *)
    echo "::error title=tilelint::format is github, full or concise"
    exit 2
    ;;
esac
if [ -n "$TILELINT_DIFF_BASE" ]; then options+=("--diff-base=$TILELINT_DIFF_BASE"); fi
if [ -n "$TILELINT_SHARD" ]; then options+=("--shard=$TILELINT_SHARD"); fi
split "$TILELINT_ARGS"
options+=(${words[@]+"${words[@]}"})
split "$TILELINT_PATHS"

status=0
"$tilelint" check "${options[@]}" -- ${words[@]+"${words[@]}"} || status=$?
# What has been found is no failure here: its status is that of the check.
render() {
  local ended=0
  "$tilelint" merge --partial "$@" "$report" || ended=$?
  if [ "$ended" -gt "$status" ]; then status=$ended; fi
}
if [ -s "$report" ]; then
  render "--format=$TILELINT_FORMAT"
  render --format=sarif "--output=$sarif" >/dev/null
fi

failed=$status
if [ "$status" = 1 ] && [ "$TILELINT_FAIL_ON" = never ]; then failed=0; fi
{
  if [ -s "$report" ]; then echo "report=$report"; fi
  if [ -s "$sarif" ]; then echo "sarif=$sarif"; fi
  echo "status=$status"
  echo "failed=$failed"
} >>"$GITHUB_OUTPUT"
