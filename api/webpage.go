package api

import (
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// WebPage is an answer for a browser.
type WebPage struct {
	Body []byte
	// ContentType is that of HTML if it is empty. Lasting answers have an address of their own for
	// each content, so browsers need not ask again.
	ContentType string
	Lasting     bool
	// Attachment is a file of a project, which a browser keeps as text and does not show.
	Attachment bool
	// Location is where the browser goes instead, empty if it stays.
	Location string
	// Credential is the new one of the browser: nil leaves it as it is, empty takes it away.
	Credential *string
	// Theme is the new one of the browser; nil leaves it as it is.
	Theme *Theme
}

// Theme is the colors of pages that a person has chosen in a browser.
type Theme string

// The themes. ThemeSystem is what the browser prefers, as everything else of its system.
const (
	ThemeSystem Theme = ""
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// JSONSchema permits any value, because a page has no envelope.
func (WebPage) JSONSchema() map[string]any { return map[string]any{} }

// WebFailure is a refusal as a page shows it.
type WebFailure struct {
	Status            int
	Code, Message     string
	RequestID         string
	RetryAfterSeconds int
}

// PageRefusal is a refusal that has its own page.
type PageRefusal struct {
	Err  error
	Body []byte
}

// Error implements error.
func (r *PageRefusal) Error() string { return r.Err.Error() }

// Unwrap returns the refusal itself.
func (r *PageRefusal) Unwrap() error { return r.Err }

// AuthenticateWeb is Authenticate for the credentials of browsers, which nothing else accepts.
// Errors: SESSION_INVALID, SESSION_EXPIRED.
func (s *Service) AuthenticateWeb(credential string, now int64) (*identity.Session, error) {
	return s.authenticate(credential, now, true)
}

// Registration says who may register: OPEN, INVITE or CLOSED.
func (c *Call) Registration() string {
	return c.Service.Engine.Identity().Registration().String()
}

// CallerHandle is the handle of the caller, empty for an anonymous one.
func (c *Call) CallerHandle() string {
	if c.Session == nil {
		return ""
	}
	return c.handle(c.Agent)
}

// TurnHolder is the handle of the agent that has the turn of a project that the caller may read,
// empty if nobody has it. Errors: PROJECT_NOT_FOUND.
func (c *Call) TurnHolder(project string) (handle string, err error) {
	wanted, ok := id.Parse(id.Project, project)
	if !ok {
		return "", fault.NoProject()
	}
	view, err := c.readableProject(wanted)
	if err != nil {
		return "", err
	}
	if turn, held := view.Turn(c.Now); held {
		handle = c.handle(turn.Agent)
	}
	return handle, nil
}

// FileThen is a file at a changeset of its history.
type FileThen struct {
	// Path is the one that it had. Gone says that no file was there after the changeset.
	Path string
	Gone bool
}

// FilesThen is the file at each changeset of a page of its history. It is nil for any other reply.
func (r *Reply) FilesThen() []FileThen {
	page, ok := r.Data.(*changesetsPage)
	if !ok {
		return nil
	}
	return page.files
}

// FolderPage is a page of what is directly in a folder, in the order of its paths.
type FolderPage struct {
	// Folders are paths that end with a slash.
	Folders []string
	Files   []File
	// Last is the last path of the page if there are more behind it, else empty.
	Last string
}

// FolderAt is what is directly in a folder after a changeset, behind a path that is empty at first.
// The path of the folder ends with a slash or is empty. Errors: PROJECT_NOT_FOUND,
// CHANGESET_NOT_FOUND.
func (c *Call) FolderAt(
	project, changeset, folder, behind string, limit int,
) (page FolderPage, err error) {
	wanted, ok := id.Parse(id.Project, project)
	if !ok {
		return page, fault.NoProject()
	}
	view, err := c.readableProject(wanted)
	if err != nil {
		return page, err
	}
	at, err := findChangeset(view, changeset)
	if err != nil {
		return page, err
	}
	walk := view.Files
	if at.Sequence != view.Head().Sequence {
		walk = func(from string, yield func(work.FileInfo) bool) { view.FilesAt(at, from, yield) }
	}
	last := ""
	walkLevel(walk, folder, behind, func(path string, first work.FileInfo) bool {
		if len(page.Folders)+len(page.Files) == limit {
			page.Last = last
			return false
		}
		if last = path; path == first.Path {
			page.Files = append(page.Files, file(first))
		} else {
			page.Folders = append(page.Folders, path)
		}
		return true
	})
	return page, nil
}
