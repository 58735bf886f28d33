package api

import (
	"strings"
	"testing"
)

const testBase = "https://work.example:8443/there"

func TestOnlyWellFormedHostsAreRepeated(t *testing.T) {
	label := strings.Repeat("a", 63)
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1:8080": true, "work.example.org": true, "Work.Example:1": true,
		"my_service:80": true, "a": true, "example.org.": true, "[::1]": true, "[::1]:8080": true,
		"[2001:db8::1]:65535": true, label + ".org": true, "xn--bcher-kva.example": true,
		"": false, ":80": false, "a:": false, "a:0": false, "a:080": false, "a:65536": false,
		"a:80:80": false, "a:x": false, "a:+1": false, "a b": false, "a/b": false, "a@b": false,
		"a\"b": false, "a'b": false, "a`b": false, "a$(b)": false, "a<b": false, "a\nb": false,
		"-a": false, "a-": false, "a..b": false, ".a": false, "ä.example": false, "a}b": false,
		"[::1": false, "::1": false, "[127.0.0.1]": false, "[fe80::1%eth0]": false, "[]": false,
		"[::1]x": false, label + "a.org": false, strings.Repeat("a.", 200) + "a": false,
	} {
		if hostHolds(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
		call := Call{Service: &Service{Config: Config{Address: "http://127.0.0.1:1"}}, Host: host}
		base := "http://" + host
		if !want {
			base = "http://127.0.0.1:1"
		}
		if got := call.base(); got != base {
			t.Errorf("%q: %s", host, got)
		}
		call.Secure = true
		secure := base
		if want {
			secure = "https://" + host
		}
		if got := call.base(); got != secure {
			t.Errorf("%q over https: %s", host, got)
		}
		call.Service.Config.PublicURL = testBase
		if got := call.base(); got != testBase {
			t.Errorf("%q: %s", host, got)
		}
	}
}

func TestPublicURLs(t *testing.T) {
	for base, holds := range map[string]bool{
		"http://work.example": true, "https://work.example:8443/a/b_c~d": true,
		"http://[::1]:1": true, "HTTPS://work.example": true,
		"work.example": false, "ftp://work.example": false, "https://": false,
		"https://user@work.example": false, "https://work.example?": false,
		"https://work.example/#": false, "https://work.example/a b": false,
		"https://work.example/$(b)": false, "https:work.example": false, "http://a\x00": false,
	} {
		if problem := PublicURLProblem(base); (problem == "") != holds {
			t.Errorf("%q: %q", base, problem)
		}
	}
}

func TestUptimeIsSpelledOut(t *testing.T) {
	for seconds, want := range map[int64]string{
		0: "0 s", 59: "59 s", 60: "1 min 0 s", 3600: "1 h 0 min 0 s",
		200000: "2 d 7 h 33 min 20 s",
	} {
		if got := spell(seconds); got != want {
			t.Errorf("%d: %s", seconds, got)
		}
	}
}
