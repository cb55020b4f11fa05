#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Makes .cache/python, the environment in which the Python package is built and
# tested. Where its packages can't be had, says so; the rest of the project is
# built and tested without. Does nothing where all are there.
#
#===----------------------------------------------------------------------===#

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

requirements=tools/python/requirements.txt
environment=.cache/python
stamp=$environment/requirements.txt
cmp -s "$requirements" "$stamp" && exit 0

# Debian's, whose headers setup.sh installs.
python=/usr/bin/python3
[[ -x $python ]] || python=python3
if "$python" -m venv "$environment" &&
  "$environment/bin/pip" install -q --disable-pip-version-check \
    -r "$requirements"; then
  cp "$requirements" "$stamp"
else
  echo "python: without the Python package, as $requirements can't be had" >&2
fi
