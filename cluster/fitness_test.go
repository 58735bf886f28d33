package cluster

import (
	"errors"
	"testing"
	"time"

	"pws/journal/replica"
)

// TestFitterMemberLeads chooses who leads in place of a member that is full, or whose data is
// damaged.
func TestFitterMemberLeads(t *testing.T) {
	now := time.Now()
	voter := func(number, position uint64, full bool, damaged int) Asked {
		return Asked{
			Member: replica.Member{Number: number, Voter: true},
			Status: replica.Status{
				Member: number, Position: position, Full: full, Damaged: damaged,
			},
		}
	}
	learner := voter(4, 99, false, 0)
	learner.Voter = false
	away := voter(5, 99, false, 0)
	away.Err = errors.New("it is down")
	full, damaged := voter(1, 50, true, 0), voter(1, 50, false, 1)
	for _, one := range []struct {
		what   string
		own    Asked
		others []Asked
		want   uint64
	}{
		{"the most entries", full, []Asked{voter(2, 7, false, 0), voter(3, 8, false, 0)}, 3},
		{"no damage", full, []Asked{voter(2, 7, false, 0), voter(3, 8, false, 2)}, 2},
		{"no damage, last", full, []Asked{voter(2, 8, false, 2), voter(3, 7, false, 0)}, 3},
		{"neither damage nor no room", full, []Asked{voter(2, 7, false, 1), voter(3, 8, true, 0)}, 0},
		{"all are full", full, []Asked{voter(2, 7, true, 0)}, 0},
		{"one without damage", damaged, []Asked{voter(2, 7, false, 1), voter(3, 6, false, 0)}, 3},
		{"all are damaged", damaged, []Asked{voter(2, 7, false, 1), voter(3, 8, false, 1)}, 0},
		{"the others are full", damaged, []Asked{voter(2, 7, true, 0), voter(3, 8, true, 0)}, 0},
		{"nobody who can", damaged, []Asked{learner, away}, 0},
	} {
		all := append([]Asked{one.own}, one.others...)
		asked := map[uint64]time.Time{}
		got := fitter(one.own.Number, all, asked, now)
		if got != one.want {
			t.Errorf("%s: member %d instead of %d", one.what, got, one.want)
		}
		asked[got] = now
		if again := fitter(one.own.Number, all, asked, now); again != 0 && again == got {
			t.Errorf("%s: member %d is asked twice", one.what, got)
		}
		if late := fitter(one.own.Number, all, asked, now.Add(askAgain)); late != one.want {
			t.Errorf("%s: member %d is not asked again", one.what, got)
		}
	}
}

// TestRestingEnds has a member with damaged data stand for election when nobody leads for long.
func TestRestingEnds(t *testing.T) {
	var r resting
	began := time.Now()
	for _, one := range []struct {
		damaged bool
		leader  uint64
		after   time.Duration
		want    bool
	}{
		{false, 0, 0, false},
		{true, 2, time.Second, true},
		{true, 2, time.Hour, true},
		{true, 0, time.Hour + time.Second, true},
		{true, 0, time.Hour + time.Second + restsMax - 1, true},
		{false, 0, time.Hour + time.Second + restsMax - 1, false},
		{true, 0, time.Hour + time.Second + restsMax, false},
		{true, 1, 2 * time.Hour, true},
		{true, 0, 3 * time.Hour, true},
	} {
		if got := r.note(one.damaged, one.leader, began.Add(one.after)); got != one.want {
			t.Errorf("%+v: %v", one, got)
		}
	}
}
