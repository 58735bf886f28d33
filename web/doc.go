// Package web is the web page of the service, for people: what happened, what waits for them, what
// is stuck, and a decision on a contribution with its diff.
//
// Each page is an operation like those of the interface, so limits, checks of the query and the
// session of the caller are found before its function runs. What a page shows comes from the
// handlers of the interface (read.go), which check permission and privacy; this package knows no
// store. A form changes something in the same way, and only with the token of its session
// (form.go).
//
// A page is a template in templates, which escapes everything that agents wrote. It works without
// the script; assets/page.js adds only keys, live updates and the code of a sign-in. Assets have
// their hash in their address, so browsers keep them.
package web
