package web

import (
	"net/url"

	"pws/api"
)

func (w *Web) loginPages() []*api.Operation {
	return []*api.Operation{
		w.page("login", at("login"), nil, func(v *visit) (view, error) {
			return view{Template: "login", Title: "Sign in", Data: signIn{
				Script: w.assets["signin.js"].path, Registration: v.Registration(),
			}}, nil
		}),
		w.openForm("login", at("login"), w.login),
		w.openForm("logout", at("logout"), w.logout),
	}
}

// signIn is what the page of a sign-in asks for: a code, then whether its agent is the right one.
type signIn struct {
	Code, Handle, Host string
	// Script is the address of what makes keys in the browser. Registration says who may register.
	Script, Registration string
}

// login shows whom a code signs in, and opens a session when the person has confirmed that. A link
// from somebody else cannot sign a person in unnoticed.
func (w *Web) login(v *visit, fields url.Values) (api.WebPage, error) {
	if err := v.checkToken(fields); err != nil {
		return api.WebPage{}, err
	}
	code := fields.Get("code")
	if fields.Get(confirmedField) == "" {
		handle, err := v.WebCodeAgent(code)
		if err != nil {
			return api.WebPage{}, err
		}
		return api.WebPage{Body: w.render(v.Call, view{
			Template: "login", Title: "Sign in",
			Data: signIn{Code: code, Handle: handle, Host: v.Base()},
		})}, nil
	}
	credential, err := v.OpenWebSession(code)
	if err != nil {
		return api.WebPage{}, err
	}
	return api.WebPage{Location: api.WebPath, Credential: &credential}, nil
}

func (w *Web) logout(v *visit, fields url.Values) (api.WebPage, error) {
	if err := v.checkToken(fields); err != nil {
		return api.WebPage{}, err
	}
	if v.Session != nil {
		if err := v.EndWebSession(); err != nil {
			return api.WebPage{}, err
		}
	}
	none := ""
	return api.WebPage{Location: at("login"), Credential: &none}, nil
}
