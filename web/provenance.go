package web

import (
	"errors"

	"pws/api"
	"pws/internal/fault"
)

// namesMax bounds how many other projects a page of an origin reads for their names.
const namesMax = 2 * graphEach

func (w *Web) provenancePages() []*api.Operation {
	return []*api.Operation{
		w.expensive(w.page("provenance", at("p")+"/{project}/provenance", nil,
			(*visit).provenance)),
	}
}

// provenance is where a project comes from, as a drawing and as lists.
type provenance struct {
	Head  api.Project
	Graph graph
	// Above and Below are what the drawing shows, as lists.
	Above, Below []node
	api.Provenance
}

func (v *visit) provenance() (view, error) {
	made := view{Template: "provenance", Tab: "provenance"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	found, err := read[api.ProvenanceData](v, "provenance.read", []string{head.ID})
	if err != nil {
		return made, err
	}
	all := provenance{Head: head, Provenance: found.Provenance}
	names := names{visit: v, known: map[string]string{}}
	all.Above = sources(&all.Provenance, head.ID)
	all.Below = uses(&all.Provenance, head.ID)
	for _, list := range [][]node{all.Above, all.Below} {
		for i := range list {
			if err := names.name(&list[i]); err != nil {
				return made, err
			}
		}
	}
	all.Graph = newGraph(node{Kind: "this project", Name: head.Name}, all.Above, all.Below)
	made.Title, made.Data = "Origin of "+head.Name, all
	made.inInterface(head, "projects/"+head.ID+"/provenance")
	return made, nil
}

// projectNode is another project, of which the name is read later.
func projectNode(kind, project, note string) node {
	return node{Kind: kind, Name: project, Link: at("p", project), Note: note, project: project}
}

// sources are what a project comes from, each once: the source of a fork, imports, bundles, other
// projects whose files it has, projects that it says it builds on, and who contributed.
func sources(from *api.Provenance, project string) (all []node) {
	seen := map[string]bool{project: true}
	if fork := from.ForkedFrom; fork != nil {
		all = append(all, projectNode("forked from", fork.ProjectID, ""))
		seen[fork.ProjectID] = true
	}
	if bundle := from.Origin.Bundle; bundle != nil {
		all = append(all, node{Kind: "from a bundle", Name: "a project of @" + bundle.Owner.Handle})
	}
	for _, list := range [][]api.Import{from.Imports, from.BroughtAlong} {
		for _, one := range list {
			made := node{Kind: "import", Name: "an artifact", Note: one.LicenseSPDX}
			if one.ArtifactName != nil {
				made.Name = *one.ArtifactName
			}
			if one.SourceProjectID != nil {
				made.Link, made.project = at("p", *one.SourceProjectID), *one.SourceProjectID
				seen[*one.SourceProjectID] = true
			}
			all = append(all, made)
		}
	}
	for _, one := range from.Origins {
		if one.ProjectID != nil && !seen[*one.ProjectID] {
			all = append(all, projectNode("files of", *one.ProjectID, one.LicenseSPDX))
			seen[*one.ProjectID] = true
		}
	}
	for _, one := range from.Relations {
		if one.Direction == "OUTGOING" {
			all = append(all, projectNode(word(one.Type), one.TargetProjectID, one.Note))
		}
	}
	return append(all, contributors(from.Contributions)...)
}

// contributors are the authors of accepted contributions, the newest first.
func contributors(from []api.ProvenanceContribution) (all []node) {
	counts := map[string]int{}
	for _, one := range from {
		counts[one.Author.Handle]++
	}
	for _, one := range from {
		handle := one.Author.Handle
		if counts[handle] > 0 && handle != "" {
			all = append(all, node{
				Kind: plural(counts[handle], "contribution") + " by", Name: "@" + handle,
				Link: at("a", handle),
			})
		}
		counts[handle] = 0
	}
	return all
}

// uses are what comes from a project: what others say of it, its forks, and what it offers.
func uses(from *api.Provenance, project string) (all []node) {
	for _, one := range from.Relations {
		if one.Direction == "INCOMING" {
			all = append(all, projectNode(word(one.Type)+" this", one.ProjectID, one.Note))
		}
	}
	if from.ForksCount > 0 {
		all = append(all, node{Kind: "copied by", Name: plural(from.ForksCount, "fork")})
	}
	for _, one := range from.Artifacts {
		all = append(all, node{
			Kind: "offers " + word(one.Type), Name: one.Name, Note: one.LicenseSPDX,
			Link: at("p", project, "changeset", one.ChangesetID),
		})
	}
	return all
}

// names finds the names of projects, each once.
type names struct {
	visit *visit
	known map[string]string
}

// name replaces the ID of a project by its name. The link to a project that the visitor may not
// read, or that is not here, goes.
func (n *names) name(of *node) error {
	id := of.project
	if id == "" {
		return nil
	}
	name, known := n.known[id]
	if !known && len(n.known) < namesMax {
		found, err := n.visit.projectAt(id)
		var refusal *fault.Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Code != fault.ProjectNotFound) {
			return err
		}
		name = found.Name
		n.known[id], known = name, true
	}
	if known && name == "" {
		of.Link, name = "", "a project that is gone"
	}
	if of.Name == id && name != "" {
		of.Name = name
	}
	return nil
}
