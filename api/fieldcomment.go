package api

import (
	_ "embed"
	"reflect"

	"pws/api/jsonschema"
)

// fieldComments are the comments of the fields that have a tag json. Clients read them as the
// descriptions of members. `make golden` writes the file from the source.
//
//go:embed fieldcomments.txt
var fieldComments string

func init() { jsonschema.Describe(reflect.TypeFor[Project]().PkgPath(), fieldComments) }
