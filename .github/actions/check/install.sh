#!/usr/bin/env bash
# Installs this checkout of tilelint into an environment of its own.
set -euo pipefail

venv="$RUNNER_TEMP/tilelint-environment"
python=$(command -v python3 || command -v python)
"$python" -m venv "$venv"
bin="$venv/bin"
[ -d "$bin" ] || bin="$venv/Scripts"
"$bin/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH/../../.."
"$bin/tilelint" --version
