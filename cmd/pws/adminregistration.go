package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pws/actors"
	"pws/identity"
	"pws/internal/fault"
)

// AdminRegistrationCommand shows or sets who may register.
type AdminRegistrationCommand struct {
	Mode   string `arg:"" optional:"" enum:"open,invite,closed," default:"" help:"open, invite or closed."`
	Reason string `help:"Why; it is noted in the log of actions."`
}

// AdminInviteCommand makes an invite.
type AdminInviteCommand struct {
	Expires time.Duration `default:"168h" help:"How long the invite can be used; at most 90 days."`
	Reason  string        `help:"For whom; it is noted in the log of actions."`
}

type (
	adminRegistrationBody struct {
		// Mode is OPEN, INVITE or CLOSED; empty only asks.
		Mode   string `json:"mode"`
		Reason string `json:"reason"`
	}
	adminRegistrationData struct {
		Mode string `json:"mode"`
		// Invites are those that can still be used.
		Invites int `json:"invites"`
	}
	adminInviteBody struct {
		ExpiresInSeconds int64  `json:"expires_in_seconds"`
		Reason           string `json:"reason"`
	}
	adminInviteData struct {
		Invite    string `json:"invite"`
		ExpiresAt string `json:"expires_at"`
	}
)

var _ = registerAdmin("registration", registration)

func registration(e *actors.Engine, body *adminRegistrationBody) (any, error) {
	show := func() (any, error) {
		state := e.Identity()
		return adminRegistrationData{
			Mode: state.Registration().String(), Invites: state.Invites(e.Now()),
		}, nil
	}
	if body.Mode == "" {
		return readFresh(e, show)
	}
	mode, ok := identity.ParseRegistrationMode(body.Mode)
	if !ok {
		return nil, fault.Invalid(fault.Field{
			Field: "mode", Problem: "must be OPEN, INVITE or CLOSED",
		})
	}
	command := &identity.SetRegistration{Mode: mode, Reason: body.Reason}
	if _, err := e.OperatorDo(command); err != nil {
		return nil, err
	}
	return show()
}

var _ = registerAdmin("invite", func(e *actors.Engine, body *adminInviteBody) (any, error) {
	// A time that is too long stays too long and does not overflow.
	seconds := min(body.ExpiresInSeconds, identity.InviteMillisMax)
	done, err := e.OperatorDo(&identity.MakeInvite{
		LastsMillis: seconds * 1000, Reason: body.Reason,
	})
	if err != nil {
		return nil, err
	}
	return adminInviteData{Invite: done.Code, ExpiresAt: reportTime(done.ExpiresAt)}, nil
})

// Run sets the mode, if one is given, and prints it.
func (c *AdminRegistrationCommand) Run(admin *AdminCommand, out io.Writer) error {
	body := adminRegistrationBody{strings.ToUpper(c.Mode), c.Reason}
	return runAdminCommand(admin, out, "registration", body,
		func(data *adminRegistrationData) string {
			return fmt.Sprintf("registration: %s, %d unused invites",
				strings.ToLower(data.Mode), data.Invites)
		})
}

// Run makes an invite and prints its code.
func (c *AdminInviteCommand) Run(admin *AdminCommand, out io.Writer) error {
	body := adminInviteBody{int64(c.Expires / time.Second), c.Reason}
	return runAdminCommand(admin, out, "invite", body, func(data *adminInviteData) string {
		return data.Invite + "\nexpires " + data.ExpiresAt
	})
}
