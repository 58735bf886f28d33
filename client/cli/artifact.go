package cli

import (
	"context"
	"net/http"

	"pws/client"
)

// ArtifactGroup are the commands for artifacts.
type ArtifactGroup struct {
	List   ArtifactListCommand   `cmd:"" help:"List the artifacts of a project."`
	Create ArtifactCreateCommand `cmd:"" help:"Make an artifact of files."`
	Import ArtifactImportCommand `cmd:"" help:"Import an artifact into the project."`
}

// ArtifactListCommand lists artifacts.
type ArtifactListCommand struct {
	InProject
	Paged
}

// Run prints the artifacts.
func (c *ArtifactListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "artifacts", nil, "artifacts",
		column{"ARTIFACT", "id", nil}, column{"TYPE", "type", nil}, column{"NAME", "name", asCut},
		column{"FILES", "paths", asCount}, column{"IMPORTS", "import_count", nil})
}

// ArtifactCreateCommand makes an artifact.
type ArtifactCreateCommand struct {
	InProject
	Name  string   `arg:"" help:"Name of the artifact."`
	Paths []string `arg:"" help:"Paths in the project."`
	Type  string   `default:"OTHER" help:"LIBRARY, TEMPLATE, PROMPT, DATASET, DOCUMENT, TOOL or OTHER."`
	Text  string   `short:"d" name:"description" help:"The description." placeholder:"TEXT"`
}

// Run makes the artifact.
func (c *ArtifactCreateCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "artifacts"), members("name", c.Name,
			"type", upper(c.Type), "description", c.Text, "paths", c.Paths))
	}, say("%s  %s", "artifact.id", "artifact.name"))
}

// ArtifactImportCommand imports an artifact.
type ArtifactImportCommand struct {
	InProject
	Artifact string `arg:"" help:"ID of the artifact."`
	Prefix   string `help:"Folder for its files." placeholder:"FOLDER"`
	Replace  bool   `help:"Replace files that are there already."`
}

// Run imports the files as one changeset.
func (c *ArtifactImportCommand) Run(ctx context.Context, env *Env) error {
	conflict := ""
	if c.Replace {
		conflict = "REPLACE"
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "imports"), members(
			"artifact_id", c.Artifact, "target_prefix", c.Prefix, "on_conflict", conflict))
	}, say("Imported, changeset %s.", "changeset.id"))
}
