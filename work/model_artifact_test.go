package work_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// offerModel is what a project offers and has taken in, the oldest first.
type offerModel struct {
	artifacts []*work.Artifact
	imports   []*work.Import
}

// observe notes what a command that was carried out has left; the project is the one behind it.
func (m *offerModel) observe(
	p *work.Project, who id.ID, command work.Command, result work.Result, now int64,
) {
	switch command := command.(type) {
	case *work.CreateArtifact:
		made := &work.Artifact{
			ID: result.Subject, Changeset: p.Head().ID, Name: command.Name, Type: command.Type,
			Paths: command.Paths, License: p.License, Reuse: p.Reuse, CreatedBy: who, CreatedAt: now,
		}
		if command.Changeset != nil {
			made.Changeset = *command.Changeset
		}
		if command.Reuse != 0 {
			made.Reuse = command.Reuse
		}
		m.artifacts = append(m.artifacts, made)
	case *work.ImportArtifact:
		m.imports = append(m.imports, &work.Import{
			ID: result.Subject, Artifact: command.Source.Artifact, Source: command.Source.Project,
			SourceChangeset: command.Source.Changeset, Prefix: command.Prefix,
			Changeset: result.Changeset, Files: len(p.Head().Ops), License: command.Source.License,
			Name: command.Source.Name, Authors: command.Source.Authors, CreatedBy: who, CreatedAt: now,
			Origins: command.Source.Origins, Omitted: command.Source.Omitted,
		})
	}
}

func (m *offerModel) compare(p *work.Project, files *model, draw source) error {
	before := draw(len(m.artifacts) + 1)
	var from id.ID
	if before < len(m.artifacts) {
		from = m.artifacts[before].ID
	}
	var artifacts []*work.Artifact
	p.Artifacts(from, func(a *work.Artifact) bool { artifacts = append(artifacts, a); return true })
	slices.Reverse(artifacts)
	if len(artifacts) != before {
		return fmt.Errorf("%d artifacts, want %d", len(artifacts), before)
	}
	for i, a := range artifacts {
		if diff := cmp.Diff(m.artifacts[i], a); diff != "" {
			return fmt.Errorf("artifact %d: %s", i, diff)
		}
		if err := compareFiles(p, a, files); err != nil {
			return fmt.Errorf("artifact %d: %w", i, err)
		}
	}
	var imports []*work.Import
	p.Imports(id.ID{}, func(i *work.Import) bool { imports = append(imports, i); return true })
	slices.Reverse(imports)
	if diff := cmp.Diff(m.imports, imports); diff != "" {
		return fmt.Errorf("the imports: %s", diff)
	}
	return nil
}

// compareFiles looks through the whole tree for what an artifact means.
func compareFiles(p *work.Project, a *work.Artifact, files *model) error {
	at, ok := p.Changeset(a.Changeset)
	if !ok {
		return fmt.Errorf("changeset %v does not exist", a.Changeset)
	}
	tree := files.trees[at.Sequence]
	var want, got []string
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if slices.ContainsFunc(a.Paths, func(of string) bool {
			return path == of || strings.HasPrefix(path, of+"/")
		}) {
			want = append(want, path)
		}
	}
	var differs error
	p.ArtifactFiles(a, func(info work.FileInfo) bool {
		got = append(got, info.Path)
		if modelOf(info) != tree[info.Path] {
			differs = fmt.Errorf("%s is %+v", info.Path, info)
		}
		return true
	})
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the files: %s", diff)
	}
	return differs
}

// artifactCommand offers a part of a project, or takes in what it offers itself or what another one
// might.
func (draw source) artifactCommand(w *world) work.Command {
	p := w.project
	if draw(2) == 0 {
		command := &work.CreateArtifact{
			Name: draw.text(), Type: work.ArtifactType(1 + draw(7)), Reuse: work.Reuse(draw(3)),
		}
		for range 1 + draw(3) {
			path := draw.path()
			if folder, _, found := strings.Cut(path, "/"); found && draw(2) == 0 {
				path = folder
			}
			command.Paths = append(command.Paths, path)
		}
		if draw(3) == 0 {
			at := p.ChangesetNumber(uint32(1 + draw(p.ChangesetsCount()))).ID
			command.Changeset = &at
		}
		return command
	}
	command := &work.ImportArtifact{
		Refusal: work.EntityArtifact.Missing(), Replace: draw(2) == 0,
		Prefix: []string{"", "a", "c", "f", "f/g"}[draw(5)],
	}
	nth := draw(4)
	p.Artifacts(id.ID{}, func(a *work.Artifact) bool {
		command.Source, command.Refusal = p.ImportSource(a, p.Owner)
		nth--
		return nth >= 0
	})
	if draw(4) == 0 {
		content := draw.content()
		command.Refusal = nil
		command.Source = &work.ImportSource{
			Artifact: agent("artifact"), Project: agent("elsewhere"), Changeset: agent("changeset"),
			Name: draw.text(), License: "ISC", Authors: []id.ID{agent("far")},
			Files: []work.FileInfo{{
				Path: draw.path(), Blob: content.Hash, Size: len(content.Content),
				ContentType: draw.contentType(),
			}},
		}
	}
	if draw(3) == 0 {
		base := p.Head().ID
		command.Base = &base
	}
	return command
}
