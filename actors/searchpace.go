package actors

import (
	"runtime"
	"time"
)

// searchPace is how much of the processors indexing takes. Writers come first: while there are many
// of them and the processors are in use, indexing takes a tenth of one processor, in short rounds,
// and falls behind. What it takes of processors that are free costs nobody anything.
type searchPace struct {
	last searchSample
	// entries are how many the log has got in a second, and load is the part of the processors that
	// was used, from 0 to 1, both BEFORE the last sample.
	entries, load float64
}

// searchSample is how far the log is at a time, how much time of processors this process has used,
// and how much of that of the machine has passed and was used by anybody. What is unknown is 0.
type searchSample struct {
	at                    time.Time
	newest                uint64
	used                  time.Duration
	systemAll, systemUsed uint64
}

func newSearchSample(now time.Time, newest uint64) searchSample {
	all, used := systemTime()
	return searchSample{now, newest, processorTime(), all, used}
}

const (
	// searchBusy is how many entries a second are many.
	searchBusy = 200
	// searchCalm is the load up to which processors count as free, searchFull the one from which on
	// they do not.
	searchCalm, searchFull = 0.5, 0.75
	// searchShare is how many times as long as a round the pause behind it is at full load, and
	// searchShareCalm while processors are free.
	searchShare, searchShareCalm = 9, 0.25
	// searchSampleLeast is the least time between two samples.
	searchSampleLeast = 200 * time.Millisecond
)

// isDue says whether a sample at a time is far enough from the last one. To make one reads a file.
func (p *searchPace) isDue(now time.Time) bool { return now.Sub(p.last.at) >= searchSampleLeast }

// note takes a sample. One that is not due is not used.
func (p *searchPace) note(now searchSample) {
	if !p.isDue(now.at) {
		return
	}
	passed := now.at.Sub(p.last.at)
	// There are two slots of the scheduler for each processor.
	processors := max(1, runtime.GOMAXPROCS(0)/2)
	p.entries = float64(now.newest-p.last.newest) / passed.Seconds()
	p.load = 1
	if now.used > 0 && p.last.used > 0 {
		p.load = (now.used - p.last.used).Seconds() / passed.Seconds() / float64(processors)
	}
	// This process may be allowed less than there is, and others may use the rest.
	if was := p.last; was.systemAll > 0 && now.systemAll > was.systemAll {
		system := float64(now.systemUsed-was.systemUsed) / float64(now.systemAll-was.systemAll)
		p.load = max(p.load, system)
	}
	p.last = now
}

// isBusy says whether there are many writers.
func (p *searchPace) isBusy() bool { return p.entries > searchBusy }

// calm is how free the processors are, from 0 to 1.
func (p *searchPace) calm() float64 {
	return min(max((searchFull-p.load)/(searchFull-searchCalm), 0), 1)
}

// roundMax is how many documents a round changes. Large rounds take less for each document, but a
// search may wait for the one that runs.
func (p *searchPace) roundMax() int {
	if !p.isBusy() {
		return searchRoundMax
	}
	return searchRoundMax + int(p.calm()*(searchRoundCalm-searchRoundMax))
}

// pause is how long indexing rests behind a round that took so long, while there are many writers.
func (p *searchPace) pause(took time.Duration) time.Duration {
	share := searchShare - p.calm()*(searchShare-searchShareCalm)
	return min(max(searchRest, time.Duration(share*float64(took))), searchRestMax)
}
