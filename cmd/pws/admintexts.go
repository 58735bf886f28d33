package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"pws/actors"
	"pws/internal/fault"
	"pws/internal/id"
)

// AdminTextsCommand lists the contents of the long texts of records, for purge.
type AdminTextsCommand struct {
	Project string `arg:"" help:"ID of the project."`
	Part    string `help:"List only texts that contain this."`
}

type (
	adminTextsBody struct {
		Project string `json:"project"`
		Part    string `json:"part"`
	}
	adminText struct {
		Blob string `json:"blob"`
		// Record is empty for a text that was replaced or deleted.
		Record  string `json:"record"`
		Removed bool   `json:"removed"`
	}
	adminTextsData struct {
		Texts []adminText `json:"texts"`
	}
)

var _ = registerAdminRead("texts", func(e *actors.Engine, body *adminTextsBody) (any, error) {
	project, ok := id.Parse(id.Project, body.Project)
	if !ok {
		return nil, fault.NoProject()
	}
	found, err := e.TextsOf(project, body.Part)
	if err != nil {
		return nil, err
	}
	data := adminTextsData{Texts: []adminText{}}
	for _, one := range found {
		data.Texts = append(data.Texts, adminText{
			hex.EncodeToString(one.Hash[:]), one.Record, one.Removed,
		})
	}
	return data, nil
})

// Run prints a line for each content.
func (c *AdminTextsCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "texts", adminTextsBody{c.Project, c.Part},
		func(data *adminTextsData) string {
			lines := []string{fmt.Sprintf("%d long texts", len(data.Texts))}
			for _, one := range data.Texts {
				line := one.Blob + " " + one.Record
				if one.Record == "" {
					line += "replaced or deleted"
				}
				if one.Removed {
					line += ", purged"
				}
				lines = append(lines, line)
			}
			return strings.Join(lines, "\n")
		})
}
