package main

import (
	nethttp "net/http"
	"slices"

	"pws/actors"
	"pws/api"
	"pws/identity"
	"pws/internal/id"
	"pws/internal/localhost"
	"pws/web"
)

const (
	adminPagePath  = "/ui/admin"
	adminStylePath = "/ui/admin/style.css"
	// adminReportsShown is the number of reports that the page names.
	adminReportsShown = 50
)

// adminPagePolicy lets the page load its style sheet and nothing else.
const adminPagePolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// show serves the page of the operator on an admin listener that only this machine reaches. Other
// listeners have no such page.
func (a *admin) show(service *api.Service, engine *actors.Engine) {
	if a == nil || !a.loopback {
		return
	}
	pages := web.New()
	a.mux.HandleFunc("GET "+adminPagePath, localOnly(
		func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(pages.Admin(a.page(service, engine), adminStylePath))
		}))
	a.mux.HandleFunc("GET "+adminStylePath, localOnly(
		func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
			_, _ = w.Write(pages.Style())
		}))
}

// localOnly is hostOnly for a page. It sets what keeps the page from other pages.
func localOnly(next nethttp.HandlerFunc) nethttp.HandlerFunc {
	next = hostOnly(next)
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", adminPagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next(w, r)
	}
}

// hostOnly refuses requests that name another host, as the pages of others make them that have
// their name resolve to this machine.
func hostOnly(next nethttp.HandlerFunc) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if !localhost.Host(r.Host) {
			nethttp.Error(w, "The host is not this machine.", nethttp.StatusMisdirectedRequest)
			return
		}
		next(w, r)
	}
}

// page is what the operator sees now.
func (a *admin) page(service *api.Service, engine *actors.Engine) web.Admin {
	page := web.Admin{
		Version: service.Config.Version, Now: engine.Now(), Started: service.Config.Started,
		Space: engine.Space(), Limits: service.Config.Limits, Stored: service.Config.Stored,
	}
	for _, one := range engine.QuotasOfServer() {
		// An operator may have set another one than the settings.
		page.Stored.All = one.Limit
	}
	for _, one := range engine.Metrics() {
		if name, shown := adminFigures[one.Name]; shown {
			page.Figures = append(page.Figures, web.Figure{Name: name, Value: int64(one.Value())})
		}
	}
	for report := range engine.Identity().Reports(id.ID{}) {
		if report.Status() != identity.ReportReceived {
			page.Handled++
			continue
		}
		page.Unhandled++
		page.Reports = append(page.Reports, web.AdminReport{
			ID: report.ID.Format(id.Report), Reason: report.Reason.String(),
			Type: report.Type.String(), Entity: report.EntityText(), CreatedAt: report.CreatedAt,
		})
	}
	slices.Reverse(page.Reports)
	page.Reports = page.Reports[:min(len(page.Reports), adminReportsShown)]
	return page
}

// adminFigures are the metrics that the page shows, with their names in words.
var adminFigures = map[string]string{
	"pws_projects": "projects", "pws_resident_projects": "projects in memory",
	"pws_resident_bytes": "bytes of projects in memory", "pws_tasks_unfinished": "unfinished tasks",
	"pws_log_bytes": "bytes of the log", "pws_log_queue_bytes": "bytes that wait for the log",
	"pws_blob_recent_bytes": "bytes of contents outside of packs",
	"pws_disk_free_bytes":   "bytes free on the disk", "pws_disk_reserve_bytes": "bytes in reserve",
	"pws_feed_records": "events kept", "pws_search_queue": "changes that wait for the search",
}
