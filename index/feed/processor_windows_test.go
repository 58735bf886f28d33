package feed

import (
	"testing"
	"time"
)

// processorTime is not measured on Windows.
func processorTime(testing.TB) time.Duration { return 0 }
