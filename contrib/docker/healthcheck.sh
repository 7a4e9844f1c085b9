#!/bin/bash
# Succeeds when the node of this container serves CQL. Optional: the port of its REST API.
# bash alone, since the image has no HTTP client; not nodetool, which asks for a role where the node has an authenticator.
set -eu
port=${1:-10000}
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /ready HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$port" >&3
read -r -t 4 version status rest <&3
[ "$status" = 200 ]
