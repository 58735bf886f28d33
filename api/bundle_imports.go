package api

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// readImports reads the imports and the origins of the files.
func (i *importer) readImports() {
	i.command.Imports = readList(i, "imports", i.bundle.Imports, i.readImport)
	i.command.InheritedImports = readList(i, "provenance.inherited_imports",
		i.bundle.Provenance.BroughtAlong, i.readImport)
	i.command.Origins = i.readOrigins(i.bundle.Provenance.Origins, "provenance.origins")
}

func (i *importer) readImport(from *Import, field string) work.BundledImport {
	origin := i.originOf(id.Import, source{
		from.Origin, from.ID, *i.agentNamed(from.CreatedBy), from.CreatedAt,
	}, field)
	made := work.Import{
		ID: i.id(id.Import, from.ID, field+".id"), Name: textOr(from.ArtifactName),
		Prefix: from.TargetPrefix, License: from.LicenseSPDX, Files: from.FileCount,
		Changeset:      i.id(id.Changeset, from.ChangesetID, field+".changeset_id"),
		BundledAuthors: i.importAuthors(from, field), Origin: &origin,
		Origins: i.readOrigins(from.Origins, field+".origins"),
		Omitted: i.readOmitted(&from.Omitted, field+".omitted"),
	}
	if from.ArtifactName != nil {
		i.check(nameCheck, *from.ArtifactName, field+".artifact_name")
	}
	if from.TargetPrefix != "" {
		i.path(from.TargetPrefix, field+".target_prefix")
	}
	canonical, err := canonicalLicense(from.LicenseSPDX)
	if err != nil {
		i.fault(field+".license_spdx", noLicense)
	}
	made.License = canonical
	if from.FileCount < 0 || from.FileCount > work.FilesMax {
		i.fault(field+".file_count", fmt.Sprintf("must be from 0 to %d", work.FilesMax))
	}
	i.readSource(&made, from, field)
	return work.BundledImport{
		Record: made, Credits: i.creditOrigins(from.Contributions, field+".contributions"),
	}
}

// readSource reads the source of an import. Its members are all given, or none is.
func (i *importer) readSource(made *work.Import, from *Import, field string) {
	made.Artifact = i.idOrZero(id.Artifact, from.ArtifactID, field+".artifact_id")
	made.Source = i.idOrZero(id.Project, from.SourceProjectID, field+".source_project_id")
	made.SourceChangeset = i.idOrZero(
		id.Changeset, from.SourceChangesetID, field+".source_changeset_id")
	given := []string{}
	for _, one := range []struct {
		name string
		text *string
	}{
		{"artifact_id", from.ArtifactID}, {"source_project_id", from.SourceProjectID},
		{"source_changeset_id", from.SourceChangesetID},
	} {
		if one.text != nil {
			given = append(given, one.name)
		}
	}
	if len(given) == 1 || len(given) == 2 {
		i.fault(field+"."+given[0], "must be given together with artifact_id, source_project_id "+
			"and source_changeset_id")
	}
}

// importAuthors returns all authors of the imported files according to a bundle, each once.
func (i *importer) importAuthors(from *Import, field string) []work.BundledAgent {
	var authors []work.BundledAgent
	known := map[work.BundledAgent]bool{}
	for _, list := range []struct {
		name   string
		agents []AgentRef
	}{{"authors", from.Authors}, {"bundle_authors", from.BundledAuthors}} {
		if len(list.agents) > work.ImportAuthorsMax {
			i.fault(field+"."+list.name,
				fmt.Sprintf("must have at most %d items", work.ImportAuthorsMax))
			continue
		}
		for j := range list.agents {
			one := i.agent(&list.agents[j], fmt.Sprintf("%s.%s[%d]", field, list.name, j))
			if !known[one] && len(authors) < work.ImportAuthorsMax {
				known[one] = true
				authors = append(authors, one)
			}
		}
	}
	return authors
}
