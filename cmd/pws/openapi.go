package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api"
	"pws/api/docs"
	"pws/client/cli"
)

// OpenAPICommand prints the OpenAPI document and the schemas without a running server.
type OpenAPICommand struct {
	PublicURL string `name:"public-url" help:"Base URL that clients reach the server by; relative if absent."`
	Schema    string `help:"Print the schema of this name instead."`
}

// Run prints the document with indentation.
func (c *OpenAPICommand) Run(out io.Writer) error {
	base := strings.TrimSuffix(c.PublicURL, "/")
	if problem := api.PublicURLProblem(base); base != "" && problem != "" {
		return cli.UsageError{Err: errors.New("--public-url " + problem)}
	}
	documents := docs.New(api.Config{Version: version, PublicURL: base})
	body, _ := documents.OpenAPI()
	text := jsontext.Value(body)
	if c.Schema != "" {
		if text, _ = documents.Schema(c.Schema); text == nil {
			return fmt.Errorf("no schema is called %s", c.Schema)
		}
	}
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, text.String())
	return err
}
