package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// webCode gets the link that signs in a browser as the agent of a login. Errors: those of
// client.Client.Do.
func (c *LoginCommand) webCode(ctx context.Context, env *Env, done login) (string, error) {
	signedIn := Common{Profile: done.Profile, Server: done.Server}
	caller, err := signedIn.account(env)
	if err != nil {
		return "", err
	}
	defer caller.close()
	var code struct {
		URL string `json:"url"`
	}
	err = caller.Call(ctx, http.MethodPost, apiPath("auth", "web-codes"), nil, &code)
	return code.URL, err
}

// openBrowser prints a link, and opens it if a person is at the terminal.
func (e *Env) openBrowser(out io.Writer, link string) error {
	// The server chooses it: a browser opens files and programs, too.
	if at, err := url.Parse(link); err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return fmt.Errorf("the server gives %q, which is not an address of a page", link)
	}
	_, err := fmt.Fprintf(out, "This link signs in a browser, once, within a minute:\n%s\n", link)
	if err != nil || !e.interactive() || e.OpenURL == nil {
		return err
	}
	if err := e.OpenURL(link); err != nil {
		fmt.Fprintf(e.Err, "pws: no browser was opened: %v\n", err)
	}
	return nil
}
