package web

import (
	"net/url"
	"path"
	"strings"

	"pws/api"
	"pws/internal/fault"
)

// backBytes bounds the address that a form returns to.
const backBytes = 2048

func (w *Web) themeForms() []*api.Operation {
	return []*api.Operation{w.openForm("theme", at("theme"), chooseTheme)}
}

// themeChoice is a theme with its name.
type themeChoice struct {
	Value, Name string
	Chosen      bool
}

// Themes are those that a person can choose.
func (s shown) Themes() []themeChoice {
	return []themeChoice{
		{"system", "System", s.Theme == api.ThemeSystem},
		{string(api.ThemeLight), "Light", s.Theme == api.ThemeLight},
		{string(api.ThemeDark), "Dark", s.Theme == api.ThemeDark},
	}
}

// chooseTheme keeps a theme in the browser, and shows the page again on which it was chosen.
func chooseTheme(v *visit, fields url.Values) (api.WebPage, error) {
	if err := v.checkToken(fields); err != nil {
		return api.WebPage{}, err
	}
	var theme api.Theme
	switch chosen := fields.Get("theme"); chosen {
	case "system":
	case string(api.ThemeLight), string(api.ThemeDark):
		theme = api.Theme(chosen)
	default:
		return api.WebPage{}, fault.Invalid(fault.Field{
			Field: "theme", Problem: "must be system, light or dark",
		})
	}
	page := to(ownAddress(fields.Get("back")) + "#theme")
	page.Theme = &theme
	return page, nil
}

// ownAddress is an address of a page, or of the first one if it is anything else.
func ownAddress(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > backBytes || parsed.IsAbs() || parsed.Host != "" ||
		!strings.HasPrefix(path.Clean(parsed.Path)+"/", api.WebPath) {
		return api.WebPath
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed.String()
}
