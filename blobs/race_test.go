//go:build race

package blobs

// The race detector makes the exhaustive tests an order of magnitude slower and has nothing to
// find in them: with it they take samples of their steps.
const stride = 23
