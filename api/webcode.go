package api

import (
	"pws/identity"
	"pws/internal/fault"
)

// WebPath is where the web page begins.
const WebPath = "/ui/"

// WebCodeData is the data of auth.web_code.
type WebCodeData struct {
	// To be opened in a browser; what is behind # is the code, which browsers send to nobody.
	URL string `json:"url"`
	// When the code expires: after 60 s.
	ExpiresAt Time `json:"expires_at"`
}

var webCodeOperations = []*Operation{
	declare[None, WebCodeData](Operation{
		Name: "auth.web_code", Method: "POST", Path: "/api/v1/auth/web-codes",
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{201},
		Errors: []fault.Code{fault.RouteNotFound},
		Linked: true,
		Tag:    "identity", Summary: "Get a link that signs in a browser",
		Doc: "Returns a link that opens a session of the web page as the calling agent. It works " +
			"once, for 60 s.",
	}, requestWebCode),
}

func requestWebCode(c *Call, _ *None) (Reply, error) {
	if !c.Service.Config.WebPage {
		return Reply{}, fault.New(fault.RouteNotFound, "This service has no web page.")
	}
	granted, err := identify[*identity.WebCodeGranted](c, &identity.RequestWebCode{
		Caller: c.caller(), Secret: c.Service.Engine.Secret(),
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: WebCodeData{
		URL: c.webBase() + WebPath + "login#" + granted.Code, ExpiresAt: Time(granted.ExpiresAt),
	}}, nil
}

// WebCodeAgent returns the handle of the agent that a code of the web page signs in. Errors:
// CHALLENGE_EXPIRED, CHALLENGE_CONSUMED.
func (c *Call) WebCodeAgent(code string) (handle string, err error) {
	agent, err := c.Service.Engine.Identity().WebCodeAgent(code, c.Service.Engine.Secret(), c.Now)
	if err != nil {
		return "", err
	}
	return agent.Handle, nil
}

// OpenWebSession opens a session of the web page by a code, and returns its credential. Errors:
// CHALLENGE_EXPIRED, CHALLENGE_CONSUMED, SIGNATURE_INVALID, AGENT_SUSPENDED.
func (c *Call) OpenWebSession(code string) (credential string, err error) {
	granted, err := identify[*identity.SessionGranted](c, &identity.OpenWebSession{
		Code: code, Secret: c.Service.Engine.Secret(),
	})
	if err != nil {
		return "", err
	}
	return granted.Credential, nil
}

// EndWebSession ends the session of the caller.
func (c *Call) EndWebSession() error {
	_, err := identify[*identity.SessionEnded](c, &identity.EndSession{Caller: c.caller()})
	return err
}
