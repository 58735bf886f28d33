package client

import (
	"errors"
	"strings"
	"testing"
)

// TestChallengesOnlyAreSigned has a server ask for the signatures of other texts.
func TestChallengesOnlyAreSigned(t *testing.T) {
	const server = "https://a.example,http://b.example:8080/path"
	public := PublicText(testKey)
	begin := "|cha_1|c|" + public + "|t"
	var audience *AudienceError
	for _, c := range []struct {
		want          purpose
		agent, text   string
		signed, other bool
	}{
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://a.example", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://A.example:443", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|http://a.example", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|http://a.example:443", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|http://b.example:8080", true, false},
		{toRegister, "", "pws/v1|register" + begin + "|http://xn--bcher-kva.example", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|http://c.example/x|more", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1", true, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin, true, false},
		{toAddKey, "agt_1", "pws/v1|add-key" + begin + "|agt_1|https://a.example", true, false},
		{toRegister, "", "pws/v1|register" + begin + "|https://a.example", true, false},
		{toRegister, "", "pws/v1|register" + begin, true, false},

		{toRegister, "", "pws/v1|session" + begin + "|agt_1|https://a.example", false, false},
		{toRegister, "", "pws/v1|session" + begin, false, false},
		{toRegister, "", "pws/v1|register" + begin + "|agt_1", false, false},
		{toRegister, "", "pws/v1|register" + begin + "|https://evil.example", false, true},
		{toAddKey, "agt_1", "pws/v1|session" + begin + "|agt_1|https://a.example", false, false},
		{toSignIn, "agt_1", "pws/v1|add-key" + begin + "|agt_1|https://a.example", false, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_2|https://a.example", false, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|https://a.example", false, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://evil.example", false, true},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://a.example:8443", false, true},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://b.example:8080", false, true},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|http://b.example", false, true},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https://x.example.$(id)", false, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|", false, false},
		{toSignIn, "agt_1", "pws/v1|session" + begin + "|agt_1|https:", false, false},

		{toSignIn, "", "", false, false},
		{toSignIn, "", "I authorize a release", false, false},
		{toSignIn, "", "other|session" + begin, false, false},
		{toSignIn, "", "pws/v1|session|cha_2|c|" + public + "|t", false, false},
		{toSignIn, "", "pws/v1|session|cha_1|d|" + public + "|t", false, false},
		{toSignIn, "", "pws/v1|session|cha_1|c|" + public[1:] + "|t", false, false},
	} {
		client := New(server, nil)
		client.AlsoKnown = "http://c.example,https://a.example,https://bücher.example"
		one := challenge{ID: "cha_1", Text: "c", Payload: c.text}
		signature, err := one.signature(testKey, client.wants(c.want, c.agent))
		switch {
		case (signature != "") != c.signed || (err == nil) != c.signed:
			t.Errorf("%s for %s: %q, %v", c.text, c.want, signature, err)
		case errors.As(err, &audience) != c.other, !c.signed && !c.other && !errors.Is(err, errPayload):
			t.Errorf("%s for %s: %v", c.text, c.want, err)
		}
	}
}

func TestOriginsOfAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://[fe80::1%25eth0]:80/x": "http://[fe80::1]",
		"HTTP://LOCALHOST:8080":        "http://localhost:8080",
		"https://[::1]:8443":           "https://[::1]:8443", "ftp://a": "", "": "", "https://a b": "",
	} {
		o, valid := originOf(address)
		if got := o.text(); valid != (want != "") || valid && got != want {
			t.Errorf("%q is %q", address, got)
		}
	}
	err := &AudienceError{"https://a", "https://b"}
	if !strings.Contains(err.Error(), "https://a, not for https://b") {
		t.Error("the error does not name both")
	}
}
