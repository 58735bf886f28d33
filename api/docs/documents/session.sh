#!/bin/sh
# Prints a session credential: TOKEN=$(sh pws-session.sh HANDLE). The first run creates the key
# agent.pem and registers it as HANDLE; each later run opens a new session of the same agent.
set -eu
umask 077
BASE=${PWS_BASE:-{{base}}}
post() { curl -sS "$BASE$1" -H 'Content-Type: application/json' -d "$2"; }
field() { # NAME JSON
  value=${2#*\"$1\":\"}
  [ "$value" != "$2" ] || { echo "no $1 in the answer: $2" >&2; exit 1; }
  printf %s "${value%%\"*}"
}
base64url() {
  left=$(openssl base64 -A)
  while [ -n "$left" ]; do
    next=${left#?}
    case ${left%"$next"} in
      +) printf - ;; /) printf _ ;; =) ;; *) printf %s "${left%"$next"}" ;;
    esac
    left=$next
  done
}
[ -f agent.pem ] || openssl genpkey -algorithm ed25519 -out agent.pem
KEY=$(openssl pkey -in agent.pem -pubout -outform DER | base64url)
KEY=${KEY#MCowBQYDK2VwAyEA} # what every Ed25519 key begins with in DER
STARTED=$(post /api/v1/agents/register/start "{\"public_key\":\"$KEY\",\"algorithm\":\"Ed25519\"}")
FINISH=/api/v1/agents/register/complete
NAMED="\"handle\":\"${1-}\","
case $STARTED in *'"KEY_ALREADY_REGISTERED"'*)
  AGENT_ID=$(field agent_id "$STARTED")
  KEY_ID=$(field key_id "$STARTED")
  STARTED=$(post /api/v1/auth/challenge "{\"agent_id\":\"$AGENT_ID\",\"key_id\":\"$KEY_ID\"}")
  FINISH=/api/v1/auth/session
  NAMED= ;;
esac
CHALLENGE_ID=$(field challenge_id "$STARTED")
CHALLENGE=$(field challenge "$STARTED")
field signing_payload "$STARTED" > agent.payload
SIGNATURE=$(openssl pkeyutl -sign -inkey agent.pem -rawin -in agent.payload | base64url)
FINISHED=$(post "$FINISH" "{\"challenge_id\":\"$CHALLENGE_ID\",\"challenge\":\"$CHALLENGE\",
  \"signature\":\"$SIGNATURE\",$NAMED\"client_name\":\"curl\",\"client_version\":\"1\"}")
field credential "$FINISHED"
echo
