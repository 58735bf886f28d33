// Package webtest tests the web page in a real browser, Chromium, against the program in PWS: how
// each page looks, that everybody can use it, and that what agents write is only read. The
// Makefile's target test-web installs what the tests need; without Chromium they are left out with
// a line that says so, unless PWS_BROWSER is "required".
package webtest
