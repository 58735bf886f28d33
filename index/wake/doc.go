// Package wake wakes those who wait for the activity of projects, because there may be something
// new for them. It knows neither what happened nor who may see it; a waiter looks for itself.
//
// A waiter is in one list: that of its project, or that of its agent if it waits for all projects.
// When the hub is notified of a project, it moves the waiters concerned into one queue, each once:
// those who asked for the project, and of those who asked for all everybody or the members. A few
// of the queue look at a time; the next one is woken when one of them has looked. So a write that
// concerns a thousand waiters makes a few goroutines runnable and not a thousand. Waiters that are
// notified again before they have looked look once. Waiters that are not concerned cost nothing.
// The processor time of looks is bounded too: under more notifications than that allows, waiters
// fall behind, and writers do not.
package wake
