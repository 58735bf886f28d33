package blobs

import "os"

// stride is how far apart the steps are that the exhaustive tests take: operations that fail,
// moments at which a process ends, bytes that are damaged. An ordinary run takes samples;
// PWS_CUT_ALL takes all.
var stride = strideOf(23)

func strideOf(sample int) int {
	if os.Getenv("PWS_CUT_ALL") != "" {
		return 1
	}
	return sample
}
