//go:build !race

package blobs

const stride = 1
