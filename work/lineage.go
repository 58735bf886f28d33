package work

import (
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

// OriginsMax is how many origins go along with a fork or an import.
const OriginsMax = 50

// LineageMax is how many versions of files are looked at to find their authors: of each file its
// share, the newest first, and at least the newest.
const LineageMax = 200_000

// Omitted counts the parts of an import that exceeded its limits and were not kept. An agent that
// occurs twice beyond the limit counts twice.
type Omitted struct {
	Authors int `cbor:"1,keyasint,omitempty"`
	Credits int `cbor:"2,keyasint,omitempty"`
	Origins int `cbor:"3,keyasint,omitempty"`
	// Histories counts files of which only the newest versions were looked at.
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

// origin is where the files of an import came from. The owner is the project that has the record.
func (i *Import) origin(owner id.ID) FileOrigin {
	if i.Origin == nil {
		return FileOrigin{Project: i.Source, License: i.License}
	}
	if !i.Project.IsZero() {
		owner = i.Project
	}
	return FileOrigin{Project: owner, License: i.License, Bundled: i.Source, FromBundle: true}
}

// AllOrigins are the origin of an import of a project and those of the artifact's own files.
func (i *Import) AllOrigins(owner id.ID) []FileOrigin {
	all := []FileOrigin{i.origin(owner)}
	for _, one := range i.Origins {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// Lineage is who wrote the files of an artifact, and where they came from.
type Lineage struct {
	// Authors are those of all versions, at most ImportAuthorsMax; BundledAuthors are those that a
	// bundle names, at most as many.
	Authors        []id.ID
	BundledAuthors []BundledAgent
	// Origins are the project of the artifact, under the license of the artifact, and then the
	// other projects that its files passed through, at most OriginsMax.
	Origins []FileOrigin
	Omitted Omitted
}

// LineageOf reads the lineage of an artifact's files.
func (p *Project) LineageOf(a *Artifact, files []FileInfo) Lineage {
	due := p.owedFor(files)
	own := FileOrigin{Project: p.ID, License: a.License}
	return Lineage{
		Authors: due.authors, BundledAuthors: due.bundled,
		Origins: append([]FileOrigin{own}, due.origins...), Omitted: due.omitted,
	}
}

// noAssertion is the license of forks that were made before theirs was kept.
const noAssertion = "NOASSERTION"

// origin is where the first files of a fork came from.
func (f *Fork) origin() FileOrigin {
	license := f.License
	if license == "" {
		license = noAssertion
	}
	return FileOrigin{Project: f.Project, License: license}
}

// OriginsAt are where the files came from that a project had after a changeset, beside itself: the
// project that it was forked from, and what that and the project itself imported.
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
		p.owedForBundled(p.changesets[0], &p.bundled.Project, &o)
	}
	return o.origins
}

// lineage visits the changesets of the versions of a file, the newest first, through renames. A
// file that was deleted and created again is the same file; a file that was renamed away took its
// history along. It reports whether there were more versions than wanted; the newest is always
// visited.
func (p *Project) lineage(file *FileInfo, most int, visit func(step *Changeset)) (more bool) {
	f := p.everAt(file.Path)
	if f == nil {
		return false
	}
	nth := f.behind(file.Updated.Sequence) - 1
	for count := 0; nth >= 0; count++ {
		v := f.versions[nth]
		nth--
		if !v.op.leaves(*f.Path) {
			if v.op.Action == Delete {
				continue
			}
			return false
		}
		if count > 0 && count >= most {
			return true
		}
		visit(p.changesets[v.sequence-1])
		if v.op.Action == Rename && v.op.From != nil && *v.op.From != *f.Path {
			f = p.everAt(*v.op.From)
			if f == nil {
				return false
			}
			nth = f.behind(v.sequence) - 1
			for nth >= 0 && f.versions[nth].op != v.op {
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

// behind returns how many versions a file had after a changeset.
func (f *File) behind(sequence uint32) int {
	behind, _ := slices.BinarySearchFunc(f.versions, sequence, func(v version, s uint32) int {
		if v.sequence <= s {
			return -1
		}
		return 1
	})
	return behind
}
