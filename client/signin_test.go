package client

import (
	"net/http"
	"testing"
)

// TestAddKeyOutlivesALostAnswer has servers that have used the challenge without a key, or with it.
func TestAddKeyOutlivesALostAnswer(t *testing.T) {
	offered := answer(201, `{"ok":true,"data":{"challenge_id":"cha_1","challenge":"c",`+
		`"signing_payload":"pws/v1|add-key|cha_1|c|`+PublicText(testKey)+`|t|agt_1"}}`)
	added := answer(201, `{"ok":true,"data":{"key":{"id":"key_2","agent_id":"agt_1"}}}`)
	registered := answer(409, `{"ok":false,"error":{"code":"KEY_ALREADY_REGISTERED","message":"No.",`+
		`"details":{"agent_id":"agt_1","key_id":"key_2"}}}`)
	consumed := refused(http.StatusConflict, codeChallengeConsumed)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		code    string
		sent    int32
	}{
		"the key was added":     {[]http.HandlerFunc{offered, consumed, registered}, "", 3},
		"the key was not added": {[]http.HandlerFunc{offered, consumed, offered, added}, "", 4},
		"expired": {
			[]http.HandlerFunc{offered, refused(http.StatusGone, codeChallengeExpired), offered, added},
			"", 4,
		},
		"used twice": {
			[]http.HandlerFunc{offered, consumed, offered, consumed}, codeChallengeConsumed, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, count := script(t, c.answers...)
			client, _ := unwaiting(t, server.URL, Fixed("secret"))
			known, err := client.AddKey(t.Context(), testKey, "agt_1")
			if count.Load() != c.sent || IsCode(err, c.code) == (c.code == "") {
				t.Fatalf("%d requests: %v", count.Load(), err)
			}
			if want := (KnownKey{AgentID: "agt_1", KeyID: "key_2"}); err == nil && known != want {
				t.Errorf("%+v", known)
			}
		})
	}
}
