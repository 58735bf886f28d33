package api

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// base is the address of the service as the caller knows it: the configured one, else the host that
// the request was sent to, else the listening address. Scripts contain it, so a malformed host is
// never repeated.
func (c *Call) base() string {
	config := &c.Service.Config
	switch {
	case config.PublicURL != "":
		return config.PublicURL
	case c.OnPages:
		return c.reached(config.Address)
	case hostHolds(c.Host) && c.Secure:
		return "https://" + c.Host
	case hostHolds(c.Host):
		return "http://" + c.Host
	}
	return config.Address
}

// webBase is the address of the web page as the caller can reach it.
func (c *Call) webBase() string {
	if own := c.Service.Config.WebURL; own != "" {
		return c.reached(own)
	}
	return c.base()
}

// audience is the address of the service that challenges name: that of the request, like base.
// Without a configured one, a server that passes on the request of another client chooses it.
func (c *Call) audience() string {
	if c.OnPages || c.PassedFromPages {
		return c.webBase()
	}
	return c.base()
}

// reached is a listening address as a URL that the caller can use: all addresses of the machine
// become the host that the request was sent to.
func (c *Call) reached(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(parsed.Hostname())
	if err != nil || !ip.IsUnspecified() {
		return address
	}
	name := "localhost"
	if hostHolds(c.Host) {
		name = (&url.URL{Host: c.Host}).Hostname()
	}
	return parsed.Scheme + "://" + net.JoinHostPort(name, parsed.Port())
}

// hasPages reports whether the address that the request was sent to has the web page.
func (c *Call) hasPages() bool {
	config := &c.Service.Config
	return config.WebPage && (c.OnPages || config.WebURL == "")
}

// PublicURLProblem says what is wrong with the base URL of a deployment, empty where it holds.
func PublicURLProblem(base string) string {
	parsed, err := url.Parse(base)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Opaque != "":
		return "must be a URL that begins with http:// or https://"
	case !hostHolds(parsed.Host):
		return "must name a host"
	case parsed.User != nil || strings.ContainsAny(base, "?#"):
		return "must not have a user, a query or a fragment"
	case !only(parsed.EscapedPath(), isHostByte, "/~"):
		return "must have a path of letters, digits, /, -, ., _ and ~"
	}
	return ""
}

// hostHolds reports whether a Host header is a name or an address, with a port or without.
func hostHolds(host string) bool {
	const longest = 253 + len(":65535")
	if host == "" || len(host) > longest {
		return false
	}
	name, port, hasPort := host, "", false
	if at := strings.LastIndexByte(host, ':'); at >= 0 && at > strings.LastIndexByte(host, ']') {
		name, port, hasPort = host[:at], host[at+1:], true
	}
	if hasPort {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 || port[0] == '0' || port[0] == '+' {
			return false
		}
	}
	if inner, bracketed := strings.CutPrefix(name, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		return closed && err == nil && address.Is6() && address.Zone() == ""
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		const labelMax = 63
		if label == "" || len(label) > labelMax || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return only(name, isHostByte, "")
}

// isHostByte permits the underscore too, which names inside of networks have.
func isHostByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_'
}

func only(text string, permitted func(byte) bool, others string) bool {
	for i := range len(text) {
		if !permitted(text[i]) && strings.IndexByte(others, text[i]) < 0 {
			return false
		}
	}
	return true
}
