package http

import (
	"log/slog"
	"net/netip"
	"strings"
)

// forwarded takes the client's address and whether it used https from the headers of trusted
// proxies.
func (s *Server) forwarded(x *exchange) {
	proxies := 1
	if x.headers.forwardeds > 0 {
		x.ip, proxies = s.clientIP(x.ip, string(x.headers.forwardedFor))
	}
	x.call.Secure = forwardedScheme(string(x.headers.forwardedProto), proxies) == "https"
}

// clientIP returns the address behind trusted proxies: the last one of the list that is not a
// trusted proxy. It counts the proxies.
func (s *Server) clientIP(peer netip.Addr, forwarded string) (client netip.Addr, proxies int) {
	list := strings.Split(forwarded, ",")
	for i := len(list) - 1; i >= 0 && s.trusts(peer); i-- {
		proxies++
		next, err := netip.ParseAddr(strings.TrimSpace(list[i]))
		if err != nil {
			break
		}
		peer = next.Unmap().WithZone("")
	}
	return peer, proxies
}

// forwardedScheme returns the scheme of the request to the outermost trusted proxy. Each proxy
// adds one to the list or replaces the list; the client may have written the entries before.
func forwardedScheme(list string, proxies int) string {
	schemes := strings.Split(list, ",")
	return strings.ToLower(strings.TrimSpace(schemes[max(0, len(schemes)-proxies)]))
}

// warnUntrusted logs once that a program on this machine forwards requests of others and is not
// trusted: all its clients share the limits of one address. Clients elsewhere can send these
// headers as they like, so they are no sign of a proxy.
func (s *Server) warnUntrusted(x *exchange) {
	if !x.ip.IsLoopback() || s.untrustedSeen.Swap(true) {
		return
	}
	header := "X-Forwarded-For"
	if x.headers.forwardeds == 0 {
		header = "Forwarded"
	}
	s.log.Warn("a request with a header of proxies came from this machine, from an address that is "+
		"not trusted: all clients of that proxy count as one address; if there is a proxy, "+
		"start the server with --trusted-proxies "+netip.PrefixFrom(x.ip, x.ip.BitLen()).String()+
		" and have it send X-Forwarded-For",
		slog.String("header", header), slog.String("peer", x.ip.String()))
}

func (s *Server) trusts(peer netip.Addr) bool {
	for _, prefix := range s.cfg.TrustedProxies {
		if prefix.Contains(peer) {
			return true
		}
	}
	return false
}
