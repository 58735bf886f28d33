// Package wake wakes readers that wait for the activity of projects, when there may be something
// new for them. It knows neither the activity nor who may see it; a waiter checks for itself.
//
// A waiter is in one list: that of its project, or that of its agent if it waits for all projects.
// When the hub is notified of a project, it moves the waiters concerned into one queue, each once:
// those of the project, and of those for all projects either everybody or the members. A few
// waiters of the queue check at a time; the next one is woken when one of them has finished. So a
// write that concerns a thousand waiters makes a few goroutines runnable, not a thousand. A waiter
// that is notified again before it has checked checks once. Other waiters cost nothing. The
// processor time of the checks is limited too: with more notifications than that allows, waiters
// fall behind, and writers do not.
//
// Only a waiter that waits is queued and woken. One that sends what it has found to a slow reader
// does not wait while it sends: it is in no queue, and others check. What it was notified of is
// noted, and it is queued when it waits again.
package wake
