package client

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// A challenge names the service that it is for, its audience, so that a server cannot have the
// challenge of another one signed, and get a session there.

// purpose is what a challenge is for.
type purpose string

const (
	toRegister purpose = "register"
	toSignIn   purpose = "session"
	toAddKey   purpose = "add-key"
)

// wanted is the challenge that was asked for.
type wanted struct {
	purpose purpose
	// agent is that of the key, empty for a registration.
	agent string
	// addresses are those of the service, one of which is the audience.
	addresses []string
}

// wants is what the challenges of the server must be for.
func (c *Client) wants(purpose purpose, agent string) wanted {
	return wanted{purpose, agent, append(slices.Clone(c.addresses.all), Addresses(c.AlsoKnown)...)}
}

// AudienceError reports a challenge for another service than the one that was asked.
type AudienceError struct {
	// Audience is the origin that the challenge names, Server the addresses that the service is known
	// by, separated by commas.
	Audience, Server string
}

func (e *AudienceError) Error() string {
	return fmt.Sprintf("the server asks for a signature for %s, not for %s: nothing was signed, "+
		"because whoever gets it could sign in there", e.Audience, Addresses(e.Server)[0])
}

// check returns an error for a challenge, apart from its key, that is not the wanted one. A server
// that names no audience is an older one. That opens no way back: one that names it takes no
// signature of a text without it. Errors: errPayload, *AudienceError.
func (w wanted) check(fields []string) error {
	const purposeAt, agentAt = 1, 6
	if fields[purposeAt] != string(w.purpose) {
		return errPayload
	}
	further := fields[agentAt:]
	if w.agent != "" && len(further) > 0 {
		if further[0] != w.agent {
			return errPayload
		}
		further = further[1:]
	}
	if len(further) == 0 {
		return nil
	}
	named, valid := originOf(further[0])
	if !valid {
		return errPayload
	}
	var known []string
	for _, address := range w.addresses {
		if own, valid := originOf(asSent(address)); valid && own.serves(named) {
			return nil
		}
		if !slices.Contains(known, address) {
			known = append(known, address)
		}
	}
	return &AudienceError{Audience: named.text(), Server: JoinAddresses(known)}
}

// asSent is an address with the host that requests name: package http encodes what is not ASCII.
func asSent(address string) string {
	base, err := url.Parse(address)
	if err != nil {
		return address
	}
	host, err := idna.Lookup.ToASCII(base.Hostname())
	if err != nil || host == base.Hostname() {
		return address
	}
	if port := base.Port(); port != "" {
		host += ":" + port
	}
	base.Host = host
	return base.String()
}

// origin is the scheme, host and port of an address. Port is empty for that of the scheme.
type origin struct{ scheme, host, port string }

// originOf is the origin of a base URL. A host has only characters that mean nothing to a shell,
// because messages repeat it.
func originOf(address string) (o origin, valid bool) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" {
		return o, false
	}
	o = origin{base.Scheme, strings.ToLower(base.Hostname()), base.Port()}
	// Requests name no zone of an address.
	o.host, _, _ = strings.Cut(o.host, "%")
	if o.port == o.defaultPort() {
		o.port = ""
	}
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:", r)
	}
	return o, o.host != "" && !strings.ContainsFunc(o.host, strange)
}

func (o origin) defaultPort() string {
	if o.scheme == "https" {
		return "443"
	}
	return "80"
}

// serves reports whether an audience is the server at this address. Where a proxy ends TLS, the
// server may not know of it, and names what it got: the same host without https.
func (o origin) serves(audience origin) bool {
	if o.scheme == "https" && audience.scheme == "http" {
		audience.scheme = "https"
		if audience.port == audience.defaultPort() {
			audience.port = ""
		}
	}
	return o == audience
}

func (o origin) text() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port != "" {
		host += ":" + o.port
	}
	return o.scheme + "://" + host
}
