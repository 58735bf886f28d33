package main

import (
	"encoding/hex"
	"io"

	"pws/actors"
	"pws/internal/fault"
	"pws/work"
)

// AdminPurgeCommand removes a content, such as a leaked secret.
type AdminPurgeCommand struct {
	Blob   string `required:"" help:"The blob_hash of the content."`
	Reason string `required:"" help:"Why; it is noted in the log of actions."`
}

type (
	adminPurgeBody struct {
		Blob   string `json:"blob"`
		Reason string `json:"reason"`
	}
	adminPurgeData struct {
		Blob string `json:"blob"`
	}
)

var _ = registerAdmin("purge", func(e *actors.Engine, body *adminPurgeBody) (any, error) {
	raw, err := hex.DecodeString(body.Blob)
	if err != nil || len(raw) != len(work.Hash{}) {
		return nil, fault.Invalid(fault.Field{
			Field: "blob", Problem: "must be 64 hexadecimal digits",
		})
	}
	if err := e.PurgeContent(work.Hash(raw), body.Reason); err != nil {
		return nil, err
	}
	return adminPurgeData{hex.EncodeToString(raw)}, nil
})

// Run purges the content and returns when it has left the disk.
func (c *AdminPurgeCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "purge", adminPurgeBody{c.Blob, c.Reason},
		func(data *adminPurgeData) string {
			return "purged " + data.Blob + "; backups from before still have it"
		})
}
