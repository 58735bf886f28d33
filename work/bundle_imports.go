package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

// BundledImport is an import of a bundle, with the credits that the bundle has for its files.
type BundledImport struct {
	// Record has its Origin set.
	Record  Import
	Credits []CreditOrigin
}

// importImports imports the records of where files of the project came from.
func (b *bundleImport) importImports() {
	if len(b.Imports) > ImportsMax {
		b.fault("imports", fmt.Sprintf("must have at most %d items", ImportsMax))
		return
	}
	files := 0
	for nth := range b.Imports {
		from, field := &b.Imports[nth], indexed("imports", nth)
		made := from.Record
		made.ID, made.CreatedBy, made.CreatedAt = b.next(), b.stamp.Agent, b.stamp.Now
		b.newID(id.Import, from.Record.ID, made.ID, field)
		made.Changeset = b.named(id.Changeset, from.Record.Changeset, field+".changeset_id")
		made.Origins = b.origins(made.Origins, made.origin(b.ID))
		b.linkChangeset(&made)
		for i := range from.Credits[:min(len(from.Credits), CreditsMax)] {
			made.Credits = append(made.Credits, b.bundledCredit(&from.Credits[i]))
		}
		files += made.Files
		b.texts += made.bytes()
		b.event.Imports = append(b.event.Imports, &made)
	}
	b.inheritImports()
	b.event.Imported.Origins = b.origins(b.Origins)
	if files > ImportedFilesMax {
		b.fault("imports", fmt.Sprintf("must have written at most %d files", ImportedFilesMax))
	}
}

// inheritImports keeps the imports that the project of the bundle had inherited. They are not
// records of the new project and cannot be referenced.
func (b *bundleImport) inheritImports() {
	if len(b.InheritedImports) > InheritedImportsMax {
		b.fault("provenance.inherited_imports",
			fmt.Sprintf("must have at most %d items", InheritedImportsMax))
		return
	}
	for nth := range b.InheritedImports {
		made := b.InheritedImports[nth].Record
		made.CreatedBy, made.CreatedAt = b.stamp.Agent, b.stamp.Now
		made.Origins = b.origins(made.Origins, made.origin(b.ID))
		b.texts += made.bytes()
		b.event.Imported.Imports = append(b.event.Imported.Imports, &made)
	}
}

// origins returns the origins that the bundle names, without the known ones. Readers of the new
// project may read them.
func (b *bundleImport) origins(named []FileOrigin, known ...FileOrigin) (kept []FileOrigin) {
	for _, one := range named {
		one.Project = b.ID
		if !slices.Contains(known, one) && !slices.Contains(kept, one) && len(kept) < OriginsMax {
			kept = append(kept, one)
		}
	}
	return kept
}

// linkChangeset sets an import as the source of its changeset, if the changeset was imported and
// has only the files of the import. Without the history, the first changeset replaces those of all
// imports.
func (b *bundleImport) linkChangeset(made *Import) {
	nth, found := slices.BinarySearchFunc(b.event.Changesets, made.Changeset,
		func(c ChangesetPublished, wanted id.ID) int { return c.ID.Compare(wanted) })
	if !b.Imported.Whole || !found {
		return
	}
	step, origin := &b.event.Changesets[nth], &b.event.Imported.Changesets[nth]
	if origin.Source == SourceImport && step.SourceID.IsZero() && len(step.Ops) == made.Files {
		step.SourceID = made.ID
	}
}

// bundledCredit returns a credit that is only known from the bundle.
func (b *bundleImport) bundledCredit(origin *CreditOrigin) Credit {
	return Credit{
		Project: b.ID, Author: b.stamp.Agent, AcceptedBy: b.stamp.Agent, Origin: origin,
	}
}
