# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# expect-error.sh TOOL INPUT TEXT OPTION...: norm-run, at TOOL, must exit with 1 on
# the emulated device and print exactly one line on stderr, which ends in TEXT.
tool=$1
input=$2
text=$3
shift 3
output=$("$tool" "$input" --device=emulated "$@" 2>&1 >/dev/null)
status=$?
lines=$(printf '%s\n' "$output" | wc -l)
if [ "$status" -eq 1 ] && [ "$lines" -eq 1 ]; then
  case "$output" in
  *"$text") exit 0 ;;
  esac
fi
printf 'expects status 1 and: %s\nbut got %s and: %s\n' "$text" "$status" "$output"
exit 1
