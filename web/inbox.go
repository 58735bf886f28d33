package web

import (
	"net/url"
	"strconv"

	"pws/api"
	"pws/internal/fault"
)

func (w *Web) inboxForms() []*api.Operation {
	return []*api.Operation{
		w.form("inbox", at("inbox"), (*visit).inbox, markRead),
		w.form("watch", at("p")+"/{project}/watch", (*visit).project, watch),
	}
}

// markMax is the number of pages of unread items that are marked one by one, each of markPage.
const (
	markPage = "100"
	markMax  = 30
)

// markRead marks an item as read, or all up to the newest one that the page showed. What has come
// since stays unread.
func markRead(v *visit, fields url.Values) (api.WebPage, error) {
	page := to(at("inbox"))
	if item := fields.Get("item"); item != "" {
		_, err := submit[api.InboxUpdated](v, "inbox.update", nil,
			map[string]any{"item_ids": []string{item}, "status": "READ"})
		return page, err
	}
	through, err := strconv.ParseInt(fields.Get("through"), 10, 64)
	if err != nil {
		return page, fault.Invalid(fault.Field{Field: "through", Problem: "is not a time"})
	}
	cursor := ""
	var seen []string
	for range markMax {
		found, err := read[api.InboxData](v, "inbox.read", nil,
			"status", "UNREAD", "limit", markPage, "cursor", cursor)
		if err != nil {
			return page, err
		}
		for _, one := range found.Items {
			if int64(one.CreatedAt) <= through {
				seen = append(seen, one.ID)
			}
		}
		if cursor = deref(found.NextCursor); cursor == "" {
			break
		}
	}
	for len(seen) > 0 {
		some := seen[:min(len(seen), 1000)]
		seen = seen[len(some):]
		_, err := submit[api.InboxUpdated](v, "inbox.update", nil,
			map[string]any{"item_ids": some, "status": "READ"})
		if err != nil {
			return page, err
		}
	}
	return page, nil
}

// watch begins or ends the watching of a project.
func watch(v *visit, fields url.Values) (api.WebPage, error) {
	id, name := v.Param("project"), "project.unwatch"
	if fields.Get("watching") == "yes" {
		name = "project.watch"
	}
	_, err := submit[api.WatchData](v, name, []string{id}, nil)
	return to(at("p", id)), err
}

// Newest is the time of the newest item that the inbox shows, in Unix milliseconds.
func (s shown) Newest() int64 {
	shown, _ := s.Data.(inHead[[]api.InboxItem])
	if len(shown.List) == 0 {
		return s.now
	}
	return int64(shown.List[0].CreatedAt)
}
