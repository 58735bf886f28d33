package cluster

import (
	"testing"

	"pws/journal"
)

// fillLog makes a log of entries.
func fillLog(t *testing.T, o journal.Options, entries int) {
	t.Helper()
	log, _, err := journal.OpenLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	machine := &counting{leads: make(chan journal.Reign, 1)}
	log.Start(machine)
	reign := <-machine.leads
	for value := range entries {
		one := &appended{machine, []byte{byte(value), 0, 0, 0, 0, 0, 0, 0}, make(chan error, 1)}
		err := log.Append(reign, journal.Entry{Payload: one.payload}, one)
		if err == nil {
			err = <-one.done
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}
