package http

import (
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// Pages for people are operations like all others, with three differences. The credential is in a
// cookie, and no other operation reads that: so a page of another site cannot use it through the
// interface. A form is accepted from a page of this service only. A refusal is a page too.

// The names of the cookie. Browsers accept the first over https only, and from no other host.
const (
	cookieSecure = "__Host-pws"
	cookiePlain  = "pws"
	// cookieSeconds is longer than any session of the web page lives; the service ends them.
	cookieSeconds = 30 * 24 * 3600
	// cookieTheme is no secret, and the same for all sessions of a browser.
	cookieTheme        = "pws-theme"
	cookieThemeSeconds = 365 * 24 * 3600
)

const (
	htmlType  = "text/html; charset=utf-8"
	plainType = "text/plain; charset=utf-8"
)

// pagePolicy lets a page load what comes from this service and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// isPage reports whether a request has reached a page for people.
func (x *exchange) isPage() bool { return x.route != nil && x.route.operation.Page }

// cookieName is the name of the cookie for the scheme that the browser uses.
func (x *exchange) cookieName() string {
	if x.secure() {
		return cookieSecure
	}
	return cookiePlain
}

// secure reports whether the browser uses https.
func (x *exchange) secure() bool {
	config := &x.server.service.Config
	if x.call.OnPages {
		return x.call.Secure || strings.HasPrefix(config.WebURL, "https:")
	}
	return x.call.Secure || strings.HasPrefix(config.PublicURL, "https:")
}

// resolveCookie finds the session of the cookie. One that has ended counts as none.
func (s *Server) resolveCookie(x *exchange) {
	credential := x.ctx.Request.Header.Cookie(x.cookieName())
	if len(credential) == 0 || len(credential) > credentialMax {
		return
	}
	session, err := s.service.AuthenticateWeb(string(credential), x.call.Now)
	if err != nil {
		return
	}
	x.call.Session, x.call.Agent = session, session.AgentID
	x.sessionID = session.ID
}

// readTheme finds the theme that the browser has chosen.
func (x *exchange) readTheme() {
	switch string(x.ctx.Request.Header.Cookie(cookieTheme)) {
	case string(api.ThemeLight):
		x.call.Theme = api.ThemeLight
	case string(api.ThemeDark):
		x.call.Theme = api.ThemeDark
	}
}

// checkForm refuses a form that is not of a page of this service. Errors: FORBIDDEN.
func (x *exchange) checkForm() error {
	site := x.ctx.Request.Header.Peek("Sec-Fetch-Site")
	if x.ctx.IsGet() || x.ctx.IsHead() {
		// Streams take slots, and only the script of a page opens one.
		if x.route.operation.Streams && prefersStream(x.headers.accept) && len(site) > 0 &&
			string(site) != "same-origin" {
			return errForeignPage()
		}
		return nil
	}
	if x.ownPage(string(x.headers.origin)) && (len(site) == 0 || string(site) == "same-origin") {
		return nil
	}
	return errForeignPage()
}

func errForeignPage() error {
	return fault.New(fault.Forbidden,
		"The request is not of a page of this service.").With("reason", "ORIGIN")
}

// setPageHeaders sets what keeps a page from others.
func (x *exchange) setPageHeaders() {
	h := &x.ctx.Response.Header
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// writePage writes an answer for a browser. Errors: RATE_LIMITED.
func (x *exchange) writePage(page *api.WebPage) error {
	h := &x.ctx.Response.Header
	x.setPageHeaders()
	h.SetContentType(page.ContentType)
	if page.ContentType == "" {
		h.SetContentType(htmlType)
	}
	if page.Attachment {
		h.SetContentType(plainType)
		h.Set(fasthttp.HeaderContentDisposition, attached)
		h.SetCanonical(headerSecurity, sandboxed)
	}
	if page.Lasting {
		h.Set(fasthttp.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	if page.Location != "" {
		h.Set(fasthttp.HeaderLocation, page.Location)
	}
	if page.Credential != nil {
		x.setCookie(x.cookieName(), *page.Credential, "/", cookieSeconds)
	}
	if page.Theme != nil {
		x.setCookie(cookieTheme, string(*page.Theme), api.WebPath, cookieThemeSeconds)
	}
	if len(page.Body) > smallBody {
		return x.setLargeBody(page.Body)
	}
	return x.setBody(append(x.emptyBody(), page.Body...))
}

// setCookie gives the browser a value for the pages below a path, or takes it away if it is empty.
func (x *exchange) setCookie(name, value, path string, seconds int) {
	var cookie fasthttp.Cookie
	cookie.SetKey(name)
	cookie.SetValue(value)
	cookie.SetPath(path)
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(x.secure())
	cookie.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	cookie.SetMaxAge(seconds)
	if value == "" {
		cookie.SetExpire(fasthttp.CookieExpireDelete)
	}
	x.ctx.Response.Header.SetCookie(&cookie)
}

// refusePage writes an error as a page.
func (x *exchange) refusePage(
	err error, refusal *fault.Error, entry *fault.Entry, details map[string]any,
) {
	x.setPageHeaders()
	x.ctx.Response.Header.SetContentType(htmlType)
	if own, has := err.(*api.PageRefusal); has {
		x.setError(append(x.emptyBody(), own.Body...))
		return
	}
	failure := api.WebFailure{
		Status: entry.Status, Code: string(refusal.Code), Message: refusal.Message,
		RequestID: string(x.requestID[:]),
	}
	failure.RetryAfterSeconds, _ = details["retry_after_seconds"].(int)
	x.setError(append(x.emptyBody(), x.server.cfg.WebFailure(&x.call, failure)...))
}
