package work

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// FileOrigin is a project that files came from, and the license under which it offered them.
type FileOrigin struct {
	// Project controls who may see the origin; for origins from a bundle, it is the project that
	// imported the bundle.
	Project id.ID  `cbor:"1,keyasint"`
	License string `cbor:"2,keyasint"`
	// Bundled is the project as a bundle names it, zero if the bundle does not.
	Bundled id.ID `cbor:"3,keyasint,omitzero"`
	// FromBundle means that the origin is known from a bundle only.
	FromBundle bool `cbor:"4,keyasint,omitempty"`
}

// OriginsMax is the maximum number of origins that a fork or an import copies.
const OriginsMax = 50

// LineageMax is the number of file versions that are visited to find authors. It is divided
// among the files; of each file the newest versions are visited, and at least one.
const LineageMax = 200_000

// Omitted counts the parts of an import that exceeded its limits and were not stored. An agent
// that occurs twice beyond the limit counts twice.
type Omitted struct {
	Authors int `cbor:"1,keyasint,omitempty"`
	Credits int `cbor:"2,keyasint,omitempty"`
	Origins int `cbor:"3,keyasint,omitempty"`
	// Histories counts the files of which only the newest versions were visited.
	Histories int `cbor:"4,keyasint,omitempty"`
}

func (o *Omitted) add(other Omitted) {
	o.Authors += other.Authors
	o.Credits += other.Credits
	o.Origins += other.Origins
	o.Histories += other.Histories
}

func (o *owed) origin(origins ...FileOrigin) {
	o.omitted.Origins += addNew(&o.origins, origins, OriginsMax)
}

// origin returns the origin of the files of an import. The owner is the project that has the
// record.
func (i *Import) origin(owner id.ID) FileOrigin {
	if i.Origin == nil {
		return FileOrigin{Project: i.Source, License: i.License}
	}
	if !i.Project.IsZero() {
		owner = i.Project
	}
	return FileOrigin{Project: owner, License: i.License, Bundled: i.Source, FromBundle: true}
}

// AllOrigins returns the origin of a project's import, followed by those of the artifact's own
// files.
func (i *Import) AllOrigins(owner id.ID) []FileOrigin {
	all := []FileOrigin{i.origin(owner)}
	for _, one := range i.Origins {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// Lineage holds the authors and the origins of an artifact's files.
type Lineage struct {
	// Authors are the authors of all versions, at most ImportAuthorsMax. BundledAuthors are the
	// authors that bundles name, at most as many.
	Authors        []id.ID
	BundledAuthors []BundledAgent
	// Origins are the project of the artifact, under the license of the artifact, and then the
	// other projects that its files came through, at most OriginsMax.
	Origins []FileOrigin
	Omitted Omitted
}

// LineageOf returns the lineage of an artifact's files.
func (p *Project) LineageOf(a *Artifact, files []FileInfo) Lineage {
	due := p.owedFor(files)
	own := FileOrigin{Project: p.ID, License: a.License}
	return Lineage{
		Authors: due.authors, BundledAuthors: due.bundled,
		Origins: append([]FileOrigin{own}, due.origins...), Omitted: due.omitted,
	}
}

// noAssertion is the license of forks that were made before licenses were stored.
const noAssertion = "NOASSERTION"

// origin returns the origin of the first files of a fork.
func (f *Fork) origin() FileOrigin {
	license := f.License
	if license == "" {
		license = noAssertion
	}
	return FileOrigin{Project: f.Project, License: license}
}

// OriginsAt returns the origins of a project's files after a changeset, without the project
// itself: the project that it was forked from, and the imports of both.
func (p *Project) OriginsAt(at *Changeset) []FileOrigin {
	var o owed
	if p.saved.Fork != nil {
		p.owedForFork(&o)
	}
	p.Imports(id.ID{}, func(one *Import) bool {
		if one.Changeset.Compare(at.ID) <= 0 {
			o.origin(one.origin(p.ID))
			o.origin(one.Origins...)
		}
		return true
	})
	if p.bundled != nil {
		p.owedForBundled(p.ChangesetNumber(1), &p.bundled.Project, &o)
	}
	return o.origins
}

// lineage visits the changesets of the versions of a file, the newest first, through renames. A
// file that was deleted and created again is the same file; a file that was renamed away took
// its history along. It reports whether there were more versions than the limit; the newest is
// always visited.
func (p *Project) lineage(file *FileInfo, most int, visit func(step *Changeset)) (more bool) {
	f := p.everAt(file.Path)
	if f == nil {
		return false
	}
	nth := f.behind(file.Updated.Sequence) - 1
	var op Op
	var step Changeset
	for count := 0; nth >= 0; count++ {
		v := f.versions[nth]
		nth--
		p.history.operation(v, &op)
		if v.gone() {
			if op.Action == Delete {
				continue
			}
			return false
		}
		if count > 0 && count >= most {
			return true
		}
		p.history.read(v.sequence, &step, false)
		visit(&step)
		if op.Action == Rename && op.From != nil && *op.From != *op.Path {
			f = p.everAt(*op.From)
			if f == nil {
				return false
			}
			nth = f.behind(v.sequence) - 1
			for nth >= 0 && !f.versions[nth].same(v) {
				nth--
			}
			nth--
		}
	}
	return false
}

// everAt finds a path at which a file exists or existed.
func (p *Project) everAt(path string) *File {
	if f, ok := p.live.Get(path); ok {
		return f
	}
	f, _ := p.gone.Get(path)
	return f
}

// versionsBefore returns the number of versions before a changeset.
func versionsBefore(versions []version, sequence uint32) int {
	before, _ := slices.BinarySearchFunc(versions, sequence, func(v version, s uint32) int {
		return cmp.Compare(v.sequence, s)
	})
	return before
}

// behind returns the number of versions of a file up to a changeset.
func (f *File) behind(sequence uint32) int {
	behind, _ := slices.BinarySearchFunc(f.versions, sequence, func(v version, s uint32) int {
		if v.sequence <= s {
			return -1
		}
		return 1
	})
	return behind
}
