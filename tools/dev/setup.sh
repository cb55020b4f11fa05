#!/bin/bash
#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Installs the Debian packages that the project is built and tested with. This
# is the one list of them. Does nothing where all are there.
#
#===----------------------------------------------------------------------===#

set -euo pipefail

packages=(
  ccache
  clang-22
  cmake
  libboost-context-dev
  libclang-rt-22-dev
  libgtest-dev
  libmlir-22-dev
  libzstd-dev
  lld-22
  llvm-22-dev
  llvm-22-tools
  mlir-22-tools
  ninja-build
  python3
  python3-dev
  python3-venv
  zlib1g-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "setup: installing ${missing[*]}"
run_as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: expects root or sudo to install packages but got neither" >&2
    exit 1
  fi
  run_as_root=(sudo)
fi
"${run_as_root[@]}" apt-get update -q
for package in "${missing[@]}"; do
  if ! apt-cache show "$package" >/dev/null 2>&1; then
    cat >&2 <<MESSAGE
setup: package $package is in none of this machine's package sources
LLVM 22 is in Debian 12 by way of its security updates, and for other releases
in LLVM's own archive, apt.llvm.org. Add that source, then run this again.
MESSAGE
    exit 1
  fi
done
"${run_as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}"
