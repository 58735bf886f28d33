//go:build !race

package snapshot

const stride = 1
