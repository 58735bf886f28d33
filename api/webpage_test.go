package api

import (
	"slices"
	"testing"
)

// TestOperationsForPages checks what the address of the pages has of the interface.
func TestOperationsForPages(t *testing.T) {
	var found []string
	for _, op := range Table {
		if op.ForPages() && !op.DescribesService() {
			found = append(found, op.Name)
		}
	}
	slices.Sort(found)
	wanted := slices.Sorted(slices.Values(pageSignIn))
	if !slices.Equal(found, wanted) {
		t.Errorf("%v, not %v", found, wanted)
	}
}

// TestAddressOfPages finds the base of links to pages for callers at both addresses.
func TestAddressOfPages(t *testing.T) {
	for _, one := range []struct{ web, public, host, want, base string }{
		{"", "", "a:1", "http://a:1", "http://a:1"},
		{"http://127.0.0.1:2", "", "a:1", "http://127.0.0.1:2", "http://a:1"},
		{"http://[::]:2", "", "a:1", "http://a:2", "http://a:1"},
		{"http://[::]:2", "", "[::1]:1", "http://[::1]:2", "http://[::1]:1"},
		{"http://0.0.0.0:2", "", "a b", "http://localhost:2", "http://0.0.0.0:1"},
		{"https://pages", "https://work", "a:1", "https://pages", "https://work"},
	} {
		c := &Call{Host: one.host, Service: &Service{Config: Config{
			WebPage: true, WebURL: one.web, PublicURL: one.public, Address: "http://0.0.0.0:1",
		}}}
		if web, base := c.webBase(), c.base(); web != one.want || base != one.base {
			t.Errorf("%+v: pages at %s, interface at %s", one, web, base)
		}
		if c.hasPages() != (one.web == "") {
			t.Errorf("%+v: has pages: %v", one, c.hasPages())
		}
		c.OnPages, c.Host = true, "a:2"
		if one.web != "" && one.public == "" && (c.base() != "http://a:1" || !c.hasPages()) {
			t.Errorf("%+v: from the pages the interface is at %s", one, c.base())
		}
	}
}

// TestAudienceOfPages names the address of the pages to whoever signs in there, also by way of
// another member of the group.
func TestAudienceOfPages(t *testing.T) {
	service := &Service{Config: Config{
		WebPage: true, WebURL: "https://pages", PublicURL: "https://work",
	}}
	for want, calls := range map[string][]Call{
		"https://work":  {{}},
		"https://pages": {{OnPages: true}, {PassedFromPages: true}},
	} {
		for _, c := range calls {
			c.Service = service
			if got := c.audience(); got != want {
				t.Errorf("%+v: %s", c, got)
			}
		}
	}
}
