package localhost_test

import (
	"testing"

	"pws/internal/localhost"
)

func TestHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:80": true, "LOCALHOST:80": true, "LocalHost.": true,
		"localhost.:80": true, "127.0.0.1": true, "127.8.9.1:80": true, "::1": true, "[::1]": true,
		"[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"": false, ":80": false, ".": false, "localhost..": false, "a.localhost": false,
		"localhost.evil.example": false, "localhostx": false, "127.0.0.1.evil.example": false,
		"127.1": false, "0.0.0.0": false, "10.0.0.7:80": false, "[::]:80": false, "evil.example": false,
	} {
		if localhost.Host(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
