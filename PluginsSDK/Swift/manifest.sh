#!/bin/sh
# Writes a Swift file that puts a plugin into its library's manifest; of several, each has a file.
#
#   manifest.sh ID VERSION [PERMISSION...] > Manifest.swift
set -eu
[ $# -ge 2 ] || { echo "usage: $0 ID VERSION [PERMISSION...]" >&2; exit 64; }
id=$1 version=$2 permissions=
shift 2
for permission; do permissions="$permissions${permissions:+,}\"$permission\""; done
json="{\"id\":\"$id\",\"version\":\"$version\",\"abi\":\"1.0\",\"permissions\":[$permissions]}"

cat <<SWIFT
// Made by PluginsSDK/Swift/manifest.sh: what the host reads before it runs any code.
// $json
@section(".outlet.manifest") @used
private let manifest: InlineArray<$(printf '%s\0' "$json" | wc -c), UInt8> = [
$(printf '%s\0' "$json" | od -An -v -tx1 -w16 | sed 's/ \(..\)/ 0x\1,/g; s/^ /    /')
]
SWIFT
